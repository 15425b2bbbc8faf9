"""Metrics for Prometheus: events accepted and matched, notifications, queues, failures."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from vedette.service.clock import SECOND, Steady
from vedette.service.delivery.webhook_health import reasons
from vedette.service.rights import EVERYBODY
from vedette.service.storage.tables import counters, subscriptions

if TYPE_CHECKING:
    from vedette.service.delivery.hub import Hub
    from vedette.service.delivery.webhooks import Webhooks
    from vedette.service.http.connection_limits import ConnectionLimits
    from vedette.service.http.guards import App, Receive, Send
    from vedette.service.rights import Rights
    from vedette.service.service import Service

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """All metrics of one service."""

    def __init__(self, service: Service, hub: Hub) -> None:
        self.registry, self._public = CollectorRegistry(), CollectorRegistry()
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
        for each in (self._requests, self._seconds, _Public(self._state, service.rights)):
            self._public.register(each)

    def follow(self, webhooks: Webhooks) -> None:
        """Include the requests of these webhooks."""
        self._state.webhooks = webhooks

    def watch(self, connections: ConnectionLimits) -> None:
        """Include the connections that are refused before there is a request."""
        self._state.connections = connections

    def text(self, *, names: bool) -> bytes:
        """All metrics as text, with the names of tenants and of their streams, or without."""
        return generate_latest(self.registry if names else self._public)

    def requested(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class _Public(Collector):
    """The metrics for requests without a key: tenants, and streams that are not open to all, are summed up."""

    def __init__(self, state: _State, rights: Rights) -> None:
        self._state, self._rights = state, rights

    def collect(self) -> Iterator[Any]:
        """The metrics."""
        for family in self._state.collect():
            sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
            for sample in family.samples:
                key = sample.name, tuple((label, self._shown(label, value)) for label, value in sample.labels.items())
                sums[key] = sums.get(key, 0.0) + sample.value
            family.samples = [Sample(name, dict(labels), value) for (name, labels), value in sums.items()]
            yield family

    def _shown(self, label: str, value: str) -> str:
        hidden = label == "tenant" or (label == "stream" and not self._rights.of(EVERYBODY, value))
        return "" if hidden else value


class _State(Collector):
    """Metrics of the service's state, read when they are asked for."""

    def __init__(self, service: Service, hub: Hub) -> None:
        self._service, self._hub = service, hub
        self.webhooks: Webhooks | None = None
        self.connections: ConnectionLimits | None = None

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
        aside = CounterMetricFamily(
            "vedette_events_set_aside",
            "Events at fault, since there is a database",
            labels=["stream", "tenant", "kind"],
        )
        for each in service.set_aside.counts():
            aside.add_metric([each.stream, each.tenant, each.kind], each.rejected)
        yield aside
        stopped = CounterMetricFamily(
            "vedette_computations_stopped", "What requests made the service compute and was stopped", labels=["task"]
        )
        for task, count in sorted(service.computations.stopped.items()):
            stopped.add_metric([task], count)
        yield stopped
        yield GaugeMetricFamily("vedette_computations_waiting", "Computations that wait", service.computations.waiting)
        damaged = CounterMetricFamily("vedette_damaged_rows", "Stored rows that were found damaged", labels=["table"])
        for table, count in sorted(service.store.damages.found.items()):
            damaged.add_metric([table], count)
        yield damaged
        yield from _contained(service)
        yield GaugeMetricFamily(
            "vedette_events_behind", "How far matching is behind what was accepted", service.pump.behind
        )
        if isinstance(service.now, Steady):
            yield CounterMetricFamily("vedette_clock_jumps", "Jumps of the wall clock", service.now.jumps)
            ahead = service.now.ahead / SECOND
            yield GaugeMetricFamily("vedette_clock_ahead_seconds", "Wall clock ahead of the service's time", ahead)
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
        if self.connections is not None:
            refused = CounterMetricFamily(
                "vedette_connections_refused", "Connections that were ended or sent away", labels=["reason"]
            )
            for reason, count in sorted(self.connections.refused.items()):
                refused.add_metric([reason.replace(" ", "-")], count)
            yield refused
        failing = GaugeMetricFamily(
            "vedette_webhooks_failing", "Webhooks whose last request failed, by class of reason", labels=["reason"]
        )
        for reason, count in sorted(service.store.read(reasons).items()):
            failing.add_metric([reason], count)
        yield failing
        if self.webhooks is not None:
            sent = CounterMetricFamily("vedette_webhook_requests", "Requests to webhooks", labels=["outcome"])
            sent.add_metric(["ok"], self.webhooks.sent)
            sent.add_metric(["failed"], self.webhooks.failed)
            yield sent


def _contained(service: Service) -> Iterator[Any]:
    """Metrics of what failed while matching, and of quarantined subscriptions."""
    failures = CounterMetricFamily("vedette_matching_failures", "Failures of matching", labels=["stage"])
    for stage, count in sorted(service.pump.failures.items()):
        failures.add_metric([stage], count)
    yield failures
    quarantined = GaugeMetricFamily(
        "vedette_subscriptions_quarantined", "Subscriptions that failed and hear of nothing", labels=["stream"]
    )
    for stream, count in sorted(service.pump.quarantine.standing.items()):
        quarantined.add_metric([stream], count)
    yield quarantined
    missed = GaugeMetricFamily(
        "vedette_events_missed", "Events that quarantined subscriptions did not hear of", labels=["stream"]
    )
    for stream, count in sorted(service.pump.quarantine.passed_by.items()):
        missed.add_metric([stream], count)
    yield missed
    yield GaugeMetricFamily(
        "vedette_lanes_stuck", "Lanes with operators that do not get on", len(service.pump.degraded)
    )


def _counted(connection: sa.Connection) -> tuple[int, ...]:
    standing = connection.execute(sa.select(sa.func.count()).select_from(subscriptions)).scalar_one()
    sums = [sa.func.coalesce(sa.func.sum(counters.c[name]), 0) for name in ("due", "delivered", "dead", "dropped")]
    return (int(standing), *(int(each) for each in connection.execute(sa.select(*sums)).one()))


class Counted:
    """ASGI middleware: counts requests and their durations, by route."""

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
