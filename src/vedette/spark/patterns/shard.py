"""One shard of a stream: the patterns of a group over the events of some partitions, with a state that becomes bytes.

Events of a micro-batch come in any order. They are held back until Spark's watermark has passed them, then followed in
the order of their time. An event that is earlier than what has been followed is late, and reported as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.errors import SnapshotError
from vedette.patterns.matcher import facts_of as happened_facts
from vedette.patterns.packing import packed, unpacked
from vedette.spark.patterns.coded import TELLS, TIME, batch_of, opened, squeezed, unsqueezed, written
from vedette.spark.patterns.following import Follower, Former, called_of, named_of
from vedette.spark.patterns.rows import CARRIED, EVENT, LATE, MOMENT, chosen
from vedette.spark.readers import ID
from vedette.version import __version__


class Copies:
    """The ids and times of events, by which duplicates are found."""

    def __init__(self, ids: Any = None, times: NDArray[np.int64] | None = None) -> None:
        self._ids = pa.array([], pa.string()) if ids is None else ids
        self._times = np.zeros(0, np.int64) if times is None else times

    def __len__(self) -> int:
        return len(self._times)

    def fresh(self, ids: Any, time: NDArray[np.int64], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the events in `asked` come for the first time; those without an id always do."""
        named = asked & pc.is_valid(ids).to_numpy(zero_copy_only=False)
        mine = ids.filter(pa.array(named))
        places = np.flatnonzero(named)
        fresh = asked.copy()
        first = np.zeros(len(mine), np.bool_)
        first[np.unique(mine.dictionary_encode().indices.to_numpy(), return_index=True)[1]] = True
        if len(self._ids):
            first &= ~pc.is_in(mine, value_set=self._ids).to_numpy(zero_copy_only=False)
        fresh[places[~first]] = False
        self._ids = pa.concat_arrays([self._ids, mine.filter(pa.array(first))])
        self._times = np.concatenate([self._times, time[places[first]]])
        return fresh

    def forget(self, before: int) -> None:
        """Forget events before this moment: a duplicate of one would be late."""
        kept = self._times >= before
        if not kept.all():
            self._ids, self._times = self._ids.filter(pa.array(kept)), self._times[kept]

    def table(self) -> pa.Table:
        """All ids and times."""
        return pa.table({"id": self._ids, "time": pa.array(self._times)})

    @staticmethod
    def of(table: pa.Table) -> Copies:
        """The reverse of `table`."""
        return Copies(table.column("id").combine_chunks(), table.column("time").to_numpy().astype(np.int64))


_KIND: Final = "shard of patterns, version 1"
_MILLISECOND: Final = 1_000
_EARLIEST: Final = -(2**63)


