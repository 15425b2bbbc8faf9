"""Translates Sigma's correlations to patterns: events of rules within a timespan, partitioned by common attributes.

event_count >= 3        [f] ; [f] ; [f] by user within 5 min
    value_count(a) >= 2     [f and a = $v1] ; not [f and a != $v1] ; [f and a != $v1] …
    temporal                ([f] and [g]) …
    temporal_ordered        [f] ; [g] …

A pattern matches when events have come, so "fewer than", "exactly", and events that must not come cannot be expressed.
A correlation that another one refers to is a sub-pattern, with its timespan as a condition on its steps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionItem,
    CorrelationConditionOR,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)
from sigma.exceptions import SigmaCorrelationRuleError
from sigma.rule import SigmaRule

from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature
from vedette.dialects.sigma.truth import every, some
from vedette.language import ast

SigmaAnyRule: TypeAlias = SigmaRule | SigmaCorrelationRule


@dataclass(frozen=True)
class CorrelationGroups:
    """Attributes that partition the stream, and join variables for attributes that differ between rules."""

    by: tuple[str, ...] = ()
    variables: Mapping[int, list[tuple[str, str]]] = field(default_factory=dict)  # identity of a rule -> path, variable

    def tests(self, rule: SigmaAnyRule) -> list[ast.Filter]:
        """The filters by which an event of the rule is in the group."""
        return [compared(path, ast.Comparator.EQ, variable) for path, variable in self.variables.get(id(rule), ())]


def groups_of(rule: SigmaCorrelationRule) -> CorrelationGroups:
    """The groups of a correlation whose references are resolved."""
    by: dict[str, None] = {}
    variables: dict[int, list[tuple[str, str]]] = {}
    for number, name in enumerate(rule.group_by or (), 1):
        paths = [_path(rule, name, reference) for reference in rule.referenced_rules]
        if len(set(paths)) == 1:
            by[paths[0]] = None
            continue
        for reference, path in zip(rule.referenced_rules, paths, strict=True):
            variables.setdefault(id(reference.rule), []).append((path, f"g{number}"))
    return CorrelationGroups(tuple(by), variables)


def compared(path: str, op: ast.Comparator, variable: str) -> ast.Filter:
    """A comparison of an attribute with a join variable."""
    return ast.Comparison(ast.Attribute(path), op, ast.JoinVariable(variable))


def _path(rule: SigmaCorrelationRule, name: str, reference: SigmaRuleReference) -> str:
    alias = rule.aliases.aliases.get(name)
    if alias is None:
        return name
    paths = {known.reference: path for known, path in alias.mapping.items()}
    for known in (reference.reference, str(reference.rule.id), reference.rule.name):
        if known in paths:
            return paths[known]
    raise SigmaCorrelationRuleError(f"the alias {name!r} says nothing of the rule {reference.reference!r}")


MOST_EVENTS: Final = 1_000  # of one count: each is a step of the pattern
MOST_VALUES: Final = 50  # of one count: each is compared with all before it
MOST_COMBINATIONS: Final = 6  # of values of several fields: each can differ in several ways
MOST_CHOICES: Final = 20  # combinations of rules that are enough for a temporal correlation

_SECOND: Final = 1_000_000
_Operator: Final = SigmaCorrelationConditionOperator


@dataclass(frozen=True)
class _SubPattern:
    """A sub-pattern with the labels of its first and last step; these are None if they depend on the events."""

    pattern: ast.Pattern
    first: str | None = None
    last: str | None = None
    timed: bool = False  # whether there are time conditions inside


class _Labels:
    """Generates unique labels for steps."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def next(self) -> str:
        """A label that no other step has."""
        return f"e{next(self._numbers)}"


def pattern_of(rule: SigmaCorrelationRule) -> ast.Composite:
    """The pattern that matches when the correlation is complete."""
    groups = groups_of(rule)
    part = _part(rule, groups, _Labels())
    if part.timed:
        return ast.Composite(part.pattern, groups.by)
    return ast.Composite(_unlabelled(part.pattern), groups.by, _span(rule))


def no_aggregate(rule: SigmaCorrelationRule) -> UnsupportedSigmaFeature:
    """The error for sums, averages and the like."""
    return UnsupportedSigmaFeature(
        f"{rule.type.name.lower()} computes over the values of many events, which a pattern does not do",
        "event_count, value_count, temporal and temporal_ordered can be said",
    )


def _part(rule: SigmaCorrelationRule, groups: CorrelationGroups, labels: _Labels) -> _SubPattern:
    if rule.type is SigmaCorrelationType.EVENT_COUNT:
        return _counted(rule, groups, labels)
    if rule.type is SigmaCorrelationType.VALUE_COUNT:
        return _different(rule, groups, labels)
    if rule.type in (SigmaCorrelationType.TEMPORAL, SigmaCorrelationType.TEMPORAL_ORDERED):
        return _together(rule, groups, labels)
    raise no_aggregate(rule)


def _span(rule: SigmaCorrelationRule) -> int:
    return rule.timespan.seconds * _SECOND


# ---------------------------------------------------------------- counts


