"""The streams as AsyncAPI 3.0 (`/asyncapi.json`), with the same messages as in OpenAPI.

"Send" and "receive" are seen from the service: it sends notifications, and receives acknowledgements.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from vedette.service.delivery.webhooks import DROPPED
from vedette.service.http.answers import Beat, Drops, Glimpse, Notification, Queued, Watched
from vedette.service.http.models import Acknowledge, TakenUpTo
from vedette.version import __version__

VERSION: Final = "3.0.0"
_SUBSCRIPTION: Final = "/v1/subscriptions/{id}"
_ID: Final = {"id": {"description": "The id of a subscription of the tenant whose key is sent"}}
_MESSAGES: Final[dict[str, tuple[type[BaseModel], str]]] = {
    "notification": (Notification, "A match, a prediction, or a meeting"),
    "dropped": (Drops, "A reader was too slow: what was dropped is counted"),
    "beat": (Beat, "A silent connection lives"),
    "takenUpTo": (TakenUpTo, "A reader has taken all up to one"),
    "queued": (Queued, "The oldest notifications, which wait until they are acknowledged"),
    "acknowledged": (Acknowledge, "A reader has taken these"),
    "watching": (Watched, "What is watched, told once"),
    "glimpse": (Glimpse, "Events as they are matched, and what they told"),
}
_SIGNED: Final = {  # as Standard Webhooks says
    "type": "object",
    "required": ["webhook-id", "webhook-timestamp", "webhook-signature"],
    "properties": {
        "webhook-id": {"type": "string", "description": "The id of the notification"},
        "webhook-timestamp": {"type": "string", "pattern": "^[0-9]+$"},
        "webhook-signature": {"type": "string", "pattern": "^v1,"},
        DROPPED: {
            "type": "string",
            "pattern": "^[0-9]+$",
            "description": "How many were dropped since the last that was delivered, if any were",
        },
    },
}


def document(host: str, *, secure: bool = False) -> dict[str, Any]:
    """The description of all streams of a service, which is reached under a name."""
    http, ws = ("https", "wss") if secure else ("http", "ws")
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "Vedette",
            "version": __version__,
            "description": "Be told: how notifications come to subscribers. What can be asked is in /openapi.json.",
        },
        "defaultContentType": "application/json",
        "servers": {
            "http": {"host": host, "protocol": http, "security": [_to("securitySchemes", "key")]},
            "ws": {"host": host, "protocol": ws, "security": [_to("securitySchemes", "key")]},
        },
        "channels": _channels(),
        "operations": _operations(),
        "components": {
            "schemas": _schemas(),
            "messages": _messages(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "A tenant's key"}},
        },
    }


def _channels() -> dict[str, Any]:
    return {
        "serverSentEvents": _channel(
            "Server-sent events with the id of the notification; `Last-Event-ID` goes on after one. What was sent "
            "counts as delivered; with `?peek=true` it waits on, until it is acknowledged.",
            f"{_SUBSCRIPTION}/stream",
            ("notification", "dropped"),
        ),
        "webSocket": _channel(
            "A WebSocket. Browsers offer the protocols `vedette` and `bearer.KEY`; `last` goes on after one.",
            f"{_SUBSCRIPTION}/ws",
            ("notification", "dropped", "beat", "takenUpTo"),
            server="ws",
        )
        | {"bindings": {"ws": {"method": "GET"}}},
        "queue": _channel("A queue to pull from.", f"{_SUBSCRIPTION}/notifications", ("queued",)),
        "acknowledging": _channel("Take from the queue.", f"{_SUBSCRIPTION}/notifications:ack", ("acknowledged",)),
        "webhook": {
            "address": None,
            "description": "The URL that a subscription names. Anything but a status of 2xx is tried again.",
            "messages": {"notification": _to("messages", "signedNotification")},
        },
        "live": _channel(
            "Events of a stream as they are matched, as far as the tenant may see them; what is too much is counted.",
            "/v1/streams/{stream}/live",
            ("watching", "glimpse"),
            parameters={"stream": {"description": "The name of a stream"}},
        ),
    }


def _channel(
    description: str,
    address: str,
    messages: tuple[str, ...],
    server: str = "http",
    parameters: dict[str, Any] = _ID,
) -> dict[str, Any]:
    return {
        "address": address,
        "description": description,
        "servers": [{"$ref": f"#/servers/{server}"}],
        "parameters": parameters,
        "messages": {name: _to("messages", name) for name in messages},
    }


def _operations() -> dict[str, Any]:
    return {
        "stream": _operation("send", "serverSentEvents", ("notification", "dropped")),
        "talk": _operation("send", "webSocket", ("notification", "dropped", "beat")),
        "hear": _operation("receive", "webSocket", ("takenUpTo",)),
        "hand": _operation("send", "queue", ("queued",)) | {"bindings": {"http": {"method": "GET"}}},
        "take": _operation("receive", "acknowledging", ("acknowledged",)) | {"bindings": {"http": {"method": "POST"}}},
        "show": _operation("send", "live", ("watching", "glimpse")),
        "call": _operation("send", "webhook", ("notification",)) | {"bindings": {"http": {"method": "POST"}}},
    }


def _operation(action: str, channel: str, messages: tuple[str, ...]) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in messages],
    }


def _messages() -> dict[str, Any]:
    made = {
        name: {"name": name, "summary": summary, "payload": _to("schemas", model.__name__)}
        for name, (model, summary) in _MESSAGES.items()
    }
    return made | {"signedNotification": {**made["notification"], "name": "signedNotification", "headers": _SIGNED}}


@cache
def _schemas() -> dict[str, Any]:
    models = [(model, "serialization") for model, _ in _MESSAGES.values()]
    _, found = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    return dict(found["$defs"])


def _to(part: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{part}/{name}"}
