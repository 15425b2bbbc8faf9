"""When did an event happen, for patterns? As its `time` says; where that cannot be a time, when it was accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vedette.composite.times import TIME, YEAR_10000
from vedette.service.clock import SECOND, iso

_YEAR_1: Final = -62_135_596_800  # seconds


def with_times(events: Sequence[Mapping[str, Any]], received: Sequence[int]) -> list[Mapping[str, Any]]:
    """The events, each with a time; those of one batch are written alike, since they are read as one column."""
    found = [event.get(TIME) for event in events]
    texts = any(not _is_number(each) for each in found)
    return [
        event if _stands(each, texts) else {**event, TIME: _text(each, moment)}
        for event, each, moment in zip(events, found, received, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _stands(value: Any, texts: bool) -> bool:
    return isinstance(value, str) or (_is_number(value) and not texts)


def _text(value: Any, received: int) -> str:
    if not _is_number(value):
        return iso(received)
    # What is no time stays none: it is rejected where the others of the batch are read.
    return iso(round(value * SECOND)) if _YEAR_1 <= value < YEAR_10000 else str(value)