def _counted(rule: SigmaCorrelationRule, groups: CorrelationGroups, labels: _Labels) -> _SubPattern:
    count = _least(rule)
    _refuse_more(rule, count, MOST_EVENTS)
    return _in_turn([_step(rule, groups, (), labels) for _ in range(count)])


def _different(rule: SigmaCorrelationRule, groups: CorrelationGroups, labels: _Labels) -> _SubPattern:
    """Distinct values: every step is the first event with a value that differs from those before, so it counts once."""
    count, fields = _least(rule), _fields(rule)
    _refuse_more(rule, count, MOST_VALUES if len(fields) == 1 else MOST_COMBINATIONS)
    letters = [""] if len(fields) == 1 else [chr(ord("a") + place) for place in range(len(fields))]
    there: list[ast.Filter] = [ast.Not(ast.IsNull(ast.Attribute(path))) for path in fields]
    there = [] if len(fields) == 1 < count else there  # the compared attributes are present
    parts: list[_SubPattern] = []
    others: list[ast.Filter] = []
    for number in range(1, count + 1):
        if number > 1:
            parts += [_SubPattern(ast.Absence(ast.Step(one))) for one in _filters(rule, groups, [*others, *there])]
        variables = [f"v{number}{letter}" for letter in letters]
        own = there
        if number < count:
            own = [compared(path, ast.Comparator.EQ, name) for path, name in zip(fields, variables, strict=True)]
        parts.append(_step(rule, groups, [*others, *own], labels))
        # Combinations of several fields differ if one of the fields does.
        pairs = zip(fields, variables, strict=True)
        others.append(some(compared(path, ast.Comparator.NE, name) for path, name in pairs))
    return _in_turn(parts)


def _fields(rule: SigmaCorrelationRule) -> list[str]:
    named = None if isinstance(rule.condition, SigmaExtendedCorrelationCondition) else rule.condition.fieldref
    return [named] if isinstance(named, str) else list(named or ())


def _least(rule: SigmaCorrelationRule) -> int:
    """The least number of events or values that satisfies the condition."""
    condition = rule.condition
    if isinstance(condition, SigmaExtendedCorrelationCondition):
        raise UnsupportedSigmaFeature("a count is compared with a number, not with names of rules")
    said = f"`{condition.op.name.lower()}: {condition.count}`"
    if condition.op not in (_Operator.GTE, _Operator.GT):
        raise UnsupportedSigmaFeature(
            f"{said}: a pattern tells when events have come, not that no more of them will",
            "`gte` and `gt` can be said",
        )
    count = math.ceil(condition.count) if condition.op is _Operator.GTE else math.floor(condition.count) + 1
    if count < 1:
        raise UnsupportedSigmaFeature(f"{said} holds without any event", "count from 1")
    return count


def _refuse_more(rule: SigmaCorrelationRule, count: int, most: int) -> None:
    if count > most:
        what = rule.type.name.lower()
        raise UnsupportedSigmaFeature(
            f"a {what} of {count:,}: each of them is a step of the pattern, and {most} are the most",
            "a smaller number in a shorter timespan tells of the same",
        )


def _step(
    rule: SigmaCorrelationRule, groups: CorrelationGroups, tests: Sequence[ast.Filter], labels: _Labels
) -> _SubPattern:
    """One event of any of the rules that are counted."""
    filters = _filters(rule, groups, tests)
    if len(filters) > 1:
        # A variable is bound if its attribute is in every alternative.
        return _SubPattern(ast.PatternOr(tuple(map(ast.Step, filters))))
    label = labels.next()
    return _SubPattern(ast.Step(filters[0], label), label, label)


def _filters(rule: SigmaCorrelationRule, groups: CorrelationGroups, tests: Sequence[ast.Filter]) -> list[ast.Filter]:
    """The filters of events of the rules: one, or one for each rule if they name the group's attributes differently."""
    filters = []
    for reference in rule.referenced_rules:
        if not isinstance(reference.rule, SigmaRule):
            raise UnsupportedSigmaFeature(
                f"what is counted are events, not matches of another correlation ({reference.reference!r})"
            )
        filters.append([_filter(reference.rule), *groups.tests(reference.rule)])
    if groups.variables:
        return [every([*one, *tests]) for one in filters]
    return [every([some(one[0] for one in filters), *tests])]


def _in_turn(parts: Sequence[_SubPattern]) -> _SubPattern:
    if len(parts) == 1:
        return parts[0]
    patterns = tuple(part.pattern for part in parts)
    later: OneOf[";"] = ";"
    timed = any(part.timed for part in parts)
    return _SubPattern(ast.Sequence(patterns, (later,) * (len(parts) - 1)), parts[0].first, parts[-1].last, timed)


# ---------------------------------------------------------------- temporal


