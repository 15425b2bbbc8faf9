"""A subscription whose filter calls operators: what the index alone cannot decide."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.matching.origins import Origin


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """Who subscribed to what; which operators there are is known where it is matched."""

    id: str
    text: str
    subscriber: str | None = None
    origin: Origin | None = field(default=None, compare=False)
