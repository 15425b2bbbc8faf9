"""Schema, operators and limits that a subscription is checked with; can be sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError
from vedette.filters.subscription_records import Predict
from vedette.filters.subscription_set import SubscriptionKind
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.service.costs import cost_of
from vedette.service.errors import OverLimit

if TYPE_CHECKING:
    from vedette.meeting.constraint_parser import Constraint


@dataclass(frozen=True, slots=True)
class CheckContext:
    """All that decides what a text means and whether it is accepted, other subscriptions and offers excepted."""

    schema: Schema
    operators: Operators | None
    dearest: float  # that one subscription may cost

    def plain(self) -> dict[str, Any]:
        """The context as JSON, without the operators: the other process reads these by itself."""
        spelled = {path: self.schema.spelling(path) for path in self.schema}
        return {"schema": spelled, "closed": self.schema.closed, "dearest": self.dearest}

    @classmethod
    def of(cls, plain: Mapping[str, Any], operators: Operators | None) -> CheckContext:
        """The reverse of `plain`."""
        return cls(Schema.of(plain["schema"], closed=plain["closed"]), operators, plain["dearest"])

    def checked(
        self, when: str, predict: Mapping[str, Any] | None, *, want: bool = False
    ) -> tuple[SubscriptionKind, float]:
        """Kind and cost of a subscription; an error says why it cannot be registered."""
        from vedette.meeting.live_meeting import Meeting

        asked = None if predict is None else Predict.of(predict)
        if want:
            if asked is not None:
                raise InputError("`predict` is for patterns; a want meets offers\nHint: leave `predict` out")
            meeting = Meeting(self.schema)
            meeting.subscriptions.add("w", when)
            return "want", self._affordable("subscription", _cost_of(when, meeting.subscriptions.constraint("w")))
        kind = self._kind(when, asked)
        return kind, self._affordable("subscription", cost_of(when, within=None if asked is None else asked.within))

    def check_offer(self, when: str) -> None:
        """Raise an error if an offer cannot be registered, whatever other offers and wants there are."""
        from vedette.meeting.live_meeting import Meeting

        meeting = Meeting(self.schema)
        meeting.publications.add("o", when)
        self._affordable("offer", _cost_of(when, meeting.publications.constraint("o")))

    def _affordable(self, what: str, cost: float) -> float:
        if cost > self.dearest:
            raise OverLimit(
                f"this {what} costs {cost:,.0f}, and one may cost {self.dearest:,.0f}\n"
                "Hint: split it, or ask for fewer regular expressions, steps, operators and alternatives, or a nearer "
                "horizon"
            )
        return cost

    def _kind(self, when: str, asked: Predict | None) -> SubscriptionKind:
        """The kind of a subscription. It is compiled alone, so that errors of matching are found at registration."""
        alone = Subscriptions(self.schema)
        alone.add("s", when, predict=asked)
        try:
            alone.check(self.operators)
        except FilterError as error:
            raise _in_text(error, when) from None
        return alone.kind_of("s")


def _cost_of(when: str, constraint: Constraint) -> float:
    """The cost of a want or offer, at least its number of disjuncts: each is compared with all registered ones."""
    return max(cost_of(when), float(len(constraint.disjuncts)))


def _in_text(error: FilterError, text: str) -> FilterError:
    """The error of a part of a text, with its position in the whole text."""
    first = text.find(error.text)
    if not error.text or first < 0:
        return error
    start, end = first + error.start, first + error.end
    return type(error)(error.message, text=text, start=start, end=end, hint=error.hint)
