"""A set of subscriptions of any kind by id, checked when they are added, from which an engine is compiled."""

from __future__ import annotations

import itertools
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.dialects.rule_results import Rule
from vedette.errors import InputError, NotSupported, SchemaError, UnknownSubscription
from vedette.filters.index import DEFAULT
from vedette.filters.matcher import Matcher
from vedette.filters.origins import NO_ORIGIN, Origin
from vedette.filters.segment import DraftEntry, Segment, SegmentContent, SegmentDraft
from vedette.filters.subscription_input import check_texts, id_exists_message, located_error, read_records, text_of
from vedette.filters.subscription_records import (
    EVENTS,
    NEEDS_PATTERN,
    OperatorRecord,
    PatternRecord,
    Predict,
    WantRecord,
    WantTarget,
    check_to,
)
from vedette.filters.subscription_view import Events
from vedette.filters.synthetic_sample import SAMPLE
from vedette.filters.templates import HasOperators, IsPattern, Templates
from vedette.language.check import check
from vedette.language.parser import parse_filter
from vedette.schema.encode import check_batch, encode
from vedette.schema.schema import Schema

Progress: TypeAlias = Callable[[str], None]
SubscriptionKind: TypeAlias = Literal["filter", "operators", "pattern", "want"]
OF_OFFERS: Final[frozenset[SubscriptionKind]] = frozenset({"want"})  # kinds that offers meet; events match all others
_TIDY = 10_000  # removed subscriptions that are kept before the draft is rebuilt
_BESIDE: Final = -1  # the ordinal of subscriptions that are not plain filters, which no index holds

SpecialRecord: TypeAlias = PatternRecord | OperatorRecord | WantRecord


