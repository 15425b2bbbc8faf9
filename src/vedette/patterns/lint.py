"""Warnings about patterns that are legal but hardly meant: conditions that cannot hold or say nothing, unbounded state.

Times of steps are numbers, and every condition on them has the form `t(b) - t(a) <= d`: that one step comes after
another, that a condition holds, that the whole lies within a window. They can hold together unless the lengths along
some cycle of them sum to less than zero (Bellman and Ford).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from vedette.language.ast import (
    Absence,
    Comparator,
    Composite,
    Pattern,
    PatternAnd,
    PatternOr,
    Repeat,
    Sequence,
    Span,
    Step,
    TimeCondition,
    TimedPattern,
)
from vedette.language.checked_tree import CheckedExpression, PairAtom, leaves
from vedette.language.hints import of_another_step
from vedette.language.lint import Lint
from vedette.language.lint import lint as lint_filters
from vedette.language.render import duration
from vedette.patterns.step_alternatives import shared_variable
from vedette.schema.schema import Schema

Bound: TypeAlias = tuple[str, str, int]  # t(first) - t(second) <= microseconds
_ORIGIN, _BEGIN, _END = "0", "<", ">"  # the beginning of time, of the window, its end: no label is like these
_MOST = 32  # conditions that are looked at; more are taken on trust
_NEGATED: Final = {
    Comparator.LT: Comparator.GE,
    Comparator.LE: Comparator.GT,
    Comparator.GT: Comparator.LE,
    Comparator.GE: Comparator.LT,
}


def lint(checked: CheckedExpression) -> tuple[Lint, ...]:
    """All findings of a filter or a pattern, in the order of the text."""
    found = list(lint_filters(checked))
    composite = checked.expression
    if isinstance(composite, Composite):
        found += _conditions(composite, checked.text)
        found += _unbounded(composite, checked.text)
        found += _labelled(checked)
    return tuple(sorted(found, key=lambda each: (each.start, -each.end)))


# ---------------------------------------------------------------- time conditions


def _conditions(composite: Composite, text: str) -> Iterator[Lint]:
    sure = set(_certain(composite.pattern))
    siblings = set(_siblings(composite.pattern))
    window = composite.within
    # A condition on a step that may take no part does not always restrict: it is taken on trust.
    asked = [each for each in _asked(composite.pattern, sure=True) if _spoken_of(each) <= sure][:_MOST]
    used = set().union(*map(_spoken_of, asked))
    order = [(one, other, 0) for one, other in _order(composite.pattern) if one in used and other in used]
    within = [] if window is None else [(_END, _BEGIN, window), *_around(used)]
    clashing: list[Bound] = []
    for one in asked:
        absolute = one.earlier is not None and one.microseconds > 0 and (one.later, one.earlier) in siblings
        bounds = _absolute(one) if absolute else _bounds(one, one.op)
        if absolute and window is not None and _least(one) > window:
            yield _too_short(one, window, text)
        elif not _possible([*order, *bounds]):
            yield Lint("never", f"{_said(one, text)} can never hold{_why(one)}", *_place(one.span), text)
        elif not _possible([*order, *bounds, *within]):
            yield _too_short(one, window or 0, text)
        elif not _possible([*order, *clashing, *within, *bounds]):
            message = f"{_said(one, text)} can never hold together with the conditions before it"
            yield Lint("never", message, *_place(one.span), text)
        else:
            clashing += bounds
            if not absolute and one.op in _NEGATED:
                yield from _redundant(one, order, within, text)


def _redundant(one: TimeCondition, order: list[Bound], within: list[Bound], text: str) -> Iterator[Lint]:
    """Warn of a condition that always holds: its negation is impossible."""
    negated = _bounds(one, _NEGATED[one.op])
    if not _possible([*order, *within, *negated]):
        beside = "the window" if _possible([*order, *negated]) else "the order of the steps"
        yield Lint("redundant", f"{_said(one, text)} adds nothing beside {beside}", *_place(one.span), text)


def _spoken_of(one: TimeCondition) -> set[str]:
    return {one.later, one.earlier or one.later}


def _around(labels: Iterable[str]) -> Iterator[Bound]:
    for label in labels:
        yield _BEGIN, label, 0
        yield label, _END, 0


def _too_short(one: TimeCondition, window: int, text: str) -> Lint:
    message = f"{_said(one, text)} can never hold: the whole pattern lies within {duration(window)}"
    return Lint("never", message, *_place(one.span), text, "make the window longer, or the condition shorter")


def _why(one: TimeCondition) -> str:
    return "" if one.earlier is None else f" in this order of {one.later} and {one.earlier}"


def _said(one: TimeCondition, text: str) -> str:
    return text[one.span.start : one.span.end]


def _place(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _bounds(one: TimeCondition, op: Comparator) -> list[Bound]:
    """A condition as bounds; `!=` gives none."""
    a, b, length = one.later, one.earlier or _ORIGIN, one.microseconds
    upper = {Comparator.LT: length - 1, Comparator.LE: length, Comparator.EQ: length}.get(op)
    lower = {Comparator.GT: length + 1, Comparator.GE: length, Comparator.EQ: length}.get(op)
    return ([] if upper is None else [(a, b, upper)]) + ([] if lower is None else [(b, a, -lower)])


def _absolute(one: TimeCondition) -> list[Bound]:
    """Bounds of an absolute difference: only an upper bound is one bound in each direction."""
    a, b = one.later, one.earlier or _ORIGIN
    upper = [length for first, _, length in _bounds(one, one.op) if first == a]
    return [bound for length in upper for bound in ((a, b, length), (b, a, length))]


def _least(one: TimeCondition) -> int:
    return {Comparator.GT: one.microseconds + 1, Comparator.GE: one.microseconds, Comparator.EQ: one.microseconds}.get(
        one.op, 0
    )


def _possible(bounds: list[Bound]) -> bool:
    """Whether times exist that satisfy all bounds."""
    names = {name for first, second, _ in bounds for name in (first, second)}
    reached = dict.fromkeys(names, 0)
    for _ in range(len(names) + 1):
        changed = False
        for first, second, length in bounds:
            if reached[second] + length < reached[first]:
                reached[first] = reached[second] + length
                changed = True
        if not changed:
            return True
    return False


# ---------------------------------------------------------------- state that only the cap bounds


def _unbounded(composite: Composite, text: str) -> Iterator[Lint]:
    if composite.within is not None or composite.by or shared_variable(composite) is not None:
        return
    if _is_loose(composite.pattern, list(_asked(composite.pattern))):
        yield Lint(
            "unbounded",
            "nothing but the cap bounds the partial matches of this pattern: it has no window and no partition",
            *_place(composite.span),
            text,
            "add within 1 h, say, or by an attribute",
        )


def _is_loose(node: Pattern, asked: list[TimeCondition]) -> bool:
    """Whether some part waits without a time limit: no condition bounds it."""
    if isinstance(node, TimedPattern | Repeat):
        return _is_loose(node.part, asked)
    if not isinstance(node, Sequence | PatternAnd | PatternOr):
        return False
    if any(_is_loose(part, asked) for part in node.parts):
        return True
    if isinstance(node, PatternOr):
        return False
    labels = [set(_labels(part)) for part in node.parts]
    if isinstance(node, PatternAnd):
        return not _bounded(set(), set().union(*labels), asked, within=labels)
    return any(
        link == ";" and not _bounded(set().union(*labels[: at + 1]), set().union(*labels[at + 1 :]), asked)
        for at, link in enumerate(node.links)
    )


def _bounded(
    before: set[str], after: set[str], asked: Iterable[TimeCondition], within: list[set[str]] | None = None
) -> bool:
    """Whether some condition bounds the time from a step before to a step after (or between two parts)."""
    for one in asked:
        if one.earlier is None:
            continue
        for first, second, _ in _bounds(one, one.op):
            if first in after and second in before:
                return True
            if within is not None and any((first in part) != (second in part) for part in within):
                return True
    return False


# ---------------------------------------------------------------- attributes that look like those of another step


def _labelled(checked: CheckedExpression) -> Iterator[Lint]:
    labels = {one.step.label for one in checked.steps if one.step.label is not None}
    for one in checked.steps:
        for leaf in leaves(one.root):
            for path in (leaf.left.path, leaf.right.path) if isinstance(leaf, PairAtom) else ():
                hint = of_another_step(path, labels - {one.step.label})
                if hint is not None and not _is_known(path, checked.schema):
                    label, _, name = path.partition(".")
                    message = f"{path} is an attribute of the same event, not the {name} of step {label}"
                    yield Lint("label", message, *_place(leaf.node.span), checked.text, hint)


def _is_known(path: str, schema: Schema | None) -> bool:
    """Whether the schema has the attribute, or one inside it."""
    beside = f"{path.partition('.')[0]}."
    return schema is not None and any(known.startswith(beside) for known in schema)


# ---------------------------------------------------------------- the steps of a pattern


def _labels(node: Pattern) -> Iterator[str]:
    """The labels of the steps that take events."""
    if isinstance(node, Step):
        if node.label is not None:
            yield node.label
    elif isinstance(node, Sequence | PatternAnd | PatternOr):
        for part in node.parts:
            yield from _labels(part)
    elif not isinstance(node, Absence):
        yield from _labels(node.part)


def _certain(node: Pattern) -> Iterator[str]:
    """The labels of the steps that take part in every match."""
    if isinstance(node, Sequence | PatternAnd):
        for part in node.parts:
            yield from _certain(part)
    elif isinstance(node, Repeat | TimedPattern):
        yield from _certain(node.part)
    elif isinstance(node, Step) and node.label is not None:
        yield node.label


def _pairs(node: Pattern, kind: type[Sequence] | type[PatternAnd]) -> Iterator[tuple[str, str]]:
    """Labels of an earlier part with labels of a later one, in all nodes of a kind."""
    if isinstance(node, Sequence | PatternAnd | PatternOr):
        for at, part in enumerate(node.parts):
            yield from _pairs(part, kind)
            if isinstance(node, kind):
                for later in node.parts[at + 1 :]:
                    yield from ((one, other) for one in _labels(part) for other in _labels(later))
    elif isinstance(node, Repeat | TimedPattern):
        yield from _pairs(node.part, kind)


def _order(pattern: Pattern) -> Iterator[tuple[str, str]]:
    return _pairs(pattern, Sequence)


def _siblings(pattern: Pattern) -> Iterator[tuple[str, str]]:
    for one, other in _pairs(pattern, PatternAnd):
        yield one, other
        yield other, one


def _asked(node: Pattern, *, sure: bool = False) -> Iterator[TimeCondition]:
    """Every time condition, in the order of the text; `sure`: only those of parts that are in every match."""
    if isinstance(node, Sequence | PatternAnd) or (isinstance(node, PatternOr) and not sure):
        for part in node.parts:
            yield from _asked(part, sure=sure)
    elif isinstance(node, Repeat | TimedPattern):
        yield from _asked(node.part, sure=sure)
        if isinstance(node, TimedPattern):
            yield from node.conditions
