"""A stream of a set that is not compiled yet."""

from __future__ import annotations

import datetime as dt
from typing import Self

from vedette.engine.engine import Engine
from vedette.engine.state import StreamState
from vedette.engine.stream import Stream, check_model, check_set
from vedette.filters.subscription_records import CAP
from vedette.filters.subscription_set import SubscriptionSet
from vedette.operators.calling import Calling
from vedette.operators.registry import DEFAULT_PLANNER, Operators
from vedette.patterns.forecasts.model import Model


class StreamMatcher(Stream):
    """A stream of a set that is not compiled yet: `subscriptions.compile(…).stream(…)` in one call."""

    def __init__(
        self,
        subscriptions: SubscriptionSet,
        *,
        lateness: dt.timedelta | None = dt.timedelta(0),
        model: Model | None = None,
        learn: bool = True,
        cap: int = CAP,
        operators: Operators | None = None,
        planner: str = DEFAULT_PLANNER,
    ) -> None:
        check_set(subscriptions)
        check_model(model)
        engine = _compiled(subscriptions, model, operators, planner)
        super().__init__(engine, lateness=lateness, learn=learn, cap=cap)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        subscriptions: SubscriptionSet,
        *,
        model: Model | None = None,
        learn: bool = True,
        operators: Operators | None = None,
        planner: str = DEFAULT_PLANNER,
    ) -> Self:
        """Resume from `to_bytes`; patterns that are new, changed or gone since do not disturb the others' state."""
        check_set(subscriptions)
        check_model(model)
        engine = _compiled(subscriptions, model, operators, planner)
        return cls.at(StreamState.from_bytes(data, engine, learn=learn))


def _compiled(subscriptions: SubscriptionSet, model: Model | None, operators: Operators | None, planner: str) -> Engine:
    calling = Calling(operators, planner, None if model is None else model.operators)
    return Engine.of(subscriptions, subscriptions.compile_filters(), calling=calling, model=model)