class SubscriptionSet:
    """Subscriptions by id, in the order of addition: filters over one event, patterns over several, wants of offers."""

    def __init__(self, schema: Schema | Mapping[str, Any] | None = None) -> None:
        self.schema = schema_of(schema)
        self._older: SegmentContent | None = None  # the content of former drafts
        self._templates = Templates(self.schema)
        self._draft = SegmentDraft()
        self._ordinals: dict[str, int] = {}
        self._alive = bytearray()
        self._patterns: dict[str, PatternRecord] = {}
        self._with_operators: dict[str, OperatorRecord] = {}
        self._wants: dict[str, WantRecord] = {}

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
        to: WantTarget = EVENTS,
    ) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense.

        For a pattern, `predict` asks for forecasts: `{"within": 10, "threshold": 0.8, "features": ["temp > 25"]}`.
        A rule of another `dialect` is translated (`text` gives the translation). `origin` has facts that notifications
        carry: title, level, author. A subscription `to` offers is a constraint that meets offers, which
        are constraints themselves.
        """
        text, source = text_of(when, dialect, origin)
        self.take(id_, text, subscriber=subscriber, predict=predict, source=source, to=to)

    def take(
        self,
        id_: str,
        when: str,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        source: Origin | None = None,
        to: WantTarget = EVENTS,
    ) -> None:
        """Add a subscription that is already translated; `source` is the original rule."""
        check_texts(id_, when, subscriber)
        if id_ in self._ordinals:
            raise InputError(id_exists_message(id_))
        self._append(self._read(id_, when, subscriber, predict, source, to))

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        ordinal = self._ordinal(id_)
        del self._ordinals[id_]
        if ordinal == _BESIDE:
            for some in (self._patterns, self._with_operators, self._wants):
                some.pop(id_, None)
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
        to: WantTarget = EVENTS,
    ) -> None:
        """Replace the text of a subscription; it then comes last in the order of addition."""
        text, source = text_of(when, dialect, origin)
        check_texts(id_, text, subscriber)
        made = self._read(id_, text, subscriber, predict, source, to)
        self.remove(id_)
        self._append(made)

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records (`id`, `when`, optional `subscriber`, `expires`, `predict`), all or none; returns how many.

        Expired records are left out. An error names the record, by its `line` if it has one. Records may also
        have `to`, `dialect` and `origin`; in other dialects, their `title`, `level`, `author`, `tags`
        belong to the origin.
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
                        to=one.to,
                    )
                except (InputError, NotSupported) as error:
                    raise located_error(error, one.where) from None
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
        to: WantTarget,
    ) -> SpecialRecord | DraftEntry:
        """Read a text into a record or an entry for the draft."""
        asked = None if predict is None else Predict.of(predict)
        if to != EVENTS:
            check_to(to)
            if asked is not None:
                raise NotSupported(NEEDS_PATTERN)
            self._check_want(when)
            return WantRecord(id_, when, subscriber, origin)
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
        return DraftEntry(id_, when, form, subscriber, origin)

    def _check_want(self, when: str) -> None:
        """FilterError if a text cannot meet offers."""
        check(parse_filter(when), self.schema, when)

    def _append(self, made: SpecialRecord | DraftEntry) -> None:
        if not isinstance(made, DraftEntry):
            self._keep(made)
            self._ordinals[made.id] = _BESIDE
            return
        self._draft.append(*made)
        self._ordinals[made.id] = len(self._alive)
        self._alive.append(1)

    def _keep(self, made: SpecialRecord) -> None:
        if isinstance(made, PatternRecord):
            self._patterns[made.id] = made
        elif isinstance(made, OperatorRecord):
            self._with_operators[made.id] = made
        else:
            self._wants[made.id] = made

    def _sweep(self) -> None:
        """Begin a new draft, and keep the live subscriptions of the old one as arrays."""
        self._older = self.drawn()
        self._draft = SegmentDraft()
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
        """The patterns, by id."""
        return MappingProxyType(self._patterns)

    @property
    def with_operators(self) -> Mapping[str, OperatorRecord]:
        """The filters that call operators, by id."""
        return MappingProxyType(self._with_operators)

    @property
    def wants(self) -> Mapping[str, WantRecord]:
        """The wants, by id."""
        return MappingProxyType(self._wants)

    def copy_beside(self) -> Self:
        """A new set with the subscriptions that are not plain filters."""
        made = type(self)(self.schema)
        made.take_beside(self)
        return made

    def take_beside(self, other: SubscriptionSet, which: Callable[[SpecialRecord], bool] = lambda each: True) -> None:
        """Add another set's subscriptions that are not plain filters, if `which` accepts them; ids must be free."""
        for id_, ordinal in other._ordinals.items():
            if ordinal < 0 and which(one := other._beside(id_)):
                self._append(one)

    def is_plain(self) -> NDArray[np.bool_]:
        """Which subscriptions, in the order of addition, are filters that an index decides."""
        return np.fromiter(self._ordinals.values(), np.int64, len(self._ordinals)) >= 0

    def kind_of(self, id_: str) -> SubscriptionKind:
        """The kind of a subscription, for display; matching does not depend on it."""
        if self._ordinal(id_) >= 0:
            return "filter"
        return "pattern" if id_ in self._patterns else "operators" if id_ in self._with_operators else "want"

    def has_state(self, id_: str) -> bool:
        """Whether a subscription has state, because it is about several events."""
        return self._ordinal(id_) < 0 and id_ in self._patterns

    def calls_operators(self, id_: str) -> bool:
        """Whether a filter, or some step or feature of a pattern, calls operators."""
        if self._ordinal(id_) >= 0:
            return False
        record = self._patterns.get(id_)
        return id_ in self._with_operators if record is None else record.calls_operators(self.schema)

    def text(self, id_: str) -> str:
        """The text of a subscription."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).text
        if self._older is not None and ordinal < first:
            return self._older.records.text(ordinal) or ""
        return self._draft.texts[ordinal - first]

    def subscriber(self, id_: str) -> str | None:
        """The subscriber of a subscription, if known."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).subscriber
        if self._older is not None and ordinal < first:
            return self._older.records.subscriber(ordinal)
        return self._draft.subscribers[ordinal - first]

    def origin(self, id_: str) -> dict[str, Any]:
        """The facts that a subscription's notifications carry: title, level, author; empty if there are none."""
        return self.origin_of(id_).told

    def origin_of(self, id_: str) -> Origin:
        """The origin of a subscription: these facts, the dialect it was written in, and the rule as it was written."""
        ordinal, first = self._ordinal(id_), self._first()
        if ordinal < 0:
            return self._beside(id_).origin or NO_ORIGIN
        if self._older is not None and ordinal < first:
            return self._older.records.origin(ordinal)
        return self._draft.origins.get(ordinal - first, NO_ORIGIN)

    def told(self) -> dict[str, str]:
        """Id -> the facts that its notifications carry, as JSON; only subscriptions that have some."""
        first, older = self._first(), {} if self._older is None else self._older.records.told()
        found = {id_: facts for id_, facts in older.items() if 0 <= self._ordinals.get(id_, -1) < first}
        for number, origin in self._draft.origins.items():
            id_ = self._draft.ids[number]
            if origin.facts is not None and self._ordinals.get(id_) == first + number:
                found[id_] = origin.facts
        for id_ in (*self._patterns, *self._with_operators, *self._wants):
            facts = (self._beside(id_).origin or NO_ORIGIN).facts
            if facts is not None:
                found[id_] = facts
        return found

    def _beside(self, id_: str) -> SpecialRecord:
        """The record of a subscription that no index holds."""
        return self._patterns.get(id_) or self._with_operators.get(id_) or self._wants[id_]

    def _ordinal(self, id_: str) -> int:
        if id_ not in self:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        return self._ordinals[id_]

    def _first(self) -> int:
        """The ordinal of the draft's first subscription."""
        return 0 if self._older is None else len(self._older.records)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,}>"

    # ------------------------------------------------------------ compiling

    def drawn(self) -> SegmentContent:
        """The plain filters of the set, as arrays."""
        drawn = self._draft.drawn()
        if self._older is not None:
            drawn = SegmentContent.concatenate([self._older, drawn])
        return drawn.keep(np.frombuffer(bytes(self._alive), np.bool_))

    def compile_filters(
        self, index: str = DEFAULT, *, sample: Events | None = None, progress: Progress | None = None
    ) -> Matcher:
        """Compile the plain filters of the set; patterns and filters that call operators are compiled elsewhere.

        Events passed as `sample` steer the layout of the index, never its answers; `progress` is called with a
        description of each step.
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


def _nobody(step: str) -> None:
    """Ignore progress."""


def schema_of(schema: Schema | Mapping[str, Any] | None) -> Schema:
    """The schema that a user passed in; None gives an open one."""
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
        return "read_schema() of vedette.io.schemas reads a schema file"
    if isinstance(given, pa.Schema):
        return "infer_arrow() of vedette.schema.arrow_types makes one of an Arrow schema"
    return 'write e.g. {"price": "float", "tags": "list of string"}'
