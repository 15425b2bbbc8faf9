"""The set that people add to: subscriptions by id, checked as they come, compiled when asked for."""

from __future__ import annotations

import itertools
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from vedette.dialects.rules import Rule
from vedette.errors import InputError, NotSupported, SchemaError, UnknownSubscription
from vedette.language.check import check
from vedette.matching.draft import Draft, Entry
from vedette.matching.given import check_texts, placed, read_records, taken, text_of
from vedette.matching.indexes import DEFAULT
from vedette.matching.made_up import SAMPLE
from vedette.matching.matcher import Matcher
from vedette.matching.operator_records import OperatorRecord
from vedette.matching.origins import NO_ORIGIN, Origin
from vedette.matching.patterns import NEEDS_PATTERN, PatternRecord, Predict
from vedette.matching.segment import Drawn, Segment
from vedette.matching.templates import HasOperators, IsPattern, Templates
from vedette.matching.view import Events
from vedette.schema.encode import check_batch, encode
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.matching.live import LiveMatcher

Progress: TypeAlias = Callable[[str], None]
_TIDY = 10_000  # removed subscriptions that are kept before they are swept out
_PATTERN, _OPERATORS = -1, -2  # the ordinals of a pattern and of a filter with operators, which no index holds

_Made: TypeAlias = PatternRecord | OperatorRecord | Entry


