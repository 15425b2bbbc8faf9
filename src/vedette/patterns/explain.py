"""Explain why an event completed a pattern or not: the steps it satisfies, the pattern's state, the nearest miss."""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.filters.explanation import Explanation, PartExplanation
from vedette.language.ast import Composite, Step
from vedette.language.evaluate import Event, value_of
from vedette.language.render import duration, render
from vedette.operators.calling import Calling
from vedette.patterns.partition_follower import (
    EndedMatch,
    FollowedMatch,
    MatchAttempt,
    NamedEvent,
    PartitionFollower,
    TimingResult,
)
from vedette.patterns.shape import DONE, MarkingCondition, Shape
from vedette.patterns.step_alternatives import shared_variable
from vedette.patterns.step_filters import Bindings
from vedette.schema.schema import Schema

_SHOWN = 3  # partial matches that are shown
_UNCOMPARABLE = "its values cannot be compared"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class PatternExplanation(Explanation):
    """The state of a pattern at an event of its stream."""

    shape: Shape
    within: int | None
    text: str
    seen: NamedEvent
    partition: tuple[tuple[str, Any], ...]  # attribute and value
    place: int  # of the event in its partition, from 1
    satisfied: tuple[str, ...]  # the steps whose filter the event satisfies, whatever came before
    before: tuple[FollowedMatch, ...]  # the partial matches, most advanced first
    after: tuple[FollowedMatch, ...]
    attempts: tuple[MatchAttempt, ...]

    @property
    def matches(self) -> tuple[FollowedMatch, ...]:
        """The matches that the event completed: one per binding of join variables."""
        found: dict[Bindings, FollowedMatch] = {}
        for each in (each for one in self.attempts for each in one.after if each.marking == DONE):
            rival = found.setdefault(each.bindings, each)
            if each.newness > rival.newness:
                found[each.bindings] = each
        return tuple(found.values())

    @property
    def matched(self) -> bool:
        """Whether the event completed the pattern."""
        return bool(self.matches)

    @property
    def tree(self) -> PartExplanation:
        """The steps taken by the match, or by what came nearest to one, and what prevented the next step."""
        if self.matched:
            parts = self._taken_steps(self.matches[0])
        elif self.advanced:
            parts = self._taken_steps(self.advanced[0])
        else:
            parts = (
                () if self.nearest is None else (*self._taken_steps(self.nearest.partial), *self._kept(self.nearest))
            )
        return PartExplanation(None, self.text, self.matched, wanted=True, why=self._verdict(), parts=parts)

    def _taken_steps(self, partial: FollowedMatch) -> tuple[PartExplanation, ...]:
        return tuple(
            PartExplanation(
                None,
                self._step_text(self.shape.positions[position].step),
                True,
                wanted=True,
                value=seen.name,
                why=f"{self.shape.names[position]} was {seen.name}, {time_text(seen.time)}",
            )
            for position, seen in partial.taken
        )

    def _kept(self, attempt: MatchAttempt) -> Iterator[PartExplanation]:
        """The step that the event did not take, and the conditions that failed."""
        step = self._step_text(self.shape.positions[attempt.position].step)
        if attempt.explanation is None:
            yield PartExplanation(None, step, False, wanted=True, why=_UNCOMPARABLE)
        else:
            yield attempt.explanation.tree
        for text, why in self._in_the_way(attempt):
            yield PartExplanation(None, text, False, wanted=True, why=why)
        for timing in attempt.timings:
            text, why = self._timing(timing)
            yield PartExplanation(None, text, timing.holds, wanted=True, why=why)

    def _in_the_way(self, attempt: MatchAttempt) -> Iterator[tuple[str, str]]:
        for step in attempt.forbidden:
            yield f"not {self._step_text(step)}", "the event satisfies it"
        if attempt.ended is not None:
            yield f"not {self._step_text(attempt.ended.step)}", self._ending(attempt.ended)

    @property
    def advanced(self) -> tuple[FollowedMatch, ...]:
        """The partial matches that took a step with this event, most advanced first."""
        found = (each for one in self.attempts for each in one.after if each.marking != DONE)
        return tuple(sorted(found, key=lambda each: -len(each.taken)))

    @property
    def nearest(self) -> MatchAttempt | None:
        """The most advanced partial match that could have taken a step with this event and did not; least missing."""
        failed = [one for one in self.attempts if not one.after]
        return min(failed, key=lambda one: (-len(one.partial.taken), one.faults, not one.fits), default=None)

    def witness(self, partial: FollowedMatch) -> dict[str, str]:
        """Name of a step -> the event that took it."""
        return {self.shape.names[position]: seen.name for position, seen in partial.taken}

    # ------------------------------------------------------------ as text

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def lines(self) -> Iterator[str]:
        """The explanation, as lines."""
        yield self._verdict()
        yield self._stream()
        yield f"Steps whose filter it satisfies: {', '.join(self.satisfied) or 'none'}"
        for match in self.matches:
            yield f"The match{_values(match.bindings)}:"
            yield from self._taken(match)
        yield from self._standing()
        if not self.matched:
            yield from self._miss()

    def _verdict(self) -> str:
        if self.matched:
            return "The event completes the pattern."
        if not self.advanced:
            return "The event does not complete the pattern, and takes no step of it."
        return "The event does not complete the pattern, but takes it further."

    def _stream(self) -> str:
        where = " and ".join(f"{path} = {_shown(value)}" for path, value in self.partition)
        return f"It is event {self.place:,} of {'its partition, ' + where if where else 'the stream'}"

    def _standing(self) -> Iterator[str]:
        if not self.after:
            yield "After it there is no partial match."
            return
        count = len(self.after)
        yield f"After it there {'is 1 partial match' if count == 1 else f'are {count:,} partial matches'}:"
        for partial in self.after[:_SHOWN]:
            waits = self._waits(partial)
            yield f"- {len(partial.taken)} of {len(self.shape.positions)} steps{_values(partial.bindings)}; {waits}"
            yield from self._taken(partial)
        if count > _SHOWN:
            yield f"- … and {count - _SHOWN:,} more"

    def _waits(self, partial: FollowedMatch) -> str:
        moves = self.shape.moves(partial.marking)
        names = dict.fromkeys(self.shape.names[move.position] for move in moves)
        when = "the very next event must take" if any(move.contiguous for move in moves) else "waits for"
        absent = [self._step_text(self.shape.absent[number]) for number in sorted(self.shape.waits(partial.marking))]
        unless = f", unless {' or '.join(absent)} comes first" if absent else ""
        return f"{when} {' or '.join(names)}{unless}"

    def _taken(self, partial: FollowedMatch) -> Iterator[str]:
        width = max((len(self.shape.names[position]) for position, _ in partial.taken), default=0)
        for position, seen in partial.taken:
            yield f"    {self.shape.names[position]:<{width}}  {seen.name}  {time_text(seen.time)}"

    def _miss(self) -> Iterator[str]:
        attempt = self.nearest
        if attempt is None:
            return
        name = self.shape.names[attempt.position]
        far = len(attempt.partial.taken)
        which = f"the partial match with {far} of {len(self.shape.positions)} steps" if far else "a new match"
        yield f"Nearest miss: {which}, whose next step is {name}{_values(attempt.partial.bindings)}"
        yield from self._taken(attempt.partial)
        if attempt.explanation is None:
            yield f"✗ {self._step_text(self.shape.positions[attempt.position].step)}   {_UNCOMPARABLE}"
        else:
            yield from attempt.explanation.lines()
        for text, why in self._in_the_way(attempt):
            yield f"✗ {text}   {why}"
        for timing in attempt.timings:
            yield f"{'✓' if timing.holds else '✗'} {self.timing_text(timing)}"

    def _ending(self, ended: EndedMatch) -> str:
        position, _ = ended.partial.taken[-1]
        return f"{ended.seen.name} satisfied it, which ended the wait after {self.shape.names[position]}"

    def timing_text(self, timing: TimingResult) -> str:
        """A time condition, and the value that decided it."""
        return "   ".join(self._timing(timing))

    def _timing(self, timing: TimingResult) -> tuple[str, str]:
        if timing.condition is None:
            return f"within {duration(self.within or 0)}", f"the first event was {_length(timing.difference)} before"
        return condition_text(self.shape, timing.condition), _difference(self.shape, timing)

    def _step_text(self, step: Step) -> str:
        return self.text[step.span.start : step.span.end] or render(step)


