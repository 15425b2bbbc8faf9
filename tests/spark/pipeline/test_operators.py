"""Pipelines whose subscriptions call operators: what one process finds, failures, what is learned, restarts."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.pipeline.test_run import Heard
from tests.spark.pipeline.workplace import Record, Workplace
from vedette.cli.run import _lines
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import PipelineError
from vedette.io.subscription_problems import BadSubscriptions
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics
from vedette.spark.pipeline.checkpoint_report import inspect
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.operator_stage import STATISTICS
from vedette.spark.pipeline.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPS = """
import vedette as vd

@vd.operator(outputs=1, reads=("text",))
def words(event):
    if event["text"] is None:
        raise ValueError("there is no text")
    return event["text"].split()

@vd.operator
def odd(event):
    return event["number"] % 2 == 1
"""
SUBSCRIPTIONS: list[Record] = [
    {"id": "cheap", "subscriber": "alice", "when": "price < 20"},
    {"id": "bikes", "subscriber": "bob", "when": "price < 50 and words(?word) and ?word startswith 'bi'"},
    {"id": "odd", "when": "price >= 90 and odd()"},
    {"id": "even", "subscriber": "carl", "when": "price >= 90 and not odd()"},
]
TEXTS = ("a red bike", "two birds", None, "nothing of this", "bicycle bike")


def events(begin: int, end: int) -> list[dict[str, Any]]:
    return [
        {"id": f"e{number}", "number": number, "price": number % 100, "text": TEXTS[number % 5]}
        for number in range(begin, end)
    ]


def expected(place: Workplace, records: list[Record], given: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """What one process finds: event, subscription, bindings."""
    subscriptions = Subscriptions()
    subscriptions.add_many(records)
    with OperatorMatcher(subscriptions, Operators.read(place.folder / "ops.py")) as matcher:
        found = matcher.match_batch(given).to_pylist()
    return sorted(
        (given[row["event"]]["id"], row["subscription"], str(dict(row["bindings"]) if row["bindings"] else None))
        for row in found
    )


def told(rows: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return sorted(
        (row["event"], row["subscription"], str(dict(row["bindings"]) if row.get("bindings") else None)) for row in rows
    )


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    made.subscribe(*SUBSCRIPTIONS)
    (tmp_path / "ops.py").write_text(OPS)
    return made


# ---------------------------------------------------------------- batch


def test_lines_in_a_batch(place: Workplace, spark: SparkSession) -> None:
    place.describe(operators={"file": "ops.py"}, keep=["price"])
    place.publish("1.jsonl", events(0, 300))
    place.publish("2.jsonl", events(300, 500))
    heard = Heard()
    summary = run(load(place.pipeline), spark=spark, report=heard)
    rows = place.rows()
    assert told(rows) == expected(place, SUBSCRIPTIONS, events(0, 500))
    assert {row["subscriber"] for row in rows if row["subscription"] == "bikes"} == {"bob"}
    assert all(int(row["price"]) == int(row["event"][1:]) % 100 for row in rows)
    assert {row["version"] for row in rows} == {summary.version}
    assert len({row["id"] for row in rows}) == len(rows)
    assert all("steps" not in row or row["steps"] is None for row in rows)
    failed = sum(each["text"] is None and each["price"] < 50 for each in events(0, 500))
    assert summary.failures == {"words": failed}
    assert heard.batches[0].failures == {"words": {"error": failed}}
    assert f"words failed {failed} times" in str(summary)
    assert heard.batches[0].failed[0].startswith("operator words, event e")
    assert "there is no text" in heard.batches[0].failed[0]
    assert (summary.events, summary.matches, summary.rejects) == (500, len(rows), 0)


def test_a_table(place: Workplace, spark: SparkSession) -> None:
    place.describe(operators={"file": "ops.py"}, keep=["number"], source={"type": "parquet", "path": "events"})
    pq.write_table(pa.Table.from_pylist(events(0, 300)), place.events / "1.parquet")
    summary = run(load(place.pipeline), spark=spark)
    rows = place.rows()
    assert told(rows) == expected(place, SUBSCRIPTIONS, events(0, 300))
    assert all(row["number"] == int(row["event"][1:]) for row in rows)
    assert {row["version"] for row in rows} == {summary.version}
    assert list(summary.failures) == ["words"]


def test_events_without_ids_are_called_by_their_places(place: Workplace, spark: SparkSession) -> None:
    place.describe(operators={"file": "ops.py"}, source={"type": "csv", "path": "events"})
    place.events.joinpath("1.csv").write_text("number,price,text\n1,10,\n2,10,a bike\n")
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    assert told(place.rows()) == [
        ("1.csv:0", "cheap", "None"),
        ("1.csv:1", "bikes", "{'word': 'bike'}"),
        ("1.csv:1", "cheap", "None"),
    ]
    assert [line.partition(": ")[0] for line in heard.batches[0].failed] == ["operator words, event 1.csv:0"]


def test_no_subscription_has_to_call_one(place: Workplace, spark: SparkSession) -> None:
    place.subscribe(SUBSCRIPTIONS[0])
    place.describe(operators={})
    place.publish("1.jsonl", events(0, 100))
    summary = run(load(place.pipeline), spark=spark)
    assert {row["subscription"] for row in place.rows()} == {"cheap"}
    assert (summary.matches, summary.failures) == (20, {})


def test_installed_ones(place: Workplace, spark: SparkSession) -> None:
    place.subscribe({"id": "bike", "when": "mentions(text, 'bike')"})
    place.describe(operators={})
    place.publish("1.jsonl", events(0, 20))
    run(load(place.pipeline), spark=spark)
    assert {row["event"] for row in place.rows()} == {f"e{n}" for n in range(20) if n % 5 in (0, 4)}


def test_bindings_tell_notifications_apart(place: Workplace, spark: SparkSession) -> None:
    """If an operator says something else of the same event, that is news."""
    ids = []
    for text in ("a bike", "a bike", "a bird"):
        shutil.rmtree(place.folder / "out", ignore_errors=True)
        place.publish("1.jsonl", [{"id": "e", "price": 30, "number": 1, "text": text}])
        place.describe(operators={"file": "ops.py"})
        run(load(place.pipeline), spark=spark)
        ids += [row["id"] for row in place.rows()]
    assert ids[0] == ids[1] != ids[2]


# ---------------------------------------------------------------- streams


def streamed(place: Workplace, **parts: Any) -> None:
    place.describe(mode="available-now", checkpoint="state", operators={"file": "ops.py"}, **parts)


def publish_in_order(place: Workplace, *parts: list[dict[str, Any]]) -> None:
    """Files whose times differ: Spark takes the oldest first."""
    for number, part in enumerate(parts, 1):
        place.publish(f"{number}.jsonl", part)
        os.utime(place.events / f"{number}.jsonl", (1_000 * number,) * 2)


def known(place: Workplace) -> Statistics:
    return Statistics.from_plain(orjson.loads((place.folder / "state" / STATISTICS).read_bytes()))


def test_what_is_learned_goes_on_to_the_next_micro_batch_and_the_next_run(
    place: Workplace, spark: SparkSession, tmp_path: Path
) -> None:
    streamed(place, source={"type": "jsonl", "path": "events", "max_files_per_trigger": 1})
    publish_in_order(place, events(0, 200), events(200, 300))
    heard = Heard()
    summary = run(load(place.pipeline), spark=spark, report=heard, metrics=tmp_path / "metrics")
    assert summary.batches == 2
    # Every micro-batch counts its own failures alone.
    wanted = [
        sum(each["text"] is None and each["price"] < 50 for each in part) for part in (events(0, 200), events(200, 300))
    ]
    assert [report.failures for report in heard.batches] == [{"words": {"error": count}} for count in wanted]
    lines = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [line["failures"] for line in lines] == [{"words": {"error": count}} for count in wanted]
    once = known(place).plain()["operators"]["words"]
    # Evaluations that were made; what is old fades a little.
    assert once[2] == pytest.approx(sum(each["price"] < 50 for each in events(0, 300)), rel=0.02)
    place.publish("3.jsonl", events(300, 400))
    run(load(place.pipeline), spark=spark)
    twice = known(place).plain()["operators"]["words"]
    assert twice[2] == pytest.approx(sum(each["price"] < 50 for each in events(0, 400)), rel=0.02)
    assert told(place.rows()) == expected(place, SUBSCRIPTIONS, events(0, 400))
    text = shown(place)
    assert "operators: 3 filters call some" in text
    assert f"    words: holds for {twice[1] / twice[0]:.1%} of the events that it was asked of, " in text
    assert re.search(r"    odd: holds for 50\.0% .*, [0-9.e-]+ ms an event", text)


def shown(place: Workplace) -> str:
    """What `vedette checkpoint` says, which needs no Spark for this."""
    found = inspect(str(place.folder / "state"), lambda: pytest.fail("Spark is asked for"))
    assert json.loads(json.dumps(found)) == found
    return "\n".join(_lines("state", found))


def test_what_was_learned_may_be_lost(place: Workplace, spark: SparkSession) -> None:
    streamed(place)
    place.publish("1.jsonl", events(0, 50))
    run(load(place.pipeline), spark=spark)
    (place.folder / "state" / STATISTICS).write_text("{")
    assert "operators: nothing is known of them any more: " in shown(place)
    place.publish("2.jsonl", events(50, 100))
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    assert ["what was known of operators is forgotten" in warning for warning in heard.warnings] == [True]
    assert told(place.rows()) == expected(place, SUBSCRIPTIONS, events(0, 100))
    assert len(known(place))


def cut_short(place: Workplace) -> None:
    """As if the last micro-batch had ended before it was committed."""
    newest = max((place.folder / "state" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    shutil.rmtree(place.folder / "out")


def test_a_micro_batch_that_was_cut_short_is_run_again_with_the_filters_it_began_with(
    place: Workplace, spark: SparkSession
) -> None:
    streamed(place)
    place.publish("1.jsonl", events(0, 100))
    first = run(load(place.pipeline), spark=spark)
    before = place.lines()
    cut_short(place)
    place.subscribe({"id": "new", "when": "words('birds')"})
    place.publish("2.jsonl", events(100, 200))
    summary = run(load(place.pipeline), spark=spark)
    again = [line for line in place.lines() if json.loads(line)["version"] == first.version]
    assert again == before
    later = [row for row in place.rows() if row["version"] == summary.version]
    assert told(later) == expected(place, [{"id": "new", "when": "words('birds')"}], events(100, 200))


def test_a_micro_batch_that_was_cut_short_needs_its_operators(place: Workplace, spark: SparkSession) -> None:
    streamed(place)
    place.publish("1.jsonl", events(0, 100))
    run(load(place.pipeline), spark=spark)
    cut_short(place)
    place.subscribe(SUBSCRIPTIONS[0])
    place.describe(mode="available-now", checkpoint="state")
    with pytest.raises(PipelineError, match=r"which calls operators, as it began.*\n.*the section \[operators\]"):
        run(load(place.pipeline), spark=spark)
    (place.folder / "ops.py").write_text(OPS.replace("words", "terms"))
    streamed(place)
    with pytest.raises(PipelineError, match="the operators that it calls have changed"):
        run(load(place.pipeline), spark=spark)
    (place.folder / "ops.py").write_text(OPS)
    run(load(place.pipeline), spark=spark)
    assert told(place.rows()) == expected(place, SUBSCRIPTIONS, events(0, 100))


# ---------------------------------------------------------------- steps of patterns

STEPS: list[Record] = [
    *SUBSCRIPTIONS,
    {"id": "pair", "subscriber": "dora", "when": "a:[words('bike')] ; b:[odd() and price > 10] within 4 s by shop"},
    {"id": "rise", "when": "[price = $p and odd()] , [price > $p and words('birds')]"},
]


def timed(begin: int, end: int) -> list[dict[str, Any]]:
    return [{**event, "time": event["number"], "shop": event["number"] % 3} for event in events(begin, end)]


def followed(place: Workplace, given: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What one process tells: event, subscription, steps, bindings."""
    subscriptions = Subscriptions()
    subscriptions.add_many(STEPS)
    operators = Operators.read(place.folder / "ops.py")
    matcher = StreamMatcher(subscriptions, lateness=None, learn=False, operators=operators)
    found = pa.concat_tables([matcher.process(given, ids=[event["id"] for event in given]), matcher.finish()])
    return sorted(map(witnessed, found.to_pylist()))


