"""Rejected events of a lane: found by validation or matching, counted, logged and written down."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import numpy as np

from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.service.fault_isolation import FAULTS
from vedette.service.journal import JournalEntry
from vedette.service.rejected_events import EventFault, FaultKind
from vedette.service.rights import EVERYBODY, Rights
from vedette.service.stream_engine import JournalBatch, Notices
from vedette.service.subscription_registry import Subscription
from vedette.service.validation import schema_violations

_LOG: Final = logging.getLogger("vedette.service.pump")
_COMPLAINTS: Final = 10.0  # seconds between two of a stream
T = TypeVar("T")


class FaultLog:
    """Counts rejected events by stream, and logs one of them now and then."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self._last: dict[str, float] = {}

    def put(self, stream: str, wrong: Sequence[EventFault]) -> None:
        """Count events of a stream that could not be matched."""
        if not wrong:
            return
        self.count[stream] += len(wrong)
        moment = time.monotonic()
        if moment - self._last.get(stream, float("-inf")) > _COMPLAINTS:
            self._last[stream] = moment
            said = {"stream": stream, "attribute": wrong[0].attribute, "reason": wrong[0].reason}
            _LOG.warning("an event cannot be matched", extra=said | {"rejected": self.count[stream]})


def validate(
    batch: JournalBatch,
    schema: Schema,
    rejects: dict[int, Reject],
    run: Callable[[Callable[[], list[Reject]]], list[Reject]],
    failed: Callable[[BaseException], None],
) -> None:
    """Add the events that break the schema to `rejects`; if validation fails, events are validated one by one."""
    try:
        for reject in run(partial(schema_violations, batch.events, schema)):
            rejects.setdefault(batch.numbers[reject.row], reject)
        return
    except FAULTS as error:
        failed(error)
    for number, event in zip(batch.numbers, batch.events, strict=True):
        try:
            for reject in run(partial(schema_violations, [event], schema)):
                rejects.setdefault(number, reject)
        except FAULTS as error:
            rejects.setdefault(number, Reject(0, "", f"it cannot be validated: {type(error).__name__}"))


def faults_of(
    stream: str,
    batch: JournalBatch,
    written: Mapping[int, JournalEntry],
    rejects: Mapping[int, Reject],
    *,
    schema_too: bool,
) -> list[EventFault]:
    """Rejected events of a batch as rows to be kept: all of them, or only those that failed to match."""
    faults = []
    for number in sorted(rejects):
        reject, place = rejects[number], bisect_left(batch.numbers, number)
        if place == len(batch) or batch.numbers[place] != number or (reject.attribute and not schema_too):
            continue
        kind: FaultKind = "schema" if reject.attribute else "matching"
        tenant, id_, body = batch.tenants[place], batch.ids[place], written[number].body
        faults.append(EventFault(stream, tenant, number, id_, kind, reject.attribute, reject.reason, body))
    return faults


def granted(
    told: Sequence[Notices], whose: Callable[[str], Subscription | None], rights: Rights, stream: str
) -> list[Notices]:
    """The outcomes without those of tenants who may not subscribe to the stream any more."""
    if rights.may(EVERYBODY, "subscribe", stream):
        return list(told)
    return [_granted(each, whose, rights, stream) for each in told]


def _granted(told: Notices, whose: Callable[[str], Subscription | None], rights: Rights, stream: str) -> Notices:
    by_place = {place: one.tenant for place, id_ in told.subscriptions().items() if (one := whose(id_)) is not None}
    denied = {name for name in set(by_place.values()) if not rights.may(name, "subscribe", stream)}
    if not denied:
        return told
    granted = [place for place, tenant in by_place.items() if tenant not in denied]
    return told.only(np.isin(told.place, granted))
