"""Requests: what is tried again and what is not, what the receiver can know them by, and what no error says."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from tests.spark.pipeline.outcomes import ids, outcomes
from tests.spark.pipeline.receivers import Server, Topic, serving
from vedette.errors import DeliveryError
from vedette.spark.pipeline.routing import notifications, rejected
from vedette.spark.pipeline.sink_config import ConsoleSink, JdbcSink, JsonlSink, KafkaSink, ParquetSink, WebhookSink
from vedette.spark.pipeline.sinks.base import Batch
from vedette.spark.pipeline.sinks.console import TerminalSink
from vedette.spark.pipeline.sinks.kafka import TopicSink
from vedette.spark.pipeline.sinks.webhook import Receiver, RequestSink


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


def receiver(server: Server, **settings: object) -> Receiver:
    return Receiver(f"{server.address}/secret-path?token=hush", **{"retries": 3, "backoff": 0.001, **settings})  # type: ignore[arg-type]


def rows(*sizes: int) -> list[pa.RecordBatch]:
    batches, at = [], 0
    for size in sizes:
        numbers = range(at, at + size)
        at += size
        batches.append(
            pa.RecordBatch.from_pydict({"id": [f"{n}" for n in numbers], "body": [f'{{"id":"{n}"}}' for n in numbers]})
        )
    return batches


def problems(batches: Iterator[pa.RecordBatch]) -> list[str]:
    return [problem for batch in batches for problem in batch.column(0).to_pylist()]


def test_requests_are_as_large_as_they_may_be(server: Server) -> None:
    assert problems(receiver(server, batch_size=10).send(rows(3, 0, 15, 7))) == []
    assert [len(request.body) for request in server.requests] == [10, 10, 5]
    assert [row["id"] for request in server.requests for row in request.body] == [str(n) for n in range(25)]
    first = server.requests[0].headers
    assert first["content-type"] == "application/json"
    assert first["idempotency-key"] == hashlib.sha256("\n".join(map(str, range(10))).encode()).hexdigest()
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 3


@pytest.mark.parametrize(
    "answers", [[(503, {})], [(500, {}), (502, {}), (429, {})], [(0, {})], [(429, {"Retry-After": "0"})], [(599, {})]]
)
def test_what_may_pass_is_tried_again(server: Server, answers: list[tuple[int, dict[str, str]]]) -> None:
    tried = len(answers)
    server.answers += answers
    assert problems(receiver(server).send(rows(2))) == []
    assert len(server.requests) == tried + 1
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    assert len(server.taken()) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 413, 301, 307])
def test_what_will_not_pass_is_not_tried_again(server: Server, status: int) -> None:
    server.answers += [(status, {"Location": "/elsewhere", "Retry-After": "0"})]
    assert problems(receiver(server, batch_size=1).send(rows(3))) == [f"status {status}"]
    assert len(server.requests) == 1


def test_in_the_end_it_gives_up(server: Server) -> None:
    server.answers += [(503, {})] * 10
    assert problems(receiver(server).send(rows(2))) == ["status 503 after 4 attempts"]
    assert len(server.requests) == 4


def test_nobody_is_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        nobody = Receiver(f"http://127.0.0.1:{port}/hush", retries=1, backoff=0.001)
        assert problems(nobody.send(rows(2))) == ["no answer (NewConnectionError) after 2 attempts"]


def test_an_answer_that_does_not_come() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = Receiver(f"http://127.0.0.1:{silent.getsockname()[1]}/hush", retries=0, timeout=0.05)
        assert problems(slow.send(rows(2))) == ["no answer (ReadTimeoutError) after 1 attempts"]


def test_waits_are_bounded() -> None:
    from urllib3.response import HTTPResponse

    from vedette.spark.pipeline.sinks.webhook import _Attempts

    assert _Attempts().get_retry_after(HTTPResponse(headers={"Retry-After": "86400"})) == 60
    assert _Attempts().get_retry_after(HTTPResponse(headers={"Retry-After": "2"})) == 2
    assert _Attempts().get_retry_after(HTTPResponse()) is None


def test_a_failure_fails_the_batch_and_tells_no_secret(spark: SparkSession, server: Server) -> None:
    server.answers += [(403, {})] * 4
    settings = receiver(server, headers={"Authorization": "Bearer hush"})
    with pytest.raises(DeliveryError) as caught:
        RequestSink("hook", settings).write(notifications(outcomes(spark, 0, 9)), Batch("p", 3, "c"))
    assert str(caught.value).startswith("the sink hook: 127.0.0.1 did not take batch 3: status 403\nHint: mend")
    assert "hush" not in str(caught.value) + repr(settings)
    assert "secret" not in str(caught.value) + repr(settings)


def test_the_same_rows_make_the_same_requests(spark: SparkSession, server: Server) -> None:
    sink = RequestSink("hook", receiver(server, batch_size=4))
    for partitions in (1, 5):
        sink.write(notifications(outcomes(spark, 0, 30, partitions=partitions)), Batch("p", 0, "c"))
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert sorted(keys) == sorted([*set(keys), *set(keys)])
    assert {row["id"] for request in server.requests for row in request.body} == ids(0, 30)


# ---------------------------------------------------------------- from the pipeline file, and what is left


def test_sinks_as_the_file_describes_them(
    spark: SparkSession, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "Bearer hush")
    url = f"{server.address}/hook"
    configs = [
        ParquetSink(type="parquet", path=str(tmp_path / "a")),
        JsonlSink(type="jsonl", path=str(tmp_path / "b"), name="lines", if_exists="replace"),
        ConsoleSink(type="console", rows=2),
        KafkaSink(type="kafka", servers=("h:1",), topic="t", options_env={"kafka.sasl.jaas.config": "TOKEN"}),
        JdbcSink(type="jdbc", url=f"jdbc:derby:{tmp_path / 'd'};create=true", table="t", password_env="TOKEN"),
        WebhookSink(type="webhook", url=url, headers={"X-A": "1"}, headers_env={"Authorization": "TOKEN"}),
    ]
    sinks = [config.sink() for config in configs]
    assert [sink.name for sink in sinks] == ["parquet", "lines", "console", "kafka", "jdbc", "webhook"]
    assert [sink.delivery for sink in sinks] == [
        "exactly once",
        "exactly once",
        "at least once",
        "at least once",
        "exactly once",
        "at least once",
    ]
    for sink in sinks:
        assert "hush" not in repr(vars(sink))
    sinks[-1].write(notifications(outcomes(spark, 0, 1)), Batch("p", None))
    assert server.requests[0].headers["authorization"] == "Bearer hush"
    assert server.requests[0].headers["x-a"] == "1"


def test_a_session_without_the_connector_says_so(spark: SparkSession) -> None:
    with pytest.raises(DeliveryError, match=r"the sink k needs Spark's Kafka connector.*\nHint: leave `jars` out"):
        TopicSink("k", servers="h:1", topic="t").check(spark, streaming=True)


def test_records_have_the_key_that_was_chosen(spark: SparkSession, tmp_path: Path) -> None:
    place = Topic(tmp_path, key="subscriber")
    place.sink.write(notifications(outcomes(spark, 0, 4)), Batch("p", 0, "c"))
    assert {record["key"] for record in place.records()} == {"alice", "ops-1"}
    quarantine = Topic(tmp_path / "bad", key="subscriber")
    quarantine.sink.write(rejected(outcomes(spark, 0, 4)), Batch("p", 0, "c"))
    assert sorted(record["key"] for record in quarantine.records()) == sorted(quarantine.ids())


def test_the_terminal_shows_the_first_rows_and_counts_all(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert Console().width == 300
    frame = notifications(outcomes(spark, 0, 9)).select("id", "event").replace("e3", "[red]e3[/red]", ["event"])
    TerminalSink("screen", rows=4).write(frame.orderBy("event"), Batch("p", 2))
    shown = capsys.readouterr().out
    assert "[red]e3[/red]" in shown
    assert shown.rstrip().endswith("screen, batch 2: 9 rows, the first 4 are shown")
    TerminalSink("screen").write(frame.where("event = 'e1'"), Batch("p", None))
    assert capsys.readouterr().out.rstrip().endswith("screen: 1 row")
