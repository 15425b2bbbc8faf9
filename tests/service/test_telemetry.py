"""What a real process tells of itself: traces from publishing through matching to delivery; logs without secrets."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.cli.session import COMMAND
from tests.connectors.processes import free_ports
from tests.service.receiver import receiving
from tests.waiting import until
from vedette.client import Client
from vedette.service.settings import TelemetrySettings
from vedette.service.telemetry import logs

ADMIN = "va_an-admin-key-of-tests"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector:
    """Where traces are sent to."""

    def __init__(self) -> None:
        self.spans: list[Any] = []


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
            for resource in sent.resource_spans:
                for scope in resource.scope_spans:
                    collector.spans += scope.spans
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}/v1/traces"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def process(folder: Path, **more: str) -> Iterator[tuple[str, Path]]:
    """`vedette serve`, ended in order; where it is, and what it logs."""
    [port] = free_ports(1)
    log = folder / "log"
    settings = {"VEDETTE_SERVER__PORT": str(port), "VEDETTE_SERVER__ADMIN_KEY": ADMIN, **more}
    with log.open("wb") as stderr:
        served = subprocess.Popen([*COMMAND, "serve"], cwd=folder, env={**os.environ, **settings}, stderr=stderr)
        try:
            until(lambda: _ready(f"http://127.0.0.1:{port}"), 300)
            yield f"http://127.0.0.1:{port}", log
        finally:
            served.send_signal(signal.SIGTERM)
            assert served.wait(60) == 0


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.long
def test_traces_and_logs_of_a_process(tmp_path: Path) -> None:
    secrets: list[str] = [ADMIN]
    with collecting() as (collector, endpoint), receiving() as receiver:
        receiver.answer = lambda _: (500, {})
        more = {
            "VEDETTE_TELEMETRY__OTLP_ENDPOINT": endpoint,
            "VEDETTE_WEBHOOKS__ALLOW_PRIVATE": "true",
            "VEDETTE_WEBHOOKS__PORTS": "any",
            "VEDETTE_WEBHOOKS__SCHEDULE": "[0.01]",
        }
        with process(tmp_path, **more) as (url, log):
            made = httpx.post(f"{url}/v1/tenants", json={"name": "a"}, headers={"Authorization": f"Bearer {ADMIN}"})
            key = made.json()["key"]
            with Client(url, key) as client:
                hook = client.subscribe("x = 1", webhook=receiver.url)
                read = client.subscribe("x = 1")
                secrets += [key, hook["ticket"], hook["secret"], read["ticket"]]
                headers = {"Authorization": f"Bearer {key}", "traceparent": f"00-{TRACE}-{PARENT}-01"}
                assert httpx.post(f"{url}/v1/events", json={"x": 1}, headers=headers).status_code == 202
                next(client.listen(read["id"]))
                until(lambda: bool(client.dead_letters()))
        by_name: dict[str, list[Any]] = {}
        for span in collector.spans:
            by_name.setdefault(span.name, []).append(span)
        # All that was sent before the process ended.
        (published,) = by_name["vedette.publish"]
        assert (published.trace_id.hex(), published.parent_span_id.hex()) == (TRACE, PARENT)
        (matched,) = by_name["vedette.match"]
        assert [(link.trace_id.hex(), link.span_id) for link in matched.links] == [(TRACE, published.span_id)]
        ways: dict[str, list[Any]] = {}
        for span in by_name["vedette.deliver"]:
            assert (span.trace_id.hex(), span.parent_span_id) == (TRACE, published.span_id)
            (way,) = (each.value.string_value for each in span.attributes if each.key == "vedette.delivery")
            ways.setdefault(way, []).append(span)
        assert {way: len(spans) for way, spans in ways.items()} == {"webhook": 2, "sse": 1}
        assert receiver.requests[0].headers["traceparent"].startswith(f"00-{TRACE}-")
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert {"time", "level", "logger", "message"} <= lines[0].keys()
    (given_up,) = (line for line in lines if line["message"] == "a notification is given up")
    assert (given_up["level"], given_up["subscription"]) == ("warning", hook["id"])
    assert given_up["reason"] == "HTTP 500"
    for secret in secrets:
        assert secret not in text


@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_never_get_into_logs(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("vedette", "uvicorn", "uvicorn.error", "alembic")
    before = [(logging.getLogger(name).handlers, logging.getLogger(name).propagate) for name in names]
    try:
        logs.begin(TelemetrySettings(logs=form))  # type: ignore[arg-type]
        try:
            raise ValueError("vk_abcdefghijklmnop")
        except ValueError:
            logging.getLogger("vedette.service").exception(
                "of %s and %s",
                "vt_abcdefghijklmnop",
                "postgresql://me:pass@host/db",
                extra={"more": "whsec_abcdefgh+/=="},
            )
        said = capsys.readouterr().err
    finally:
        for name, (handlers, propagate) in zip(names, before, strict=True):
            logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate
    for secret in ("abcdefgh", "pass@"):
        assert secret not in said
    assert "vt_***" in said
    assert "vk_***" in said
    assert "://me:***@host/db" in said
