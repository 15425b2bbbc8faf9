"""Ranks the pairs that meet, on Spark: they are scored in Python workers, and ranked by a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from vedette.meeting.constraint_parser import Constraints
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.ranking import Ranking
from vedette.schema.schema import Schema

SCORED = "publication string, subscription string, score double"


def ranked_pairs(pairs: DataFrame, ranking: Ranking, schema: Schema, top: int | None) -> DataFrame:
    """Rank and score of pairs of disjuncts that meet; of several pairs of two constraints the best counts."""
    return best(pairs.mapInArrow(_scoring(ranking, schema), SCORED), ranking, top)


def best(scored: DataFrame, ranking: Ranking, top: int | None) -> DataFrame:
    """Rank pairs by their scores; equal ones by the id of the other side."""
    # NaN is above all numbers in Spark, and so last, as it should be.
    order = -F.col("score") if ranking.descending else F.col("score")
    score = -F.min(order) if ranking.descending else F.min(order)
    once = scored.groupBy("publication", "subscription").agg(score.alias("score"))
    side, other = ("publication", "subscription")[:: 1 if ranking.per == "publication" else -1]
    window = Window.partitionBy(side).orderBy(order, other)
    ranked = once.select("publication", "subscription", F.row_number().over(window).alias("rank"), "score")
    return ranked if top is None else ranked.where(F.col("rank") <= top)


def _scoring(ranking: Ranking, schema: Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        constraints = Constraints(schema)
        for batch in batches:
            space = AttributeSpace()
            sides = [_BatchConstraints(batch.column(name), constraints, space) for name in ("p_text", "s_text")]
            disjuncts = [
                side.start[side.number] + np.asarray(batch.column(name))
                for side, name in zip(sides, ("p_part", "s_part"), strict=True)
            ]
            scores = ranking.scores(sides[0].table, sides[1].table, disjuncts[0], disjuncts[1])
            made = [batch.column("publication"), batch.column("subscription"), pa.array(scores)]
            yield pa.RecordBatch.from_arrays(made, ["publication", "subscription", "score"])

    return scored


class _BatchConstraints:
    """The constraints of a batch, each text once."""

    def __init__(self, texts: Any, constraints: Constraints, space: AttributeSpace) -> None:
        coded = texts.dictionary_encode()
        read = [constraints.read(text) for text in coded.dictionary.to_pylist()]
        self.table = ConstraintTable.of(read, space)
        self.number: NDArray[Any] = np.asarray(coded.indices)
        self.start = np.searchsorted(self.table.owner, np.arange(len(read)))