def witnessed(row: dict[str, Any]) -> tuple[Any, ...]:
    steps, bindings = (str(sorted(dict(row.get(name) or {}).items())) for name in ("steps", "bindings"))
    return row["event"], row["subscription"], steps, bindings


def test_steps_of_patterns_in_a_batch(place: Workplace, spark: SparkSession) -> None:
    place.subscribe(*STEPS)
    place.describe(operators={"file": "ops.py"}, patterns={}, source={"type": "parquet", "path": "events"})
    pq.write_table(pa.Table.from_pylist(timed(0, 200)), place.events / "1.parquet")
    summary = run(load(place.pipeline), spark=spark)
    rows = place.rows()
    assert sorted(map(witnessed, rows)) == followed(place, timed(0, 200))
    assert {"pair", "rise", "bikes"} <= {row["subscription"] for row in rows}
    assert {row["subscriber"] for row in rows if row["subscription"] == "pair"} == {"dora"}
    assert {row["version"] for row in rows} == {summary.version}
    assert len({row["id"] for row in rows}) == len(rows)
    assert summary.failures["words"] > 0


def test_steps_of_patterns_in_a_stream(place: Workplace, spark: SparkSession) -> None:
    place.subscribe(*STEPS)
    source = {"type": "jsonl", "path": "events", "max_files_per_trigger": 1}
    streamed(place, patterns={}, source=source)
    last = {"id": "end", "number": 1, "price": 60, "text": "", "time": 1e6, "shop": 9}
    publish_in_order(place, timed(0, 50), timed(50, 100), timed(100, 150))
    first = run(load(place.pipeline), spark=spark)
    before = known(place).plain()["operators"]
    assert set(before) == {"odd", "words"}
    place.publish("9.jsonl", [*timed(150, 200), last])
    heard = Heard()
    second = run(load(place.pipeline), spark=spark, report=heard)
    rows = place.rows()
    assert sorted(map(witnessed, rows)) == followed(place, [*timed(0, 200), last])
    assert {row["version"] for row in rows} == {first.version, second.version}
    assert first.version == second.version
    assert heard.batches[0].failed[0].startswith("operator words, event e")
    assert known(place).plain()["operators"]["odd"][2] > before["odd"][2]


