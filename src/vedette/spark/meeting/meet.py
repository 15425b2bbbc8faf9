"""Meeting on Spark: constraints of both sides in, a row for every pair that meets out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from pyspark.sql import DataFrame

from vedette.errors import InputError
from vedette.matching.subscriptions import schema_of
from vedette.meeting.direction import Direction, Per, check_direction, check_per
from vedette.meeting.meet import ranking_of
from vedette.meeting.reading import Constraints
from vedette.meeting.table import Space
from vedette.schema.schema import Schema
from vedette.spark.meeting.facts import Facts, facts_of
from vedette.spark.meeting.given import Given, collected, empty_pairs, frame_of, inferred_schema, side_of
from vedette.spark.meeting.hosted import hosted, wanted_of
from vedette.spark.meeting.join import encoded, joined
from vedette.spark.meeting.plan import Plan, Sample, planned
from vedette.spark.meeting.ranking import ranked_pairs
from vedette.spark.meeting.terms import Attribute, columns_of, disjuncts_of
from vedette.spark.meeting.versions import WantedVersions

Strategy: TypeAlias = Literal["join", "host"]


def meet(
    publications: DataFrame,
    subscriptions: Given | WantedVersions,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    direction: Direction = "publication",
    top: int | None = None,
    by: str | Callable[..., float] | None = None,
    per: Per = "publication",
    strategy: Strategy = "join",
) -> DataFrame:
    """Who meets whom: a DataFrame of `publication` and `subscription`, in any order; the same pairs as `vedette.meet`.

    `publications` is a DataFrame with `id` and `when`, perhaps a streaming one; `subscriptions` are another one, the
    path of a file, records, or id -> text. Ids are taken to be different. Without a schema an attribute has the type
    that the constants of both sides suggest. All constraints are read once before this returns, and again when the
    pairs are asked for: what is wrong with them is raised here.

    `strategy` "join" joins both sides by cells (see `cells`); "host" sends the subscriptions to every worker,
    which is faster where one side is small, and takes memory for all of them there. A stream is always met so, by a
    schema that is given. Subscriptions that change (`vedette.spark.meeting.versions`) are met as they are now: in
    `foreachBatch`, every micro-batch of a stream meets the newest.

    With `top` or `by` the best are kept, with `rank` and `score`, as `vedette.meet` does it; equal scores are in the
    order of the others' ids.
    """
    check_direction(direction)
    check_per(per)
    if strategy not in ("join", "host"):
        raise InputError(f"strategy={strategy!r} is not known\nHint: it is 'join' or 'host'")
    offered = side_of(publications, "publication")
    if isinstance(subscriptions, WantedVersions):
        return _met_now(offered, subscriptions, schema, direction, (top, by, per))
    wanted = frame_of(subscriptions, publications.sparkSession)
    if publications.isStreaming and schema is None:
        raise InputError("a stream of publications needs a schema\nHint: schema={'price': 'float', …}")
    known = inferred_schema(offered, wanted) if schema is None else schema_of(schema)
    ranking = ranking_of(top, by, per, known)
    if publications.isStreaming or strategy == "host":
        if publications.isStreaming and ranking is not None and per != "publication":
            hint = "rank per='publication', or write the pairs first"
            raise InputError(f"which publications of a stream are the best is never known\nHint: {hint}")
        return hosted(offered, wanted_of(collected(wanted), known), direction, ranking, top)
    facts = facts_of(offered, known, "publication"), facts_of(wanted, known, "subscription")
    plan = plan_of(direction, facts, known)
    if plan is None:
        return empty_pairs(publications.sparkSession, ranked=ranking is not None)
    ranked = ranking is not None
    mine, theirs = (encoded(frame, plan, known, side, ranked=ranked) for side, frame in enumerate((offered, wanted)))
    pairs = joined(mine, theirs, plan, ranked=ranked)
    if ranking is not None:
        return ranked_pairs(pairs, ranking, known, top)
    return pairs.distinct() if facts[0].repeated or facts[1].repeated else pairs


def _met_now(
    offered: DataFrame,
    versions: WantedVersions,
    schema: Schema | Mapping[str, Any] | None,
    direction: Direction,
    ranked: tuple[int | None, str | Callable[..., float] | None, Per],
) -> DataFrame:
    """Meet the subscriptions as they are now: a micro-batch, or a table."""
    if offered.isStreaming:
        raise InputError(
            "subscriptions that change cannot be met by a stream itself\n"
            "Hint: publications.writeStream.foreachBatch(lambda batch, _: meet(batch, versions)…)"
        )
    wanted = versions.current().wanted
    if schema is not None and schema_of(schema) != wanted.schema:
        raise InputError("the subscriptions were read by another schema\nHint: leave schema out")
    top, by, per = ranked
    return hosted(offered, wanted, direction, ranking_of(top, by, per, wanted.schema), top)


def plan_of(direction: Direction, facts: tuple[Facts, Facts], schema: Schema) -> Plan | None:
    """By which cells two sides are joined; None if nothing can meet."""
    if not all(side.disjuncts for side in facts):
        return None
    space = Space()
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


def _attribute(space: Space, number: int, facts: tuple[Facts, Facts]) -> Attribute:
    path, type_ = space.attributes[number], space.columns[number].type
    null = all(path in side.null for side in facts)
    several = any(path in side.several for side in facts)
    empty = any(path in side.empty for side in facts)
    points = not any(path in side.ranges for side in facts)
    return Attribute(path, type_.kind, type_.is_list, null, several, empty, points)


def _sample(facts: Facts, attributes: list[Attribute], numbers: dict[str, int], schema: Schema, asking: bool) -> Sample:
    constraints = Constraints(schema)
    disjuncts = disjuncts_of(constraints.read(text) for _, text in facts.sample)
    signatures: dict[frozenset[int], int] = {}
    for paths, count in facts.signatures.items():
        if asking and not all(path in numbers for path in paths):
            continue  # can meet nothing
        signature = frozenset(numbers[path] for path in paths if path in numbers)
        signatures[signature] = signatures.get(signature, 0) + count
    return Sample(
        columns_of(disjuncts, numbers, attributes), len(disjuncts), facts.disjuncts, signatures, facts.complete
    )
