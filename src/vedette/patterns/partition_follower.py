"""Follow a pattern in the events of one partition: all of its partial matches, one by one, for explanations.

`explain` uses it: the semantics of LANGUAGE.md step by step, in plain Python and without any merging.
The engine is `vedette.patterns.matcher`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from vedette.filters.explain import FilterExplanation
from vedette.language.ast import Comparator, Composite, Step
from vedette.language.evaluate import Event
from vedette.operators.calling import Calling
from vedette.patterns.shape import DONE, Marking, MarkingCondition, Shape
from vedette.patterns.step_filters import Bindings, StepFilters
from vedette.schema.schema import Schema

_MOST = 2_000  # partial matches that are followed; beyond them the least advanced are given up
HOLDS: Final[dict[Comparator, Callable[[Any, Any], bool]]] = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class NamedEvent:
    """An event of the stream: its name, its time in microseconds, its content."""

    name: str
    time: int
    event: Event


@dataclass(frozen=True, slots=True)
class FollowedMatch:
    """A partial or complete match: its marking, the events by position, the values of variables."""

    marking: Marking
    taken: tuple[tuple[int, NamedEvent], ...] = ()
    bindings: Bindings = ()

    @property
    def first(self) -> NamedEvent | None:
        """Its first event."""
        return self.taken[0][1] if self.taken else None

    @property
    def newness(self) -> tuple[tuple[int, int], ...]:
        """Times and positions from the last event back: of two that end alike, the greater has the later events."""
        return tuple((seen.time, position) for position, seen in reversed(self.taken))

    @property
    def times(self) -> dict[int, int]:
        """Position -> time."""
        return {position: seen.time for position, seen in self.taken}


@dataclass(frozen=True, slots=True)
class TimingResult:
    """The result of a time condition (or the window)."""

    condition: MarkingCondition | None  # None: the window
    difference: int  # microseconds; without a right side the time itself
    holds: bool


@dataclass(frozen=True, slots=True)
class EndedMatch:
    """A partial match that an event ended, because it satisfied a step that must not happen."""

    partial: FollowedMatch
    seen: NamedEvent
    step: Step


@dataclass(frozen=True, slots=True)
class MatchAttempt:
    """A partial match with one of its next positions, and the result of trying an event there."""

    partial: FollowedMatch
    position: int
    explanation: FilterExplanation | None
    timings: tuple[TimingResult, ...]
    forbidden: tuple[Step, ...]  # steps that must not happen, and that the event satisfies
    after: tuple[FollowedMatch, ...]  # the markings after it; a marking of DONE is a match
    ended: EndedMatch | None = None  # before the event came, the partial match had been ended

    @property
    def fits(self) -> bool:
        """Whether the event satisfies the step, regardless of other conditions."""
        return self.explanation is not None and self.explanation.matched

    @property
    def faults(self) -> int:
        """How many conditions keep this attempt from success."""
        failed = 1 if self.explanation is None else len(self.explanation.failed)
        early = 0 if self.ended is None else 1
        return failed + sum(not timing.holds for timing in self.timings) + len(self.forbidden) + early


class PartitionFollower:
    """Processes the events of one partition, in the order of their time, and follows every partial match."""

    def __init__(self, composite: Composite, schema: Schema | None, text: str, calling: Calling | None = None) -> None:
        self.composite, self.text = composite, text
        self.shape = Shape(composite)
        self.steps = StepFilters(schema, text, calling)
        self.partials: list[FollowedMatch] = []
        self._ended: list[EndedMatch] = []

    def attempts(self, seen: NamedEvent) -> list[MatchAttempt]:
        """Try the next event: one attempt per partial match and position that it may take."""
        return [each for partial in (FollowedMatch(None), *self.partials) for each in self._attempts(partial, seen)]

    def take(self, seen: NamedEvent) -> list[MatchAttempt]:
        """Process the next event; return the matches."""
        made = self.attempts(seen)
        self._end(seen)
        kept = [partial for partial in self.partials if self._survives(partial, seen)]
        moved = [partial for attempt in made for partial in attempt.after if partial.marking != DONE]
        self.partials = self._distinct(kept, moved)
        return made

    def missed(self, seen: NamedEvent) -> list[MatchAttempt]:
        """The steps that an event would have taken, of partial matches that were ended before it; the latest first."""
        return [
            replace(attempt, after=(), ended=ended)
            for ended in reversed(self._ended)
            if not self._is_hopeless(ended.partial, seen)
            for attempt in self._attempts(ended.partial, seen)
            if attempt.fits
        ]

    def _end(self, seen: NamedEvent) -> None:
        """Record which partial matches this event ends."""
        for partial in self.partials:
            for step in self._happening(self.shape.waits(partial.marking), seen, partial.bindings):
                self._ended.append(EndedMatch(partial, seen, step))
                break
        del self._ended[:-_MOST]

    def _attempts(self, partial: FollowedMatch, seen: NamedEvent) -> Iterator[MatchAttempt]:
        waits = self.shape.waits(partial.marking)
        for move in self.shape.moves(partial.marking):
            step = self.shape.positions[move.position].step
            found = self.steps.take(step, seen.event, partial.bindings)
            forbidden = tuple(self._happening(waits - move.absent, seen, partial.bindings))
            taken = (*partial.taken, (move.position, seen))
            times = partial.times | {move.position: seen.time}
            window = self._window(partial, seen)
            timings: dict[int, TimingResult] = {}
            after = []
            for marking in move.markings:
                settled = self._settled(partial.marking, marking, times)
                timings |= settled
                fine = found.bindings is not None and not forbidden and window.holds
                if fine and all(timing.holds for timing in settled.values()):
                    after.append(FollowedMatch(marking, taken, found.bindings or ()))
            said = (*timings.values(), *([] if window.holds else [window]))
            yield MatchAttempt(partial, move.position, found.explanation, said, forbidden, tuple(after))

    def _window(self, partial: FollowedMatch, seen: NamedEvent) -> TimingResult:
        passed = seen.time - (partial.first or seen).time
        return TimingResult(None, passed, self.composite.within is None or passed <= self.composite.within)

    def _settled(self, before: Marking, after: Marking, times: dict[int, int]) -> dict[int, TimingResult]:
        """The numbers of the conditions that a move decides."""
        still_open = () if after == DONE else self.shape.unsettled(after)
        found = {}
        for number in self.shape.unsettled(before):
            if number in still_open:
                continue
            condition = self.shape.conditions[number]
            sides = [self._latest(slot, times) for slot in (condition.left, condition.right) if slot >= 0]
            if condition.scope >= 0 and self._latest(condition.scope, times) is None:
                continue
            if None not in sides:
                found[number] = timing(condition, [side for side in sides if side is not None])
        return found

    def _latest(self, slot: int, times: dict[int, int]) -> int | None:
        return max((times[each] for each in self.shape.positions_of(slot) if each in times), default=None)

    def _happening(self, absent: frozenset[int], seen: NamedEvent, bindings: Bindings) -> Iterator[Step]:
        for number in sorted(absent):
            step = self.shape.absent[number]
            if self.steps.take(step, seen.event, bindings).bindings is not None:
                yield step

    def _survives(self, partial: FollowedMatch, seen: NamedEvent) -> bool:
        """Whether a match can continue with a later event."""
        if all(move.contiguous for move in self.shape.moves(partial.marking)) or self._is_hopeless(partial, seen):
            return False
        return not any(self._happening(self.shape.waits(partial.marking), seen, partial.bindings))

    def _is_hopeless(self, partial: FollowedMatch, seen: NamedEvent) -> bool:
        """Whether every later event is too late."""
        times = partial.times
        late = (
            seen.time - began > hope
            for slot, hope in self.shape.hopeless_after(partial.marking)
            if (began := self._latest(slot, times)) is not None
        )
        return not self._window(partial, seen).holds or any(late)

    def _distinct(self, kept: list[FollowedMatch], moved: list[FollowedMatch]) -> list[FollowedMatch]:
        """One of those that differ in nothing that still matters; the most advanced first.

        As in the engine: with a window, the one that began last, then one that was there before.
        """
        best = {self._matters(partial): partial for partial in kept}
        old = set(best)
        for partial in moved:
            key = self._matters(partial)
            rival = best.get(key)
            began = partial.taken[0][1].time
            before = began if rival is None else rival.taken[0][1].time
            if self.composite.within is None or began == before:
                replaces = rival is None or (key not in old and partial.newness > rival.newness)
            else:
                replaces = began > before
            if replaces:
                best[key] = partial
                old.discard(key)
        return sorted(best.values(), key=lambda each: -len(each.taken))[:_MOST]

    def _matters(self, partial: FollowedMatch) -> tuple[Any, ...]:
        """What decides how a partial match can continue."""
        open_conditions = (self.shape.conditions[number] for number in self.shape.unsettled(partial.marking))
        slots = sorted({slot for condition in open_conditions for slot in _slots(condition)})
        times = partial.times
        return partial.marking, partial.bindings, tuple((slot, self._latest(slot, times)) for slot in slots)


def _slots(condition: MarkingCondition) -> Iterator[int]:
    """The slots on which a match depends."""
    return (slot for slot in (condition.left, condition.right, condition.scope) if slot >= 0)


def timing(condition: MarkingCondition, sides: list[int]) -> TimingResult:
    """The result of a condition for the times of its sides."""
    difference = sides[0] if len(sides) == 1 else sides[0] - sides[1]
    if condition.absolute:
        difference = abs(difference)
    return TimingResult(condition, difference, HOLDS[condition.op](difference, condition.microseconds))