class Shard:
    """The state of the patterns of one shard."""

    def __init__(self, version: str, follower: Follower) -> None:
        self._version, self._follower = version, follower
        self._copies = Copies()  # the events that a copy may still follow
        self._carried: pa.Table | None = None  # the kept columns of events that are held back
        self.timer: int | None = None  # when Spark was asked to wake it, in milliseconds

    # ------------------------------------------------------------ events

    def take(self, events: pa.Table, watermark: int | None, latest: int | None) -> pa.Table | None:
        """Take events, in the order in which they came; returns rows for those that are late.

        `latest` is the greatest time in the whole stream before these, as far as that is known.
        """
        batch, timed = batch_of(events.combine_chunks().to_batches()[0], self._follower.arrived)
        floor = self._floor(watermark)
        # An event without a time is not late: it has the greatest time before it.
        before = max(floor, *(_EARLIEST if each is None else each for each in (latest, self._follower.held.greatest)))
        so_far = np.maximum.accumulate(np.maximum(np.where(timed, batch.time, _EARLIEST), before))
        time = np.where(timed, batch.time, np.maximum(batch.time, so_far))
        late = time < floor
        # Behind the watermark an event is late at all its places; within its millisecond perhaps only here.
        tells = events.column(TELLS).to_numpy() | (time >= (_EARLIEST if watermark is None else watermark))
        told = self._late(events.take(pa.array(np.flatnonzero(late & tells)))) if (late & tells).any() else None
        fresh = self._copies.fresh(events.column(ID).combine_chunks(), time, ~late)
        self._follower.passed_over(late=int(late.sum()), duplicates=int((~late & ~fresh).sum()))
        if not fresh.all():
            taken = pa.array(np.flatnonzero(fresh))
            events, time = events.take(taken), time[fresh]
            batch = batch.take(np.flatnonzero(fresh))
        if events.num_rows:
            first = self._follower.arrived
            numbers = np.arange(first, first + events.num_rows)
            known = np.ones(len(numbers), np.bool_)  # the stream has times, whatever single events say
            self._follower.follow(replace(batch, number=numbers, time=time), known, pa.table(named_of(events)))
            mine = pa.table(chosen(events, CARRIED) | {"number": pa.array(numbers)})
            parts = [mine] if self._carried is None else [self._carried, mine]
            self._carried = pa.concat_tables(parts, promote_options="default")
        return told

    def advance(self, watermark: int | None) -> pa.Table | None:
        """Follow the events that the watermark has passed; returns rows of outcomes."""
        if watermark is None or self._carried is None:
            return None
        # The watermark is a whole millisecond, and stands for all of it.
        outcomes = self._follower.advance(watermark + _MILLISECOND - 1)
        carried = self._carried
        rows = np.searchsorted(carried.column("number").to_numpy(), outcomes.event)
        mine = carried.drop_columns(["number"]).take(pa.array(rows))
        told = self._follower.table(outcomes, {name: mine.column(name) for name in mine.column_names})
        self._let_go(watermark)
        return told if told.num_rows else None

    @property
    def next(self) -> int | None:
        """The earliest time of the events held back, in microseconds."""
        return self._follower.held.next

    def _floor(self, watermark: int | None) -> int:
        passed = self._follower.held.passed
        return max(_EARLIEST if watermark is None else watermark, _EARLIEST if passed is None else passed)

    def _let_go(self, watermark: int) -> None:
        """Forget the ids and columns of events that are not held back any more: duplicates from now on are late."""
        floor = self._floor(watermark)
        self._copies.forget(floor)
        if self._carried is not None:
            held = np.isin(self._carried.column("number").to_numpy(), self._follower.held.numbers())
            self._carried = self._carried.filter(pa.array(held)).combine_chunks() if held.any() else None

    @staticmethod
    def _late(events: pa.Table) -> pa.Table:
        kind = pa.repeat(pa.scalar(LATE), events.num_rows)
        told = {"kind": kind, EVENT: called_of(events), MOMENT: events.column(TIME)}
        return pa.table(chosen(events, CARRIED) | told)

    # ------------------------------------------------------------ between micro-batches

    def to_bytes(self) -> bytes:
        """The state as bytes; the patterns themselves are kept elsewhere."""
        arrays, facts = self._follower.happened()
        carried = b"" if self._carried is None else written(self._carried)
        more: dict[str, NDArray[Any]] = {
            "ids": np.frombuffer(written(self._copies.table()), np.uint8),
            "carried": np.frombuffer(carried, np.uint8),
        }
        about = {"version": self._version, "library": __version__, "timer": self.timer, **facts}
        return squeezed(packed(_KIND, {**arrays, **more}, about))

    @classmethod
    def from_bytes(
        cls, data: bytes, version: str, follower: Follower, former: Callable[[], Former] | None = None
    ) -> Shard:
        """Restore a state; `former` gives the patterns that it is of, if they are not those of this version."""
        arrays, facts = _read(data)
        made = cls(version, follower)
        changed = facts["version"] != version
        if changed and former is None:
            raise SnapshotError(f"the state is of the patterns {facts['version']}, not of {version}")
        follower.resume(arrays, facts, former() if changed and former is not None else None)
        made._copies = Copies.of(opened(arrays["ids"].tobytes()))
        made._carried = opened(arrays["carried"].tobytes()) if arrays["carried"].size else None
        made.timer = facts["timer"]
        return made


def facts_of(data: bytes) -> dict[str, Any]:
    """Facts of a shard's bytes, for people."""
    arrays, facts = _read(data)
    return {
        "version": facts["version"],
        "library": facts["library"],
        "events": facts["arrived"],
        **happened_facts(arrays["patterns"].tobytes()),
        "ids": opened(arrays["ids"].tobytes()).num_rows,
        "bytes": len(data),
    }


def _read(data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    try:
        return unpacked(_KIND, unsqueezed(data))
    except SnapshotError as error:
        raise SnapshotError(
            f"the state of patterns cannot be read by Vedette {__version__}: {error}\n"
            "Hint: go on with the version of Vedette that wrote it, or begin anew with another checkpoint"
        ) from None
