"""Where a pattern stands in one stream of events: all of its partial matches, followed one by one.

This is what `explain` speaks from: the semantics of LANGUAGE.md step by step, in plain Python and without any merging.
The engine is `vedette.composite.matcher`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from vedette.composite.shape import DONE, Condition, Marking, Shape
from vedette.composite.step_filters import Bindings, StepFilters
from vedette.language.ast import Comparator, Composite, Step
from vedette.language.evaluate import Event
from vedette.matching.explain import Explanation
from vedette.operators.calling import Calling
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
class Seen:
    """An event of the stream: what it is called, its time in microseconds, its content."""

    name: str
    time: int
    event: Event


@dataclass(frozen=True, slots=True)
class Partial:
    """A match so far: where it stands, which event took which position, the values of variables."""

    marking: Marking
    taken: tuple[tuple[int, Seen], ...] = ()
    bindings: Bindings = ()

    @property
    def first(self) -> Seen | None:
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
class Timing:
    """A time condition (or the window) as it came out."""

    condition: Condition | None  # None: the window
    difference: int  # microseconds; without a right side the time itself
    holds: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A partial match that an event ended, since it satisfied a step that must not happen."""

    partial: Partial
    seen: Seen
    step: Step


@dataclass(frozen=True, slots=True)
class Attempt:
    """A partial match, and what came of letting an event take one of its next positions."""

    partial: Partial
    position: int
    explanation: Explanation | None
    timings: tuple[Timing, ...]
    forbidden: tuple[Step, ...]  # steps that must not happen, and that the event satisfies
    after: tuple[Partial, ...]  # where it stands then; a marking of DONE is a match
    ended: Ended | None = None  # before the event came, the partial match had been ended

    @property
    def fits(self) -> bool:
        """The event satisfies the step, whatever else is wrong."""
        return self.explanation is not None and self.explanation.matched

    @property
    def faults(self) -> int:
        """How much is between this attempt and its success."""
        failed = 1 if self.explanation is None else len(self.explanation.failed)
        early = 0 if self.ended is None else 1
        return failed + sum(not timing.holds for timing in self.timings) + len(self.forbidden) + early


class Standing:
    """Takes the events of one partition, in the order of their time, and follows every partial match."""

    def __init__(self, composite: Composite, schema: Schema | None, text: str, calling: Calling | None = None) -> None:
        self.composite, self.text = composite, text
        self.shape = Shape(composite)
        self.steps = StepFilters(schema, text, calling)
        self.partials: list[Partial] = []
        self._ended: list[Ended] = []

    def attempts(self, seen: Seen) -> list[Attempt]:
        """What would come of the next event: one attempt per partial match and position that it may take."""
        return [each for partial in (Partial(None), *self.partials) for each in self._attempts(partial, seen)]

    def take(self, seen: Seen) -> list[Attempt]:
        """Let the next event happen; what came of it."""
        made = self.attempts(seen)
        self._end(seen)
        kept = [partial for partial in self.partials if self._survives(partial, seen)]
        moved = [partial for attempt in made for partial in attempt.after if partial.marking != DONE]
        self.partials = self._distinct(kept, moved)
        return made

    def missed(self, seen: Seen) -> list[Attempt]:
        """The steps that an event would have taken of partial matches that were ended before it; the latest first."""
        return [
            replace(attempt, after=(), ended=ended)
            for ended in reversed(self._ended)
            if not self._is_hopeless(ended.partial, seen)
            for attempt in self._attempts(ended.partial, seen)
            if attempt.fits
        ]

    def _end(self, seen: Seen) -> None:
        """Remember which partial matches this event ends."""
        for partial in self.partials:
            for step in self._happening(self.shape.waits(partial.marking), seen, partial.bindings):
                self._ended.append(Ended(partial, seen, step))
                break
        del self._ended[:-_MOST]

    def _attempts(self, partial: Partial, seen: Seen) -> Iterator[Attempt]:
        waits = self.shape.waits(partial.marking)
        for move in self.shape.moves(partial.marking):
            step = self.shape.positions[move.position].step
            found = self.steps.take(step, seen.event, partial.bindings)
            forbidden = tuple(self._happening(waits - move.absent, seen, partial.bindings))
            taken = (*partial.taken, (move.position, seen))
            times = partial.times | {move.position: seen.time}
            window = self._window(partial, seen)
            timings: dict[int, Timing] = {}
            after = []
            for marking in move.markings:
                settled = self._settled(partial.marking, marking, times)
                timings |= settled
                fine = found.bindings is not None and not forbidden and window.holds
                if fine and all(timing.holds for timing in settled.values()):
                    after.append(Partial(marking, taken, found.bindings or ()))
            said = (*timings.values(), *([] if window.holds else [window]))
            yield Attempt(partial, move.position, found.explanation, said, forbidden, tuple(after))

    def _window(self, partial: Partial, seen: Seen) -> Timing:
        passed = seen.time - (partial.first or seen).time
        return Timing(None, passed, self.composite.within is None or passed <= self.composite.within)

    def _settled(self, before: Marking, after: Marking, times: dict[int, int]) -> dict[int, Timing]:
        """The conditions that are decided by a move, by their numbers."""
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

    def _happening(self, absent: frozenset[int], seen: Seen, bindings: Bindings) -> Iterator[Step]:
        for number in sorted(absent):
            step = self.shape.absent[number]
            if self.steps.take(step, seen.event, bindings).bindings is not None:
                yield step

    def _survives(self, partial: Partial, seen: Seen) -> bool:
        """It may go on with a later event."""
        if all(move.contiguous for move in self.shape.moves(partial.marking)) or self._is_hopeless(partial, seen):
            return False
        return not any(self._happening(self.shape.waits(partial.marking), seen, partial.bindings))

    def _is_hopeless(self, partial: Partial, seen: Seen) -> bool:
        """Whatever comes now comes too late."""
        times = partial.times
        late = (
            seen.time - began > hope
            for slot, hope in self.shape.hopeless_after(partial.marking)
            if (began := self._latest(slot, times)) is not None
        )
        return not self._window(partial, seen).holds or any(late)

    def _distinct(self, kept: list[Partial], moved: list[Partial]) -> list[Partial]:
        """Of those that differ in nothing that can still matter one; the most advanced first.

        As the engine does it: where there is a window the one that began last, then one that was there before.
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

    def _matters(self, partial: Partial) -> tuple[Any, ...]:
        """What decides how a partial match can go on."""
        open_conditions = (self.shape.conditions[number] for number in self.shape.unsettled(partial.marking))
        slots = sorted({slot for condition in open_conditions for slot in _slots(condition)})
        times = partial.times
        return partial.marking, partial.bindings, tuple((slot, self._latest(slot, times)) for slot in slots)


def _slots(condition: Condition) -> Iterator[int]:
    """Those that it depends on."""
    return (slot for slot in (condition.left, condition.right, condition.scope) if slot >= 0)


def timing(condition: Condition, sides: list[int]) -> Timing:
    """How a condition comes out for the times of its sides."""
    difference = sides[0] if len(sides) == 1 else sides[0] - sides[1]
    if condition.absolute:
        difference = abs(difference)
    return Timing(condition, difference, HOLDS[condition.op](difference, condition.microseconds))
