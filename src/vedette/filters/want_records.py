"""The record of a want: a subscription to offers, i.e. publications that are constraints, not to events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from vedette.errors import InputError
from vedette.filters.origins import Origin

WantTarget: TypeAlias = Literal["events", "offers"]
EVENTS: Final = "events"
OFFERS: Final = "offers"


@dataclass(frozen=True, slots=True)
class WantRecord:
    """A want: a subscription to offers."""

    id: str
    text: str
    subscriber: str | None = None
    origin: Origin | None = field(default=None, compare=False)


def check_to(to: object) -> None:
    """InputError if `to` is not something that can be subscribed to."""
    if to not in get_args(WantTarget):
        raise InputError(f"a subscription to {to!r}\nHint: `to` is one of {', '.join(get_args(WantTarget))}")
