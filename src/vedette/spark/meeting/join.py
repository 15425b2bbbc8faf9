"""The join of both sides as Spark SQL: rows with the same cell, and then all other conditions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from vedette.meeting.allowed_values import places_meet
from vedette.schema.columns import Column as Attributed
from vedette.schema.schema import Schema
from vedette.spark.meeting.axes import COORDINATES
from vedette.spark.meeting.cells import ALL_LOWEST, LOWEST
from vedette.spark.meeting.meeting_rows import WORD, encoding, row_type, words
from vedette.spark.meeting.plan import MeetingPlan
from vedette.spark.meeting.terms import ALL, ANY, SET, CommonAttribute, place_of
from vedette.spark.versions import function_of_pairs, to_arrow_schema


def encoded(
    frame: DataFrame,
    plan: MeetingPlan,
    schema: Schema,
    side: int,
    *,
    ranked: bool = False,
    columns: Sequence[Attributed] | None = None,
) -> DataFrame:
    """The rows of a side that has `id` and `when`, one for every disjunct; names begin with the side.

    Where some are bad, `columns` are the attributes of both sides (see `encoding`).
    """
    type_ = row_type(plan, ranked)
    made = frame.mapInArrow(encoding(plan, schema, side, ranked, to_arrow_schema(type_), columns), type_)
    return made.toDF(*(f"{'ps'[side]}_{name}" for name in type_.names))


def joined(publications: DataFrame, subscriptions: DataFrame, plan: MeetingPlan, *, ranked: bool = False) -> DataFrame:
    """`publication`, `subscription` of all pairs of rows that meet; for ranking also texts and disjunct numbers.

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


def conditions(plan: MeetingPlan) -> list[str]:
    """For each attribute, that the two rows allow a common value; of places, that their boxes overlap."""
    return [_asked(plan, number, attribute) for number, attribute in enumerate(plan.attributes)]


def _by_path(plan: MeetingPlan) -> list[str]:
    return [_first_in_common(plan, word) for word in range(words(plan))] if plan.shared else []


def _asked(plan: MeetingPlan, number: int, attribute: CommonAttribute) -> str:
    test = _test(attribute, number)
    absent = {None: ("p", "s"), 0: ("p",), 1: ("s",)}[plan.asking]
    return "(" + " OR ".join([*(f"{side}_l{number} IS NULL" for side in absent), f"({test})"]) + ")"


def _test(attribute: CommonAttribute, number: int) -> str:
    """SQL: whether two terms of an attribute allow a common value; null or false if one is missing."""
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


def _spans_overlap(attribute: CommonAttribute, number: int) -> str:
    mine, theirs = (
        f"coalesce({side}_m{number}, array(named_struct('l', {side}_l{number}, 'h', {side}_h{number})))"
        for side in "ps"
    )
    return f"exists({mine}, a -> exists({theirs}, b -> {_overlap(attribute.textual, 'a.l', 'a.h', 'b.l', 'b.h')}))"


def _list_test(attribute: CommonAttribute, number: int, overlap: str) -> str:
    """SQL for lists, as in `vedette.meeting.allowed_values.meets`: a set says only whether there is a list."""
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


def _first_in_common(plan: MeetingPlan, word: int) -> str:
    """SQL: no attribute before the one of this path is in both rows."""
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
    """Whether two places meet, if both are places; their boxes do."""

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

    return function_of_pairs(meet, BooleanType())(mine, theirs)
