"""The engines, behind one signature: id -> text of both sides in, pairs of ids out, none of them twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeAlias

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

import vedette as vd
from tests.cli.session import vedette, write_lines
from tests.meeting.oracle import Pairs
from tests.service.running import settings_in
from tests.waiting import until
from vedette.engine.offers import StreamOffer
from vedette.engine.step import EventBatch
from vedette.meeting import queries
from vedette.meeting.allowed_values import meets
from vedette.meeting.constraint_parser import Constraint, Disjunct, read_constraint
from vedette.meeting.direction import Direction
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


def in_a_stream(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """Offers and those who want them in a stream of the engine: half of the wants come when all offers stand."""
    with vd.Subscriptions(schema).live() as live, live.stream(direction=direction) as stream:
        wants = [{"id": id_, "when": text, "to": "offers"} for id_, text in subscriptions.items()]
        half = len(wants) // 2
        live.add_many([{"id": "beside", "when": "not exists i" if "i" in schema else "true"}, *wants[:half]])
        first = stream.step(EventBatch(offers=[StreamOffer(id_, text) for id_, text in publications.items()]))
        live.add_many(wants[half:])
        told = [*first.dicts(), *stream.step(EventBatch()).dicts()]
    assert {one["kind"] for one in told} <= {"meeting"}
    return once_each((one["event"], one["subscription"]) for one in told)


def on_the_command_line(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """`vedette meet` of two files."""
    with TemporaryDirectory() as folder:
        sides = []
        for name, texts in (("offers", publications), ("wants", subscriptions)):
            sides.append(write_lines(Path(folder, f"{name}.jsonl"), [{"id": i, "when": w} for i, w in texts.items()]))
        Path(folder, "schema.yaml").write_text(str(schema))
        options = ["--schema", Path(folder, "schema.yaml"), "--direction", direction, "--quiet"]
        result = vedette("meet", *sides, "-o", "-", *options)
        assert result.exit_code == 0, result.output
        rows = [json.loads(line) for line in result.stdout.splitlines()]
    return once_each((row["publication"], row["subscription"]) for row in rows)


def in_the_service(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
    """Offers and wants over its database; it knows one direction. Half of the wants come when all offers stand."""
    from vedette.service.service import Service
    from vedette.service.subscription_registry import SubscriptionRequest

    assert direction == "publication"
    with TemporaryDirectory() as folder:
        attributes = {path: schema.spelling(path) for path in schema}
        settings = settings_in(Path(folder), streams={"default": {"schema": attributes}}, limits={"queue": 100_000})
        told: list[tuple[str, str]] = []
        with Service(settings) as service:
            tenant = service.tenants.add("acme")
            numbers: dict[int, str] = {}
            offered: dict[str, str] = {}
            wants = list(subscriptions.items())
            half = len(wants) // 2

            def want(some: Iterable[tuple[str, str]]) -> None:
                for id_, text in some:
                    made = service.registry.subscribe(tenant, SubscriptionRequest(text, want=True))
                    numbers[made.subscription.number] = id_

            want(wants[:half])
            for id_, text in publications.items():
                offered[service.market.offer(tenant, "default", text)[0].id] = id_
            want(wants[half:])
            until(lambda: not service.market.behind)
            for number, id_ in numbers.items():
                for one in service.outbox.pending(number, 0, 1_000_000):
                    told.append((offered[json.loads(one.body)["offer"]["id"]], id_))
    return once_each(told)


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


def in_a_spark_stream(spark: SparkSession) -> Engine:
    """Offers come in files, one a micro-batch, and meet those who want them without any state."""

    def engine(publications: Texts, subscriptions: Texts, schema: Schema, direction: Direction) -> Pairs:
        found: list[tuple[str, str]] = []
        offers = [{"id": id_, "when": when} for id_, when in publications.items()]
        with TemporaryDirectory() as folder:
            place = Path(folder, "offers")
            place.mkdir()
            for number in range(2):
                write_lines(place / f"{number}.json", offers[number::2])
            reader = spark.readStream.schema("id string, when string").option("maxFilesPerTrigger", 1)
            stream = spark_meet(reader.json(str(place)), dict(subscriptions), schema=schema, direction=direction)
            assert stream.isStreaming
            query = (
                stream.writeStream.foreachBatch(
                    lambda rows, number: found.extend((row.publication, row.subscription) for row in rows.collect())
                )
                .option("checkpointLocation", str(Path(folder, "checkpoint")))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            assert len(query.recentProgress) > 1
            assert not any(progress.stateOperators for progress in query.recentProgress)
        return once_each(found)

    return engine


IN_PROCESS: dict[str, Engine] = {"obvious": obvious, "local": local, "standing": standing, "a stream": in_a_stream}
