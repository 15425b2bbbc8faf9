"""Metrics, as Prometheus reads them: what came, what was matched, what was told, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from vedette.service.storage.tables import counters, subscriptions

if TYPE_CHECKING:
    from vedette.service.delivery.hub import Hub
    from vedette.service.delivery.webhooks import Webhooks
    from vedette.service.http.guards import App, Receive, Send
    from vedette.service.service import Service

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """All metrics of one service."""

    def __init__(self, service: Service, hub: Hub) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "vedette_http_requests",
            "Requests, by method, route and status",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "vedette_http_request_seconds",
            "How long requests took",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._state = _State(service, hub)
        self.registry.register(self._state)

    def follow(self, webhooks: Webhooks) -> None:
        """Count what is sent."""
        self._state.webhooks = webhooks

    def text(self) -> bytes:
        """All of them, now."""
        return generate_latest(self.registry)

    def requested(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class _State(Collector):
    """What the service knows anyway, read when somebody asks."""

    def __init__(self, service: Service, hub: Hub) -> None:
        self._service, self._hub = service, hub
        self.webhooks: Webhooks | None = None

    def collect(self) -> Iterator[Any]:
        """The metrics."""
        service = self._service
        matched = CounterMetricFamily("vedette_events_matched", "Events that were matched", labels=["stream"])
        for stream, count in sorted(service.pump.matched.items()):
            matched.add_metric([stream], count)
        yield matched
        rejected = CounterMetricFamily(
            "vedette_events_rejected", "Events that could not be matched: they break a schema", labels=["stream"]
        )
        for stream, count in sorted(service.pump.rejected.items()):
            rejected.add_metric([stream], count)
        yield rejected
        yield GaugeMetricFamily(
            "vedette_events_behind", "How far matching is behind what was accepted", service.pump.behind
        )
        yield GaugeMetricFamily("vedette_store_waiting", "Writes that wait for the disk", service.store.waiting)
        yield GaugeMetricFamily("vedette_readers", "Connections that hear of notifications", self._hub.readers)
        standing, due, delivered, dead, dropped = service.store.read(_counted)
        yield GaugeMetricFamily("vedette_subscriptions", "Subscriptions that stand", standing)
        told = CounterMetricFamily("vedette_notifications", "Notifications of standing subscriptions", labels=["state"])
        for name, count in (("due", due), ("delivered", delivered), ("dead", dead), ("dropped", dropped)):
            told.add_metric([name], count)
        yield told
        pending = due - delivered - dead - dropped
        yield GaugeMetricFamily("vedette_notifications_pending", "Notifications that wait", pending)
        if self.webhooks is not None:
            sent = CounterMetricFamily("vedette_webhook_requests", "Requests to webhooks", labels=["outcome"])
            sent.add_metric(["ok"], self.webhooks.sent)
            sent.add_metric(["failed"], self.webhooks.failed)
            yield sent


def _counted(connection: sa.Connection) -> tuple[int, ...]:
    standing = connection.execute(sa.select(sa.func.count()).select_from(subscriptions)).scalar_one()
    sums = [sa.func.coalesce(sa.func.sum(counters.c[name]), 0) for name in ("due", "delivered", "dead", "dropped")]
    return (int(standing), *(int(each) for each in connection.execute(sa.select(*sums)).one()))


class Counted:
    """ASGI middleware: how many requests, and how long they took, by route."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = perf_counter(), 500

        async def answered(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, answered)
        finally:
            route = scope.get("route")
            path = getattr(route, "path", "other")  # never what a client wrote: that would be without end
            self._metrics.requested(scope["method"], path, status, perf_counter() - begin)