@dataclass(frozen=True, slots=True)
class PartitionlessEvent(Explanation):
    """An event that is in no partition of a pattern, because attributes are missing."""

    text: str
    missing: tuple[str, ...]  # the attributes of the partition that it has no value of

    @property
    def tree(self) -> PartExplanation:
        """The attributes that are missing."""
        missing = tuple(PartExplanation(None, path, None, wanted=True, why="null") for path in self.missing)
        return PartExplanation(None, self.text, None, wanted=True, why=str(self), parts=missing)

    def lines(self) -> Iterator[str]:
        """The explanation, as lines."""
        yield str(self)

    def __str__(self) -> str:
        which = f"{' and '.join(self.missing)} {'is' if len(self.missing) == 1 else 'are'}"
        return (
            f"The pattern does not see the event: its {which} null, and the pattern goes by "
            f"{'it' if len(self.missing) == 1 else 'them'}."
        )


def explain_pattern(
    composite: Composite,
    events: Sequence[NamedEvent],
    at: int,
    schema: Schema | None,
    text: str,
    calling: Calling | None = None,
) -> PatternExplanation | PartitionlessEvent:
    """Explain why the event at this place completes the pattern, or not; `events` are in the order of their time."""
    chosen = events[at]
    by = partition_of(composite)
    key = partition_values(by, chosen.event, schema)
    if None in key:
        return PartitionlessEvent(text, tuple(path for path, value in zip(by, key, strict=True) if value is None))
    mine = [seen for seen in events[: at + 1] if partition_values(by, seen.event, schema) == key]
    standing = PartitionFollower(composite, schema, text, calling)
    for seen in mine[:-1]:
        standing.take(seen)
    before = tuple(standing.partials)
    missed = standing.missed(chosen)
    attempts = (*standing.take(chosen), *missed)
    satisfied = tuple(
        name
        for name, position in zip(standing.shape.names, standing.shape.positions, strict=True)
        if standing.steps.alone(position.step, chosen.event)
    )
    return PatternExplanation(
        standing.shape,
        composite.within,
        text,
        chosen,
        tuple(zip(by, key, strict=True)),
        len(mine),
        satisfied,
        before,
        tuple(standing.partials),
        attempts,
    )


