"""The record of a subscription whose filter calls operators, which the index alone cannot decide."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.filters.origins import Origin


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """A subscription whose filter calls operators; which operators exist is known only where it is matched."""

    id: str
    text: str
    subscriber: str | None = None
    origin: Origin | None = field(default=None, compare=False)
