"""Patterns over a stream of events, in this process: the step function with all that it needs around it."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.carrying import Renamed, carried, partial_matches, restored, written
from vedette.composite.graph import Graph
from vedette.composite.machines import Draft, Numbers, Place, draft, graph_of
from vedette.composite.one import Unusual
from vedette.composite.order import Ids, Sorter
from vedette.composite.outputs import Observations, PatternMatches, joined_matches, joined_observations
from vedette.composite.packing import packed, unpacked
from vedette.composite.promise import Expected, promises
from vedette.composite.reading import Reader
from vedette.composite.shape import Marking
from vedette.composite.step import CAP, Alone, step
from vedette.errors import InputError, UnknownSubscription
from vedette.kernels import runs
from vedette.matching.patterns import PatternRecord, Predict
from vedette.matching.subscriptions import schema_of
from vedette.matching.view import Events
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.sources import EventSource
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema

_KIND: Final = "stream of events"
_HAPPENED: Final = "what happened to patterns"
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What some events brought about. `late` are the numbers of those that came too late to count."""

    matches: PatternMatches
    observations: Observations
    late: NDArray[np.int64]


@dataclass(slots=True)
class Counts:
    """Events that did not count, and partial matches that were given up."""

    late: int = 0
    duplicates: int = 0
    shed: int = 0