def test_patterns_come_and_go_with_their_operators(place: Workplace, spark: SparkSession) -> None:
    """What is left of a pattern whose operator is gone does not need it."""
    place.subscribe(*STEPS)
    streamed(place, patterns={})
    place.publish("1.jsonl", timed(0, 50))
    run(load(place.pipeline), spark=spark)
    (place.folder / "ops.py").write_text(OPS.replace("def odd", "def uneven"))
    kept = [each for each in SUBSCRIPTIONS if "odd" not in each["when"]]
    place.subscribe(*kept, {"id": "pair", "when": "a:[words('bike')] ; b:[price > 10] within 4 s by shop"})
    place.publish("2.jsonl", timed(100, 150))
    summary = run(load(place.pipeline), spark=spark)
    later = [row for row in place.rows() if row["version"] == summary.version]
    assert {row["subscription"] for row in later} == {"cheap", "bikes", "pair"}


# ---------------------------------------------------------------- mistakes


def mistake(place: Workplace, **parts: Any) -> str:
    place.describe(**parts)
    with pytest.raises(PipelineError) as caught:
        load(place.pipeline)
    return str(caught.value)


def test_without_the_section_calls_are_mistakes(place: Workplace) -> None:
    place.publish("1.jsonl", events(0, 1))
    said = mistake(place)
    assert "subscription 'bikes': it calls operators, and this pipeline has none" in said
    assert "Hint: give it a section [operators]" in said
    assert said.count("it calls operators") == 3
    place.subscribe(*STEPS)
    assert mistake(place, patterns={}).count("it calls operators") == 5


