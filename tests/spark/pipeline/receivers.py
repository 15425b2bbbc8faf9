"""Real places that sinks write to, and how a test looks at what has arrived there: one per kind of sink."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from tests.plugin_packages import installed, of_page
from vedette.spark.pipeline.kinds import SINKS
from vedette.spark.pipeline.sinks.base import Sink
from vedette.spark.pipeline.sinks.console import TerminalSink
from vedette.spark.pipeline.sinks.files import FolderSink
from vedette.spark.pipeline.sinks.jdbc import TableSink
from vedette.spark.pipeline.sinks.kafka import TopicSink
from vedette.spark.pipeline.sinks.webhook import Receiver, RequestSink


class Place(Protocol):
    """A sink and the ids that have arrived, each as often as it did."""

    @property
    def sink(self) -> Sink: ...
    def ids(self) -> list[str]: ...
    def rows(self) -> list[dict[str, Any]]:
        """What arrived, as JSON has it, without nulls; nothing for a place that shows only some of it."""


class Folder:
    """A folder, read by pyarrow or line by line, not by Spark."""

    def __init__(self, folder: Path, format: Any) -> None:
        self.path = folder / "out"
        self.format = format
        self.sink = FolderSink("files", str(self.path), format=format)

    def rows(self) -> list[dict[str, Any]]:
        if self.format == "parquet":
            if not any(self.path.rglob("*.parquet")):
                return []
            return [_without_nulls(row) for row in ds.dataset(self.path, format="parquet").to_table().to_pylist()]
        files = sorted([*self.path.glob("*.jsonl"), *self.path.glob("*/*.jsonl")])
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows()]


class Spool:
    """The sink of docs/how-to/write-a-sink.md, which a package of others brings."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "told"
        with installed(of_page("docs/how-to/write-a-sink.md", folder)):
            self.sink = SINKS.find("spool")(type="spool", path=str(self.path)).sink()  # type: ignore[call-arg]
            self.path.mkdir()

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for file in sorted(self.path.glob("*.jsonl")) for line in file.open()]

    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows()]


class Derby:
    """A table of an embedded database."""

    def __init__(self, spark: SparkSession, folder: Path, table: str = "notifications") -> None:
        self.url = f"jdbc:derby:{folder / 'derby'};create=true"
        self.table = table
        self._spark = spark
        self.sink = TableSink("table", url=self.url, table=table)

    def query(self, query: str) -> list[dict[str, Any]]:
        reader = self._spark.read.format("jdbc").options(url=self.url, query=query)
        return [row.asDict() for row in reader.load().collect()]

    def rows(self) -> list[dict[str, Any]]:
        rows = self.query(f"SELECT * FROM {self.table}")
        return [_without_nulls({name.lower(): value for name, value in row.items()}) for row in rows]

    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows()]


class Topic:
    """Where Spark's Kafka writer would be, its writer of JSON: records are appended to files.

    It stands for the broker; the real one is met in tests/connectors.
    """

    def __init__(self, folder: Path, key: str = "id") -> None:
        self.path = folder / "topic"
        self.sink = _StandIn("topic", servers="nowhere:9092", topic="t", key=key, options={"path": str(self.path)})

    def records(self) -> list[dict[str, Any]]:
        files = sorted(self.path.glob("*.json"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(record["value"]) for record in self.records()]

    def ids(self) -> list[str]:
        headers = [record["headers"] for record in self.records()]
        assert all(len(header) == 1 and header[0]["key"] == "id" for header in headers)
        return [base64.b64decode(header[0]["value"]).decode() for header in headers]


class _StandIn(TopicSink):
    source = "json"


@dataclass
class Request:
    headers: dict[str, str]
    body: list[dict[str, Any]]
    status: int


@dataclass
class Server:
    """An HTTP server in a thread; `answers` are statuses (and headers) for the next requests, then 200 for all."""

    address: str = ""
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    def taken(self) -> list[Request]:
        return [request for request in self.requests if request.status == 200]


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    state = Server()
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                status, headers = state.answers.pop(0) if state.answers else (200, {})
                names = {name.lower(): value for name, value in self.headers.items()}
                state.requests.append(Request(names, body, status))
            if status == 0:  # hang up without an answer
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Hook:
    """A receiver of requests."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sink = RequestSink("hook", Receiver(f"{server.address}/hook", batch_size=7, retries=2, backoff=0.01))

    def rows(self) -> list[dict[str, Any]]:
        return [row for request in self.server.taken() for row in request.body]

    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows()]


class Screen:
    """Standard output, so wide that all rows fit. The ids are what is looked for."""

    def __init__(self, capsys: Any) -> None:
        self._capsys = capsys
        self._text = ""
        self.sink = TerminalSink("screen", rows=1000)

    def text(self) -> str:
        self._text += self._capsys.readouterr().out
        return self._text

    def ids(self) -> list[str]:
        return [word for word in self.text().split() if len(word) == 32]

    def rows(self) -> list[dict[str, Any]]:
        return []


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def counted(ids: Sequence[str]) -> dict[str, int]:
    """How often each id arrived."""
    return {one: list(ids).count(one) for one in ids}
