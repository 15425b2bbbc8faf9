"""Filters that call operators over DataFrames: what the local engine finds on the same rows."""

from __future__ import annotations

import logging
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.operators.generate import COLUMNS, SCHEMA, Writer, for_engine, operators
from tests.operators.generate import events as random_events
from tests.seeds import some
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError
from vedette.io.subscription_problems import BadSubscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import Operator, operator
from vedette.operators.registry import Operators
from vedette.spark.dataframe_match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Told = list[tuple[Any, str, dict[str, str] | None]]


def table(spark: SparkSession, rows: list[dict[str, Any]], partitions: int = 3) -> DataFrame:
    """The rows as a DataFrame in several partitions."""
    import pyarrow as pa

    frame = spark.createDataFrame(pa.Table.from_pylist(rows, COLUMNS))
    return frame.repartition(partitions, "number")


def told(frame: DataFrame, name: str = "number") -> Told:
    rows = frame.select(name, "subscription", "bindings").collect()
    return sorted(((row[0], row[1], row[2]) for row in rows), key=repr)


def expected(matcher: OperatorMatcher, frame: DataFrame, name: str = "number") -> Told:
    rows = frame.toArrow()
    names = rows.column(name).to_pylist()
    return sorted(
        (
            (names[row["event"]], row["subscription"], None if row["bindings"] is None else dict(row["bindings"]))
            for row in matcher.match_batch(rows).to_pylist()
        ),
        key=repr,
    )


