"""Match patterns over a stream of events in this process: the step function with order, duplicates and state."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError, UnknownSubscription
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.filters.subscription_set import schema_of
from vedette.filters.subscription_view import Events
from vedette.operators.calling import Calling
from vedette.operators.event_sources import EventSource
from vedette.operators.matcher import OperatorMatcher
from vedette.patterns.completion_odds import PatternExpectations, promises
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.event_order import EventSorter, SeenIds
from vedette.patterns.graph import Graph
from vedette.patterns.kernels import runs
from vedette.patterns.machines import GroupKey, MachineDraft, PatternNumbering, draft, graph_of
from vedette.patterns.outputs import Observations, PatternMatches, joined_matches, joined_observations
from vedette.patterns.packing import packed, unpacked
from vedette.patterns.pattern_reader import PatternReader
from vedette.patterns.pattern_step import CAP, SingleEventStepper, step, witnesses_of
from vedette.patterns.shape import Marking
from vedette.patterns.shares import Share
from vedette.patterns.single_event_reader import NeedsBatchReader
from vedette.patterns.state_migration import GraphRenumbering, carried, partial_matches, restored, together, written
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema

_KIND: Final = "stream of events"
_HAPPENED: Final = "what happened to patterns"
_NONE: Final = np.zeros(0, np.int64)


class _Alias:
    """A marker for "as in the original"."""


_SAME: Final = _Alias()


@dataclass(frozen=True, slots=True)
class PatternOutcome:
    """The outcome of some events. `late` are the numbers of those that came too late."""

    matches: PatternMatches
    observations: Observations
    late: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """A partial match: its pattern, the events and their positions, its start, and its deadline."""

    pattern: int
    witness: list[tuple[int, int]]
    start: int  # microseconds
    deadline: int | None


@dataclass(slots=True)
class PatternCounts:
    """Counts of ignored events, and of partial matches given up."""

    late: int = 0
    duplicates: int = 0
    shed: int = 0


class PatternMatcher:
    """Patterns and their partial matches in a stream of events.

    Events are numbered as they arrive, from 0. They are processed by time: within `lateness` microseconds they may
    come in any order (None: all of them are held back until `finish`). At most `cap` partial matches are kept in a
    partition: beyond it the least promising are given up, and counted. These are the least probable, if a model says
    what to `expect`, else those that have come least far. Of partial matches of equal worth, the order of the
    `filters` of steps decides which stays: by default that in which the patterns have them. A matcher that never
    `reads` follows events that others have read, and needs no operators.
    """

    def __init__(
        self,
        patterns: Iterable[PatternRecord] = (),
        schema: Schema | None = None,
        *,
        lateness: int | None = 0,
        cap: int = CAP,
        merge: bool = True,
        calling: Calling | None = None,
        filters: Iterable[str] = (),
        reads: bool = True,
    ) -> None:
        self.schema = schema_of(schema)
        self.cap = _checked_cap(cap)
        self.counts = PatternCounts()
        self.share: Share | None = None  # of the partitions, where others follow the rest
        self._merge = merge
        self._calling = (calling or Calling()) if reads else None
        self._numbers = PatternNumbering.of(filters, (), ())
        self._drafts: dict[str, MachineDraft] = {}
        self._uids = 0
        self._arrived = 0
        self._latest: int | None = None  # the greatest time so far
        self._timed = False
        self._sorter = EventSorter(lateness)
        self._ids = SeenIds()
        self._expected: dict[int, PatternExpectations] = {}
        for record in patterns:
            self._draft(record)
        self._built()
        self._state = runs.empty(self._graph.registers, self._graph.variables)

    def again(self, *, lateness: int | _Alias | None = _SAME, cap: int | None = None) -> PatternMatcher:
        """The same patterns, not parsed again, in their initial state.

        Another thread may use it. Lateness and cap may differ.
        """
        made = self._apart()
        wait = self._sorter.lateness if isinstance(lateness, _Alias) else lateness
        made.counts, made._ids, made._sorter = PatternCounts(), SeenIds(), EventSorter(wait)
        made._arrived, made._latest, made._timed = 0, None, False
        made._state = runs.empty(self._graph.registers, self._graph.variables)
        made.cap = self.cap if cap is None else _checked_cap(cap)
        return made

    def copy(self) -> PatternMatcher:
        """An independent copy."""
        made = self._apart()
        made.counts, made._ids, made._sorter = replace(self.counts), self._ids.copy(), self._sorter.copy()
        made._state = runs.RunState(*(array.copy() for array in self._state))
        return made

    def shared(self, share: Share) -> PatternMatcher:
        """The part of the state that belongs to a share, as an independent matcher."""
        made = self.copy()
        made.share = share
        made._drafts = {id_: each for id_, each in self._drafts.items() if share.follows(each)}
        made._built()
        made._expected = {uid: one for uid, one in self._expected.items() if uid in made._by_uid}
        for uid in made._expected:
            made._promise(uid)
        made._state = carried(self._state, self._graph, self._places, made._graph, made._places, share=share)
        if not share.is_first:
            made.counts, made._state.counters[runs.SHED] = PatternCounts(), 0
        return made

    def put_together(self, shares: Sequence[PatternMatcher]) -> None:
        """Merge the states of all shares of these patterns; the first share comes first."""
        first = shares[0]
        self._state = together([(one._state, one._graph, one._places) for one in shares], self._graph, self._places)
        self._sorter, self._ids = first._sorter.copy(), first._ids.copy()
        self.counts = replace(first.counts, shed=int(self._state.counters[runs.SHED]))
        self._arrived, self._latest, self._timed = first._arrived, first._latest, any(one._timed for one in shares)

    def _apart(self) -> PatternMatcher:
        """A copy with a graph of its own, which learns states as they are reached."""
        made = copy.copy(self)
        made._graph = self._graph.copy()
        made._expected = dict(self._expected)
        made._alone = made._one_at_a_time()
        return made

    # ------------------------------------------------------------ patterns

    def _draft(self, record: PatternRecord) -> None:
        if record.id in self._drafts:
            raise InputError(f"there is a pattern {record.id!r} already")
        self._drafts[record.id] = draft(record, self._uids, self.schema, self._numbers)
        self._uids += 1

    def _built(self) -> None:
        self._graph, self._places = graph_of(self._drafts.values(), self._numbers, merge=self._merge)
        self._by_uid = {each.uid: each for each in self._drafts.values()}
        self._reader = PatternReader(self._numbers, self.schema, self._calling)
        self._alone = self._one_at_a_time()
        self._asking = next((each.record.id for each in self._drafts.values() if each.speaks_of_time), None)

    def _one_at_a_time(self) -> SingleEventStepper:
        return SingleEventStepper(self._graph, len(self._numbers.keys), len(self._numbers.columns))

    def add(self, record: PatternRecord) -> None:
        """Add a pattern: only later events count for it."""
        self.change(new=[record])

    def remove(self, id_: str) -> None:
        """Remove a pattern and its partial matches; UnknownSubscription if there is none."""
        self.change(gone=[id_])

    def change(self, *, gone: Iterable[str] = (), new: Iterable[PatternRecord] = ()) -> None:
        """Remove some patterns and add others, all or none; the others keep their state."""
        before, numbers = self._drafts, self._numbers
        self._drafts, self._numbers = dict(before), numbers.copy()  # others may have them
        try:
            for id_ in gone:
                if self._drafts.pop(id_, None) is None:
                    raise UnknownSubscription(f"there is no pattern {id_!r}")
            for record in new:
                self._draft(record)
        except BaseException:
            self._drafts, self._numbers = before, numbers
            raise
        old, places = self._graph, self._places
        self._built()
        self._expected = {uid: one for uid, one in self._expected.items() if uid in self._by_uid}
        for uid in self._expected:
            self._promise(uid)
        self._state = carried(self._state, old, places, self._graph, self._places)
        if self._sorter.held:
            stayed = [each for id_, each in before.items() if self._drafts.get(id_) is each]
            self._renumber(_renumbering(self._numbers, self._numbers, _filters(stayed)))

    def _renumber(self, numbers: tuple[list[int], list[int], list[int]]) -> None:
        """Renumber the events held back, which count only for patterns that were there when they came."""
        primitives, columns, keys = numbers
        counts = (len(self._numbers.keys), len(self._numbers.columns))
        self._sorter.renumbered(lambda batch: batch.renumbered(primitives, keys, columns, counts))

    def expect(self, expected: Mapping[int, PatternExpectations]) -> None:
        """Set a model's expectations, by the numbers of patterns: they decide what is dropped beyond the cap."""
        for uid, one in expected.items():
            if self._expected.get(uid) is not one:
                self._expected[uid] = one
                self._promise(uid)

    def _promise(self, uid: int) -> None:
        machine = self._graph.machines[uid]
        self._graph.promise(machine.group, promises(machine, self._by_uid[uid].symbols, self._expected[uid]))

    @property
    def patterns(self) -> dict[int, PatternRecord]:
        """The patterns by their numbers in outcomes."""
        return {uid: each.record for uid, each in self._by_uid.items()}

    def names(self, pattern: int) -> list[str]:
        """The names of a pattern's positions."""
        return self._by_uid[pattern].shape.names

    def drafts(self) -> dict[int, MachineDraft]:
        """The drafts of the patterns, by their numbers."""
        return dict(self._by_uid)

    @property
    def filters(self) -> list[str]:
        """The filters of steps and features, in the order of their numbers."""
        return self._numbers.texts()

    @property
    def operators(self) -> OperatorMatcher | None:
        """The matcher of steps and features with operators: their attributes, counts and failures; None without any."""
        return self._reader.operators

    @property
    def graph(self) -> Graph:
        """The graph of their machines."""
        return self._graph

    @property
    def places(self) -> list[GroupKey]:
        """The partitionings of the graph's groups."""
        return self._places

    @property
    def state(self) -> runs.RunState:
        """The partial matches."""
        return self._state

    def standing(self, pattern: int) -> Counter[Marking]:
        """The markings of a pattern's partial matches, without those known to have expired, with their numbers."""
        living = self._living()
        found: Counter[Marking] = Counter()
        counts = np.bincount(living[:, runs.R_STATE])  # of several patterns; there may be very many
        for state in np.flatnonzero(counts).tolist():
            count = int(counts[state])
            for marking in (marking for uid, marking in self._graph.items[state] if uid == pattern):
                found[marking] += count
        return found

    def _living(self) -> NDArray[np.int64]:
        """The partial matches that can still continue."""
        now = runs.UNSET if self._latest is None else self._latest
        all_: NDArray[np.int64] = self._state.runs[: self._state.counters[runs.RUNS]]
        living: NDArray[np.int64] = all_[(all_[:, runs.R_ALIVE] != 0) & (all_[:, runs.R_DEADLINE] >= now)]
        return living

    def unfinished(self) -> Iterator[PartialMatch]:
        """The partial matches of all patterns, without those known to have expired."""
        living = self._living()
        found = witnesses_of(self._state, living[:, runs.R_NODE])
        for row, one in enumerate(living.tolist()):
            deadline = None if one[runs.R_DEADLINE] == runs.FOREVER else one[runs.R_DEADLINE]
            for uid, _ in self._graph.items[one[runs.R_STATE]]:
                if uid in self._by_uid:  # parts are observed, and not reported
                    yield PartialMatch(uid, found.of(row), one[runs.R_START], deadline)

    # ------------------------------------------------------------ events

    def process(
        self,
        events: Events,
        *,
        ids: Sequence[object] | None = None,
        rejects: list[Reject] | None = None,
        source: EventSource | None = None,
        refused: Collection[int] = (),
        clock: int | None = None,
    ) -> PatternOutcome:
        """Process events. With `ids`, an event whose id was there before is ignored.

        If others evaluate operators for the same events, all share one `source` of results. Events that others have
        `refused`, by their rows, do not count. An event without a time gets that of the one before it, or the `clock`,
        if that is later.
        Events that break the schema are an error, or, with a list as `rejects`, are put there and ignored.
        """
        if ids is not None and len(ids) != len(events):
            raise InputError(f"there are {len(ids)} ids for {len(events)} events")
        if len(events) == 1 and isinstance(events, list) and not refused and clock is None:
            with contextlib.suppress(NeedsBatchReader):
                return self._process_one(events[0], None if ids is None else ids[0])
        first = self._arrived
        latest = self._latest if clock is None else max(clock, clock if self._latest is None else self._latest)
        batch, timed = self._reader.read(events, first, latest, rejects, ids, source, refused)
        if clock is not None:
            timed = np.ones(batch.size, np.bool_)
        self._arrived += len(events)
        return self.follow(
            batch, timed, None if ids is None else [ids[number - first] for number in batch.number.tolist()]
        )

    def pass_by(self, upto: int) -> None:
        """Skip event numbers up to this one: those events came while there was no pattern."""
        self._arrived = max(self._arrived, upto)

    def _process_one(self, event: Mapping[str, Any], id_: object) -> PatternOutcome:
        """Process a single event, in a tenth of the time of a batch of one; or raise NeedsBatchReader, unchanged."""
        if not self._sorter.at_once or not (self.share is None or self.share.is_first):
            raise NeedsBatchReader
        one = self._reader.read_one(event)
        if one.time is None and not self._timed and self._asking is not None:
            raise NeedsBatchReader  # a pattern needs times, and there are none
        number, time = self._arrived, one.time
        self._arrived += 1
        if time is None:
            time = self._latest or 0
        else:
            self._timed = True
            self._latest = time if self._latest is None else max(self._latest, time)
        if id_ is not None and not self._ids.fresh([id_])[0]:
            self.counts.duplicates += 1
            return self._nothing(_NONE)
        if not self._sorter.put_one(time):
            self.counts.late += 1
            return self._nothing(np.array([number], np.int64))
        self._state, outputs = self._alone.step(self._state, number, time, one, self.cap)
        self.counts.shed = int(self._state.counters[runs.SHED])
        return PatternOutcome(outputs.matches, outputs.observations, _NONE)

    def _nothing(self, late: NDArray[np.int64]) -> PatternOutcome:
        return PatternOutcome(joined_matches([], self._graph.variables), joined_observations([]), late)

    def read(
        self,
        events: Events,
        *,
        rejects: list[Reject] | None = None,
        source: EventSource | None = None,
        latest: int | None = None,
        refused: Collection[int] = (),
    ) -> tuple[PatternBatch, NDArray[np.bool_]]:
        """Read events, numbered from 0, and find which of them have a time, without processing them.

        Any matcher of the same patterns can `follow` the result. `latest` is the greatest time before; events that
        others have `refused` are left out.
        """
        return self._reader.read(events, 0, latest, rejects, None, source, refused)

    def follow(
        self, batch: PatternBatch, timed: NDArray[np.bool_], ids: Sequence[object] | None = None
    ) -> PatternOutcome:
        """Process events that have been read already; their numbers are greater than all before."""
        self._check_times(batch, timed)
        if batch.size:
            self._arrived = max(self._arrived, int(batch.number[-1]) + 1)
        if timed.any():
            seen = int(batch.time[timed].max())
            self._latest = seen if self._latest is None else max(self._latest, seen)
        if ids is not None:
            fresh = self._ids.fresh(ids)
            self.counts.duplicates += int((~fresh).sum())
            if not fresh.all():
                batch = batch.take(np.flatnonzero(fresh))
        ready, late = self._sorter.put(batch)
        self.counts.late += len(late)
        return self._stepped(ready, late)

    def advance(self, moment: int) -> PatternOutcome:
        """Process the events held back up to a moment: nothing earlier will come."""
        return self._stepped(self._sorter.release(moment), _NONE)

    def advance_to(self, moment: int) -> PatternOutcome:
        """Advance the time: events held back until then are processed; earlier ones that still come are late."""
        if self._latest is None or self._latest < moment:
            self._latest = moment
        return self._stepped(self._sorter.advance(moment), _NONE)

    @property
    def held(self) -> EventSorter:
        """The events held back."""
        return self._sorter

    def finish(self) -> PatternOutcome:
        """Process all events held back."""
        return self._stepped(self._sorter.finish(), np.zeros(0, np.int64))

    def _stepped(self, batch: PatternBatch, late: NDArray[np.int64]) -> PatternOutcome:
        batch = _widened(batch, len(self._numbers.keys), len(self._numbers.columns))
        if self.share is not None:
            batch = replace(batch, keyed=batch.keyed & self.share.owns(batch.key))
        self._state, outputs = step(self._graph, self._state, batch, cap=self.cap, in_place=True)
        self.counts.shed = int(self._state.counters[runs.SHED])
        return PatternOutcome(outputs.matches, outputs.observations, late)

    def _check_times(self, batch: PatternBatch, timed: NDArray[np.bool_]) -> None:
        if self._timed or not batch.size:
            return
        self._timed = bool(timed.any())
        if self._asking is not None and not self._timed:
            raise InputError(
                f"subscription {self._asking!r} speaks of time, and the events have none\n"
                "Hint: give events an attribute `time`, such as '2024-05-01T12:30:00Z' or seconds since 1970"
            )

    def remembered(self) -> NDArray[np.int64]:
        """The numbers of the events that a witness may still name."""
        taken = self._state.nodes[: self._state.counters[runs.NODES], runs.N_EVENT]
        return np.unique(np.concatenate([taken, self._sorter.numbers()]))

    # ------------------------------------------------------------ state as bytes

    def to_bytes(self) -> bytes:
        """The whole state with its patterns, as bytes for `from_bytes`."""
        arrays, happened = self._happened()
        facts = {
            "patterns": [{"uid": each.uid, **_plain(each.record)} for each in self._drafts.values()],
            "primitives": self._numbers.texts(),
            "columns": list(self._numbers.columns),
            "keys": [list(each) for each in self._numbers.keys],
            "schema": {path: self.schema.spelling(path) for path in self.schema},
            "closed": self.schema.closed,
            "cap": self.cap,
            "merge": self._merge,
        }
        return packed(_KIND, arrays, facts | happened)

    def happened(self) -> bytes:
        """The state without the patterns, as bytes: another matcher of the same ones can `resume` it."""
        return packed(_HAPPENED, *self._happened())

    def _happened(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts = {
            "state": written(self._state, self._graph, self._places),
            "sorter": self._sorter.to_bytes(),
            "ids": self._ids.to_bytes(),
        }
        facts = {
            "next": [self._uids, self._arrived, self._latest],
            "timed": self._timed,
            "counts": asdict(self.counts),
        }
        return {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}, facts

    def resume(self, happened: bytes) -> None:
        """Restore the state of another matcher, which was made of the same patterns in the same order."""
        self._resume(*unpacked(_HAPPENED, happened))

    def _resume(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        _, self._arrived, self._latest = facts["next"]
        self._timed = facts["timed"]
        self.counts = PatternCounts(**facts["counts"])
        self._sorter = EventSorter.from_bytes(arrays["sorter"].tobytes())
        self._ids = SeenIds.from_bytes(arrays["ids"].tobytes())
        self._state = restored(arrays["state"].tobytes(), self._graph, self._places)

    def take_over(self, other: PatternMatcher, anew: Collection[str] = ()) -> dict[int, int]:
        """Take over the state of a matcher of other patterns: those that are in both keep their partial matches.

        Those whose ids are in `anew` start again. Returns numbers of patterns there -> numbers here.
        """
        mine = {each.record: each for id_, each in self._drafts.items() if id_ not in anew}
        pairs = [(each, mine[each.record]) for each in other._drafts.values() if each.record in mine]
        uids = {old.uid: new.uid for pair in pairs for old, new in zip(*map(_with_parts, pair), strict=True)}
        asked = _filters(old for old, _ in pairs)
        if self.share is not None:  # what is held back is the same in all shares
            asked = set(range(len(other._numbers.primitives)))
        primitives, columns, keys = _renumbering(other._numbers, self._numbers, asked)
        renamed = GraphRenumbering({-1: -1, **uids}, {-1: -1, **dict(enumerate(keys))})
        self._state = carried(other._state, other._graph, other._places, self._graph, self._places, renamed)
        self._sorter, self._ids, self.counts = other._sorter, other._ids, other.counts
        self._renumber((primitives, columns, keys))
        self._arrived, self._latest, self._timed = other._arrived, other._latest, other._timed
        return uids

    @classmethod
    def from_bytes(cls, data: bytes, *, calling: Calling | None = None, reads: bool = True) -> PatternMatcher:
        """Restore what `to_bytes` wrote; SnapshotError if these bytes are something else, or damaged."""
        arrays, facts = unpacked(_KIND, data)
        sorter = EventSorter.from_bytes(arrays["sorter"].tobytes())
        schema = Schema.of(facts["schema"], closed=facts["closed"])
        made = cls(
            (), schema, lateness=sorter.lateness, cap=facts["cap"], merge=facts["merge"], calling=calling, reads=reads
        )
        made._numbers = PatternNumbering.of(facts["primitives"], facts["columns"], facts["keys"])
        for plain in facts["patterns"]:
            record = PatternRecord(
                plain["id"],
                plain["text"],
                plain["subscriber"],
                None if plain["predict"] is None else Predict.kept(plain["predict"]),
            )
            made._drafts[record.id] = draft(record, plain["uid"], schema, made._numbers)
        made._uids = facts["next"][0]
        made._built()
        made._resume(arrays, facts)
        return made


def _checked_cap(cap: int) -> int:
    if cap < 1:
        raise InputError(f"a cap of {cap} partial matches leaves none\nHint: it is a number from 1 on")
    return cap


def facts_of(happened: bytes) -> dict[str, int]:
    """Figures for people from `PatternMatcher.happened`, without restoring it."""
    arrays, facts = unpacked(_HAPPENED, happened)
    sorter = EventSorter.from_bytes(arrays["sorter"].tobytes())
    return {"partial matches": partial_matches(arrays["state"].tobytes()), "held back": sorter.held, **facts["counts"]}


def _with_parts(whole: MachineDraft) -> list[MachineDraft]:
    return [whole, *whole.parts]


def _filters(drafts: Iterable[MachineDraft]) -> set[int]:
    """The filters that patterns use."""
    found: set[int] = set()
    for each in (one for whole in drafts for one in _with_parts(whole)):
        found |= {asked.primitive for ways in (*each.steps, *each.absent) for asked in ways} | set(each.symbols)
    return found


def _renumbering(
    old: PatternNumbering, new: PatternNumbering, asked: Collection[int]
) -> tuple[list[int], list[int], list[int]]:
    """For every old number of a filter, a column and a partitioning, the new one; -1: it was not `asked` for before."""
    return (
        [new.primitives.get(each, -1) if number in asked else -1 for number, each in enumerate(old.primitives)],
        [new.columns.get(each, -1) for each in old.columns],
        [new.keys.get(each, -1) for each in old.keys],
    )


def _plain(record: PatternRecord) -> dict[str, Any]:
    plain = record.plain()
    if plain["predict"] is not None:
        plain["predict"]["features"] = list(plain["predict"]["features"])
    return plain


def _widened(batch: PatternBatch, partitionings: int, columns: int) -> PatternBatch:
    """Add unknown keys and values to a batch that was read before some patterns came."""
    if len(batch.keyed) == partitionings and len(batch.known) == columns:
        return batch
    return PatternBatch.concatenate([PatternBatch.empty(partitionings, columns), batch])