class Subscriptions:
    """Subscriptions by id, in the order of addition: filters over one event, and patterns over several."""

    def __init__(self, schema: Schema | Mapping[str, Any] | None = None) -> None:
        self.schema = schema_of(schema)
        self._older: Drawn | None = None  # what was drawn when the draft was last begun anew
        self._templates = Templates(self.schema)
        self._draft = Draft()
        self._ordinals: dict[str, int] = {}
        self._alive = bytearray()
        self._patterns: dict[str, PatternRecord] = {}
        self._with_operators: dict[str, OperatorRecord] = {}

    # ------------------------------------------------------------ changes

    def add(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense.

        Of a pattern, `predict` asks for forecasts: `{"within": 10, "threshold": 0.8, "features": ["temp > 25"]}`.
        A rule of another `dialect` is translated (`text` gives what became of it). `origin` is what notifications say
        of where it comes from: title, level, author.
        """
        text, source = text_of(when, dialect, origin)
        self.take(id_, text, subscriber=subscriber, predict=predict, source=source)

    def take(
        self,
        id_: str,
        when: str,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        source: Origin | None = None,
    ) -> None:
        """Add one that is translated already: `source` is what it was."""
        check_texts(id_, when, subscriber)
        if id_ in self._ordinals:
            raise InputError(taken(id_))
        self._append(self._read(id_, when, subscriber, predict, source))

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        ordinal = self._ordinal(id_)
        del self._ordinals[id_]
        if ordinal == _PATTERN:
            del self._patterns[id_]
            return
        if ordinal == _OPERATORS:
            del self._with_operators[id_]
            return
        self._alive[ordinal] = 0
        if len(self._alive) > _TIDY + 2 * len(self._ordinals):
            self._sweep()

    def replace(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        """Let an id say something else from now on; it comes last in the order of addition."""
        text, source = text_of(when, dialect, origin)
        check_texts(id_, text, subscriber)
        made = self._read(id_, text, subscriber, predict, source)
        self.remove(id_)
        self._append(made)

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records with `id`, `when`, perhaps `subscriber`, `expires` and `predict`; returns how many. All, or none.

        Those that have expired are left out. An error names the record, by its `line` if it has one. Records may also
        have a `dialect` and an `origin`; of other dialects their `title`, `level`, `author`, `tags` belong to it.
        """
        added: list[str] = []
        try:
            for one in read_records(records):
                try:
                    self.add(
                        one.id,
                        one.when,
                        subscriber=one.subscriber,
                        predict=one.predict,
                        dialect=one.dialect,
                        origin=one.origin,
                    )
                except (InputError, NotSupported) as error:
                    raise placed(error, one.where) from None
                added.append(one.id)
        except BaseException:
            for id_ in added:
                self.remove(id_)
            raise
        return len(added)

    def _read(
        self,
        id_: str,
        when: str,
        subscriber: str | None,
        predict: Predict | Mapping[str, Any] | None,
        origin: Origin | None,
    ) -> _Made:
        """What a text says, ready to be kept."""
        asked = None if predict is None else Predict.of(predict)
        form = None
        try:
            form = self._templates.normal_form(when)
        except HasOperators:
            pass
        except IsPattern as found:
            check(found.composite, self.schema, when)
            if asked is not None:
                asked.check(self.schema)
            return PatternRecord(id_, when, subscriber, asked, origin)
        if asked is not None:
            raise NotSupported(NEEDS_PATTERN)
        if form is None:
            return OperatorRecord(id_, when, subscriber, origin)
        return Entry(id_, when, form, subscriber, origin)

    def _append(self, made: _Made) -> None:
        if isinstance(made, PatternRecord):
            self._patterns[made.id] = made
            self._ordinals[made.id] = _PATTERN
            return
        if isinstance(made, OperatorRecord):
            self._with_operators[made.id] = made
            self._ordinals[made.id] = _OPERATORS
            return
        self._draft.append(*made)
        self._ordinals[made.id] = len(self._alive)
        self._alive.append(1)

    def _sweep(self) -> None:
        """Begin a new draft after what is left of the old one."""
        self._older = self.drawn()
        self._draft = Draft()
        self._alive = bytearray(b"\1" * sum(ordinal >= 0 for ordinal in self._ordinals.values()))
        numbers = itertools.count()
        self._ordinals = {id_: ordinal if ordinal < 0 else next(numbers) for id_, ordinal in self._ordinals.items()}

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        return len(self._ordinals)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and id_ in self._ordinals

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordinals)

    @property
    def patterns(self) -> Mapping[str, PatternRecord]:
        """Those of them that are patterns, by id."""
        return MappingProxyType(self._patterns)

    @property
    def with_operators(self) -> Mapping[str, OperatorRecord]:
        """Those of them whose filters call operators, by id."""
        return MappingProxyType(self._with_operators)

    def text(self, id_: str) -> str:
        """What a subscription says."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).text
        if self._older is not None and ordinal < first:
            return self._older.records.text(ordinal) or ""
        return self._draft.texts[ordinal - first]

    def subscriber(self, id_: str) -> str | None:
        """Whose subscription it is, where that is known."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).subscriber
        if self._older is not None and ordinal < first:
            return self._older.records.subscriber(ordinal)
        return self._draft.subscribers[ordinal - first]

    def origin(self, id_: str) -> dict[str, Any]:
        """What notifications say of where a subscription comes from: title, level, author; empty if that is nothing."""
        return self.origin_of(id_).told

    def origin_of(self, id_: str) -> Origin:
        """The same with the dialect it was written in, and the rule as it was written."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).origin or NO_ORIGIN
        if self._older is not None and ordinal < first:
            return self._older.records.origin(ordinal)
        return self._draft.origins.get(ordinal - first, NO_ORIGIN)

    def told(self) -> dict[str, str]:
        """Id -> what notifications say of its origin, as JSON; only those of which there is something to say."""
        first, older = self._first(), {} if self._older is None else self._older.records.told()
        found = {id_: facts for id_, facts in older.items() if 0 <= self._ordinals.get(id_, -1) < first}
        for number, origin in self._draft.origins.items():
            id_ = self._draft.ids[number]
            if origin.facts is not None and self._ordinals.get(id_) == first + number:
                found[id_] = origin.facts
        for id_ in (*self._patterns, *self._with_operators):
            facts = (self._beside(id_).origin or NO_ORIGIN).facts
            if facts is not None:
                found[id_] = facts
        return found

    def _beside(self, id_: str) -> PatternRecord | OperatorRecord:
        """One that no index holds."""
        return self._patterns[id_] if id_ in self._patterns else self._with_operators[id_]

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
        """The filters that are subscribed to, as arrays."""
        drawn = self._draft.drawn()
        if self._older is not None:
            drawn = Drawn.concatenate([self._older, drawn])
        return drawn.keep(np.frombuffer(bytes(self._alive), np.bool_))

    def compile(
        self,
        index: str = DEFAULT,
        *,
        sample: Events | None = None,
        progress: Progress | None = None,
        filters_only: bool = False,
    ) -> Matcher:
        """Build a matcher; events handed in as `sample` steer how its index is laid out, never what it answers.

        `progress` is told what is being done, step by step. A matcher sees one event at a time and calls nobody:
        NotSupported if there are patterns or filters with operators, unless they are to be left out: `filters_only`.
        """
        if self._with_operators and not filters_only:
            first, more = next(iter(self._with_operators)), len(self._with_operators) - 1
            call = f"and {more:,} more call operators" if more else "calls operators"
            raise NotSupported(
                f"{first!r} {call}, which a matcher of plain filters does not have\n"
                "Hint: OperatorMatcher(subscriptions, operators) matches both; filters_only=True leaves them out"
            )
        if self._patterns and not filters_only:
            first, more = next(iter(self._patterns)), len(self._patterns) - 1
            are = f"and {more:,} more are patterns" if more else "is a pattern"
            raise NotSupported(
                f"{first!r} {are} over several events, and a matcher sees one at a time\n"
                "Hint: StreamMatcher matches filters and patterns over a stream; filters_only=True leaves patterns out"
            )
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
