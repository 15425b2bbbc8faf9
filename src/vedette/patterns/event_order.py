"""Sort events by time within a lateness, and drop duplicates."""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.packing import packed, unpacked

MOST_HELD: Final = 50_000_000  # events
MOST_IDS: Final = 1_000_000
_EARLIEST: Final = -(2**63)


class EventSorter:
    """Sorts events by time, within a given lateness.

    Events may arrive out of order by up to `lateness` microseconds, and are held back for as long; one that comes even
    later is late. With a lateness of None everything is held back until the end, and nothing is late.
    """

    def __init__(self, lateness: int | None, most: int = MOST_HELD) -> None:
        if lateness is not None and not 0 <= lateness < 2**63:
            raise InputError(
                f"a lateness is a length of time from 0 on that fits into 64 bits, not {lateness} microseconds\n"
                "Hint: None waits for the end of the stream"
            )
        self.lateness = lateness
        self.most = most
        self.greatest: int | None = None  # time seen so far
        self.passed: int | None = None  # the greatest time of what has gone on by `release`
        self.watermark = _EARLIEST  # what is earlier is late, whatever the lateness
        # Each in order of time, and one after the other in order of arrival, so that a batch is sorted only once.
        self._runs: list[PatternBatch] = []

    @property
    def held(self) -> int:
        """The number of events held back."""
        return sum(run.size for run in self._runs)

    def numbers(self) -> NDArray[np.int64]:
        """The arrival numbers of the events held back."""
        return np.concatenate([np.zeros(0, np.int64), *(run.number for run in self._runs)])

    def put(self, batch: PatternBatch) -> tuple[PatternBatch, NDArray[np.int64]]:
        """The events that can be processed now, in order, and the numbers of those that are late.

        Batches, and the events in them, come in the order of arrival.
        """
        if not batch.size:
            return batch, np.zeros(0, np.int64)
        earliest = _EARLIEST if self.greatest is None else self.greatest
        so_far = np.maximum.accumulate(np.maximum(batch.time, earliest))
        greatest = int(so_far[-1])
        late = np.zeros(0, np.int64)
        in_time = batch.time >= self.watermark
        if self.lateness is not None:
            in_time &= batch.time >= np.maximum(so_far, _EARLIEST + self.lateness) - self.lateness  # without overflow
        if not in_time.all():
            late = batch.number[~in_time]
            batch = batch.take(np.flatnonzero(in_time))
        runs = [*self._runs, _sorted(batch)]
        ready: list[PatternBatch] = []
        if self.lateness is not None and (moment := greatest - self.lateness) >= _EARLIEST:
            # Whatever is in time from now on is not before this moment, and comes after those of the same moment.
            cuts = [int(np.searchsorted(run.time, moment, side="right")) for run in runs]
            ready = [run.slice(0, cut) for run, cut in zip(runs, cuts, strict=True) if cut]
            runs = [run.slice(cut, run.size) for run, cut in zip(runs, cuts, strict=True)]
        runs = [run for run in runs if run.size]
        held = sum(run.size for run in runs)
        if held > self.most:
            raise InputError(
                f"{held:,} events would be held back to be sorted by their time, and {self.most:,} are the most\n"
                "Hint: state a shorter lateness, or sort the events before and state none"
            )
        self._runs, self.greatest = runs, greatest
        return (_sorted(PatternBatch.concatenate(ready)) if ready else batch.slice(0, 0)), late

    @property
    def at_once(self) -> bool:
        """Whether nothing is ever held back: an event is processed when it comes, or is late."""
        return self.lateness == 0 and not self._runs

    def put_one(self, time: int) -> bool:
        """Whether a single event can be processed; else it is late. Only if `at_once`."""
        if time < self.watermark or (self.greatest is not None and time < self.greatest):
            return False
        self.greatest = time
        return True

    def release(self, moment: int) -> PatternBatch:
        """The events held back up to a moment, in order: the caller knows that no earlier ones come."""
        cuts = [int(np.searchsorted(run.time, moment, side="right")) for run in self._runs]
        ready = [run.slice(0, cut) for run, cut in zip(self._runs, cuts, strict=True) if cut]
        left = [run.slice(cut, run.size) for run, cut in zip(self._runs, cuts, strict=True)]
        self._runs = [run for run in left if run.size]
        batch = _sorted(PatternBatch.concatenate(ready))
        if batch.size:
            self.passed = int(batch.time[-1])
        return batch

    def advance(self, moment: int) -> PatternBatch:
        """The events held back up to a moment, in order; earlier events that still come are late."""
        self.watermark = max(self.watermark, moment)
        return self.release(self.watermark)

    def copy(self) -> EventSorter:
        """An independent copy."""
        made = copy.copy(self)
        made._runs = list(self._runs)
        return made

    @property
    def next(self) -> int | None:
        """The earliest time of the events held back."""
        return min((int(run.time[0]) for run in self._runs), default=None)

    def renumbered(self, change: Callable[[PatternBatch], PatternBatch]) -> None:
        """Change the numbers in the events held back."""
        self._runs = [change(run) for run in self._runs]

    def finish(self) -> PatternBatch:
        """All events still held back, in order."""
        rest = _sorted(PatternBatch.concatenate(self._runs))
        self._runs = []
        return rest

    def to_bytes(self) -> bytes:
        """The whole state, as bytes."""
        facts = {
            "lateness": self.lateness,
            "most": self.most,
            "greatest": self.greatest,
            "passed": self.passed,
            **({} if self.watermark == _EARLIEST else {"watermark": self.watermark}),
        }
        return packed("sorter", _sorted(PatternBatch.concatenate(self._runs)).arrays(), facts)

    @staticmethod
    def from_bytes(data: bytes) -> EventSorter:
        """Restore a sorter from `to_bytes`."""
        arrays, facts = unpacked("sorter", data)
        sorter = EventSorter(facts["lateness"], facts["most"])
        sorter.greatest, sorter.passed = facts["greatest"], facts.get("passed")
        sorter.watermark = facts.get("watermark", _EARLIEST)
        held = PatternBatch(**arrays)
        sorter._runs = [held] if held.size else []
        return sorter


