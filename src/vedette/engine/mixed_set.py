"""A set of subscriptions of any kind, each checked when it is added by the part that will match it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vedette.errors import FilterError
from vedette.filters.subscription_set import SubscriptionSet

if TYPE_CHECKING:
    from vedette.meeting.constraint_table import AttributeSpace


class MixedSet(SubscriptionSet):
    """Subscriptions by id, in the order of addition: filters of one event, patterns of several, wants of offers."""

    _space: AttributeSpace | None = None  # the attributes of wants, each of one type; None: no wants so far

    def _check_want(self, when: str) -> None:
        from vedette.meeting.constraint_parser import read_constraint
        from vedette.meeting.constraint_table import AttributeSpace

        constraint = read_constraint(when, self.schema)
        if self._space is None:
            self._space = AttributeSpace()
        try:
            self._space.take(constraint)
        except FilterError as error:
            raise error.of("a subscription to offers") from None
