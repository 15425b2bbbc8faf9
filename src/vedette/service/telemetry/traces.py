"""Traces by OpenTelemetry, from publishing through matching to delivery; where none is set up they cost nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from vedette.service.settings import TelemetrySettings
from vedette.version import __version__

_TRACER: Final = trace.get_tracer("vedette.service", __version__)
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_LONGEST: Final = 64  # of a traceparent that is kept


def begin(settings: TelemetrySettings) -> None:
    """Send traces to the endpoint of the settings, if there is one."""
    if settings.otlp_endpoint is None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "vedette", "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.otlp_endpoint)))
    trace.set_tracer_provider(provider)


@contextmanager
def publishing(stream: str, parent: str | None) -> Iterator[str | None]:
    """Span of publishing events; yields the traceparent for matching and delivery."""
    context = None if parent is None else _PROPAGATOR.extract({"traceparent": parent})
    with _TRACER.start_as_current_span("vedette.publish", context, SpanKind.PRODUCER) as span:
        span.set_attribute("messaging.destination.name", stream)
        yield _carried() or (parent if parent is not None and len(parent) <= _LONGEST else None)


@contextmanager
def matching(stream: str, events: int, parents: Sequence[str | None]) -> Iterator[str | None]:
    """Span of matching events, linked with the spans that published them."""
    if not events:
        yield None
        return
    links = [Link(context) for parent in dict.fromkeys(parents) if parent for context in _context(parent)]
    with _TRACER.start_as_current_span("vedette.match", kind=SpanKind.CONSUMER, links=links[:128]) as span:
        span.set_attribute("messaging.destination.name", stream)
        span.set_attribute("messaging.batch.message_count", events)
        yield _carried()


@contextmanager
def delivering(kind: str, parent: str | None) -> Iterator[Any]:
    """Span of delivering a notification."""
    context = None if parent is None else _PROPAGATOR.extract({"traceparent": parent})
    with _TRACER.start_as_current_span("vedette.deliver", context, SpanKind.CLIENT) as span:
        span.set_attribute("vedette.delivery", kind)
        yield span


@contextmanager
def handing(kind: str, parent: str | None) -> Iterator[None]:
    """Span of handing a notification to a reader; unlike `delivering`, it is not the current span meanwhile."""
    if parent is None:
        yield
        return
    span = _TRACER.start_span("vedette.deliver", _PROPAGATOR.extract({"traceparent": parent}), SpanKind.PRODUCER)
    span.set_attribute("vedette.delivery", kind)
    try:
        yield
    finally:
        span.end()


def _carried() -> str | None:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get("traceparent")


def _context(parent: str) -> list[Any]:
    context = trace.get_current_span(_PROPAGATOR.extract({"traceparent": parent})).get_span_context()
    return [context] if context.is_valid else []