def _sorted(batch: PatternBatch) -> PatternBatch:
    """Sort by time; events of one time keep their order."""
    if bool(np.all(batch.time[1:] >= batch.time[:-1])):
        return batch
    return batch.take(np.argsort(batch.time, kind="stable"))


class SeenIds:
    """The last `most` ids that were seen, as digests of 128 bits, to find duplicates."""

    def __init__(self, most: int = MOST_IDS) -> None:
        if most < 1:
            raise InputError(f"at least one id is remembered, not {most}")
        self.most = most
        self._seen: OrderedDict[bytes, None] = OrderedDict()  # the oldest first

    def fresh(self, ids: Sequence[object]) -> NDArray[np.bool_]:
        """Which of the ids are new; an event without one (None) is always new."""
        fresh = np.ones(len(ids), np.bool_)
        seen = self._seen
        for place, one in enumerate(ids):
            if one is None:
                continue
            digest = _digest(one)
            if digest in seen:
                fresh[place] = False
                continue
            seen[digest] = None
            if len(seen) > self.most:
                seen.popitem(last=False)
        return fresh

    def copy(self) -> SeenIds:
        """An independent copy."""
        made = SeenIds(self.most)
        made._seen = self._seen.copy()
        return made

    def to_bytes(self) -> bytes:
        """The whole state, as bytes."""
        return packed("set of ids", {"seen": np.frombuffer(b"".join(self._seen), np.uint8)}, {"most": self.most})

    @staticmethod
    def from_bytes(data: bytes) -> SeenIds:
        """Restore ids from `to_bytes`."""
        arrays, facts = unpacked("set of ids", data)
        ids = SeenIds(facts["most"])
        whole = arrays["seen"].tobytes()
        ids._seen = OrderedDict.fromkeys(whole[at : at + 16] for at in range(0, len(whole), 16))
        return ids


def _digest(one: object) -> bytes:
    """A digest, equal for equal ids; the text '1' and the number 1 differ."""
    plain = one.item() if isinstance(one, np.generic) else one
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    what = "text" if isinstance(plain, str) else type(plain).__name__
    return hashlib.blake2b(f"{what} {plain}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