@pytest.mark.parametrize("seed", some(6, usual=2))
def test_the_same_as_the_local_engine_on_random_sets(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    made = operators(random, random.choice([3, 5, 8]))
    writer = Writer(random, made)
    subscriptions = Subscriptions(SCHEMA)
    for number in range(20):
        subscriptions.add(f"s{number}", writer.filter(), subscriber=random.choice([None, "ada"]))
    subscriptions.add("plain", "n = 1 or m is null")
    frame = table(spark, random_events(random, 60))
    engine = Operators(*for_engine(random, made, Counter()))
    with OperatorMatcher(subscriptions, engine) as matcher:
        assert told(match(frame, subscriptions, operators=engine)) == expected(matcher, frame)


SIMPLE = {"id": "string", "n": "int", "text": "string"}


def simple(spark: SparkSession, count: int = 40, partitions: int = 2) -> DataFrame:
    rows = [(f"e{number}", number, f"text {number % 4}") for number in range(count)]
    return spark.createDataFrame(rows, "id string, n bigint, text string").repartition(partitions, "id")


def subscriptions(*texts: str) -> Subscriptions:
    made = Subscriptions(SIMPLE)
    for number, text in enumerate(texts):
        made.add(f"s{number}", text, subscriber=f"who {number}")
    return made


def fourth() -> Operator:
    @operator("fourth", outputs=1, reads=("text",))
    def function(event: Any) -> int:
        return int(event["text"][-1])

    return function


def test_columns_are_those_of_filters_and_bindings(spark: SparkSession) -> None:
    found = match(
        simple(spark),
        subscriptions("n < 8 and fourth(?f) and ?f > 2", "n = 3"),
        operators=Operators(fourth()),
        keep="id",
        subscribers=True,
    )
    assert found.columns == ["id", "subscription", "subscriber", "bindings", "version"]
    rows = sorted((row[0], row[1], row[2], row[3]) for row in found.collect())
    assert rows == [("e3", "s0", "who 0", {"f": "3"}), ("e3", "s1", "who 1", None), ("e7", "s0", "who 0", {"f": "3"})]


def test_ids_may_have_any_characters(spark: SparkSession) -> None:
    made = Subscriptions(SIMPLE)
    made.add("a\x1fb\x1ec", "n = 1 and fourth(?f)", subscriber="x\x1by")
    made.add("plain\x1d", "n = 1", subscriber="\x1e")
    rows = match(simple(spark), made, operators=Operators(fourth()), subscribers=True).collect()
    assert sorted((row["subscription"], row["subscriber"]) for row in rows) == [
        ("a\x1fb\x1ec", "x\x1by"),
        ("plain\x1d", "\x1e"),
    ]


def test_events_that_break_the_schema_are_told(spark: SparkSession) -> None:
    rows = [("e1", "2024-05-01", "text 1"), ("e2", "odd", "text 2")]
    frame = spark.createDataFrame(rows, "id string, sent string, text string")
    found = match(
        frame,
        [{"id": "s0", "when": "sent > date '2024-01-01' and fourth(?f)"}],
        operators=Operators(fourth()),
        schema={"sent": "timestamp"},
        rejects="keep",
    )
    by_id = {row["id"]: row for row in found.collect()}
    assert by_id["e1"]["subscription"] == "s0"
    assert by_id["e1"]["bindings"] == {"f": "1"}
    assert by_id["e2"]["subscription"] is None
    assert "attribute 'sent'" in by_id["e2"]["reason"]


def test_an_operator_may_see_whole_events(spark: SparkSession) -> None:
    @operator(outputs=1)
    def seen(event: Any) -> list[str]:
        return sorted(f"{name}={value}" for name, value in event.items() if value is not None)

    made = subscriptions("n = 1 and seen(?all)", "n = 1 and not seen('n=2')")
    found = told(match(simple(spark), made, operators=Operators(seen)), "id")
    assert found == [("e1", "s0", {"all": "id=e1"}), ("e1", "s1", None)]


def test_an_operator_may_look_at_what_no_filter_can(spark: SparkSession) -> None:
    """Bytes have no type in filters; structs cross whole, and filters find in them what they ask for."""

    @operator(outputs=1, reads=("picture.bytes",))
    def size(event: Any) -> int:
        return len(event["picture.bytes"])

    rows = [(1, (b"abc", "png")), (2, (b"", "png")), (3, (b"abcdef", "gif"))]
    frame = spark.createDataFrame(rows, "id bigint, picture struct<bytes: binary, kind: string>")
    found = match(
        frame, [{"id": "s0", "when": "picture.kind = 'png' and size(?b) and ?b > 0"}], operators=Operators(size)
    )
    assert told(found, "id") == [(1, "s0", {"b": "3"})]


def test_only_what_is_looked_at_crosses(spark: SparkSession) -> None:
    """The text, and the id that failures are told by; `n` is not asked for."""
    found = match(simple(spark), subscriptions("fourth(?f) and ?f = 1"), operators=Operators(fourth()), keep=[])
    plan = found._jdf.queryExecution().executedPlan().toString()
    evaluated = next(line for line in plan.splitlines() if "ArrowEvalPython" in line)
    assert "text" in evaluated
    assert "n#" not in evaluated.split("]")[0].split("[")[-1]


# ---------------------------------------------------------------- learning


def test_what_workers_learn_is_known_to_the_next_plan(spark: SparkSession) -> None:
    """Nothing says which of the two is rarely true: the first run finds out, the second begins with it."""

    @operator(reads=("n",), cost=1.0)
    def often(event: Any) -> bool:
        return bool(event["n"] >= 0)

    @operator(reads=("n",), cost=1.0)
    def seldom(event: Any) -> bool:
        return bool(event["n"] < 0)

    made = subscriptions("often() and seldom()")
    calling = Calling(Operators(often, seldom))
    frame = simple(spark, 1000, 4)
    assert not match(frame, made, operators=calling).collect()
    first = dict(calling.made)
    assert len(calling.statistics) > 0
    assert calling.counts.events == 1000
    assert first["seldom"] == 1000
    assert not match(frame, made, operators=calling).collect()
    second = {name: calling.made[name] - first.get(name, 0) for name in calling.made}
    assert second == {"seldom": 1000, "often": 0}

    # A new set, and what is known of the same predicates.
    fresh = Calling(Operators(often, seldom), statistics=calling.known())
    assert not match(frame, subscriptions("often() and seldom()", "n = -1"), operators=fresh).collect()
    assert fresh.made["seldom"] == 1000
    assert fresh.made.get("often", 0) == 0


def test_what_is_reported_is_what_one_process_counts(spark: SparkSession) -> None:
    made = subscriptions("fourth(?f) and ?f = 1", "n > 10 and fourth(2)")
    frame, calling = simple(spark, 200, 5), Calling(Operators(fourth()))
    match(frame, made, operators=calling).collect()
    with OperatorMatcher(made, Operators(fourth())) as matcher:
        matcher.match_batch(frame.toArrow())
        assert calling.counts == matcher.counts
        local, here = matcher.statistics.plain()["observed"], calling.statistics.plain()["observed"]
        assert {text: found[0] for text, found in here.items()} == pytest.approx(
            {text: found[0] for text, found in local.items()}, rel=0.02
        )


# ---------------------------------------------------------------- failing


def test_failures_are_counted_and_told_and_other_events_go_on(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    @operator(reads=("n",))
    def fragile(event: Any) -> bool:
        if event["n"] % 10 == 3:
            raise ValueError(f"not {event['n']}")
        return bool(event["n"] % 2)

    calling = Calling(Operators(fragile))
    with caplog.at_level(logging.WARNING, "vedette.operators"):
        found = match(simple(spark), subscriptions("fragile()", "not fragile()"), operators=calling).collect()
    assert len(found) == 36
    assert calling.failures == {"fragile": {"error": 4}}
    said = sorted(record.getMessage() for record in caplog.records)
    assert len(said) == 4
    assert said[0].startswith("operator fragile, event e13: ValueError: not 13")


def test_an_operator_that_does_not_come_back_keeps_nobody_waiting(spark: SparkSession) -> None:
    @operator(reads=("n",), time_limit=0.4)  # a busy machine may take its time with the others
    def slow(event: Any) -> bool:
        if event["n"] == 5:
            time.sleep(2)
        return True

    calling = Calling(Operators(slow))
    found = match(simple(spark), subscriptions("slow()", "n = 5"), operators=calling).collect()
    assert len(found) == 40
    assert ("e5", "s1") in {(row["id"], row["subscription"]) for row in found}
    assert calling.failures["slow"]["time"] >= 1


def test_wrong_calls_are_told_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(FilterError, match="there is no operator 'forth'"):
        match(simple(spark), subscriptions("forth(?f)"), operators=Operators(fourth()))
    with pytest.raises(InputError, match="not as list"):
        match(simple(spark), subscriptions("fourth(?f)"), operators=[fourth()])  # type: ignore[arg-type]


def test_all_wrong_calls_of_a_file_are_told_at_once(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(
        '{"id": "s1", "when": "forth(?f)"}\n{"id": "s2", "when": "fourth()"}\n{"id": "s3", "when": "n = 1"}\n'
    )
    with pytest.raises(BadSubscriptions) as error:
        match(simple(spark), file, operators=Operators(fourth()), strict=True)
    assert [problem.id for problem in error.value.problems] == ["s1", "s2"]


# ---------------------------------------------------------------- on their way


def test_operators_of_a_file_go_as_its_text(spark: SparkSession, tmp_path: Path) -> None:
    """Workers need not see the file: it is gone before they look. What it holds is made there."""
    file = tmp_path / "ops.py"
    file.write_text(
        "import threading\nimport vedette as vd\n\nalone = threading.Lock()\n\n"
        "@vd.operator(outputs=1, reads=('n',))\ndef half(event):\n    with alone:\n        return event['n'] // 2\n"
    )
    (tmp_path / "ops.toml").write_text('modules = ["./ops.py"]\n')
    made = subscriptions("half(?h) and ?h = 3")
    frames = [match(simple(spark), made, operators=tmp_path / name) for name in ("ops.py", "ops.toml")]
    file.unlink()
    for frame in frames:
        assert told(frame, "id") == [("e6", "s0", {"h": "3"}), ("e7", "s0", {"h": "3"})]


def test_what_cannot_be_sent_is_told(spark: SparkSession) -> None:
    import threading

    alone = threading.Lock()

    @operator(reads=("n",))
    def held(event: Any) -> bool:
        with alone:
            return True

    with pytest.raises(InputError, match=r"operator 'held' cannot be sent.*\n.*path of the file"):
        match(simple(spark), subscriptions("held()"), operators=Operators(held))


# ---------------------------------------------------------------- streams


def test_a_stream_is_matched_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(3):
        simple(spark, 10).write.mode("append").parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema("id string, n bigint, text string").option("maxFilesPerTrigger", 1)
    calling = Calling(Operators(fourth()))
    found = match(
        stream.parquet(str(tmp_path / "events")), subscriptions("n < 4 and fourth(?f) and ?f = 1"), operators=calling
    )
    query = (
        found.writeStream.format("memory")
        .queryName("operators_told")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    rows = spark.table("operators_told").collect()
    assert [(row["id"], row["bindings"]) for row in rows] == [("e1", {"f": "1"})] * 3
    assert calling.made == {"fourth": 12}
