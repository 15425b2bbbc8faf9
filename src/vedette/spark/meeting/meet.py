"""Meeting on Spark: constraints of both sides in, a row for every pair that meets out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from vedette.errors import InputError
from vedette.filters.subscription_set import schema_of
from vedette.meeting.constraint_parser import Constraints
from vedette.meeting.constraint_table import AttributeSpace
from vedette.meeting.direction import Direction, RankSide, check_direction, check_per
from vedette.meeting.meet import ranking_of
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.meeting.constraint_source import (
    ConstraintSource,
    collected,
    empty_pairs,
    frame_of,
    inferred_schema,
    side_of,
)
from vedette.spark.meeting.join import encoded, joined
from vedette.spark.meeting.pair_ranking import ranked_pairs
from vedette.spark.meeting.plan import MeetingPlan, SideSample, planned
from vedette.spark.meeting.side_facts import SideFacts, facts_of, rejected_of
from vedette.spark.meeting.terms import CommonAttribute, columns_of, disjuncts_of
from vedette.spark.meeting.versions import SubscriptionsVersions
from vedette.spark.meeting.worker_meeting import PackedSubscriptions, RejectMode, hosted, packed_subscriptions

if TYPE_CHECKING:
    from vedette.meeting.ranking import Ranking

Strategy: TypeAlias = Literal["join", "host"]


def meet(
    publications: DataFrame,
    subscriptions: ConstraintSource | SubscriptionsVersions,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    direction: Direction = "publication",
    top: int | None = None,
    by: str | Callable[..., float] | None = None,
    per: RankSide = "publication",
    strategy: Strategy = "join",
    rejects: RejectMode = "drop",
    strict: bool = False,
) -> DataFrame:
    """Find the pairs that meet: a DataFrame of `publication` and `subscription`, in any order, as `vedette.meet` does.

    `publications` is a DataFrame with `id` and `when`, perhaps a streaming one; `subscriptions` are another one, the
    path of a file, records, or id -> text. Ids are taken to be different. Without a schema an attribute has the type
    that the constants of both sides suggest; where they disagree about it, that is an error. All constraints are read
    once before this returns, and again when the pairs are asked for.

    Bad publications are set aside: they are logged with their reasons (those of a stream in its workers) and left out;
    `rejects="keep"` also gives each a row with no subscription and its `reason`, "raise" makes them an error. So are
    subscriptions, which are an error where it is `strict`.

    `strategy` "join" joins both sides by cells (see `cells`); "host" sends the subscriptions to every worker, which is
    faster where one side is small, and takes memory for all of them there. A stream is always met so, by a schema that
    is given. Subscriptions that change (`vedette.spark.meeting.versions`) are met as they are now: in `foreachBatch`,
    every micro-batch of a stream meets the newest.

    With `top` or `by` the best are kept, with `rank` and `score`, as `vedette.meet` does it; equal scores are in the
    order of the others' ids.
    """
    check_direction(direction)
    check_per(per)
    if rejects not in ("drop", "keep", "raise"):
        raise InputError(f"rejects={rejects!r} is not known\nHint: it is 'drop', 'keep' or 'raise'")
    if strategy not in ("join", "host"):
        raise InputError(f"strategy={strategy!r} is not known\nHint: it is 'join' or 'host'")
    offered = side_of(publications, "publication")
    if isinstance(subscriptions, SubscriptionsVersions):
        return _met_now(offered, subscriptions, schema, direction, (top, by, per), rejects)
    wanted = frame_of(subscriptions, publications.sparkSession, strict=strict)
    if publications.isStreaming and schema is None:
        raise InputError("a stream of publications needs a schema\nHint: schema={'price': 'float', …}")
    known = inferred_schema(offered, wanted) if schema is None else schema_of(schema)
    ranking = ranking_of(top, by, per, known)
    if publications.isStreaming or strategy == "host":
        if publications.isStreaming and ranking is not None and per != "publication":
            hint = "rank per='publication', or write the pairs first"
            raise InputError(f"which publications of a stream are the best is never known\nHint: {hint}")
        host = packed_subscriptions(collected(wanted, strict=strict), known, strict=strict)
        return _hosted(offered, host, direction, ranking, top, rejects)
    facts = (
        facts_of(offered, known, "publication", strict=rejects == "raise"),
        facts_of(wanted, known, "subscription", strict=strict),
    )
    pairs = _joined(offered, wanted, facts, known, direction, ranking, top)
    return _with_rejected(pairs, offered, known, facts[0].columns) if rejects == "keep" else pairs


def _joined(
    offered: DataFrame,
    wanted: DataFrame,
    facts: tuple[SideFacts, SideFacts],
    schema: Schema,
    direction: Direction,
    ranking: Ranking | None,
    top: int | None,
) -> DataFrame:
    ranked = ranking is not None
    plan = plan_of(direction, facts, schema)
    if plan is None:
        return empty_pairs(offered.sparkSession, ranked=ranked)
    columns = [column for side in facts for column in side.columns] if any(side.bad_count for side in facts) else None
    mine, theirs = (
        encoded(frame, plan, schema, side, ranked=ranked, columns=columns)
        for side, frame in enumerate((offered, wanted))
    )
    pairs = joined(mine, theirs, plan, ranked=ranked)
    if ranking is not None:
        return ranked_pairs(pairs, ranking, schema, top)
    return pairs.distinct() if facts[0].repeated or facts[1].repeated else pairs


def _hosted(
    offered: DataFrame,
    wanted: PackedSubscriptions,
    direction: Direction,
    ranking: Ranking | None,
    top: int | None,
    rejects: RejectMode,
) -> DataFrame:
    pairs = hosted(offered, wanted, direction, ranking, top, rejects)
    if rejects == "keep" and ranking is not None and ranking.per == "subscription":
        return _with_rejected(pairs, offered, wanted.schema, ())
    return pairs


def _with_rejected(pairs: DataFrame, offered: DataFrame, schema: Schema, columns: Sequence[Column]) -> DataFrame:
    """The pairs, and a row for every publication that was set aside."""
    with_reason = pairs.withColumn("reason", F.lit(None).cast("string"))
    return with_reason.unionByName(rejected_of(offered, schema, columns), allowMissingColumns=True)


def _met_now(
    offered: DataFrame,
    versions: SubscriptionsVersions,
    schema: Schema | Mapping[str, Any] | None,
    direction: Direction,
    ranked: tuple[int | None, str | Callable[..., float] | None, RankSide],
    rejects: RejectMode,
) -> DataFrame:
    """Meet a micro-batch, or a table, with the newest version of the subscriptions."""
    if offered.isStreaming:
        raise InputError(
            "subscriptions that change cannot be met by a stream itself\n"
            "Hint: publications.writeStream.foreachBatch(lambda batch, _: meet(batch, versions)…)"
        )
    wanted = versions.current().wanted
    if schema is not None and schema_of(schema) != wanted.schema:
        raise InputError("the subscriptions were read by another schema\nHint: leave schema out")
    top, by, per = ranked
    return _hosted(offered, wanted, direction, ranking_of(top, by, per, wanted.schema), top, rejects)


def plan_of(direction: Direction, facts: tuple[SideFacts, SideFacts], schema: Schema) -> MeetingPlan | None:
    """The plan of cells by which two sides are joined; None if nothing can meet."""
    if not all(side.disjuncts for side in facts):
        return None
    space = AttributeSpace()
    for side in facts:
        for column in side.columns:
            space.number(column)
    spoken = [{column.path for column in side.columns} for side in facts]
    attributes = [
        _attribute(space, number, facts)
        for number, path in enumerate(space.attributes)
        if path in spoken[0] and path in spoken[1]
    ]
    numbers = {attribute.path: number for number, attribute in enumerate(attributes)}
    asking = {"publication": 0, "subscription": 1}.get(direction)
    samples = [_sample(side, attributes, numbers, schema, number == asking) for number, side in enumerate(facts)]
    if not all(side.signatures for side in samples):
        return None
    return planned(direction, attributes, (samples[0], samples[1]))


def _attribute(space: AttributeSpace, number: int, facts: tuple[SideFacts, SideFacts]) -> CommonAttribute:
    path, type_ = space.attributes[number], space.columns[number].type
    null = all(path in side.null for side in facts)
    several = any(path in side.several for side in facts)
    empty = any(path in side.empty for side in facts)
    points = not any(path in side.ranges for side in facts)
    between = any(path in side.between for side in facts)
    return CommonAttribute(path, type_.kind, type_.is_list, null, several, empty, points, between)


def _sample(
    facts: SideFacts, attributes: list[CommonAttribute], numbers: dict[str, int], schema: Schema, asking: bool
) -> SideSample:
    constraints = Constraints(schema)
    disjuncts = disjuncts_of(constraints.read(text) for _, text in facts.sample)
    signatures: dict[frozenset[int], int] = {}
    for paths, count in facts.signatures.items():
        if asking and not all(path in numbers for path in paths):
            continue  # can meet nothing
        signature = frozenset(numbers[path] for path in paths if path in numbers)
        signatures[signature] = signatures.get(signature, 0) + count
    return SideSample(
        columns_of(disjuncts, numbers, attributes), len(disjuncts), facts.disjuncts, signatures, facts.complete
    )
