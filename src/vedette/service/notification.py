"""Contents and ids of notifications; an id depends on the content alone, so it is the same when it is made again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from vedette.service.clock import iso
from vedette.service.stream_engine import Notice
from vedette.service.subscription_registry import Subscription

_ID_BYTES: Final = 16


class NotificationTemplate:
    """What all notifications of one subscription share; `moment` is when they are made (`clock.iso`)."""

    def __init__(self, subscription: Subscription, moment: str) -> None:
        self._subscription = subscription
        self._said = {"subscription": subscription.id, "stream": subscription.stream, "time": moment}
        self._before = orjson.dumps([subscription.id, subscription.version])[:-1]
        # A plain match has only an id, this text and the event.
        more = {"subscriber": subscription.subscriber, "origin": subscription.origin}
        plain = {"kind": "match", **self._said} | {name: value for name, value in more.items() if value is not None}
        self._plain = b'","' + orjson.dumps(plain)[2:-1]

    def plain(self, event: int, body: bytes | None) -> tuple[str, bytes]:
        """Id and body of the notification of a match without steps, bindings or forecasts."""
        id_ = _id(b'%b,%d,"match",[],null,0]' % (self._before, event), event)
        shown = b"}" if body is None else b',"event":%b}' % body
        return id_, b'{"id":"%b%b%b' % (id_.encode(), self._plain, shown)

    def full(self, notice: Notice, ordinal: int, body: bytes | None) -> tuple[str, bytes]:
        """Id and body of any notification; `ordinal` makes the ids of equal ones different."""
        bindings = sorted((notice.bindings or {}).items())
        content = [notice.event, notice.kind, bindings, notice.within, ordinal]
        id_ = _id(b"%b,%b" % (self._before, orjson.dumps(content)[1:]), notice.event)
        extra: Mapping[str, Any] = {
            "subscriber": self._subscription.subscriber,
            "steps": notice.steps or None,
            "bindings": notice.bindings,
            "probability": notice.probability,
            "within": notice.within,
            "origin": self._subscription.origin,
            "event": None if body is None else orjson.Fragment(body),
        }
        said = {"id": id_, "kind": notice.kind, **self._said}
        return id_, orjson.dumps(said | {name: value for name, value in extra.items() if value is not None})


def _id(content: bytes, event: int) -> str:
    """An id made of the content: subscription, its version, event, details.

    It begins with the number of the event, so that the index of ids grows at its end only.
    """
    return f"n_{event:012x}{hashlib.blake2b(content, digest_size=_ID_BYTES).hexdigest()}"


def meeting_body(id_: str, subscription: Subscription, offer: Mapping[str, Any], moment: int) -> bytes:
    """The body of the notification that an offer meets a want."""
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
    """The id of the notification that an offer and a want meet; they meet once."""
    return _id(orjson.dumps([subscription.id, subscription.version, "meeting", offer]), 0)


def quarantine_id(subscription: Subscription, event: int) -> str:
    """The id of the notification that a subscription is quarantined: once for each version."""
    return _id(orjson.dumps([subscription.id, subscription.version, "quarantined"]), event)


def quarantine_body(id_: str, subscription: Subscription, reason: str, moment: int) -> bytes:
    """The body of the notification that a subscription is quarantined until it is replaced."""
    return orjson.dumps(
        {
            "id": id_,
            "kind": "quarantined",
            "subscription": subscription.id,
            "stream": subscription.stream,
            "time": iso(moment),
            "reason": reason,
        }
        | ({} if subscription.subscriber is None else {"subscriber": subscription.subscriber})
    )
