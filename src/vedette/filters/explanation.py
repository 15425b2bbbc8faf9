"""Explanations for subscriptions of any kind: why an event matched or did not, as a tree, as text, as JSON."""

from __future__ import annotations

import abc
import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vedette.language.checked_tree import Part
    from vedette.language.distances import Miss
    from vedette.language.three_valued import Truth

MARKS: Final = {True: "✓", False: "✗", None: "?"}
_WIDEST: Final = 100


@dataclass(frozen=True, slots=True)
class PartExplanation:
    """One part of a subscription: its text, its truth for the event, the value seen and why, and its own parts."""

    part: Part | None  # None: not part of a filter, e.g. a step of a pattern
    text: str
    truth: Truth  # None: unknown
    wanted: bool  # the truth that would help the whole filter: false below a NOT
    value: Any = None
    why: str = ""
    missed: Miss | None = None
    parts: tuple[PartExplanation, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The part as plain data for JSON, without empty fields; values of types that JSON lacks become texts."""
        made: dict[str, Any] = {"asked": self.text, "held": self.truth}
        if self.value is not None:
            made["value"] = _plain(self.value)
        if self.why:
            made["why"] = self.why
        if self.parts:
            made["parts"] = [each.plain() for each in self.parts]
        return made

    def lines(self, first: str = "", rest: str = "") -> Iterator[str]:
        """The part and its own parts, each a line of a tree."""
        why = f"   {self.why}" if self.why else ""
        yield f"{first}{MARKS[self.truth]} {cut(self.text)}{why}"
        for place, each in enumerate(self.parts, 1):
            last = place == len(self.parts)
            yield from each.lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


class Explanation(abc.ABC):
    """The result of `Engine.explain`: `str` of it is for people, `plain` for programs; both are made from `tree`."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def tree(self) -> PartExplanation:
        """The subscription, part by part."""

    @property
    def matched(self) -> bool:
        """Whether the event matches the subscription, or completes it."""
        return self.tree.truth is True

    @abc.abstractmethod
    def lines(self) -> Iterator[str]:
        """The lines about the parts."""

    def plain(self) -> dict[str, Any]:
        """The tree as plain data for JSON: each test, its truth (null: unknown), the value seen, why, and its parts."""
        return self.tree.plain()


def cut(text: str) -> str:
    """The text as one line, truncated if it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDEST else flat[: _WIDEST - 1] + "…"


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
