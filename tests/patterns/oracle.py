"""Every match of a pattern, found by trying everything: slow, obvious, and for streams of a dozen events.

Written from LANGUAGE.md alone; it shares nothing with the engine but the parser and `evaluate`. Steps have positions:
the order in which they are written, counted from 0, with repetitions written out to their most.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from vedette.language import ast
from vedette.language.check import check
from vedette.language.evaluate import evaluate, value_of
from vedette.language.parser import parse
from vedette.language.steps import steps_of
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

Event: TypeAlias = Mapping[str, Any]
Witness: TypeAlias = frozenset[tuple[int, int]]  # (position, number of the event that took it)
Answer: TypeAlias = tuple[int, frozenset[tuple[str, Any]]]  # the completing event, and the values of variables

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HOLDS: dict[ast.Comparator, Callable[[int, int], bool]] = {
    ast.Comparator.EQ: lambda a, b: a == b,
    ast.Comparator.NE: lambda a, b: a != b,
    ast.Comparator.LT: lambda a, b: a < b,
    ast.Comparator.LE: lambda a, b: a <= b,
    ast.Comparator.GT: lambda a, b: a > b,
    ast.Comparator.GE: lambda a, b: a >= b,
}


def expected(
    text: str, events: Sequence[Event], schema: Schema | None = None, *, lateness: int | None = None
) -> dict[Answer, set[Witness]]:
    """What the pattern answers: per completing event and binding, all valid witnesses."""
    pattern = composite(text)
    found: dict[Answer, set[Witness]] = {}
    for stream in streams(pattern, in_order(events, schema, lateness)[0], schema):
        for match in Search(pattern, stream, schema, text).matches():
            completing = stream[match.last].number
            witness = frozenset((position, stream[index].number) for position, index in match.taken)
            found.setdefault((completing, frozenset(match.bindings)), set()).add(witness)
    return found


def is_witness(
    text: str, events: Sequence[Event], completing: int, witness: Mapping[int, int], schema: Schema | None = None
) -> bool:
    """Do these events, given by position, match the pattern, the last of them being the completing one?"""
    asked = frozenset(witness.items())
    return any(asked in valid for (last, _), valid in expected(text, events, schema).items() if last == completing)


def names(text: str) -> list[str]:
    """What each position is called: its label, numbered if it is repeated, or its place counted from 1."""
    labels = _labels(composite(text).pattern)
    count: dict[str, int] = {}
    named = []
    for place, label in enumerate(labels, 1):
        if label is None:
            named.append(str(place))
            continue
        count[label] = count.get(label, 0) + 1
        named.append(f"{label}[{count[label]}]" if labels.count(label) > 1 else label)
    return named


def _labels(pattern: ast.Pattern) -> list[str | None]:
    """The label of every position."""
    if isinstance(pattern, ast.Step):
        return [pattern.label]
    if isinstance(pattern, ast.Absence):
        return []
    if isinstance(pattern, ast.Repeat):
        return _labels(pattern.part) * pattern.most
    if isinstance(pattern, ast.TimedPattern):
        return _labels(pattern.part)
    return [label for part in pattern.parts for label in _labels(part)]


def composite(text: str) -> ast.Composite:
    """The text as a pattern."""
    pattern = parse(text)
    if not isinstance(pattern, ast.Composite):
        raise TypeError(f"not a pattern: {text}")
    return pattern


# ---------------------------------------------------------------- the stream that a pattern sees


@dataclass(frozen=True, slots=True)
class Seen:
    """An event of a stream: its arrival number, its time in microseconds, its attributes."""

    number: int
    time: int
    event: Event


def in_order(
    events: Sequence[Event], schema: Schema | None, lateness: int | None = None
) -> tuple[list[Seen], list[int]]:
    """Events by time, ties by arrival, and the numbers of those that came too late."""
    greatest = None
    seen, late = [], []
    for number, event in enumerate(events):
        moment = value_of("time", Type(Kind.TIMESTAMP), event, schema)
        known = 0 if greatest is None else greatest
        time = known if moment is None else (moment - _EPOCH) // dt.timedelta(microseconds=1)
        if lateness is not None and greatest is not None and time < greatest - lateness:
            late.append(number)
            continue
        greatest = time if greatest is None else max(greatest, time)
        seen.append(Seen(number, time, event))
    return sorted(seen, key=lambda one: one.time), late


def streams(pattern: ast.Composite, events: list[Seen], schema: Schema | None) -> list[list[Seen]]:
    """One stream per combination of the values that the pattern is partitioned by."""
    by = pattern.by or shared_attribute(pattern)
    parts: dict[tuple[Any, ...], list[Seen]] = {}
    for seen in events:
        key = tuple(value_of(path, None, seen.event, schema) for path in by)
        if None not in key:
            parts.setdefault(key, []).append(seen)
    return list(parts.values())


def shared_attribute(pattern: ast.Composite) -> tuple[str, ...]:
    """The attribute by which every step binds the same variable: the pattern is partitioned by it."""
    shared = set.intersection(*(set(binders(step.filter)) for step in steps_of(pattern.pattern)))
    if len(shared) > 1:
        raise ValueError("several variables are shared by all steps: which one partitions is not for an oracle to say")
    return tuple(path for _, path in shared)


def binders(filter_: ast.Filter) -> list[tuple[str, str]]:
    """The (variable, attribute) of every `attribute = $variable` that stands alone or joined by `and`."""
    if isinstance(filter_, ast.And):
        return [binder for part in filter_.parts for binder in binders(part)]
    if isinstance(filter_, ast.Comparison) and filter_.op is ast.Comparator.EQ:
        for one, other in ((filter_.left, filter_.right), (filter_.right, filter_.left)):
            if isinstance(one, ast.JoinVariable) and isinstance(other, ast.Attribute):
                return [(one.name, other.path)]
    return []


# ---------------------------------------------------------------- matches


@dataclass(frozen=True, slots=True)
class Condition:
    """A time condition in force, with the times of those of its steps that are settled (None: takes no part)."""

    node: ast.TimeCondition
    settled: Mapping[str, int | None]

    def settle(self, labels: set[str], times: Mapping[str, int]) -> Condition:
        """The same, where the times of these labels will not change any more."""
        mine = {label for label in (self.node.later, self.node.earlier) if label in labels} - set(self.settled)
        return replace(self, settled={**self.settled, **{label: times.get(label) for label in mine}})


@dataclass(frozen=True, slots=True)
class Match:
    """Events for the steps of a sub-pattern, and what follows from them."""

    taken: tuple[tuple[int, int], ...]  # (position, index in the stream)
    bindings: tuple[tuple[str, Any], ...]  # sorted
    times: Mapping[str, int]  # label -> the time of the last event that took the step
    conditions: tuple[Condition, ...] = ()

    @property
    def first(self) -> int:
        """The index of the first event."""
        return min(index for _, index in self.taken)

    @property
    def last(self) -> int:
        """The index of the last event."""
        return max(index for _, index in self.taken)

    def joined(self, other: Match) -> Match:
        """Both; `other` knows the bindings of this one, and comes later where both have a time for a label."""
        times = {**self.times, **other.times}
        return Match(self.taken + other.taken, other.bindings, times, self.conditions + other.conditions)


class Search:
    """Finds the matches of one pattern in one stream."""

    def __init__(self, pattern: ast.Composite, stream: list[Seen], schema: Schema | None, text: str) -> None:
        self.pattern = pattern
        self.stream = stream
        self.schema = schema
        self.text = text
        self.known: dict[tuple[int, tuple[tuple[str, Any], ...], int], bool] = {}

    def matches(self) -> Iterator[Match]:
        """All matches of the whole."""
        root = self.pattern.pattern
        labels = {label for label in _labels(root) if label is not None}
        for match in self.of(root, 0, (), 0):
            length = self.stream[match.last].time - self.stream[match.first].time
            if self.pattern.within is not None and length > self.pattern.within:
                continue
            if all(self.in_time(each.settle(labels, match.times)) for each in match.conditions):
                yield match

    def of(
        self, part: ast.Pattern, position: int, bindings: tuple[tuple[str, Any], ...], begin: int
    ) -> Iterator[Match]:
        """All matches of a sub-pattern whose first position this is, by events from `begin` on."""
        if isinstance(part, ast.Step):
            yield from self.step(part, position, bindings, begin)
        elif isinstance(part, ast.Sequence):
            yield from self.sequence(part, position, bindings, begin)
        elif isinstance(part, ast.PatternAnd):
            yield from self.every(part.parts, position, bindings, begin)
        elif isinstance(part, ast.PatternOr):
            for each in part.parts:
                yield from self.of(each, position, bindings, begin)
                position += len(_labels(each))
        elif isinstance(part, ast.Repeat):
            for times in range(part.least, part.most + 1):
                yield from self.repeated(part.part, times, position, bindings, begin)
        elif isinstance(part, ast.TimedPattern):
            conditions = tuple(Condition(node, {}) for node in part.conditions)
            for match in self.of(part.part, position, bindings, begin):
                yield replace(match, conditions=match.conditions + conditions)
        else:
            raise TypeError(f"{part} stands alone")

    def step(self, step: ast.Step, position: int, bindings: tuple[tuple[str, Any], ...], begin: int) -> Iterator[Match]:
        """Every event that satisfies the step."""
        for index in range(begin, len(self.stream)):
            seen = self.stream[index]
            bound = dict(bindings)
            for variable, path in binders(step.filter):
                bound.setdefault(variable, value_of(path, None, seen.event, self.schema))
            if None in bound.values():
                continue
            now = tuple(sorted(bound.items()))
            if self.satisfies(step, now, index):
                yield Match(((position, index),), now, {} if step.label is None else {step.label: seen.time})

    def sequence(
        self, node: ast.Sequence, position: int, bindings: tuple[tuple[str, Any], ...], begin: int
    ) -> Iterator[Match]:
        """The parts one after the other, each linked to the one before."""

        def rest(number: int, position: int, before: Match, absent: list[ast.Step]) -> Iterator[Match]:
            if number == len(node.parts):
                yield before
                return
            part = node.parts[number]
            if isinstance(part, ast.Absence):
                yield from rest(number + 1, position, before, [*absent, part.step])
                return
            for match in self.of(part, position, before.bindings, before.last + 1):
                between = range(before.last + 1, match.first)
                if node.links[number - 1] == "," and len(between) > 0:
                    continue
                if any(self.satisfies(step, before.bindings, index) for step in absent for index in between):
                    continue
                yield from rest(number + 1, position + len(_labels(part)), before.joined(match), [])

        for match in self.of(node.parts[0], position, bindings, begin):
            yield from rest(1, position + len(_labels(node.parts[0])), match, [])

    def every(
        self, parts: tuple[ast.Pattern, ...], position: int, bindings: tuple[tuple[str, Any], ...], begin: int
    ) -> Iterator[Match]:
        """The parts in any order; no event takes two steps."""
        for match in self.of(parts[0], position, bindings, begin):
            if len(parts) == 1:
                yield match
                continue
            mine = {index for _, index in match.taken}
            for other in self.every(parts[1:], position + len(_labels(parts[0])), match.bindings, begin):
                if mine.isdisjoint(index for _, index in other.taken):
                    yield match.joined(other)

    def repeated(
        self, part: ast.Pattern, times: int, position: int, bindings: tuple[tuple[str, Any], ...], begin: int
    ) -> Iterator[Match]:
        """So many times, contiguously; conditions inside speak of their own repetition."""
        labels = {label for label in _labels(part) if label is not None}
        for match in self.of(part, position, bindings, begin):
            settled = tuple(each.settle(labels, match.times) for each in match.conditions)
            one = replace(match, conditions=settled)
            if times == 1:
                yield one
                continue
            following = self.repeated(part, times - 1, position + len(_labels(part)), one.bindings, one.last + 1)
            for other in following:
                if other.first == one.last + 1:
                    yield one.joined(other)

    # ------------------------------------------------------------ steps and conditions

    def satisfies(self, step: ast.Step, bindings: tuple[tuple[str, Any], ...], index: int) -> bool:
        """Is the step's filter true of the event, with these values of its variables?"""
        asked = (id(step), bindings, index)
        if asked not in self.known:
            filter_ = bound_filter(step.filter, dict(bindings))
            self.known[asked] = evaluate(check(filter_, self.schema, self.text), self.stream[index].event) is True
        return self.known[asked]

    def in_time(self, condition: Condition) -> bool:
        """Does the condition hold, or speak of a step that takes no part?"""
        node = condition.node
        later = condition.settled[node.later]
        earlier = 0 if node.earlier is None else condition.settled[node.earlier]
        if later is None or earlier is None:
            return True
        difference = later - earlier
        if node.earlier is not None and node.microseconds > 0:
            siblings = are_siblings(self.pattern.pattern, node.later, node.earlier)
            difference = abs(difference) if siblings else difference
        return _HOLDS[node.op](difference, node.microseconds)


def are_siblings(pattern: ast.Pattern, one: str, other: str) -> bool:
    """Do two labels lie in different parts of the same `and`?"""
    if isinstance(pattern, ast.Repeat | ast.TimedPattern):
        return are_siblings(pattern.part, one, other)
    if not isinstance(pattern, ast.Sequence | ast.PatternAnd | ast.PatternOr):
        return False
    for part in pattern.parts:
        if one in _labels(part) and other in _labels(part):
            return are_siblings(part, one, other)
    return isinstance(pattern, ast.PatternAnd)


def bound_filter(filter_: ast.Filter, bindings: Mapping[str, Any]) -> ast.Filter:
    """The filter with the values of variables in their places."""

    def operand(node: ast.Operand) -> ast.Operand:
        return ast.Literal(bindings[node.name], node.span) if isinstance(node, ast.JoinVariable) else node

    if isinstance(filter_, ast.And | ast.Or):
        return replace(filter_, parts=tuple(bound_filter(part, bindings) for part in filter_.parts))
    if isinstance(filter_, ast.Not):
        return replace(filter_, part=bound_filter(filter_.part, bindings))
    if isinstance(filter_, ast.Comparison):
        return replace(filter_, left=operand(filter_.left), right=operand(filter_.right))
    return filter_
