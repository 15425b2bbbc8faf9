"""The set that people add to: subscriptions by id, checked as they come, compiled when asked for."""

from __future__ import annotations

import datetime as dt
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from vedette.errors import FilterError, InputError, NotSupported, SchemaError, UnknownSubscription
from vedette.language.normalform import NormalForm
from vedette.matching.draft import Draft
from vedette.matching.indexes import DEFAULT
from vedette.matching.made_up import SAMPLE
from vedette.matching.matcher import Matcher
from vedette.matching.segment import Drawn, Segment
from vedette.matching.templates import Templates
from vedette.matching.view import Events
from vedette.schema.encode import check_batch, encode
from vedette.schema.keys import read
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.matching.live import LiveMatcher

Progress: TypeAlias = Callable[[str], None]
_TIDY = 10_000  # removed subscriptions that are kept before they are swept out


class Subscriptions:
    """Subscriptions by id, in the order of addition."""

    def __init__(self, schema: Schema | Mapping[str, Any] | None = None) -> None:
        self.schema = schema_of(schema)
        self._older: Drawn | None = None  # what was drawn when the draft was last begun anew
        self._templates = Templates(self.schema)
        self._draft = Draft()
        self._ordinals: dict[str, int] = {}
        self._alive = bytearray()

    # ------------------------------------------------------------ changes

    def add(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense."""
        check_texts(id_, when, subscriber)
        if id_ in self._ordinals:
            raise InputError(taken(id_))
        self._append(id_, when, self._templates.normal_form(when), subscriber)

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        ordinal = self._ordinal(id_)
        del self._ordinals[id_]
        self._alive[ordinal] = 0
        if len(self._alive) > _TIDY + 2 * len(self._ordinals):
            self._sweep()

    def replace(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Let an id say something else from now on; it comes last in the order of addition."""
        check_texts(id_, when, subscriber)
        form = self._templates.normal_form(when)
        self.remove(id_)
        self._append(id_, when, form, subscriber)

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records with `id`, `when` and perhaps `subscriber` and `expires`; returns how many. All, or none.

        Those that have expired are left out. An error names the record, by its `line` if it has one.
        """
        added: list[str] = []
        try:
            for id_, when, subscriber, where in read_records(records):
                try:
                    self.add(id_, when, subscriber=subscriber)
                except (InputError, NotSupported) as error:
                    raise placed(error, where) from None
                added.append(id_)
        except BaseException:
            for id_ in added:
                self.remove(id_)
            raise
        return len(added)

    def _append(self, id_: str, when: str, form: NormalForm, subscriber: str | None) -> None:
        self._draft.append(id_, when, form, subscriber)
        self._ordinals[id_] = len(self._alive)
        self._alive.append(1)

    def _sweep(self) -> None:
        """Begin a new draft after what is left of the old one."""
        self._older = self.drawn()
        self._draft = Draft()
        self._alive = bytearray(b"\1" * len(self._ordinals))
        self._ordinals = {id_: number for number, id_ in enumerate(self._ordinals)}

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        return len(self._ordinals)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and id_ in self._ordinals

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordinals)

    def text(self, id_: str) -> str:
        """What a subscription says."""
        ordinal, first = self._ordinal(id_), self._first()
        if self._older is not None and ordinal < first:
            return self._older.records.text(ordinal) or ""
        return self._draft.texts[ordinal - first]

    def subscriber(self, id_: str) -> str | None:
        """Whose subscription it is, where that is known."""
        ordinal, first = self._ordinal(id_), self._first()
        if self._older is not None and ordinal < first:
            return self._older.records.subscriber(ordinal)
        return self._draft.subscribers[ordinal - first]

    def _ordinal(self, id_: str) -> int:
        if id_ not in self:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        return self._ordinals[id_]

    def _first(self) -> int:
        """The ordinal of the draft's first subscription."""
        return 0 if self._older is None else len(self._older.records)

    def __repr__(self) -> str:
        return f"<Subscriptions: {len(self):,}>"

    # ------------------------------------------------------------ compiling

    def drawn(self) -> Drawn:
        """What is subscribed to, as arrays."""
        drawn = self._draft.drawn()
        if self._older is not None:
            drawn = Drawn.concatenate([self._older, drawn])
        return drawn.keep(np.frombuffer(bytes(self._alive), np.bool_))

    def compile(
        self, index: str = DEFAULT, *, sample: Events | None = None, progress: Progress | None = None
    ) -> Matcher:
        """Build a matcher; events handed in as `sample` steer how its index is laid out, never what it answers.

        `progress` is told what is being done, step by step.
        """
        if sample is not None:
            check_batch(sample)
        tell = progress or _nobody
        tell("drawing up")
        drawn = self.drawn()
        columns = None
        if sample is not None and len(sample):
            columns = encode(sample[:SAMPLE], drawn.clauses.columns, self.schema).data
        tell("indexing")
        return Matcher.of(Segment.build(drawn, index=index, sample=columns), self.schema)

    def live(self, index: str = DEFAULT, *, sample: Events | None = None) -> LiveMatcher:
        """A matcher that takes changes while it matches, starting from these subscriptions."""
        from vedette.matching.live import LiveMatcher

        return LiveMatcher(self.compile(index, sample=sample), sample=sample)


def _nobody(step: str) -> None:
    """Nobody wants to know how far it is."""


def schema_of(schema: Schema | Mapping[str, Any] | None) -> Schema:
    """A schema as people hand it in; none at all is an open one."""
    if schema is None:
        return Schema({}, closed=False)
    if isinstance(schema, Schema):
        return schema
    if not isinstance(schema, Mapping):
        shown = reprlib.repr(schema) if isinstance(schema, str | os.PathLike) else f"a {type(schema).__name__}"
        raise SchemaError(f"the schema is {shown}, not a Schema or a mapping\nHint: {_schema_hint(schema)}")
    return Schema.of(schema)


def _schema_hint(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        return "read_schema() of vedette.files.schemas reads a schema file"
    if isinstance(given, pa.Schema):
        return "infer_arrow() of vedette.schema.arrow_types makes one of an Arrow schema"
    return 'write e.g. {"price": "float", "tags": "list of string"}'


def taken(id_: str) -> str:
    """What is said of an id that is there already."""
    return f"there is a subscription {id_!r} already\nHint: replace() changes what it says"


def check_texts(id_: object, when: object, subscriber: object) -> None:
    """InputError where one of them is no text that can be written down."""
    for name, value in (("id", id_), ("when", when), ("subscriber", subscriber)):
        if value is None and name == "subscriber":
            continue
        if not isinstance(value, str):
            raise InputError(f"the {name} of a subscription must be a text, not {value!r}")
        if name != "when" and not value.isascii():  # the parser shows where a text is broken
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InputError(f"the {name} of a subscription holds a broken character: {value!a}") from None
    if not id_:
        raise InputError("the id of a subscription must not be empty")


def placed(error: InputError | NotSupported, where: str) -> InputError | NotSupported:
    """The same error, saying which record it is about."""
    return error.of(where) if isinstance(error, FilterError) else type(error)(f"{where}: {error}")


def read_records(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str | None, str]]:
    """Id, text, subscriber and place of those that have not expired; an error says which record is wrong."""
    if isinstance(records, Mapping | str | bytes) or not isinstance(records, Iterable):
        raise InputError(
            f"the records are one {type(records).__name__}, not several mappings\n"
            'Hint: hand in a list, such as [{"id": "s1", "when": "price < 120"}]'
        )
    now = dt.datetime.now(dt.UTC)
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            hint = "record._asdict() is one" if hasattr(record, "_asdict") else 'e.g. {"id": "s1", "when": "price < 1"}'
            raise InputError(f"record {number} is a {type(record).__name__}, not a mapping\nHint: {hint}")
        line = record.get("line")
        place = f"line {line}" if type(line) is int else f"record {number}"
        for name in ("id", "when"):
            if not isinstance(record.get(name), str):
                raise InputError(f"{place}: {name!r} must be a text, not {record.get(name)!r}")
        where = f"{place}, subscription {record['id']!r}"
        if record.get("predict") is not None:
            raise NotSupported(f"{where}: forecasts need a pattern over several events")
        if record.get("dialect") not in (None, "vedette"):
            raise NotSupported(f"{where}: the dialect {record['dialect']!r} is not known")
        if (expires := record.get("expires")) is not None:
            try:
                if read(Kind.TIMESTAMP, expires) <= now:
                    continue
            except ValueError as error:
                raise InputError(f"{where}: 'expires': {error}\nHint: write the time in ISO 8601") from None
        yield record["id"], record["when"], record.get("subscriber"), where
