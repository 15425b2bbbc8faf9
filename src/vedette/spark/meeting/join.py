"""The join itself: rows of both sides with the same cell, and then all that has to hold, as Spark SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType

from vedette.meeting.allowed import places_meet
from vedette.schema.schema import Schema
from vedette.spark.meeting.axes import COORDINATES
from vedette.spark.meeting.cells import ALL_LOWEST, LOWEST
from vedette.spark.meeting.plan import Plan
from vedette.spark.meeting.rows import WORD, encoding, row_type, words
from vedette.spark.meeting.terms import ALL, ANY, SET, Attribute, place_of


def encoded(frame: DataFrame, plan: Plan, schema: Schema, side: int, *, ranked: bool = False) -> DataFrame:
    """The rows of a side that has `id` and `when`, one for every disjunct, their names with the side before them."""
    type_ = row_type(plan, ranked)
    made = frame.mapInArrow(encoding(plan, schema, side, ranked, to_arrow_schema(type_)), type_)
    return made.toDF(*(f"{'ps'[side]}_{name}" for name in type_.names))


def joined(publications: DataFrame, subscriptions: DataFrame, plan: Plan, *, ranked: bool = False) -> DataFrame:
    """`publication`, `subscription` of all pairs of rows that meet; ranked: also what was written, and which disjuncts.

    A pair of constraints is there more than once if several of their disjuncts meet, or lists of values have several
    cells in common.
    """
    cells = _by_cell(publications, "p"), _by_cell(subscriptions, "s")
    wanted = ["p_cell = s_cell", f"(p_lowest | s_lowest) = {ALL_LOWEST}", *conditions(plan), *_by_path(plan)]
    found = cells[0].join(cells[1], F.expr(" AND ".join(wanted)))
    for number, attribute in enumerate(plan.attributes):
        if attribute.place:
            found = found.where(_exactly(F.col(f"p_w{number}"), F.col(f"s_w{number}")))
    kept = [F.col("p_id").alias("publication"), F.col("s_id").alias("subscription")]
    if ranked:
        kept += [F.col(name) for name in ("p_text", "s_text", "p_part", "s_part")]
    return found.select(*kept)


def _by_cell(rows: DataFrame, side: str) -> DataFrame:
    """A row for every cell."""
    others = [name for name in rows.columns if name != f"{side}_keys"]
    each = rows.select(F.explode(f"{side}_keys").alias("key"), *others)
    cell = F.shiftright("key", LOWEST).alias(f"{side}_cell")
    lowest = F.col("key").bitwiseAND(ALL_LOWEST).alias(f"{side}_lowest")
    return each.select(cell, lowest, *others)


# ---------------------------------------------------------------- conditions


def conditions(plan: Plan) -> list[str]:
    """What two rows allow of each attribute has something in common, places excepted, of which it is the boxes."""
    return [_asked(plan, number, attribute) for number, attribute in enumerate(plan.attributes)]


def _by_path(plan: Plan) -> list[str]:
    return [_first_in_common(plan, word) for word in range(words(plan))] if plan.shared else []


def _asked(plan: Plan, number: int, attribute: Attribute) -> str:
    test = _test(attribute, number)
    absent = {None: ("p", "s"), 0: ("p",), 1: ("s",)}[plan.asking]
    return "(" + " OR ".join([*(f"{side}_l{number} IS NULL" for side in absent), f"({test})"]) + ")"


def _test(attribute: Attribute, number: int) -> str:
    """Whether what two terms allow of an attribute has something in common; null or false if one is not there."""
    overlap = _overlap(attribute.textual, f"p_l{number}", f"p_h{number}", f"s_l{number}", f"s_h{number}")
    if attribute.empty and not attribute.textual:
        # The first and the last key, turned round, touch what goes from one to the other.
        overlap += f" AND p_l{number} <= p_h{number} AND s_l{number} <= s_h{number}"
    if attribute.several:
        overlap = (
            f"{overlap} AND ((p_m{number} IS NULL AND s_m{number} IS NULL) OR {_spans_overlap(attribute, number)})"
        )
    if attribute.place:
        overlap += f" AND p_y{number} <= s_z{number} AND s_y{number} <= p_z{number}"
    if attribute.null:
        overlap = f"({overlap}) OR (p_n{number} AND s_n{number})"
    if attribute.is_list and not attribute.place:
        return _list_test(attribute, number, overlap)
    return overlap


def _overlap(textual: bool, low: str, high: str, other_low: str, other_high: str) -> str:
    if not textual:
        return f"{low} <= {other_high} AND {other_low} <= {high}"
    there = f"{low} IS NOT NULL AND {other_low} IS NOT NULL"
    return f"{there} AND ({other_high} IS NULL OR {low} < {other_high}) AND ({high} IS NULL OR {other_low} < {high})"


def _spans_overlap(attribute: Attribute, number: int) -> str:
    mine, theirs = (
        f"coalesce({side}_m{number}, array(named_struct('l', {side}_l{number}, 'h', {side}_h{number})))"
        for side in "ps"
    )
    return f"exists({mine}, a -> exists({theirs}, b -> {_overlap(attribute.textual, 'a.l', 'a.h', 'b.l', 'b.h')}))"


def _list_test(attribute: Attribute, number: int, overlap: str) -> str:
    """As `vedette.meeting.allowed.meets` has it: of lists a set says only whether there is one."""
    mine, theirs = f"p_q{number}", f"s_q{number}"

    def some(side: str) -> str:
        low, high = f"{side}_l{number}", f"{side}_h{number}"
        return f"({high} IS NULL OR {low} < {high})" if attribute.textual else f"{low} <= {high}"

    return (
        f"CASE WHEN {mine} = {SET} AND {theirs} = {SET} THEN {overlap} "
        f"WHEN {mine} = {SET} AND {theirs} IN ({ANY}, {ALL}) THEN {some('p')} "
        f"WHEN {theirs} = {SET} AND {mine} IN ({ANY}, {ALL}) THEN {some('s')} "
        f"WHEN {mine} = {theirs} THEN true ELSE {overlap} END"
    )


def _first_in_common(plan: Plan, word: int) -> str:
    """No attribute that comes before the one of this path is in both."""
    masks: list[int] = []
    before = 0
    for design in plan.designs:
        masks += [before >> WORD * word & ((1 << WORD) - 1)] * design.paths
        before |= sum(1 << number for number in design.attributes)
    masks.append((1 << WORD) - 1)  # the path of pairs without any
    known = ", ".join(f"{mask}L" for mask in masks)
    return f"(p_has{word} & s_has{word} & array({known})[int(shiftright(p_cell, {COORDINATES}))]) = 0"


# ---------------------------------------------------------------- places


def _exactly(mine: Column, theirs: Column) -> Column:
    """Whether two places meet, where both are places: boxes of them do."""

    def meet(mine: pa.Array, theirs: pa.Array) -> pa.Array:
        known: dict[tuple[str, str], bool] = {}
        made = []
        for pair in zip(mine.to_pylist(), theirs.to_pylist(), strict=True):
            if None in pair:
                made.append(True)
                continue
            if pair not in known:
                known[pair] = places_meet(place_of(pair[0]), place_of(pair[1]))
            made.append(known[pair])
        return pa.array(made, pa.bool_())

    # Else Spark could ask it of all pairs in a cell, before anything else was asked.
    exact: Callable[..., Column] = arrow_udf(meet, BooleanType()).asNondeterministic()  # type: ignore[call-overload]
    found: Any = exact(mine, theirs)
    return found  # type: ignore[no-any-return]
