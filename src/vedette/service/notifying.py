"""What is a notification? What it says, and its id, which is the same whenever it is made again."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from vedette.service.clock import iso
from vedette.service.engine import Told
from vedette.service.registry import Subscription

_ID_BYTES: Final = 20


def id_of(subscription: Subscription, told: Told, ordinal: int) -> str:
    """An id made of what is told: who, which version, of which event, what; `ordinal` tells equal ones apart."""
    content = [
        subscription.id,
        subscription.version,
        told.event,
        told.kind,
        sorted((told.bindings or {}).items()),
        told.within,
        ordinal,
    ]
    digest = hashlib.blake2b(orjson.dumps(content), digest_size=_ID_BYTES).digest()
    return "n_" + base64.b32encode(digest).decode().rstrip("=").lower()


def body_of(id_: str, subscription: Subscription, told: Told, event: bytes | None, moment: int) -> bytes:
    """The notification as JSON, with the event in it."""
    said: dict[str, Any] = {
        "id": id_,
        "kind": told.kind,
        "subscription": subscription.id,
        "stream": subscription.stream,
        "time": iso(moment),
    }
    extra: Mapping[str, Any] = {
        "subscriber": subscription.subscriber,
        "steps": told.steps or None,
        "bindings": told.bindings,
        "probability": told.probability,
        "within": told.within,
        "origin": subscription.origin,
        "event": None if event is None else orjson.Fragment(event),
    }
    return orjson.dumps(said | {name: value for name, value in extra.items() if value is not None})


def meeting_body(id_: str, subscription: Subscription, offer: Mapping[str, Any], moment: int) -> bytes:
    """The notification that an offer meets what a subscription wants."""
    return orjson.dumps(
        {
            "id": id_,
            "kind": "meeting",
            "subscription": subscription.id,
            "stream": subscription.stream,
            "time": iso(moment),
            "offer": dict(offer),
        }
        | ({} if subscription.subscriber is None else {"subscriber": subscription.subscriber})
    )


def meeting_id(subscription: Subscription, offer: str) -> str:
    """The id of the meeting of two; they meet once."""
    content = orjson.dumps([subscription.id, subscription.version, "meeting", offer])
    digest = hashlib.blake2b(content, digest_size=_ID_BYTES).digest()
    return "n_" + base64.b32encode(digest).decode().rstrip("=").lower()
