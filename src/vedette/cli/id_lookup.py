"""Find a subscription and an event by id; errors list the nearest ids."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Sequence
from itertools import islice
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from vedette.cli.event_streams import EventStream
from vedette.errors import InputError, UnknownSubscription
from vedette.io.chunks import EventChunk
from vedette.io.subscription_rows import PLAINLY, SubscriptionRecord, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.readings import EVERYTHING
from vedette.schema.table_paths import TableEvents

_CANDIDATES = 20_000  # ids that are compared with one that is not there
_ALWAYS = dt.datetime.min.replace(tzinfo=dt.UTC)


def find_subscription(source: str, format: str | None, id_: str, written: Written = PLAINLY) -> SubscriptionRecord:
    """The subscription with this id, even if it has expired; the others need not be valid."""
    file = read_subscriptions(source, format=format, now=_ALWAYS, written=written)
    seen: list[str] = []
    for record in file:
        if record.id == id_:
            return record
        if len(seen) < _CANDIDATES:
            seen.append(record.id)
    quoted = orjson.dumps(id_).decode()
    for reject in file.rejects:
        if quoted in reject.raw:
            raise InputError(f"subscription {id_!r} cannot be read: {file.name}, {reject}")
    raise UnknownSubscription(f"{file.name} has no subscription {id_!r}{_suggestion(id_, seen)}")


def find_event(events: EventStream, id_: str) -> dict[str, Any]:
    """The first event with this id (its row number if it has none)."""
    seen: list[str] = []
    rows = unreadable = 0
    for chunk in events:
        place = pc.index(chunk.ids, pa.scalar(id_, chunk.ids.type)).as_py()
        if place >= 0:
            return python_events(chunk, [place])[0]
        for reject in chunk.rejects:
            if str(reject.row) == id_:
                raise InputError(f"event {id_!r} cannot be read: {events.name}, {reject}")
        rows += len(chunk) + len(chunk.rejects)
        unreadable += len(chunk.rejects)
        seen += islice(chunk.ids.to_pylist(), _CANDIDATES - len(seen))
    raise unknown_event(events.name, id_, seen, rows, unreadable)


def unknown_event(name: str, id_: str, seen: Sequence[str], rows: int, unreadable: int) -> InputError:
    """The error for an unknown event, with ids that exist."""
    if seen[:1] == ["0"] or not seen:
        hint = f"\nHint: events without an `id` are numbered from 0; there are {rows:,}"
    else:
        hint = _suggestion(id_, seen[:_CANDIDATES])
    bad = f" ({unreadable:,} could not be read)" if unreadable else ""
    return InputError(f"{name} has no event {id_!r}{bad}{hint}")


def python_events(chunk: EventChunk, places: Sequence[int] | Any) -> list[dict[str, Any]]:
    """Some events of a chunk as dicts."""
    if isinstance(chunk.events, list):
        return [chunk.events[place] for place in places]
    return TableEvents(chunk.events.take(pa.array(places, pa.int64()))).dicts([EVERYTHING])


def _suggestion(id_: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(id_, known, n=3, cutoff=0.6)
    if near:
        return f"\nHint: did you mean {' or '.join(map(repr, near))}?"
    return f"\nHint: there are e.g. {', '.join(map(repr, known[:3]))}" if known else "\nHint: it is empty"
