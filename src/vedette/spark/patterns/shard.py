"""One shard of a stream: the patterns of a group over the events of some partitions, between two micro-batches bytes.

Events of a micro-batch come in any order. They are held back until Spark's watermark has passed them, then followed in
the order of their time. What comes behind what has been followed is late, and told as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.matcher import facts_of as happened_facts
from vedette.composite.packing import packed, unpacked
from vedette.errors import SnapshotError
from vedette.spark.patterns.coded import ARRIVAL, CALLED, ID, TIME, batch_of
from vedette.spark.patterns.copies import Copies
from vedette.spark.patterns.following import Follower, Former, Names
from vedette.spark.patterns.packets import TELLS, opened, squeezed, unsqueezed, written
from vedette.version import __version__

LATE = "late"
BOUND, CARRIED = "b:", "c:"  # before the names of columns: what variables are told by, what is told of events

_KIND: Final = "shard of patterns, version 1"
_MILLISECOND: Final = 1_000
_EARLIEST: Final = -(2**63)
_TOLD = pa.schema(
    [
        ("subscription", pa.string()),
        ("subscriber", pa.string()),
        ("kind", pa.string()),
        ("steps", pa.map_(pa.string(), pa.string())),
        ("bindings", pa.map_(pa.string(), pa.string())),
        ("probability", pa.float64()),
        ("within", pa.int64()),
        ("event", pa.string()),
        ("time", pa.int64()),
    ]
)


class Shard:
    """Where some patterns stand."""

    def __init__(self, version: str, follower: Follower) -> None:
        self._version, self._follower = version, follower
        self._copies = Copies()  # the events that a copy may still follow
        self._carried: pa.Table | None = None  # what is to be told of the events that are held back
        self.timer: int | None = None  # when Spark was asked to wake it, in milliseconds

    # ------------------------------------------------------------ events

    def take(self, events: pa.Table, watermark: int | None, latest: int | None) -> pa.Table | None:
        """Events, in the order in which they came; what is to be told of those that are late.

        `latest` is the greatest time in the whole stream before these, as far as that is known.
        """
        batch, timed = batch_of(events.combine_chunks().to_batches()[0], self._follower.arrived)
        floor = self._floor(watermark)
        # An event that says nothing of its time is not late: it has the greatest time before it.
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
            called = _called(events)
            bound = pa.table(_chosen(events, BOUND) | {"": pa.array(numbers)})
            known = np.ones(len(called), np.bool_)  # the stream has times, whatever single events say
            self._follower.follow(replace(batch, number=numbers, time=time), known, Names(called, None), bound)
            mine = pa.table(_chosen(events, CARRIED) | {"number": pa.array(numbers)})
            parts = [mine] if self._carried is None else [self._carried, mine]
            self._carried = pa.concat_tables(parts, promote_options="default")
        return told

    def advance(self, watermark: int | None) -> pa.Table | None:
        """What comes of the events that the watermark has passed."""
        if watermark is None or self._carried is None:
            return None
        # The watermark is a whole millisecond, and stands for all of it.
        told = self._follower.advance(watermark + _MILLISECOND - 1)
        carried = self._carried
        rows = np.searchsorted(carried.column("number").to_numpy(), told.column("number").to_numpy())
        mine = _columns(carried.drop_columns(["number"]).take(pa.array(rows)))
        self._let_go(watermark)
        if not told.num_rows:
            return None
        mine["subscriber"] = self._follower.subscribers(told.column("subscription"))
        return pa.table(
            {field.name: told.column(field.name) for field in _TOLD if field.name in told.column_names} | mine
        )

    @property
    def next(self) -> int | None:
        """The earliest time of what is held back, in microseconds."""
        return self._follower.held.next

    def _floor(self, watermark: int | None) -> int:
        passed = self._follower.held.passed
        return max(_EARLIEST if watermark is None else watermark, _EARLIEST if passed is None else passed)

    def _let_go(self, watermark: int) -> None:
        """Forget what nobody can ask for any more: a copy that comes from now on is late."""
        floor = self._floor(watermark)
        self._copies.forget(floor)
        if self._carried is not None:
            held = np.isin(self._carried.column("number").to_numpy(), self._follower.held.numbers())
            self._carried = self._carried.filter(pa.array(held)).combine_chunks() if held.any() else None

    @staticmethod
    def _late(events: pa.Table) -> pa.Table:
        size = events.num_rows
        told: dict[str, Any] = {field.name: pa.nulls(size, field.type) for field in _TOLD}
        told |= {"kind": pa.repeat(pa.scalar(LATE), size), "event": pa.array(_called(events), pa.string())}
        return pa.table(_chosen(events, CARRIED) | told | {TIME: events.column(TIME)})

    # ------------------------------------------------------------ between micro-batches

    def to_bytes(self) -> bytes:
        """All of it; the patterns themselves are kept elsewhere."""
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
        """Go on where another stood; `former` gives its patterns, if they were others than those of this version."""
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
    """What the bytes of a shard say of themselves, for people."""
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


def _called(events: pa.Table) -> list[str]:
    if CALLED in events.column_names:
        return events.column(CALLED).to_pylist()  # type: ignore[no-any-return]
    ids, arrivals = events.column(ID).to_pylist(), events.column(ARRIVAL).to_pylist()
    return [str(arrival) if id_ is None else id_ for id_, arrival in zip(ids, arrivals, strict=True)]


def _chosen(events: pa.Table, prefix: str) -> dict[str, Any]:
    names = [name for name in events.column_names if name.startswith(prefix)]
    return {name.removeprefix(prefix): events.column(name) for name in names}


def _columns(table: pa.Table) -> dict[str, Any]:
    return {name: table.column(name) for name in table.column_names}
