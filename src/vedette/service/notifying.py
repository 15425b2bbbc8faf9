"""What is a notification? What it says, and its id, which is the same whenever it is made again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from vedette.service.clock import iso
from vedette.service.engine import Told
from vedette.service.registry import Subscription

_ID_BYTES: Final = 16


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
    return _id(content, told.event)


def _id(content: list[Any], event: int) -> str:
    """It begins with the number of the event, so that the index of ids grows at its end only."""
    return f"n_{event:012x}{hashlib.blake2b(orjson.dumps(content), digest_size=_ID_BYTES).hexdigest()}"


def body_of(id_: str, subscription: Subscription, told: Told, event: bytes | None, moment: str) -> bytes:
    """The notification as JSON, with the event in it; `moment` is when it was made (`clock.iso`)."""
    said: dict[str, Any] = {
        "id": id_,
        "kind": told.kind,
        "subscription": subscription.id,
        "stream": subscription.stream,
        "time": moment,
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
    return _id([subscription.id, subscription.version, "meeting", offer], 0)
