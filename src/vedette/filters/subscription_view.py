"""Views: one consistent, immutable state of the subscriptions, with which readers match."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SchemaError, UnknownSubscription
from vedette.filters.kernels.match_rows import MatchRows, events_of, side_by_side
from vedette.filters.rank_columns import is_fine
from vedette.filters.segment import EVERYONE, Segment
from vedette.lazy import once
from vedette.schema.columns import Column
from vedette.schema.encode import EncodedEvents, Reject, encode
from vedette.schema.event_values import prepare_one
from vedette.schema.schema import Schema

Events: TypeAlias = Sequence[Mapping[str, Any]] | pa.Table | pa.RecordBatch

PIECE = 65_536  # events that are matched together: enough for the indexes, few enough for the cache
_FIRST_PIECE = 8_192  # while the rate of matches is unknown
_PIECE_LEAST = 1_024
_MATCHES = 16_000_000  # matches of one piece beyond which memory costs more than larger pieces save


@dataclass(frozen=True)
class LiveSegment:
    """A segment and a bitmap of its live subscriptions (bit i of word i // 64; empty: all live)."""

    segment: Segment
    alive: NDArray[np.uint64] = field(default_factory=lambda: EVERYONE)

    @once
    def living(self) -> int:
        """The number of live subscriptions."""
        return int(np.bitwise_count(self.alive).sum()) if len(self.alive) else len(self.segment)

    def lives(self, ordinal: int) -> bool:
        """Whether one subscription is live."""
        return not len(self.alive) or bool(int(self.alive[ordinal >> 6]) >> (ordinal & 63) & 1)

    def mask(self) -> NDArray[np.bool_]:
        """The live subscriptions as a boolean mask."""
        if not len(self.alive):
            return np.ones(len(self.segment), np.bool_)
        bits = np.unpackbits(self.alive.view(np.uint8), bitorder="little", count=len(self.segment))
        return bits.view(np.bool_)

    def without(self, ordinals: Sequence[int]) -> LiveSegment:
        """The same segment with some subscriptions removed."""
        alive = self.alive.copy() if len(self.alive) else all_alive(len(self.segment))
        for ordinal in ordinals:
            alive[ordinal >> 6] &= ~np.uint64(1 << (ordinal & 63))
        return LiveSegment(self.segment, alive)


def all_alive(size: int) -> NDArray[np.uint64]:
    """A bitmap in which all are live."""
    alive = np.full(-(-size // 64), 0xFFFF_FFFF_FFFF_FFFF, np.uint64)
    if size % 64:
        alive[-1] = np.uint64((1 << (size % 64)) - 1)
    return alive


@dataclass(frozen=True)
class SubscriptionView:
    """Several segments as one set; the ordinals of each continue those of the one before."""

    schema: Schema
    parts: tuple[LiveSegment, ...]

    @once
    def first(self) -> tuple[int, ...]:
        """The first ordinal of every part."""
        sizes = np.cumsum([0, *(len(part.segment) for part in self.parts)])
        return tuple(int(n) for n in sizes)

    @once
    def living(self) -> int:
        """The number of live subscriptions."""
        return sum(part.living for part in self.parts)

    @once
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read from events."""
        return tuple(dict.fromkeys(c for part in self.parts for c in part.segment.codebook.columns))

    @once
    def ids(self) -> pa.LargeStringArray:
        """The ids of all ordinals."""
        arrays = [part.segment.records.ids for part in self.parts]
        return arrays[0] if len(arrays) == 1 else pa.concat_arrays([pa.array([], pa.large_string()), *arrays])

    def followed_by(self, parts: tuple[LiveSegment, ...]) -> SubscriptionView:
        """The next state; what is still valid is reused."""
        view = SubscriptionView(self.schema, parts)
        view.__dict__["_experience"] = self._experience
        known = view.columns == self.columns and "_encode_one" in self.__dict__
        if known and view._coarse == self._coarse:
            view.__dict__["_encode_one"] = self._encode_one
        return view

    def find(self, id_: str) -> tuple[Segment, int]:
        """The segment of a live subscription, and the ordinal in it."""
        for part in reversed(self.parts) if isinstance(id_, str) else ():
            try:
                ordinal = part.segment.records.ordinal(id_)
            except UnknownSubscription:
                continue
            if part.lives(ordinal):
                return part.segment, ordinal
        raise UnknownSubscription(f"there is no subscription {id_!r}")

    # ------------------------------------------------------------ one event

    @once
    def _encode_one(self) -> Callable[[Mapping[str, Any]], list[Any]]:
        return prepare_one(self.columns, self.schema, self._coarse)

    @once
    def _coarse(self) -> frozenset[Column]:
        """The columns in which no constant lies between two floats."""
        fine = {ranks.column for part in self.parts for ranks in part.segment.codebook.ranks if is_fine(ranks)}
        return frozenset(self.columns) - fine

    @once
    def _places(self) -> tuple[list[int] | None, ...]:
        """The positions of each part's columns among all; None: they are all, in order."""
        number = {column: i for i, column in enumerate(self.columns)}
        own = [[number[c] for c in part.segment.codebook.columns] for part in self.parts]
        return tuple(None if places == list(range(len(number))) else places for places in own)

    def match_one(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that one event matches, in the order of addition."""
        found: list[str] = []
        for part, ordinals in self._ordinals(event):
            if ordinals:
                found += part.segment.records.names(ordinals)
        return found

    def number_one(self, event: Mapping[str, Any]) -> list[int]:
        """As `match_one`, as numbers in ascending order: indexes into `ids`."""
        found: list[int] = []
        for first, (_, ordinals) in zip(self.first, self._ordinals(event), strict=False):
            found += [first + ordinal for ordinal in ordinals] if first else ordinals
        return found

    def _ordinals(self, event: Mapping[str, Any]) -> Iterator[tuple[LiveSegment, list[int]]]:
        values = self._encode_one(event)
        for part, places in zip(self.parts, self._places, strict=True):
            own = values if places is None else [values[i] for i in places]
            yield part, part.segment.match_one(own, part.alive)

    # ------------------------------------------------------------ batches

    @once
    def _experience(self) -> _MatchRate:
        return _MatchRate()

    def encode(
        self, events: Events, rejects: list[Reject] | None = None, promised: Collection[Column] = ()
    ) -> EncodedEvents:
        """Encode the columns that are read, and others; values that break the schema raise, or go to `rejects`."""
        columns = tuple(dict.fromkeys((*self.columns, *promised))) if promised else self.columns
        encoded = encode(events, columns, self.schema)
        if encoded.rejects and rejects is None:
            one = encoded.rejects[0]
            others = len(encoded.rejects) - 1
            more = f" (and {others:,} more event{'s' if others > 1 else ''})" if others else ""
            raise SchemaError(
                f"event {one.row}, attribute {one.attribute!r}: {one.reason}{more}\n"
                "Hint: hand in a list as `rejects` to have such events set aside"
            )
        if rejects is not None:
            rejects.extend(encoded.rejects)
        return encoded

    def match(self, encoded: EncodedEvents, *, threads: int = 1, ordered: bool = False) -> list[MatchRows]:
        """The subscriptions of each event, as ordinals; in pieces, because joining them would cost a copy."""
        accepted = encoded.accepted if encoded.rejects else None
        prepared = [part.segment.prepare(encoded.data, encoded.size) for part in self.parts]

        def match_piece(start: int, stop: int) -> MatchRows:
            rows = MatchRows(np.zeros(stop - start + 1, np.int64), np.zeros(0, np.int32))
            for number, (part, batch) in enumerate(zip(self.parts, prepared, strict=True)):
                if not part.living:
                    continue
                found = part.segment.match(batch, start, stop, part.alive, ordered=ordered)
                rows = side_by_side(rows, found, self.first[number]) if number else found
            return rows if accepted is None else _only(rows, accepted[start:stop])

        return _in_pieces(encoded.size, match_piece, threads, self._experience)

    def table(self, pieces: Sequence[MatchRows], event_ids: pa.Array | None = None) -> pa.Table:
        """The matches as an Arrow table (event, subscription), a chunk for each piece."""
        kind = pa.int64() if event_ids is None else event_ids.type
        events, names, first = [], [], 0
        for rows in pieces:
            numbers = pa.array(events_of(rows, first))
            events.append(numbers if event_ids is None else event_ids.take(numbers))
            names.append(pa.DictionaryArray.from_arrays(pa.array(rows.subscription), self.ids))
            first += len(rows.start) - 1
        subscriptions = pa.chunked_array(names, pa.dictionary(pa.int32(), pa.large_string()))
        return pa.table({"event": pa.chunked_array(events, kind), "subscription": subscriptions})


def _only(rows: MatchRows, accepted: NDArray[np.bool_]) -> MatchRows:
    """The rows without matches of rejected events."""
    counts = np.where(accepted, np.diff(rows.start), 0)
    kept = np.repeat(accepted, np.diff(rows.start))
    return MatchRows(np.concatenate(([0], np.cumsum(counts))), rows.subscription[kept])


class _MatchRate:
    """The recent number of matches per event; unknown before the first piece."""

    matches_per_event: float | None = None

    def piece(self) -> int:
        """The number of events to match together, so that their matches do not take too much memory."""
        if self.matches_per_event is None:
            return _FIRST_PIECE
        return max(_PIECE_LEAST, min(PIECE, int(_MATCHES / max(self.matches_per_event, 1.0))))

    def learn(self, rows: MatchRows) -> None:
        """Update the rate from one piece."""
        self.matches_per_event = len(rows.subscription) / max(len(rows.start) - 1, 1)


class _Pieces:
    """Cuts a batch into pieces for several threads; pieces are smaller if events have many matches."""

    def __init__(self, size: int, threads: int, experience: _MatchRate) -> None:
        self._size = size
        self._share = max(64, _blocks(-(-size // threads)))
        self._experience = experience
        self._lock = threading.Lock()
        self._next = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while True:
            with self._lock:
                start = self._next
                stop = self._next = min(self._size, start + min(self._share, _blocks(self._experience.piece())))
            if start >= stop:
                return
            yield start, stop


def _blocks(events: int) -> int:
    """A number of events rounded up to whole blocks, as indexes take them."""
    return -(-events // 64) * 64


@lru_cache
def _helpers(threads: int, process: int) -> ThreadPoolExecutor:
    """A pool of threads that is kept, because indexes keep working memory for each; a forked process needs its own."""
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="vedette-match")


def _in_pieces(
    size: int, match_piece: Callable[[int, int], MatchRows], threads: int, experience: _MatchRate
) -> list[MatchRows]:
    """Match all pieces with several threads; results are in the order of events."""
    pieces = _Pieces(size, max(1, threads), experience)
    done: dict[int, MatchRows] = {}

    def work() -> None:
        for start, stop in pieces:
            rows = done[start] = match_piece(start, stop)
            experience.learn(rows)

    helpers = [_helpers(threads, os.getpid()).submit(work) for _ in range(threads - 1)] if size > 64 else []
    work()
    for helper in helpers:
        helper.result()
    return [done[start] for start in sorted(done)]
