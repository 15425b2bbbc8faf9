"""The engines, behind one signature: id -> text of both sides in, pairs of ids out, none of them twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TypeAlias

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

import vedette as vd
from tests.meeting.oracle import Pairs
from vedette.meeting import queries
from vedette.meeting.allowed import meets
from vedette.meeting.direction import Direction
from vedette.meeting.reading import Constraint, Disjunct, read_constraint
from vedette.meeting.relations import Id, relations
from vedette.schema.schema import Schema
from vedette.spark.meeting.meet import Strategy
from vedette.spark.meeting.meet import meet as spark_meet

Texts: TypeAlias = Mapping[str, str]
Engine: TypeAlias = Callable[[Texts, Texts, Schema, Direction], Pairs]


def once_each(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """The pairs as a set; none may be there twice."""
    counted = Counter(pairs)
    assert counted.total() == len(counted), f"more than once: {counted.most_common(1)}"
    return set(counted)


def of_table(table: pa.Table) -> Pairs:
    """The pairs of a table."""
    return once_each(zip(table["publication"].to_pylist(), table["subscription"].to_pylist(), strict=True))


def obvious(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """Every disjunct of one side against every one of the other."""
    offered, wanted = (
        {id_: read_constraint(text, schema).disjuncts for id_, text in texts.items()}
        for texts in (publications, subscriptions)
    )
    return {
        (one, other)
        for one, mine in offered.items()
        for other, theirs in wanted.items()
        if any(_disjuncts_meet(p, s, direction) for p in mine for s in theirs)
    }


def _disjuncts_meet(publication: Disjunct, subscription: Disjunct, direction: Direction) -> bool:
    offered, wanted = ({term.attribute: term.allowed for term in each.terms} for each in (publication, subscription))
    if direction != "open":
        less, more = (offered, wanted) if direction == "publication" else (wanted, offered)
        if not less.keys() <= more.keys():
            return False
    return all(meets(offered[each], wanted[each]) for each in offered.keys() & wanted.keys())


def local(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """All at once."""
    return of_table(vd.meet(publications, subscriptions, schema=schema, direction=direction))


def standing(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """One by one or a few at a time, both sides mixed; some come with another text first, and are withdrawn."""
    random = Random(len(publications) * 1000 + len(subscriptions))
    meeting = vd.Meeting(schema, direction=direction)
    sides = (meeting.publications, publications), (meeting.subscriptions, subscriptions)
    coming = [(side, id_, text) for side, texts in sides for id_, text in texts.items()]
    random.shuffle(coming)
    told: Pairs = set()

    def met(side: object, id_: str, others: Iterable[str]) -> Pairs:
        return once_each((id_, each) if side is meeting.publications else (each, id_) for each in others)

    while coming:
        side, id_, text = coming.pop()
        if random.random() < 0.3:  # it says something else at first
            before = met(side, id_, side.add(id_, random.choice([*publications.values(), *subscriptions.values()])))
            if random.random() < 0.5 and coming and coming[-1][0] is not side:
                another, other, wanted = coming.pop()
                told |= met(another, other, another.add(other, wanted))
            side.remove(id_)
            told -= {pair for pair in told | before if pair[0 if side is meeting.publications else 1] == id_}
        together = [(id_, text)]
        while coming and coming[-1][0] is side and random.random() < 0.7:
            together.append(coming.pop()[1:])
        if len(together) == 1:
            told |= met(side, id_, side.add(id_, text))
        else:
            told |= of_table(side.add_many({"id": one, "when": when} for one, when in together))
    assert told == of_table(meeting.pairs())
    return told


# The types of which the relations of the paper can speak, but for places, of which they know rectangles.
RELATIONAL = frozenset({"int", "float", "string", "bool", "timestamp", "date", "ip"})


def relational(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """The paper's relations and queries, in DuckDB."""
    made: list[dict[Id, Constraint]] = [
        {id_: read_constraint(text, schema) for id_, text in texts.items()} for texts in (publications, subscriptions)
    ]
    sides = relations(made[0], "publication"), relations(made[1], "subscription")
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        for name, table in {**sides[0], **sides[1]}.items():
            database.register(name, table)
        return once_each(queries.issue(database, queries.pairs_in(*sides), direction).fetchall())


def on_spark(spark: SparkSession, strategy: Strategy) -> Engine:
    """DataFrames of both sides, joined or met in the workers."""
    columns = "id string, `when` string"

    def engine(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
        offered, wanted = (
            spark.createDataFrame(list(texts.items()), columns) for texts in (publications, subscriptions)
        )
        found = spark_meet(offered, wanted, schema=schema, direction=direction, strategy=strategy)
        return of_table(found.toArrow())

    return engine


IN_PROCESS: dict[str, Engine] = {"obvious": obvious, "local": local, "standing": standing}