def _together(rule: SigmaCorrelationRule, groups: CorrelationGroups, labels: _Labels) -> _SubPattern:
    ordered = rule.type is SigmaCorrelationType.TEMPORAL_ORDERED
    parts = {one.reference: _member(rule, one.rule, groups, labels) for one in rule.referenced_rules}
    if isinstance(rule.condition, SigmaExtendedCorrelationCondition):
        whole = _expressed(rule.condition.parsed, parts, ordered)
    else:
        whole = _enough(_least(rule), [parts[one.reference] for one in rule.referenced_rules], ordered)
    if not any(part.timed for part in parts.values()):
        return whole
    if not _is_all(whole.pattern, len(parts)):
        raise UnsupportedSigmaFeature("some of several correlations are enough, so it is open whose times are compared")
    return _SubPattern(
        ast.TimedPattern(whole.pattern, _near(rule, list(parts.values()), ordered)), whole.first, whole.last, True
    )


def _member(outer: SigmaCorrelationRule, rule: SigmaAnyRule, groups: CorrelationGroups, labels: _Labels) -> _SubPattern:
    """The sub-pattern for one of the rules that a temporal correlation refers to."""
    if isinstance(rule, SigmaRule):
        label = labels.next()
        return _SubPattern(ast.Step(every([_filter(rule), *groups.tests(rule)]), label), label, label)
    own = groups_of(rule)
    if own.by != groups.by or own.variables or groups.variables:
        raise UnsupportedSigmaFeature(
            f"{rule.title!r} and {outer.title!r}, which names it, group events by different fields",
            "give both the same `group-by`, without aliases",
        )
    part = _part(rule, groups, labels)
    if part.timed or isinstance(part.pattern, ast.Step):
        return part
    if part.first is None or part.last is None:
        raise UnsupportedSigmaFeature(
            f"with which rule {rule.title!r} begins and ends is open, and {outer.title!r} asks for its time"
        )
    condition = ast.TimeCondition(part.last, part.first, ast.Comparator.LE, _span(rule))
    return _SubPattern(ast.TimedPattern(part.pattern, (condition,)), part.first, part.last, timed=True)


def _near(rule: SigmaCorrelationRule, parts: Sequence[_SubPattern], ordered: bool) -> tuple[ast.TimeCondition, ...]:
    """Time conditions: the first and the last part are within the timespan, or, without an order, any two are."""
    lasts = [part.last for part in parts if part.last is not None]
    pairs = [(lasts[0], lasts[-1])] if ordered else itertools.combinations(lasts, 2)
    return tuple(ast.TimeCondition(later, sooner, ast.Comparator.LE, _span(rule)) for sooner, later in pairs)


def _enough(count: int, parts: Sequence[_SubPattern], ordered: bool) -> _SubPattern:
    """All of the rules, or as many of them as the condition requires."""
    if count > len(parts):
        raise UnsupportedSigmaFeature(
            f"{count} of {len(parts)} rules", "the condition may ask for as many as there are"
        )
    if count == len(parts):
        return _all(parts, ordered)
    if math.comb(len(parts), count) > MOST_CHOICES:
        raise UnsupportedSigmaFeature(
            f"there are more than {MOST_CHOICES} ways to choose {count} of {len(parts)} rules"
        )
    return _one_of([_all(chosen, ordered) for chosen in itertools.combinations(parts, count)])


def _expressed(
    node: CorrelationConditionItem | SigmaRuleReference, parts: dict[str, _SubPattern], ordered: bool
) -> _SubPattern:
    """A condition over the names of rules."""
    if isinstance(node, SigmaRuleReference):
        return parts[node.reference]
    below = [_expressed(argument, parts, ordered) for argument in node.args]
    if isinstance(node, CorrelationConditionAND):
        return _all(below, ordered)
    if isinstance(node, CorrelationConditionOR):
        return _one_of(below)
    raise UnsupportedSigmaFeature(
        "`not` of a rule: a pattern tells when events have come, and cannot wait for one that does not",
        "leave it out",
    )


def _all(parts: Sequence[_SubPattern], ordered: bool) -> _SubPattern:
    if ordered or len(parts) == 1:
        return _in_turn(parts)
    return _SubPattern(ast.PatternAnd(tuple(part.pattern for part in parts)), timed=any(part.timed for part in parts))


def _one_of(parts: Sequence[_SubPattern]) -> _SubPattern:
    if len(parts) == 1:
        return parts[0]
    return _SubPattern(ast.PatternOr(tuple(part.pattern for part in parts)), timed=any(part.timed for part in parts))


def _is_all(pattern: ast.Pattern, count: int) -> bool:
    return count == 1 or (isinstance(pattern, ast.Sequence | ast.PatternAnd) and len(pattern.parts) == count)


def _filter(rule: SigmaRule) -> ast.Filter:
    """The filter of a rule; several conditions are alternatives."""
    return some(rule.get_conversion_result())


def _unlabelled(pattern: ast.Pattern) -> ast.Pattern:
    """The pattern without labels, which only time conditions need; steps are then identified by position."""
    match pattern:
        case ast.Step():
            return ast.Step(pattern.filter)
        case ast.Sequence():
            return ast.Sequence(tuple(map(_unlabelled, pattern.parts)), pattern.links)
        case ast.PatternAnd():
            return ast.PatternAnd(tuple(map(_unlabelled, pattern.parts)))
        case ast.PatternOr():
            return ast.PatternOr(tuple(map(_unlabelled, pattern.parts)))
    return pattern
