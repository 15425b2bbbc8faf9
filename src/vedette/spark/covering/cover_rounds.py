"""Finds the answers of a covering set in rounds: workers judge a block of subscriptions, the driver goes through it.

The driver uses a worker's verdict if nothing that has become active since can change it, and judges itself where
something may: so the answers are those of a set that takes one subscription after the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vedette.covering.candidates import BoxTable
from vedette.covering.cover_judge import CoverSettings, CoverVerdict
from vedette.covering.cover_set import CoverAnswer, CoveringSet, CoverInput
from vedette.errors import FilterError, NotSupported
from vedette.schema.schema import Schema
from vedette.spark.covering.box_translation import WorkerBoxes
from vedette.spark.covering.judge_task import JudgeTask, space_of, verdict_of
from vedette.spark.covering.read_ahead import BoxBlock, ReadAhead, follow

_MANY, _FEW = 0.2, 0.05  # of a block: if so many are judged again, the next one is smaller, or larger


class RoundSizes(NamedTuple):
    """How many subscriptions are judged at a time."""

    first: int = 8_192  # judged by the driver: sending so few to workers would take longer
    least: int = 8_192
    most: int = 131_072


SIZES = RoundSizes()


class CoverWorkers(Protocol):
    """The workers that read and judge."""

    parts: int  # that they work on at a time

    def read(self, texts: Sequence[str | None], schema: Schema) -> Any:
        """An Arrow table of what texts say, in their order (`vedette.spark.covering.box_reading`)."""

    def judge(self, task: JudgeTask) -> Any:
        """An Arrow table of verdicts (`vedette.spark.covering.judge_task`)."""


class CoverRounds:
    """Adds subscriptions to an empty covering set, in their order."""

    def __init__(
        self,
        workers: CoverWorkers,
        found: CoveringSet,
        schema: Schema,
        settings: CoverSettings,
        sizes: RoundSizes | None = None,
    ) -> None:
        self._workers = workers
        self._found = found
        self._schema = schema
        self._settings = settings
        self._sizes = sizes or SIZES
        self._owners: list[int] = []  # of boxes that are active
        self.judged_again = 0

    def answers(
        self, ids: Sequence[str], said: Sequence[CoverInput]
    ) -> Iterator[CoverAnswer | FilterError | NotSupported]:
        """An answer for each subscription, or what is wrong with it."""
        if len(ids) <= self._sizes.first:
            yield from map(self._added, ids, said)
            return
        texts = [each if isinstance(each, str) else None for each in said]
        ahead = ReadAhead(WorkerBoxes(self._workers.read(texts, self._schema)), texts, self._schema)
        sent_out = not self._sizes.first
        size = self._sizes.first or self._sizes.least
        block = ahead.block(size)
        while block is not None:
            verdicts = self._judged(block) if sent_out else {}
            turns, active, again = self._found.table.turns, np.zeros(len(block), np.bool_), self.judged_again
            place = 0
            while place < len(block):
                number = block.first + place
                answer = self._answer(block, place, ids, said[number], verdicts.get(place), active, turns)
                active[place] = isinstance(answer, CoverAnswer) and not answer.covered
                yield answer
                place += 1
                if verdicts and self._found.table.turns != turns and len(block) - place >= self._sizes.least:
                    break
            if place < len(block):
                block = block.rest(place)
                continue
            size = self._next_size(size, (self.judged_again - again) / len(block)) if sent_out else self._sizes.least
            sent_out = True
            block = ahead.block(size)

    def _answer(
        self,
        block: BoxBlock,
        place: int,
        ids: Sequence[str],
        said: CoverInput,
        row: Mapping[str, Any] | None,
        active: NDArray[np.bool_],
        turns: int,
    ) -> CoverAnswer | FilterError | NotSupported:
        id_ = ids[block.first + place]
        follow(self._found.space, block.steps.get(place, ()))
        if not block.known[place] or not isinstance(said, str):
            return self._added(id_, said)
        boxes = block.boxes(place)
        verdict = None
        if row is not None:
            container = row["container"]
            if container is not None and active[container]:
                verdict = CoverVerdict(True, "pairwise", True, (ids[block.first + container],))
            elif row["settled"] or (self._found.table.turns == turns and _unchanged(row["near"], active)):
                verdict = verdict_of(row, ids.__getitem__)
            else:
                self.judged_again += 1
        answer = self._found.add_judged(id_, said, boxes, verdict)
        if not answer.covered:
            self._owners += [block.first + place] * len(boxes)
        return answer

    def _added(self, id_: str, said: CoverInput) -> CoverAnswer | FilterError | NotSupported:
        try:
            return self._found.add(id_, said)
        except (FilterError, NotSupported) as error:
            return error

    def _next_size(self, size: int, again: float) -> int:
        size = size // 2 if again > _MANY else size * 2 if again < _FEW else size
        return min(max(size, self._sizes.least), self._sizes.most)

    # ------------------------------------------------------------ what workers are asked

    def _judged(self, block: BoxBlock) -> dict[int, dict[str, Any]]:
        """The workers' verdicts on a block, by place."""
        parts = self._workers.parts
        owners = np.array(self._owners, np.int64)
        task = JudgeTask(secrets.token_hex(8), self._active(block), owners, block, self._settings, parts)
        rows = self._workers.judge(task)
        return {row["place"]: row for batch in rows.to_batches() for row in batch.to_pylist()}

    def _active(self, block: BoxBlock) -> Any:
        """The active boxes, with the numbers that texts have in the block."""
        entries = self._found.table.entries
        if not block.moves:
            return entries
        moved: BoxTable[int] = BoxTable(space_of(block.dimensions, block.derived))
        moved.add_many(self._owners, entries)
        for dimension, move in block.moves:
            moved.renumber(dimension, move)
        return moved.entries


def _unchanged(near: Sequence[int] | None, active: NDArray[np.bool_]) -> bool:
    """Whether none of those that may change a verdict has become active."""
    return near is not None and not any(active[place] for place in near)
