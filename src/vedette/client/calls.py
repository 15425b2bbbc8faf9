"""The calls of the service as data: the request to send, and how to read the answer.

Both clients get their methods from these, so that every call is defined once.
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
class ClientRequest(Generic[T]):
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


def stream_of(id: str, *, peek: bool = False) -> str:
    """The address of a subscription's notifications as server-sent events."""
    return f"/v1/subscriptions/{_quoted(id)}/stream" + ("?peek=true" if peek else "")


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
) -> ClientRequest[Json]:
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
    return ClientRequest("POST", "/v1/subscriptions", _loads, body, _with(None))


def subscription(id: str) -> ClientRequest[Json]:
    """A subscription, with the delivery status of its notifications."""
    return ClientRequest("GET", f"/v1/subscriptions/{_quoted(id)}", _loads)


def subscriptions(*, after: int = 0, limit: int = 100) -> ClientRequest[Json]:
    """A page of subscriptions; `next` says where the next one begins."""
    return ClientRequest("GET", "/v1/subscriptions", _loads, params={"after": after, "limit": limit})


def renew(id: str, ticket: str, *, validity: float | None = None) -> ClientRequest[Json]:
    """Renew a subscription for another period, from now on."""
    return ClientRequest(
        "POST", f"/v1/subscriptions/{_quoted(id)}/renew", _loads, _json(validity=validity), _with(ticket)
    )


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
) -> ClientRequest[Json]:
    """Replace the text of a subscription, from the next event on.

    Its subscriber, delivery and expiry stay as they are, unless they are given.
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
    return ClientRequest("PUT", f"/v1/subscriptions/{_quoted(id)}", _loads, body, _with(ticket))


def unsubscribe(id: str, ticket: str) -> ClientRequest[None]:
    """Cancel a subscription."""
    return ClientRequest("DELETE", f"/v1/subscriptions/{_quoted(id)}", _nothing, headers=_with(ticket))


def try_out(
    when: str | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]] = (),
    *,
    stream: str = "default",
    dialect: str | None = None,
    predict: Mapping[str, Any] | None = None,
    recent: bool = True,
) -> ClientRequest[Json]:
    """A dry run: the notifications that a subscription would give for these events, why, and those of the last hour."""
    body = _json(when=when, events=list(events), stream=stream, dialect=dialect, predict=predict, recent=recent)
    return ClientRequest("POST", "/v1/subscriptions:test", _loads, body, _with(None))


def publish(
    events: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, stream: str = "default", validate: bool = False
) -> ClientRequest[Json]:
    """Publish an event or several; when the call returns, they are on the service's disk.

    With `validate`, all are refused if one breaks the schema of the stream; else that one is rejected (`rejected`).
    """
    some = events if isinstance(events, Mapping) else list(events)
    params = {"validate": "true"} if validate else {}
    return ClientRequest(
        "POST", f"/v1/streams/{_quoted(stream)}/events", _loads, orjson.dumps(some), _with(None), params
    )


def rejected(*, stream: str = "default", limit: int = 20) -> ClientRequest[Json]:
    """Rejected events, which were accepted but break the schema of their stream: how many, why, the latest."""
    return ClientRequest("GET", f"/v1/streams/{_quoted(stream)}/rejected", _loads, params={"limit": limit})


def streams() -> ClientRequest[list[Json]]:
    """The streams on which the tenant has rights, and which `rights`."""
    return ClientRequest("GET", "/v1/streams", lambda body: list(_loads(body)["streams"]))


def grants(*, stream: str) -> ClientRequest[Json]:
    """The rights of tenants on a stream that this tenant owns."""
    return ClientRequest("GET", f"/v1/streams/{_quoted(stream)}/grants", _loads)


def grant(tenant: str, rights: Iterable[str], *, stream: str) -> ClientRequest[Json]:
    """Set the rights of a tenant, or of `*` for all, out of `publish`, `subscribe` and `read`; others are revoked."""
    path = f"/v1/streams/{_quoted(stream)}/grants/{_quoted(tenant)}"
    return ClientRequest("PUT", path, _loads, _json(rights=list(rights)), _with(None))


def revoke(tenant: str, *, stream: str) -> ClientRequest[None]:
    """Revoke the rights of a tenant, or of `*`."""
    return ClientRequest("DELETE", f"/v1/streams/{_quoted(stream)}/grants/{_quoted(tenant)}", _nothing)


def queued(id: str, *, limit: int = 100, wait: float = 0.0) -> ClientRequest[Json]:
    """The oldest pending `notifications`, and how many were `dropped` since the last acknowledged one."""
    path = f"/v1/subscriptions/{_quoted(id)}/notifications"
    return ClientRequest("GET", path, _loads, params={"limit": limit, "wait": wait})


def pull(id: str, *, limit: int = 100, wait: float = 0.0) -> ClientRequest[list[Json]]:
    """The oldest pending notifications; they stay pending until they are acknowledged."""
    call = queued(id, limit=limit, wait=wait)
    return ClientRequest("GET", call.path, lambda body: list(_loads(body)["notifications"]), params=call.params)


def acknowledge(id: str, notifications: Iterable[str]) -> ClientRequest[int]:
    """Acknowledge notifications by their ids; return how many of them were pending."""
    path = f"/v1/subscriptions/{_quoted(id)}/notifications:ack"
    body = _json(ids=list(notifications))
    return ClientRequest("POST", path, lambda answer: int(_loads(answer)["acknowledged"]), body, _with(None))


def offer(
    when: str, *, stream: str = "default", publisher: str | None = None, validity: float | None = None
) -> ClientRequest[Json]:
    """Register an offer and notify matching subscriptions to offers. The answer has its `ticket`."""
    body = _json(when=when, stream=stream, publisher=publisher, validity=validity)
    return ClientRequest("POST", "/v1/offers", _loads, body, _with(None))


def offers(*, after: int = 0, limit: int = 100) -> ClientRequest[Json]:
    """A page of offers; `next` says where the next one begins."""
    return ClientRequest("GET", "/v1/offers", _loads, params={"after": after, "limit": limit})


def withdraw(id: str, ticket: str) -> ClientRequest[None]:
    """Withdraw an offer."""
    return ClientRequest("DELETE", f"/v1/offers/{_quoted(id)}", _nothing, headers=_with(ticket))


def dead_letters(*, limit: int = 100) -> ClientRequest[list[Json]]:
    """Notifications that could not be delivered, the newest first."""
    return ClientRequest(
        "GET", "/v1/dead-letters", lambda body: list(_loads(body)["dead_letters"]), params={"limit": limit}
    )


def replay(numbers: Iterable[int] | None = None) -> ClientRequest[int]:
    """Deliver dead letters, all or some, again; return how many there were."""
    body = _json(numbers=None if numbers is None else list(numbers))
    return ClientRequest(
        "POST", "/v1/dead-letters:replay", lambda answer: int(_loads(answer)["replayed"]), body, _with(None)
    )


def _delivery(webhook: str | None) -> Json | None:
    return None if webhook is None else {"type": "webhook", "url": webhook}


def _quoted(name: str) -> str:
    return quote(name, safe="")
