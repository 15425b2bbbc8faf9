"""What the judge says of a block of subscriptions, in the workers, each held against all that were active before it.

Which of the block before it are active, nobody knows yet. So with each verdict goes who of them may change it: those
whose boxes meet its own. A verdict that one active subscription covers it does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from vedette.covering.boxes import Box, Dimension, Space
from vedette.covering.candidates import BoxTable
from vedette.covering.covers import Judge, Point, Settings, Verdict
from vedette.kernels.cover_bitmaps import BoxEntries
from vedette.spark.covering.ahead import Block
from vedette.spark.covering.translation import Ints

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
        ("settled", pa.bool_()),  # whoever else of the block is active
        ("near", pa.list_(pa.int64())),  # who of the block may change it; null: not found out
        ("container", pa.int64()),  # the first of the block that covers it alone, if that one is active
    ]
)
_AT_ONCE = 2_000  # rows that go back together


@dataclass(frozen=True, slots=True)
class Judging:
    """All that travels to a worker."""

    token: str  # no other task has it, unless it is of the same block
    active: BoxEntries  # the boxes of those that were active before the block
    owners: Ints  # whose each is
    block: Block
    settings: Settings
    parts: int  # into which the block is dealt out

    def verdicts(self, part: int) -> Iterator[Any]:
        """Of all that belong to a part."""
        court = _court(self)
        places = [place for place in range(part, len(self.block), self.parts) if self.block.known[place]]
        for begin in range(0, len(places), _AT_ONCE):
            rows = [court.row(place) for place in places[begin : begin + _AT_ONCE]]
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def judging(task: Judging) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs: numbers of parts -> rows of COLUMNS."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from task.verdicts(part)

    return rows


class _Court:
    """The active ones, and the block, ready to be asked."""

    def __init__(self, task: Judging) -> None:
        block = self._block = task.block
        space = space_of(block.dimensions, block.derived)
        table: BoxTable[int] = BoxTable(space)
        table.add_many(task.owners.tolist(), task.active)
        self._judge = Judge(space, table, task.settings)
        self._beside: BoxTable[int] = BoxTable(space)
        self._beside.add_many(np.repeat(np.arange(len(block)), np.diff(block.starts)).tolist(), block.entries)
        self._points = 1 in block.derived

    def row(self, place: int) -> tuple[Any, ...]:
        """A verdict, and who may change it."""
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

    def _near(self, place: int, boxes: Sequence[Box], point: Point | None) -> tuple[set[int] | None, int | None]:
        """Who of the block may change a verdict, None if that was not found out; and who contains a single box."""
        before = int(self._block.starts[place])
        useless = self._judge.table.useless
        looks = [self._beside.near(self._judge.tied(box), useless, before) for box in boxes]
        if self._points and point is not None:
            looks.append(self._beside.holders(point, before))
        if all(container is None for _, container in looks):
            return {each for some, _ in looks for each in some}, None
        return None, looks[0][1] if len(boxes) == 1 else None


def verdict_of(row: Mapping[str, Any], ids: Callable[[int], str]) -> Verdict[str]:
    """What a row says."""
    point = None if row["point"] is None else dict(zip(row["dimensions"], row["point"], strict=True))
    by = tuple(map(ids, row["by"]))
    return Verdict(row["covered"], row["method"], row["certain"], by, row["error"], point)


def space_of(dimensions: tuple[Dimension, ...], derived: bytes) -> Space:
    """The space that boxes of a block lie in, without its texts: no judge asks for these."""
    space = Space()
    space.dimensions, space.derived = list(dimensions), bytearray(derived)
    return space


_kept: dict[str, _Court] = {}


def _court(task: Judging) -> _Court:
    """That of the last block is kept: a process may have several parts of it."""
    if task.token not in _kept:
        _kept.clear()
        _kept[task.token] = _Court(task)
    return _kept[task.token]
