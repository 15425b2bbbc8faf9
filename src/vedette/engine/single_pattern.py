"""One pattern followed over a complete history: its partition, its forecasts, how far it came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.engine.engine import Engine
from vedette.engine.step import filter_rows
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.index import AT_ONCE
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.filters.subscription_view import Events
from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.patterns.explain import partition_of, partition_values
from vedette.patterns.forecasts.forecast_reasons import Forecast, forecast_at
from vedette.patterns.machine_pictures import machine_picture
from vedette.patterns.matcher import PatternMatcher, PatternOutcome
from vedette.patterns.shape import Shape
from vedette.patterns.state_diagrams import Picture
from vedette.patterns.step_alternatives import alternatives

if TYPE_CHECKING:
    from collections.abc import Sequence

EventPart: TypeAlias = "tuple[Events, Sequence[str | None]]"  # some events, and their own ids


class StepCount(NamedTuple):
    """A step of a pattern, and the number of events that satisfy its filter, regardless of earlier steps."""

    name: str
    text: str
    events: int


class PatternReach(NamedTuple):
    """How far a pattern came: the number of completions, the most steps taken, and at which event first."""

    completed: int
    taken: int
    event: int  # its number
    steps: int


class SinglePattern:
    """One pattern of an engine, with all events of a history in parts, as they arrived."""

    def __init__(self, engine: Engine, id_: str) -> None:
        self._engine, self._record = engine, engine.pattern_records[id_]
        tree = parse(self._record.text)
        assert isinstance(tree, Composite)  # as every pattern is
        self._tree = tree

    @property
    def forecasts(self) -> bool:
        """Whether forecasts are asked for."""
        return self._record.predict is not None

    def partition(self, event: Mapping[str, Any]) -> tuple[Any, ...]:
        """The partition of an event, as one value."""
        return partition_values(partition_of(self._tree), event, self._engine.schema)

    def forecast(self, parts: Iterable[EventPart], number: int) -> Forecast | None:
        """The forecast at an event, as it would have been made when it came."""
        seen = self._followed(self._record, parts).observations
        return forecast_at(self._record, self._engine.model, seen, number)

    def reached(self, parts: Iterable[EventPart]) -> PatternReach:
        """How far the pattern came."""
        outcome = self._followed(replace(self._record, predict=Predict(1)), parts)  # so that observations are recorded
        depth, steps = outcome.observations.depth, len(Shape(self._tree).positions)
        if not len(depth):
            return PatternReach(len(outcome.matches), 0, -1, steps)
        best = int(depth.argmax())
        return PatternReach(len(outcome.matches), int(depth[best]), int(outcome.observations.event[best]), steps)

    def _followed(self, record: PatternRecord, parts: Iterable[EventPart]) -> PatternOutcome:
        """The outcome of all events."""
        matcher = PatternMatcher([record], self._engine.schema, lateness=None, calling=self._engine.calling)
        for events, ids in parts:  # the last step returns the outcomes of all
            matcher.process(events, ids=ids)
        return matcher.finish()

    def satisfied(self, parts: Iterable[EventPart]) -> list[StepCount]:
        """The number of events that satisfy the filter of each step."""
        shape, text = Shape(self._tree), self._record.text
        filters = Subscriptions(self._engine.schema)
        for number, position in enumerate(shape.positions):
            ways = (render(way.filter) for way in alternatives(position.step, text))
            filters.add(str(number), " or ".join(f"({way})" for way in ways))
        engine = self._engine.changed(filters, index=AT_ONCE)
        counts: NDArray[np.int64] = np.zeros(len(shape.positions), np.int64)
        for events, _ in parts:
            for rows in filter_rows(engine, events):
                counts += np.bincount(rows.place, minlength=len(counts))
        spans = (position.step.span for position in shape.positions)
        said = (text[span.start : span.end] for span in spans)
        return [StepCount(*each) for each in zip(shape.names, said, counts.tolist(), strict=True)]

    def picture(self, probability: Callable[[int], float | None]) -> Picture:
        """A picture of its machine, with the known probabilities by number of steps."""
        return machine_picture(self._tree, self._record.text, probability)
