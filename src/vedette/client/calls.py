"""What can be asked of the service? Each call as data: what to send, and how to read the answer.

Both clients make their methods of these, so that there is one place for every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import orjson

T = TypeVar("T")
Json = dict[str, Any]
_TICKET: Final = "Vedette-Ticket"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[bytes], T]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str | int | float] = field(default_factory=dict)


def _loads(body: bytes) -> Json:
    found: Json = orjson.loads(body)
    return found


def _nothing(_: bytes) -> None:
    return None


def _json(**values: Any) -> bytes:
    return orjson.dumps({name: value for name, value in values.items() if value is not None})


def stream_of(id: str) -> str:
    """Where the notifications of a subscription come from as server-sent events."""
    return f"/v1/subscriptions/{_quoted(id)}/stream"


def _with(ticket: str | None) -> dict[str, str]:
    return {"Content-Type": "application/json"} | ({} if ticket is None else {_TICKET: ticket})


def subscribe(
    when: str | Mapping[str, Any],
    *,
    stream: str = "default",
    dialect: str | None = None,
    subscriber: str | None = None,
    predict: Mapping[str, Any] | None = None,
    validity: float | None = None,
    webhook: str | None = None,
    want: bool = False,
) -> Call[Json]:
    """Subscribe. The answer has the `id`, and the `ticket` that renewing, replacing and cancelling need."""
    body = _json(
        when=when,
        stream=stream,
        dialect=dialect,
        subscriber=subscriber,
        predict=predict,
        validity=validity,
        delivery=_delivery(webhook),
        want=want or None,
    )
    return Call("POST", "/v1/subscriptions", _loads, body, _with(None))


def subscription(id: str) -> Call[Json]:
    """A subscription, with what became of its notifications."""
    return Call("GET", f"/v1/subscriptions/{_quoted(id)}", _loads)


def subscriptions(*, after: int = 0, limit: int = 100) -> Call[Json]:
    """A page of subscriptions; `next` says where the next one begins."""
    return Call("GET", "/v1/subscriptions", _loads, params={"after": after, "limit": limit})


def renew(id: str, ticket: str, *, validity: float | None = None) -> Call[Json]:
    """Let a subscription stand for another period, from now on."""
    return Call("POST", f"/v1/subscriptions/{_quoted(id)}/renew", _loads, _json(validity=validity), _with(ticket))


def replace(
    id: str,
    ticket: str,
    when: str | Mapping[str, Any],
    *,
    stream: str = "default",
    dialect: str | None = None,
    subscriber: str | None = None,
    predict: Mapping[str, Any] | None = None,
    validity: float | None = None,
    webhook: str | None = None,
    want: bool = False,
) -> Call[Json]:
    """Let a subscription say something else from the next event on.

    For whom it is, how it is told and until when it stands stay as they are, unless they are given.
    """
    body = _json(
        when=when,
        stream=stream,
        dialect=dialect,
        subscriber=subscriber,
        predict=predict,
        validity=validity,
        delivery=_delivery(webhook),
        want=want or None,
    )
    return Call("PUT", f"/v1/subscriptions/{_quoted(id)}", _loads, body, _with(ticket))


def unsubscribe(id: str, ticket: str) -> Call[None]:
    """Let a subscription go."""
    return Call("DELETE", f"/v1/subscriptions/{_quoted(id)}", _nothing, headers=_with(ticket))


def try_out(
    when: str | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]] = (),
    *,
    stream: str = "default",
    dialect: str | None = None,
    predict: Mapping[str, Any] | None = None,
    recent: bool = True,
) -> Call[Json]:
    """A dry run: what a subscription would tell of these events, why, and what it would have told in the last hour."""
    body = _json(when=when, events=list(events), stream=stream, dialect=dialect, predict=predict, recent=recent)
    return Call("POST", "/v1/subscriptions:test", _loads, body, _with(None))


def publish(events: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, stream: str = "default") -> Call[Json]:
    """Publish an event or several; once it is answered, they are on the service's disk."""
    some = events if isinstance(events, Mapping) else list(events)
    return Call("POST", f"/v1/streams/{_quoted(stream)}/events", _loads, orjson.dumps(some), _with(None))


def pull(id: str, *, limit: int = 100, wait: float = 0.0) -> Call[list[Json]]:
    """The oldest notifications that wait; they wait on until they are acknowledged."""
    path = f"/v1/subscriptions/{_quoted(id)}/notifications"
    return Call("GET", path, lambda body: list(_loads(body)["notifications"]), params={"limit": limit, "wait": wait})


def acknowledge(id: str, notifications: Iterable[str]) -> Call[int]:
    """These notifications, by their ids, have been taken; how many of them waited."""
    path = f"/v1/subscriptions/{_quoted(id)}/notifications:ack"
    body = _json(ids=list(notifications))
    return Call("POST", path, lambda answer: int(_loads(answer)["acknowledged"]), body, _with(None))


def offer(
    when: str, *, stream: str = "default", publisher: str | None = None, validity: float | None = None
) -> Call[Json]:
    """Let an offer stand; whoever wants it is told. The answer has its `ticket`."""
    body = _json(when=when, stream=stream, publisher=publisher, validity=validity)
    return Call("POST", "/v1/offers", _loads, body, _with(None))


def offers(*, after: int = 0, limit: int = 100) -> Call[Json]:
    """A page of offers; `next` says where the next one begins."""
    return Call("GET", "/v1/offers", _loads, params={"after": after, "limit": limit})


def withdraw(id: str, ticket: str) -> Call[None]:
    """Let an offer go."""
    return Call("DELETE", f"/v1/offers/{_quoted(id)}", _nothing, headers=_with(ticket))


def dead_letters(*, limit: int = 100) -> Call[list[Json]]:
    """Notifications that could not be delivered, the newest first."""
    return Call("GET", "/v1/dead-letters", lambda body: list(_loads(body)["dead_letters"]), params={"limit": limit})


def replay(numbers: Iterable[int] | None = None) -> Call[int]:
    """Let dead letters, all or some, be delivered again; how many there were."""
    body = _json(numbers=None if numbers is None else list(numbers))
    return Call("POST", "/v1/dead-letters:replay", lambda answer: int(_loads(answer)["replayed"]), body, _with(None))


def _delivery(webhook: str | None) -> Json | None:
    return None if webhook is None else {"type": "webhook", "url": webhook}


def _quoted(name: str) -> str:
    return quote(name, safe="")