def partition_of(composite: Composite) -> tuple[str, ...]:
    """The attributes that partition a pattern."""
    shared = shared_variable(composite)
    return composite.by if shared is None else (shared,)


def partition_values(by: Iterable[str], event: Event, schema: Schema | None) -> tuple[Any, ...]:
    """The partition of an event; it has none if one of the values is None."""
    return tuple(value_of(path, None, event, schema) for path in by)


def condition_text(shape: Shape, condition: MarkingCondition) -> str:
    """The text of a time condition."""
    left = f"t({_label(shape, condition.left)})"
    if condition.right < 0:
        return f"{left} {condition.op.value} timestamp '{time_text(condition.microseconds)}'"
    between = f"{left} - t({_label(shape, condition.right)})"
    between = f"|{between}|" if condition.absolute else between
    return f"{between} {condition.op.value} {duration(condition.microseconds)}"


def _label(shape: Shape, slot: int) -> str:
    position = min(shape.positions_of(slot))
    return shape.positions[position].step.label or shape.names[position]


def _difference(shape: Shape, timing: TimingResult) -> str:
    condition = timing.condition
    if condition is None or condition.right < 0:
        return f"it was {time_text(timing.difference)}"
    by = abs(timing.difference - condition.microseconds)
    missed = "" if timing.holds or not by else f", missed by {_length(by)}"
    return f"it was {_length(timing.difference)}{missed}"


def _length(microseconds: int) -> str:
    """A length of time, for people."""
    if microseconds < 60_000_000:
        return duration(microseconds)
    days, rest = divmod(microseconds, 86_400_000_000)
    said = ["1 day" if days == 1 else f"{days:,} days"] if days else []
    return ", ".join([*said, *([str(dt.timedelta(microseconds=rest))] if rest or not days else [])])


def time_text(microseconds: int) -> str:
    """A time, for people."""
    try:
        at = _EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds} us"
    return at.replace(tzinfo=None).isoformat(" ", "auto") + "Z"


def _values(bindings: Iterable[tuple[str, Any]]) -> str:
    said = ", ".join(f"${name} = {_shown(value)}" for name, value in bindings)
    return f" ({said})" if said else ""


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | bool | int | float) else f"'{value}'"
