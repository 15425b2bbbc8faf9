"""Reads published events, as plain JSON or CloudEvents 1.0 (structured, binary, batches), into what the engine takes.

A CloudEvent in binary mode becomes the JSON object that it would be in structured mode, so that subscriptions read the
same attributes in all modes.
"""

from __future__ import annotations

import base64
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import orjson

from vedette.errors import InputError
from vedette.io.jsonl_events import json_error, open_cloud_event
from vedette.schema.values import json_text
from vedette.service.errors import TooLarge

STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
_REQUIRED: Final = ("id", "source", "type")
_NAME: Final = re.compile(r"[a-z0-9]{1,64}\Z")
_LONGEST_ID: Final = 512
_RANDOM: Final = 20  # hexadecimal digits of an id
_VARIANTS: Final = "89ab"
_NESTED: Final = frozenset({dict, list})


class IncomingEvent(NamedTuple):
    """An event that was published and is not accepted yet."""

    source: str  # of a CloudEvent, else empty: ids are unique within it
    id: str
    event: dict[str, Any]
    body: bytes  # the event as JSON


class EventLimits(NamedTuple):
    """Limits on the size of events and batches."""

    event_bytes: int
    batch_events: int
    depth: int


def read(body: bytes, content_type: str, headers: Mapping[str, str], measures: EventLimits) -> list[IncomingEvent]:
    """The events of a request; InputError says which one is invalid and why, TooLarge which one is too large."""
    media = content_type.partition(";")[0].strip().lower()
    if "ce-specversion" in headers:
        return [_checked(_binary(body, media, headers), 0, measures, _new_ids(1), cloud=True)]
    if media.startswith("application/cloudevents") and not media.endswith("+json"):
        raise InputError(f"CloudEvents in {media} are not read\nHint: send them as {STRUCTURED} or {BATCH}")
    found = _lines(body, measures) if media in LINES else _json(body)
    events: Sequence[Any] = found if isinstance(found, list) else [found]
    if media == BATCH and not isinstance(found, list):
        raise InputError("a batch of CloudEvents is a list\nHint: [ {…}, {…} ]")
    if len(events) > measures.batch_events:
        raise TooLarge(
            f"a batch of {len(events):,} events: the limit is {measures.batch_events:,}\nHint: send several batches"
        )
    cloud, new_ids = media in (STRUCTURED, BATCH), _new_ids(len(events))
    return [_checked(event, number, measures, new_ids, cloud=cloud) for number, event in enumerate(events)]


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InputError(f"the body is {json_error(error)}\nHint: an event is an object, several are a list") from None


def _lines(body: bytes, measures: EventLimits) -> list[Any]:
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > measures.batch_events:
        raise TooLarge(f"a batch of {len(lines):,} events: the limit is {measures.batch_events:,}")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise InputError(f"line {number} is {json_error(error)}") from None
    return found


def _binary(body: bytes, media: str, headers: Mapping[str, str]) -> dict[str, Any]:
    event: dict[str, Any] = {
        name[3:].lower(): unquote(value) for name, value in headers.items() if name[:3].lower() == "ce-"
    }
    if media:
        event["datacontenttype"] = media
    if not body:
        return event
    if media in ("", "application/json") or media.endswith("+json"):
        event["data"] = _json(body)
    elif media.startswith("text/"):
        event["data"] = body.decode("utf-8", "replace")
    else:
        event["data_base64"] = base64.b64encode(body).decode()
    return event


def _checked(event: Any, number: int, measures: EventLimits, new_ids: Iterator[str], *, cloud: bool) -> IncomingEvent:
    if not isinstance(event, dict):
        raise InputError(f'event {number} is {_called(event)}, not an object\nHint: e.g. {{"price": 119.5}}')
    cloud = cloud or "specversion" in event
    if cloud:
        _check_cloud_event(event, f"event {number}")
        open_cloud_event(event)
    if is_nested_deeper(event, measures.depth):
        raise TooLarge(f"event {number} is nested more than {measures.depth} levels deep\nHint: make it flatter")
    id_ = event.get("id")
    if id_ is None:
        id_ = event["id"] = next(new_ids)
    id_ = id_ if isinstance(id_, str) else json_text(id_)
    if not id_ or len(id_) > _LONGEST_ID or "\0" in id_:
        raise InputError(f"event {number} has an id that is empty or longer than {_LONGEST_ID} characters")
    source = str(event["source"]) if cloud else ""
    if len(source) > _LONGEST_ID:
        raise InputError(f"event {number} has a source that is longer than {_LONGEST_ID} characters")
    try:
        body = orjson.dumps(event)
    except TypeError as error:
        raise InputError(f"event {number} cannot be written as JSON: {error}") from None
    if len(body) > measures.event_bytes:
        raise TooLarge(f"event {number} has {len(body):,} bytes: the limit is {measures.event_bytes:,}")
    return IncomingEvent(source, id_, event, body)


def _new_ids(count: int) -> Iterator[str]:
    """UUIDs of version 7 (RFC 9562): they begin with the time, so that the index of ids grows at its end only.

    The random bits of all are asked for at once, and only if there is need of any.
    """
    moment = f"{time.time_ns() // 1_000_000:012x}"
    head, random = f"{moment[:8]}-{moment[8:]}-7", secrets.token_hex(count * _RANDOM // 2)
    for at in range(0, count * _RANDOM, _RANDOM):
        variant = _VARIANTS[int(random[at + 3], 16) % 4]
        yield f"{head}{random[at : at + 3]}-{variant}{random[at + 4 : at + 7]}-{random[at + 7 : at + 19]}"


def _check_cloud_event(event: Mapping[str, Any], where: str) -> None:
    if event.get("specversion") != "1.0":
        raise InputError(f'{where}: specversion is {event.get("specversion")!r}\nHint: CloudEvents have "1.0"')
    for name in _REQUIRED:
        if not isinstance(event.get(name), str) or not event[name]:
            raise InputError(f"{where}: a CloudEvent has a text `{name}`, which is missing or empty here")
    for name, value in event.items():
        if name in ("data", "data_base64"):
            continue
        if not _NAME.match(name):
            raise InputError(f"{where}: {name[:80]!r} cannot name an attribute\nHint: lower-case letters and digits")
        if isinstance(value, dict | list):
            raise InputError(f"{where}: the attribute {name!r} is {_called(value)}\nHint: put it into `data`")
    if "data" in event and "data_base64" in event:
        raise InputError(f"{where} has both data and data_base64\nHint: leave one of them out")


def is_nested_deeper(value: Any, depth: int) -> bool:
    """Whether JSON is nested more deeply than `depth`; works without recursion."""
    if depth and isinstance(value, dict) and _NESTED.isdisjoint(map(type, value.values())):
        return False  # as most events are
    level = [value]
    for _ in range(depth):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, dict | list)
        ]
        if not level:
            return False
    return True


def _called(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
