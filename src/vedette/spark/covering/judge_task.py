"""Judges a block of subscriptions in the workers, each against all that were active before the block.

Which of the block will be active is not known yet. So each verdict names those of the block that may change it: those
whose boxes meet its own. A verdict that one active subscription covers it does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from vedette.covering.boxes import Box, BoxSpace, Dimension
from vedette.covering.candidates import BoxTable
from vedette.covering.cover_judge import CoverJudge, CoverSettings, CoverVerdict, SpacePoint
from vedette.covering.kernels.cover_bitmaps import BoxEntries
from vedette.spark.covering.box_translation import Ints
from vedette.spark.covering.read_ahead import BoxBlock

COLUMNS = (
    "place bigint, covered boolean, method string, certain boolean, by array<bigint>, error double, "
    "dimensions array<int>, point array<bigint>, settled boolean, near array<bigint>, container bigint"
)
SCHEMA = pa.schema(
    [
        ("place", pa.int64()),
        ("covered", pa.bool_()),
        ("method", pa.string()),
        ("certain", pa.bool_()),
        ("by", pa.list_(pa.int64())),
        ("error", pa.float64()),
        ("dimensions", pa.list_(pa.int32())),
        ("point", pa.list_(pa.int64())),
        ("settled", pa.bool_()),  # stays, whichever others of the block are active
        ("near", pa.list_(pa.int64())),  # those of the block that may change it; null: not found out
        ("container", pa.int64()),  # the first of the block that covers it alone, if that one is active
    ]
)
_AT_ONCE = 2_000  # rows that go back together


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """All that is sent to a worker."""

    token: str  # the same for all parts of a block, and no others
    active: BoxEntries  # the boxes of those that were active before the block
    owners: Ints  # whose each is
    block: BoxBlock
    settings: CoverSettings
    parts: int  # into which the block is dealt out

    def verdicts(self, part: int) -> Iterator[pa.RecordBatch]:
        """Verdicts on all subscriptions of one part of the block."""
        court = _court(self)
        places = [place for place in range(part, len(self.block), self.parts) if self.block.known[place]]
        for begin in range(0, len(places), _AT_ONCE):
            rows = [court.row(place) for place in places[begin : begin + _AT_ONCE]]
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def judging(task: JudgeTask) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a worker runs: numbers of parts -> rows of COLUMNS."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from task.verdicts(part)

    return rows


class _BlockJudge:
    """Judges the subscriptions of one block."""

    def __init__(self, task: JudgeTask) -> None:
        block = self._block = task.block
        space = space_of(block.dimensions, block.derived)
        table: BoxTable[int] = BoxTable(space)
        table.add_many(task.owners.tolist(), task.active)
        self._judge = CoverJudge(space, table, task.settings)
        self._beside: BoxTable[int] = BoxTable(space)
        self._beside.add_many(np.repeat(np.arange(len(block)), np.diff(block.starts)).tolist(), block.entries)
        self._points = 1 in block.derived

    def row(self, place: int) -> tuple[Any, ...]:
        """The verdict on a subscription, and who may change it."""
        block = self._block
        boxes = block.boxes(place)
        verdict = self._judge.judge(boxes, seed=block.first + place + 1)
        settled = verdict.covered and verdict.method in ("pairwise", "never")
        near, container = (set(), None) if settled else self._near(place, boxes, verdict.witness)
        point = verdict.witness
        return (
            place,
            verdict.covered,
            verdict.method,
            verdict.certain,
            verdict.by,
            verdict.error,
            None if point is None else list(point),
            None if point is None else list(point.values()),
            settled,
            None if near is None else sorted(near),
            container,
        )

    def _near(self, place: int, boxes: Sequence[Box], point: SpacePoint | None) -> tuple[set[int] | None, int | None]:
        """Those of the block that may change a verdict (None: not found out), and one that contains a single box."""
        before = int(self._block.starts[place])
        useless = self._judge.table.useless
        looks = [self._beside.near(self._judge.tied(box), useless, before) for box in boxes]
        if self._points and point is not None:
            looks.append(self._beside.holders(point, before))
        if all(container is None for _, container in looks):
            return {each for some, _ in looks for each in some}, None
        return None, looks[0][1] if len(boxes) == 1 else None


def verdict_of(row: Mapping[str, Any], ids: Callable[[int], str]) -> CoverVerdict[str]:
    """The verdict of a row."""
    point = None if row["point"] is None else dict(zip(row["dimensions"], row["point"], strict=True))
    by = tuple(map(ids, row["by"]))
    return CoverVerdict(row["covered"], row["method"], row["certain"], by, row["error"], point)


def space_of(dimensions: tuple[Dimension, ...], derived: bytes) -> BoxSpace:
    """The space of a block's boxes, without its texts, which judging does not need."""
    space = BoxSpace()
    space.dimensions, space.derived = list(dimensions), bytearray(derived)
    return space


_kept: dict[str, _BlockJudge] = {}


def _court(task: JudgeTask) -> _BlockJudge:
    """The judge of a block; the last one is kept, since a process may have several parts of a block."""
    if task.token not in _kept:
        _kept.clear()
        _kept[task.token] = _BlockJudge(task)
    return _kept[task.token]
