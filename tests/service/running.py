"""A service that runs: by itself, or over HTTP on a port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pyarrow as pa
import uvicorn
from fastapi import FastAPI

from tests.waiting import until
from vedette.service.http.app import application
from vedette.service.http.connection_limits import ConnectionLimits
from vedette.service.http.server import configured
from vedette.service.incoming_events import EventLimits, read
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings
from vedette.service.stream_engine import Notice, Notices

ADMIN = "admin-of-tests"
MEASURES = EventLimits(event_bytes=1 << 18, batch_events=1_000, depth=32)


def url_in(folder: Path) -> str:
    """Where the database of a folder is; tests with other databases put another function here."""
    return f"sqlite:///{folder / 'service.db'}"


def settings_in(folder: Path, **more: Any) -> ServiceSettings:
    """Settings with a database of their own."""
    given: dict[str, Any] = {
        "store": {"url": url_in(folder)},
        "server": {"admin_key": ADMIN, "console": False},
        "webhooks": {"allow_private": True, "ports": "any", "schedule": (0.05, 0.05), "jitter": 0.0, "timeout": 5.0},
    }
    for name, value in more.items():
        given[name] = {**given.get(name, {}), **value} if isinstance(value, dict) else value
    return ServiceSettings(**given)


def published(service: Service, *events: dict[str, Any], stream: str = "default") -> list[int]:
    """Publish events and wait until they are matched; their numbers."""
    incoming = read(orjson.dumps(list(events)), "application/json", {}, MEASURES)
    numbers = service.journal.publish(stream, incoming).result(30).numbers
    settled(service)
    return list(numbers)


def settled(service: Service) -> None:
    """Wait until all that was accepted is matched."""
    until(lambda: service.pump.behind <= 0 or service.pump.failure is not None)
    assert service.pump.failure is None


def met(service: Service) -> None:
    """Wait until offers and wants have met."""
    until(lambda: service.market.behind == 0)


def noticed(*some: Notice) -> Notices:
    """Notices as columns."""
    ids = sorted({one.subscription for one in some})
    place = np.array([ids.index(one.subscription) for one in some], np.int64)
    event, kind = np.array([one.event for one in some], np.int64), np.zeros(len(some), np.int8)
    return Notices(pa.array(ids, pa.large_string()), event, place, kind)


class Running:
    """A service over HTTP, a tenant with a key, and a client."""

    def __init__(self, url: str, app: FastAPI, key: str | None = None) -> None:
        self.url = url
        self.service: Service = app.state.context.service
        self.connections: ConnectionLimits = app.state.connections
        self.http = httpx.Client(base_url=url, timeout=30.0, trust_env=False)
        self.key = key or self.new_key("acme")
        self.mine = {"Authorization": f"Bearer {self.key}"}

    def new_key(self, tenant: str) -> str:
        answer = self.http.post("/v1/tenants", json={"name": tenant}, headers={"Authorization": f"Bearer {ADMIN}"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["key"])

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        """A request with the tenant's key."""
        headers = {**self.mine, **options.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **options)

    def subscribe(self, when: Any, **more: Any) -> dict[str, Any]:
        answer = self.call("POST", "/v1/subscriptions", json={"when": when, **more})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def publish(self, *events: dict[str, Any]) -> dict[str, Any]:
        answer = self.call("POST", "/v1/events", json=list(events))
        assert answer.status_code == 202, answer.text
        settled(self.service)
        return dict(answer.json())

    def pulled(self, id_: str, **params: Any) -> list[dict[str, Any]]:
        answer = self.call("GET", f"/v1/subscriptions/{id_}/notifications", params=params)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["notifications"])


@contextmanager
def over_http(settings: ServiceSettings, key: str | None = None) -> Iterator[Running]:
    """A server in a thread of this process, with a new tenant, or one whose `key` is known."""
    app = application(settings)
    server = uvicorn.Server(configured(app, settings, port=0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Running(f"http://127.0.0.1:{port}", app, key)
    try:
        yield running
    finally:
        running.http.close()
        server.should_exit = True
        thread.join(30)