def test_wrong_calls_are_told_at_once(place: Workplace) -> None:
    place.publish("1.jsonl", events(0, 1))
    place.subscribe(
        {"id": "a", "when": "wrods(?x)"}, {"id": "b", "when": "odd(1)"}, {"id": "c", "when": "[odd(2)] , [words('x')]"}
    )
    said = mistake(place, operators={"file": "ops.py"}, patterns={})
    assert "did you mean words?" in said
    assert [each in said for each in ("'a'", "'b'", "'c'")] == [True] * 3
    assert "3 mistakes" in said


def test_a_file_that_is_not_there(place: Workplace) -> None:
    place.publish("1.jsonl", events(0, 1))
    assert "there is no " in mistake(place, operators={"file": "none.py"})
    (place.folder / "ops.py").write_text("import vedette as vd\n1 / 0\n")
    said = mistake(place, operators={"file": "ops.py"})
    assert "`file` of [operators]" in said
    assert "ZeroDivisionError" in said


def test_columns_that_are_there_already_cannot_be_kept(place: Workplace) -> None:
    place.publish("1.jsonl", events(0, 1))
    said = mistake(place, operators={"file": "ops.py"}, keep=["bindings"])
    assert '`keep`: "bindings" is a column that every notification has already' in said


def test_wrong_calls_in_a_table_of_subscriptions(place: Workplace, spark: SparkSession) -> None:
    """What cannot be seen before is told by all who load it."""
    place.publish("1.jsonl", events(0, 1))
    pq.write_table(pa.table({"id": ["a", "b"], "when": ["odd(1)", "n > 1"]}), place.folder / "subscribed.parquet")
    where = {"path": "subscribed.parquet", "strict": True}
    place.describe(subscriptions=where, operators={"file": "ops.py"})
    with pytest.raises(BadSubscriptions, match=r"subscription 'a'"):
        run(load(place.pipeline), spark=spark)
    place.describe(subscriptions=where)
    with pytest.raises(BadSubscriptions, match="a filter that calls operators"):
        run(load(place.pipeline), spark=spark)
