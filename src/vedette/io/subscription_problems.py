"""Errors and warnings about subscriptions, each with its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal as OneOf

from vedette.dialects.registry import OWN
from vedette.errors import DialectError, FilterError, InputError, LimitError, NotSupported
from vedette.io.subscription_rows import RejectedSubscription, SubscriptionRecord
from vedette.language.lint import Lint

FILTERS_ONLY = "only filters are matched here"
TOLD = 5  # of those that are set aside, in full
LEAVE_IT_OUT = "Hint: leave it out, or write it as a filter"


@dataclass(frozen=True, slots=True)
class SubscriptionProblem:
    """An error or a warning about one subscription; places in its text are counted from 1."""

    severity: OneOf["error", "warning"]
    code: str
    line: int  # of the file
    id: str | None
    message: str
    hint: str | None = None
    text: str = ""
    start: int = 0
    end: int = 0
    place: str | None = None  # of a rule in a file of its own

    @classmethod
    def of_reject(cls, reject: RejectedSubscription) -> SubscriptionProblem:
        """A problem for a record that is not a subscription."""
        message, _, hint = reject.reason.partition("\nHint: ")
        return cls("error", "record", reject.line, None, message, hint or None)

    @classmethod
    def of_error(
        cls, record: SubscriptionRecord, error: FilterError | NotSupported, code: str = "filter"
    ) -> SubscriptionProblem:
        """A problem for a text that is invalid, or needs what this version cannot do."""
        if isinstance(error, NotSupported):
            message, _, hint = str(error).partition("\nHint: ")
            return cls("error", "unsupported", record.line, record.id, message, hint or None, place=record.place)
        code = "limit" if isinstance(error, LimitError) else code
        place = (error.text, error.start, error.end)
        message = error.message if error.where is None else f"{error.where}: {error.message}"
        code = "rule" if isinstance(error, DialectError) else code
        return cls("error", code, record.line, record.id, message, error.hint, *place, record.place)

    @classmethod
    def of_lint(cls, record: SubscriptionRecord, lint: Lint) -> SubscriptionProblem:
        """A warning about what is legal but hardly meant."""
        span = (lint.text, lint.start, lint.end)
        return cls("warning", lint.code, record.line, record.id, lint.message, lint.hint, *span, record.place)

    def where(self, source: str, what: str = "subscription") -> str:
        """The place in the file, which has subscriptions, or other records."""
        if self.place is not None:
            return self.place if self.id is None else f"{self.place}, rule {self.id!r}"
        whose = "" if self.id is None else f", {what} {self.id!r}"
        return f"{source}, line {self.line}{whose}"

    def body(self) -> str:
        """The message, the place in the text with a caret under it, and the hint."""
        return FilterError(self.message, text=self.text, start=self.start, end=self.end, hint=self.hint).render()

    def __str__(self) -> str:
        return "\n".join(f"  {line}" for line in self.body().splitlines())


class BadSubscriptions(InputError):
    """Subscriptions that stop the work; has the place and the reason for every one."""

    def __init__(self, source: str, problems: Iterable[SubscriptionProblem], consequence: str) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        count = len(self.problems)
        parts = [f"{problem.where(source)}\n{problem}" for problem in self.problems]
        total = "1 subscription is bad" if count == 1 else f"{count:,} subscriptions are bad"
        super().__init__("\n\n".join([*parts, f"{total}; {consequence}."]))


def set_aside(source: str, problems: Iterable[SubscriptionProblem]) -> str:
    """A summary of subscriptions that are left out while the others are used: how many, and the first of them."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    count = len(ordered)
    total = "1 subscription is bad and set aside" if count == 1 else f"{count:,} subscriptions are bad and set aside"
    more = f", {TOLD} of which are shown" if count > TOLD else ""
    told = [f"{problem.where(source)}\n{problem}" for problem in ordered[:TOLD]]
    return "\n\n".join([*told, f"{total}{more}; the others are used."])


def refusal(
    record: SubscriptionRecord, *, patterns: bool = False, dialects: bool = True
) -> FilterError | NotSupported | None:
    """The reason why a record needs more than matching a filter (or a pattern), or its rule cannot be translated."""
    if record.dialect not in (None, OWN) and not dialects:
        return NotSupported(
            f"rules of {record.dialect!r} are matched with events only, and do not meet publications\n"
            "Hint: write the constraint as in LANGUAGE.md, e.g. status = 'denied' and price < 120"
        )
    if record.refused is not None:
        return record.refused
    if record.predict is not None and not patterns:
        return NotSupported(f"`predict` asks for forecasts of patterns: {FILTERS_ONLY}\nHint: leave `predict` out")
    return None
