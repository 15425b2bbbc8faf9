"""The answers of a covering set, found in rounds: workers judge a block of subscriptions, the driver goes through it.

The driver takes a verdict as it is where nothing that has become active since can change it, and judges itself where
something may: so the answers are those of a set that takes one subscription after the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vedette.covering.candidates import BoxTable
from vedette.covering.cover_set import Answer, CoveringSet, Said
from vedette.covering.covers import Settings, Verdict
from vedette.errors import FilterError, NotSupported
from vedette.schema.schema import Schema
from vedette.spark.covering.ahead import Ahead, Block, follow
from vedette.spark.covering.judging import Judging, space_of, verdict_of
from vedette.spark.covering.translation import Boxes

_MANY, _FEW = 0.2, 0.05  # of a block: if so many are judged again, the next one is smaller, or larger


class Sizes(NamedTuple):
    """How many subscriptions are judged at a time."""

    first: int = 8_192  # by the driver: so few are judged sooner than they are sent out
    least: int = 8_192
    most: int = 131_072


SIZES = Sizes()


class Workers(Protocol):
    """Those who read and judge."""

    parts: int  # that they work on at a time

    def read(self, texts: Sequence[str | None], schema: Schema) -> Any:
        """An Arrow table of what texts say, in their order (`vedette.spark.covering.reading`)."""

    def judge(self, task: Judging) -> Any:
        """An Arrow table of verdicts (`vedette.spark.covering.judging`)."""


class Rounds:
    """Takes up subscriptions in a set that is empty, in their order."""

    def __init__(
        self, workers: Workers, found: CoveringSet, schema: Schema, settings: Settings, sizes: Sizes | None = None
    ) -> None:
        self._workers = workers
        self._found = found
        self._schema = schema
        self._settings = settings
        self._sizes = sizes or SIZES
        self._owners: list[int] = []  # of boxes that are active
        self.judged_again = 0

    def answers(self, ids: Sequence[str], said: Sequence[Said]) -> Iterator[Answer | FilterError | NotSupported]:
        """One for each of them, or what is wrong with it."""
        if len(ids) <= self._sizes.first:
            yield from map(self._added, ids, said)
            return
        texts = [each if isinstance(each, str) else None for each in said]
        ahead = Ahead(Boxes(self._workers.read(texts, self._schema)), texts, self._schema)
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
                active[place] = isinstance(answer, Answer) and not answer.covered
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
        block: Block,
        place: int,
        ids: Sequence[str],
        said: Said,
        row: Mapping[str, Any] | None,
        active: NDArray[np.bool_],
        turns: int,
    ) -> Answer | FilterError | NotSupported:
        id_ = ids[block.first + place]
        follow(self._found.space, block.steps.get(place, ()))
        if not block.known[place] or not isinstance(said, str):
            return self._added(id_, said)
        boxes = block.boxes(place)
        verdict = None
        if row is not None:
            container = row["container"]
            if container is not None and active[container]:
                verdict = Verdict(True, "pairwise", True, (ids[block.first + container],))
            elif row["settled"] or (self._found.table.turns == turns and _unchanged(row["near"], active)):
                verdict = verdict_of(row, ids.__getitem__)
            else:
                self.judged_again += 1
        answer = self._found.add_judged(id_, said, boxes, verdict)
        if not answer.covered:
            self._owners += [block.first + place] * len(boxes)
        return answer

    def _added(self, id_: str, said: Said) -> Answer | FilterError | NotSupported:
        try:
            return self._found.add(id_, said)
        except (FilterError, NotSupported) as error:
            return error

    def _next_size(self, size: int, again: float) -> int:
        size = size // 2 if again > _MANY else size * 2 if again < _FEW else size
        return min(max(size, self._sizes.least), self._sizes.most)

    # ------------------------------------------------------------ what workers are asked

    def _judged(self, block: Block) -> dict[int, dict[str, Any]]:
        """The rows of a block, by their places."""
        parts = self._workers.parts
        owners = np.array(self._owners, np.int64)
        task = Judging(secrets.token_hex(8), self._active(block), owners, block, self._settings, parts)
        rows = self._workers.judge(task)
        return {row["place"]: row for batch in rows.to_batches() for row in batch.to_pylist()}

    def _active(self, block: Block) -> Any:
        """The boxes that are active, with the numbers that texts have in the block."""
        entries = self._found.table.entries
        if not block.moves:
            return entries
        moved: BoxTable[int] = BoxTable(space_of(block.dimensions, block.derived))
        moved.add_many(self._owners, entries)
        for dimension, move in block.moves:
            moved.renumber(dimension, move)
        return moved.entries


def _unchanged(near: Sequence[int] | None, active: NDArray[np.bool_]) -> bool:
    """Whether nobody has become active who may change a verdict."""
    return near is not None and not any(active[place] for place in near)
