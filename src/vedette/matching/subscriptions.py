"""The set that people add to: subscriptions by id, checked as they come, compiled when asked for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.language.ast import Composite
from vedette.language.check import check
from vedette.language.normalform import NormalForm
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.matching.clause_builder import ClauseBuilder
from vedette.matching.indexes import DEFAULT
from vedette.matching.matcher import Matcher
from vedette.matching.records import Records
from vedette.matching.segment import Drawn, Segment
from vedette.matching.view import Events
from vedette.schema.encode import encode
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.matching.live import LiveMatcher

Progress: TypeAlias = Callable[[str], None]
_SAMPLE = 4096


def normal_form(when: str, schema: Schema) -> NormalForm:
    """A text as the normal form of a filter over one event."""
    expression = parse(when)
    if isinstance(expression, Composite):
        raise NotSupported("a pattern over several events cannot be matched event by event")
    return normalise(check(expression, schema, when))


class Subscriptions:
    """Subscriptions by id, in the order of addition."""

    def __init__(self, schema: Schema | Mapping[str, Any] | None = None) -> None:
        self.schema = _schema(schema)
        self._clear()

    def _clear(self) -> None:
        self._ordinals: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._subscribers: list[str | None] = []
        self._alive = bytearray()
        self._repeats = bytearray()
        self._owner = array("i")
        self._builder = ClauseBuilder()

    # ------------------------------------------------------------ changes

    def add(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense."""
        if id_ in self._ordinals:
            raise InputError(f"there is a subscription {id_!r} already\nHint: replace() changes what it says")
        self._append(id_, when, normal_form(when, self.schema), subscriber)

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        ordinal = self._ordinals.pop(id_, None)
        if ordinal is None:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        self._alive[ordinal] = 0

    def replace(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Let an id say something else from now on; it comes last in the order of addition."""
        form = normal_form(when, self.schema)
        self.remove(id_)
        self._append(id_, when, form, subscriber)

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records with `id`, `when` and perhaps `subscriber`; returns how many. All of them, or none."""
        before = len(self._ids)
        try:
            for number, record in enumerate(records):
                _check_record(record, number)
                self.add(record["id"], record["when"], subscriber=record.get("subscriber"))
        except BaseException:
            for id_ in self._ids[before:]:
                if id_ in self._ordinals:
                    self.remove(id_)
            raise
        return len(self._ids) - before

    def _append(self, id_: str, when: str, form: NormalForm, subscriber: str | None) -> None:
        ordinal = len(self._ids)
        first = self._builder.size
        repeats = self._builder.add(form)
        self._owner.extend([ordinal] * (self._builder.size - first))
        self._ordinals[id_] = ordinal
        self._ids.append(id_)
        self._texts.append(when)
        self._subscribers.append(subscriber)
        self._alive.append(1)
        self._repeats.append(repeats)

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        return len(self._ordinals)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._ordinals

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordinals)

    def text(self, id_: str) -> str:
        """What a subscription says."""
        return self._texts[self._ordinal(id_)]

    def subscriber(self, id_: str) -> str | None:
        """Whose subscription it is, where that is known."""
        return self._subscribers[self._ordinal(id_)]

    def _ordinal(self, id_: str) -> int:
        try:
            return self._ordinals[id_]
        except KeyError:
            raise UnknownSubscription(f"there is no subscription {id_!r}") from None

    def __repr__(self) -> str:
        return f"<Subscriptions: {len(self):,}>"

    # ------------------------------------------------------------ compiling

    def drawn(self) -> Drawn:
        """What is subscribed to, as arrays."""
        alive = np.frombuffer(bytes(self._alive), np.bool_)
        everything = Drawn(
            self._builder.clauses(),
            np.array(self._owner, np.int32),
            np.frombuffer(bytes(self._repeats), np.bool_),
            Records.of(self._ids, self._texts, self._subscribers),
        )
        return everything.keep(alive)

    def compile(
        self, index: str = DEFAULT, *, sample: Events | None = None, progress: Progress | None = None
    ) -> Matcher:
        """Build a matcher; events handed in as `sample` steer how its index is laid out, never what it answers."""
        said = progress or (lambda step: None)
        said("drawing")
        drawn = self.drawn()
        columns = None
        if sample is not None and len(sample):
            columns = encode(sample[:_SAMPLE], drawn.clauses.columns, self.schema).data
        said("indexing")
        return Matcher.of(Segment.build(drawn, index=index, sample=columns), self.schema)

    def live(self, index: str = DEFAULT, *, sample: Events | None = None) -> LiveMatcher:
        """A matcher that takes changes while it matches, starting from these subscriptions."""
        from vedette.matching.live import LiveMatcher

        return LiveMatcher(self.compile(index, sample=sample))


def _schema(schema: Schema | Mapping[str, Any] | None) -> Schema:
    if schema is None:
        return Schema({}, closed=False)
    return schema if isinstance(schema, Schema) else Schema.of(schema)


def _check_record(record: Mapping[str, Any], number: int) -> None:
    for name in ("id", "when"):
        if not isinstance(record.get(name), str):
            raise InputError(f"record {number}: {name!r} must be a text, not {record.get(name)!r}")
    for name, why in _LATER.items():
        if record.get(name) is not None:
            raise NotSupported(f"record {number}, subscription {record['id']!r}: {why}")
    if record.get("dialect") not in (None, "vedette"):
        raise NotSupported(f"record {number}, subscription {record['id']!r}: unknown dialect {record['dialect']!r}")


_LATER = {"predict": "forecasts need a pattern over several events, which this matcher does not take"}