class PatternMatcher:
    """Patterns, and how far the events seen so far have brought each of them.

    Events are numbered as they arrive, from 0. They count in the order of their time: within `lateness` microseconds
    they may come in any order (None: all of them are held back until `finish`). At most `cap` partial matches are kept
    in a partition: beyond it the least promising are given up, and counted. These are the least probable, where a model
    says what to `expect`, else those that have come least far. Of partial matches that are worth the same, the order of
    the `filters` of steps decides which stays: by default that in which the patterns have them. One that never `reads`
    follows what others have read, and needs no operators.
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
        if cap < 1:
            raise InputError(f"a cap of {cap} partial matches leaves none\nHint: it is a number from 1 on")
        self.schema = schema_of(schema)
        self.cap = cap
        self.counts = Counts()
        self._merge = merge
        self._calling = (calling or Calling()) if reads else None
        self._numbers = Numbers.of(filters, (), ())
        self._drafts: dict[str, Draft] = {}
        self._uids = 0
        self._arrived = 0
        self._latest: int | None = None  # the greatest time so far
        self._timed = False
        self._sorter = Sorter(lateness)
        self._ids = Ids()
        self._expected: dict[int, Expected] = {}
        for record in patterns:
            self._draft(record)
        self._built()
        self._state = runs.empty(self._graph.registers, self._graph.variables)

    def again(self) -> PatternMatcher:
        """The same patterns, which are not read anew, with nothing that has happened to them yet."""
        made = copy.copy(self)
        made.counts, made._ids, made._sorter = Counts(), Ids(), Sorter(self._sorter.lateness)
        made._arrived, made._latest, made._timed = 0, None, False
        made._expected = dict(self._expected)
        made._state = runs.empty(self._graph.registers, self._graph.variables)
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
        self._reader = Reader(self._numbers, self.schema, self._calling)
        self._alone = self._one_at_a_time()
        self._asking = next((each.record.id for each in self._drafts.values() if each.speaks_of_time), None)

    def _one_at_a_time(self) -> Alone:
        return Alone(self._graph, len(self._numbers.keys), len(self._numbers.columns))

    def add(self, record: PatternRecord) -> None:
        """Take one more pattern from now on: only events that come after it count."""
        self.change(new=[record])

    def remove(self, id_: str) -> None:
        """Forget a pattern and its partial matches; UnknownSubscription if there is none."""
        self.change(gone=[id_])

    def change(self, *, gone: Iterable[str] = (), new: Iterable[PatternRecord] = ()) -> None:
        """Forget some patterns and take others, all or none; where the rest stands is not touched."""
        before = dict(self._drafts)
        try:
            for id_ in gone:
                if self._drafts.pop(id_, None) is None:
                    raise UnknownSubscription(f"there is no pattern {id_!r}")
            for record in new:
                self._draft(record)
        except BaseException:
            self._drafts = before
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
        """Events that are held back mean to nobody more than to those that were there when they came."""
        primitives, columns, keys = numbers
        counts = (len(self._numbers.keys), len(self._numbers.columns))
        self._sorter.renumbered(lambda batch: batch.renumbered(primitives, keys, columns, counts))

    def expect(self, expected: Mapping[int, Expected]) -> None:
        """Take in what a model expects, by the numbers of patterns: it decides who goes first beyond the cap."""
        for uid, one in expected.items():
            if self._expected.get(uid) is not one:
                self._expected[uid] = one
                self._promise(uid)

    def _promise(self, uid: int) -> None:
        machine = self._graph.machines[uid]
        self._graph.promise(machine.group, promises(machine, self._by_uid[uid].symbols, self._expected[uid]))

    @property
    def patterns(self) -> dict[int, PatternRecord]:
        """The patterns by the numbers that outcomes speak of."""
        return {uid: each.record for uid, each in self._by_uid.items()}

    def names(self, pattern: int) -> list[str]:
        """What the positions of a pattern are called."""
        return self._by_uid[pattern].shape.names

    def drafts(self) -> dict[int, Draft]:
        """All that is known of the patterns, by their numbers."""
        return dict(self._by_uid)

    @property
    def filters(self) -> list[str]:
        """The filters of steps and features, in the order of their numbers."""
        return self._numbers.texts()

    @property
    def operators(self) -> OperatorMatcher | None:
        """Who calls the operators of steps and features: what they look at, counts and failures; None without any."""
        return self._reader.operators

    @property
    def graph(self) -> Graph:
        """Their machines."""
        return self._graph

    @property
    def places(self) -> list[Place]:
        """How the groups of the graph partition the stream."""
        return self._places

    @property
    def state(self) -> runs.State:
        """Their partial matches."""
        return self._state

    def standing(self, pattern: int) -> Counter[Marking]:
        """Where the partial matches of a pattern stand, as it is known now, and how many there."""
        now = runs.UNSET if self._latest is None else self._latest
        all_ = self._state.runs[: self._state.counters[runs.RUNS]]
        living = all_[(all_[:, runs.R_ALIVE] != 0) & (all_[:, runs.R_DEADLINE] >= now)]
        found: Counter[Marking] = Counter()
        for state, count in Counter(living[:, runs.R_STATE].tolist()).items():
            for marking in (marking for uid, marking in self._graph.items[state] if uid == pattern):
                found[marking] += count
        return found

    # ------------------------------------------------------------ events

    def process(
        self,
        events: Events,
        *,
        ids: Sequence[object] | None = None,
        rejects: list[Reject] | None = None,
        source: EventSource | None = None,
    ) -> Outcome:
        """Let events happen. With `ids`, an id that was there before does not count again.

        Where others ask operators of the same events, they all ask a `source` of them that is shared.
        Events that break the schema are an error, or, with a list as `rejects`, are put there and do not count.
        """
        if ids is not None and len(ids) != len(events):
            raise InputError(f"there are {len(ids)} ids for {len(events)} events")
        if len(events) == 1 and isinstance(events, list):
            with contextlib.suppress(Unusual):
                return self._process_one(events[0], None if ids is None else ids[0])
        first = self._arrived
        batch, timed = self._reader.read(events, first, self._latest, rejects, ids, source)
        self._arrived += len(events)
        return self.follow(
            batch, timed, None if ids is None else [ids[number - first] for number in batch.number.tolist()]
        )

    def _process_one(self, event: Mapping[str, Any], id_: object) -> Outcome:
        """A single event, in a tenth of the time that a batch of one takes; Unusual before anything has happened."""
        if not self._sorter.at_once:
            raise Unusual
        one = self._reader.read_one(event)
        if one.time is None and not self._timed and self._asking is not None:
            raise Unusual  # a pattern asks for times, and there are none
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
        return Outcome(outputs.matches, outputs.observations, _NONE)

    def _nothing(self, late: NDArray[np.int64]) -> Outcome:
        return Outcome(joined_matches([], self._graph.variables), joined_observations([]), late)

    def read(
        self,
        events: Events,
        *,
        rejects: list[Reject] | None = None,
        source: EventSource | None = None,
        latest: int | None = None,
    ) -> tuple[Batch, NDArray[np.bool_]]:
        """Events as patterns see them, numbered from 0, and which of them have a time: nothing happens yet.

        Any matcher of the same patterns can `follow` what another one has read. `latest` is the greatest time before.
        """
        return self._reader.read(events, 0, latest, rejects, None, source)

    def follow(self, batch: Batch, timed: NDArray[np.bool_], ids: Sequence[object] | None = None) -> Outcome:
        """Let events happen that have been read already; their numbers are greater than all that came before."""
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

    def advance(self, moment: int) -> Outcome:
        """Let those events happen that were held back and are not later than a moment: nothing earlier will come."""
        return self._stepped(self._sorter.release(moment), np.zeros(0, np.int64))

    @property
    def held(self) -> Sorter:
        """The events that are held back."""
        return self._sorter

    def finish(self) -> Outcome:
        """Let those events happen that were held back."""
        return self._stepped(self._sorter.finish(), np.zeros(0, np.int64))

    def _stepped(self, batch: Batch, late: NDArray[np.int64]) -> Outcome:
        batch = _widened(batch, len(self._numbers.keys), len(self._numbers.columns))
        self._state, outputs = step(self._graph, self._state, batch, cap=self.cap, in_place=True)
        self.counts.shed = int(self._state.counters[runs.SHED])
        return Outcome(outputs.matches, outputs.observations, late)

    def _check_times(self, batch: Batch, timed: NDArray[np.bool_]) -> None:
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
        """Everything, so that `from_bytes` goes on where this stood."""
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
        """What has happened to the patterns, without them: another matcher of the same ones can `resume` it."""
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
        """Go on where another matcher stood, made of the same patterns in the same order."""
        self._resume(*unpacked(_HAPPENED, happened))

    def _resume(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        _, self._arrived, self._latest = facts["next"]
        self._timed = facts["timed"]
        self.counts = Counts(**facts["counts"])
        self._sorter = Sorter.from_bytes(arrays["sorter"].tobytes())
        self._ids = Ids.from_bytes(arrays["ids"].tobytes())
        self._state = restored(arrays["state"].tobytes(), self._graph, self._places)

    def take_over(self, other: PatternMatcher, anew: Collection[str] = ()) -> dict[int, int]:
        """Go on where a matcher of other patterns stood: those that are in both keep their partial matches.

        Those whose ids are in `anew` begin anew all the same. Numbers of patterns there -> numbers here.
        """
        mine = {each.record: each for id_, each in self._drafts.items() if id_ not in anew}
        pairs = [(each, mine[each.record]) for each in other._drafts.values() if each.record in mine]
        uids = {old.uid: new.uid for pair in pairs for old, new in zip(*map(_with_parts, pair), strict=True)}
        primitives, columns, keys = _renumbering(other._numbers, self._numbers, _filters(old for old, _ in pairs))
        renamed = Renamed({-1: -1, **uids}, {-1: -1, **dict(enumerate(keys))})
        self._state = carried(other._state, other._graph, other._places, self._graph, self._places, renamed)
        self._sorter, self._ids, self.counts = other._sorter, other._ids, other.counts
        self._renumber((primitives, columns, keys))
        self._arrived, self._latest, self._timed = other._arrived, other._latest, other._timed
        return uids

    @classmethod
    def from_bytes(cls, data: bytes, *, calling: Calling | None = None) -> PatternMatcher:
        """What `to_bytes` wrote; SnapshotError if these bytes are something else, or damaged."""
        arrays, facts = unpacked(_KIND, data)
        sorter = Sorter.from_bytes(arrays["sorter"].tobytes())
        schema = Schema.of(facts["schema"], closed=facts["closed"])
        made = cls((), schema, lateness=sorter.lateness, cap=facts["cap"], merge=facts["merge"], calling=calling)
        made._numbers = Numbers.of(facts["primitives"], facts["columns"], facts["keys"])
        for plain in facts["patterns"]:
            record = PatternRecord(
                plain["id"],
                plain["text"],
                plain["subscriber"],
                None if plain["predict"] is None else Predict.of(plain["predict"]),
            )
            made._drafts[record.id] = draft(record, plain["uid"], schema, made._numbers)
        made._uids = facts["next"][0]
        made._built()
        made._resume(arrays, facts)
        return made


def facts_of(happened: bytes) -> dict[str, int]:
    """What `PatternMatcher.happened` gave, in figures for people; nothing of it is followed."""
    arrays, facts = unpacked(_HAPPENED, happened)
    sorter = Sorter.from_bytes(arrays["sorter"].tobytes())
    return {"partial matches": partial_matches(arrays["state"].tobytes()), "held back": sorter.held, **facts["counts"]}


def _with_parts(whole: Draft) -> list[Draft]:
    return [whole, *whole.parts]


def _filters(drafts: Iterable[Draft]) -> set[int]:
    """The filters that patterns ask for."""
    found: set[int] = set()
    for each in (one for whole in drafts for one in _with_parts(whole)):
        found |= {asked.primitive for ways in (*each.steps, *each.absent) for asked in ways} | set(each.symbols)
    return found


def _renumbering(old: Numbers, new: Numbers, asked: Collection[int]) -> tuple[list[int], list[int], list[int]]:
    """For every old number of a filter, a column and a partitioning the new one; -1: nobody `asked` for it before."""
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


def _widened(batch: Batch, partitionings: int, columns: int) -> Batch:
    """A batch that was read before some patterns came has no keys and values of theirs."""
    if len(batch.keyed) == partitionings and len(batch.known) == columns:
        return batch
    return Batch.concatenate([Batch.empty(partitionings, columns), batch])
