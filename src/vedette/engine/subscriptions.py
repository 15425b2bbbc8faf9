"""`Subscriptions`: the set to which subscriptions are added, and which compiles to an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vedette.engine.engine import Engine
from vedette.engine.mixed_set import MixedSet
from vedette.filters.index import DEFAULT
from vedette.filters.subscription_records import OperatorRecord, PatternRecord
from vedette.filters.subscription_set import Progress, SpecialRecord
from vedette.filters.subscription_view import Events
from vedette.operators.calling import Calling
from vedette.operators.registry import DEFAULT_PLANNER, Operators

if TYPE_CHECKING:
    from vedette.covering.cover_judge import Method
    from vedette.engine.live import LiveEngine
    from vedette.patterns.forecasts.model import Model


class Subscriptions(MixedSet):
    """Subscriptions by id, in the order of addition: filters of one event, patterns of several, wants of offers."""

    def compile(
        self,
        index: str = DEFAULT,
        *,
        operators: Operators | None = None,
        model: Model | None = None,
        planner: str = DEFAULT_PLANNER,
        covering: Method | None = None,
        sample: Events | None = None,
        progress: Progress | None = None,
    ) -> Engine:
        """Compile all subscriptions, of any kind, into an engine.

        `operators` are those that filters and steps may call; without them, all installed ones can be called. A `model`
        has what was learned from earlier streams: how probably patterns complete, and what operators cost. With
        `covering`, filters that others cover are tested only where these matched; this, and a `sample` of events,
        steers how the index is laid out, never what it answers. `progress` is called with each step of the work.
        """
        if model is not None:
            from vedette.engine.stream import check_model

            check_model(model)
        calling = Calling(operators, planner, None if model is None else model.operators)
        if covering is None:
            filters = self.compile_filters(index, sample=sample, progress=progress)
        else:
            from vedette.covering.matcher import CoveringMatcher

            filters = CoveringMatcher.compile(self, index, sample=sample, method=covering)
        return Engine.of(self, filters, calling=calling, model=model)

    def compiled(self, calling: Calling, model: Model | None = None, *, like: Engine | None = None) -> Engine:
        """As `compile`, where it is given how operators are called."""
        return Engine.of(self, self.compile_filters(), calling=calling, model=model, like=like)

    def check(self, operators: Operators | None = None) -> None:
        """Raise FilterError if a called operator is not there, or is called in a wrong way.

        Everything else was checked when it was added.
        """
        beside = self.copy_beside()
        if len(beside):
            Engine.of(beside, beside.compile_filters(), calling=Calling(operators)).close()

    def learning(self) -> Subscriptions:
        """The subscriptions that learn from history: those with forecasts, or with calls of operators."""
        made = Subscriptions(self.schema)
        made.take_beside(self, self._learns)
        return made

    def _learns(self, record: SpecialRecord) -> bool:
        if isinstance(record, PatternRecord):
            return record.predict is not None or record.calls_operators(self.schema)
        return isinstance(record, OperatorRecord)

    def live(
        self,
        index: str = DEFAULT,
        *,
        operators: Operators | None = None,
        model: Model | None = None,
        covering: Method | None = None,
        sample: Events | None = None,
    ) -> LiveEngine:
        """A live engine, which takes changes while it matches, starting from these subscriptions."""
        engine = self.compile(index, operators=operators, model=model, covering=covering, sample=sample)
        return engine.live(sample=sample)
