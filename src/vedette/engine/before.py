"""Names of version 0.1 that the one engine has replaced; `vedette` warns where they are used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError
from vedette.filters.index import DEFAULT
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events
from vedette.operators.calling import Calling
from vedette.operators.registry import DEFAULT_PLANNER, Operators

if TYPE_CHECKING:
    from vedette.covering.cover_judge import Method
    from vedette.operators.statistics import Statistics


class _Named(Engine):
    """An engine under its name of version 0.1."""

    @classmethod
    def _of(cls, engine: Engine) -> Self:
        made = cls.__new__(cls)
        made.__dict__.update(engine.__dict__)
        return made


class OperatorMatcher(_Named):
    """`subscriptions.compile(operators=…)`, whatever kinds the set contains."""

    def __init__(
        self,
        subscriptions: SubscriptionSet,
        operators: Operators | None = None,
        *,
        planner: str = DEFAULT_PLANNER,
        statistics: Statistics | None = None,
        learn: bool = True,
        index: str = DEFAULT,
        sample: Events | None = None,
    ) -> None:
        calling = Calling(operators, planner, statistics, learn=learn)
        filters = _set(subscriptions).compile_filters(index, sample=sample)
        self.__dict__.update(Engine.of(subscriptions, filters, calling=calling).__dict__)

    @classmethod
    def open(cls, folder: str | Path, operators: Operators | None = None, **options: Any) -> Self:
        """`vedette.open(folder, operators=…)`."""
        return cls._of(Engine.open(folder, operators=operators, **options))


class CoveringMatcher(_Named):
    """`subscriptions.compile(covering="auto")`, whatever kinds the set contains."""

    @classmethod
    def compile(
        cls,
        subscriptions: Subscriptions,
        index: str = DEFAULT,
        *,
        sample: Events | None = None,
        method: Method = "auto",
        operators: Operators | None = None,
    ) -> Self:
        """Compile a set, after deciding which filters are covered by others."""
        _set(subscriptions)
        return cls._of(subscriptions.compile(index, operators=operators, covering=method, sample=sample))


def _set(subscriptions: Any) -> SubscriptionSet:
    if not isinstance(subscriptions, SubscriptionSet):
        raise InputError(
            f"a {type(subscriptions).__name__} is no set of subscriptions\nHint: make one: vedette.Subscriptions()"
        )
    return subscriptions
