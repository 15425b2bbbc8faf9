"""Explains why a filter can never hold: names the parts of it that contradict each other.

Below an OR every alternative needs a reason of its own; below an AND one reason is enough. Where no single test and no
two neighbours explain it, the alternatives of the whole are expanded, and of each the fewest tests that cannot hold
together are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from vedette.language.checked_tree import AndPart, Atom, NotPart, OrPart, PairAtom, Part, TruthPart
from vedette.language.normalform import NormalForm
from vedette.language.syntax import And, Not, TruthLiteral
from vedette.language.valuesets import ValueSet, intersection
from vedette.schema.columns import Column

# When a part is true (or false, if not `positive`); None if that is unknown or too large.
FormOf: TypeAlias = Callable[[Part, bool], NormalForm | None]

_ALTERNATIVES: Final = 64  # of a part that are expanded
_PARTS: Final = 100  # of an AND or OR that are compared with each other
_TESTS: Final = 16  # of an alternative that are examined
_SHOWN: Final = 3  # reasons in one message


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Reasons why parts of one filter can never hold."""

    form: FormOf
    text_of: Callable[[Part], str]
    reason: Callable[[Atom], str]  # of one test that can never hold, such as ": the range is empty"

    def why(self, part: Part, positive: bool = True) -> str | None:
        """The reasons as one message; None if there is no short one."""
        return _joined(self._reasons(part, positive))

    def together(self, whole: AndPart | OrPart, positive: bool) -> str | None:
        """Why the parts of a whole, each of which can hold, can never hold at once."""
        return _joined(self._of_alternatives(whole, positive))

    def pair(self, whole: AndPart | OrPart, positive: bool) -> tuple[Part, Part] | None:
        """Two parts that require disjoint sets of values of one attribute."""
        for _, entries in by_column(self.form, whole.parts[:_PARTS], positive).items():
            for place, (part, values) in enumerate(entries):
                for other, others in entries[:place]:
                    if intersection(values, others).is_empty:
                        return other, part
        return None

    def never(self, part: Part, positive: bool) -> bool:
        """Whether it is known that a part can never hold."""
        form = self.form(part, positive)
        return form is not None and not form.conjunctions

    def _reasons(self, part: Part, positive: bool) -> Iterator[str]:
        if isinstance(part, NotPart):
            yield from self._reasons(part.part, not positive)
        elif isinstance(part, TruthPart):
            text = self.text_of(part)
            yield constant_verdict(part, text) or f"{text} is never {truth_word(positive)}"
        elif isinstance(part, Atom):
            yield f"{self.text_of(part)} can never be {truth_word(positive)}{self.reason(part)}"
        elif isinstance(part, PairAtom):
            same = ": both sides are the same attribute" if part.left == part.right else ""
            yield f"{self.text_of(part)} can never be {truth_word(positive)}{same}"
        elif isinstance(part, AndPart | OrPart):
            if isinstance(part, AndPart) != positive:
                for each in part.parts:
                    yield from self._reasons(each, positive)
                return
            alone = next((each for each in part.parts if self.never(each, positive)), None)
            if alone is not None:
                yield from self._reasons(alone, positive)
                return
            pair = self.pair(part, positive)
            if pair is not None:
                yield together([self.text_of(each) for each in pair], positive)
            else:
                yield from self._of_alternatives(part, positive)

    # ------------------------------------------------------------ alternatives of an AND of ORs

    def _of_alternatives(self, whole: AndPart | OrPart, positive: bool) -> Iterator[str]:
        known = [part for part in whole.parts if self.form(part, positive) is not None]
        ways = _ways(known, positive)
        for tests in ways or ():
            yield from self._of_tests(tests)

    def _of_tests(self, tests: Sequence[_SignedPart]) -> Iterator[str]:
        """The fewest tests of an alternative that cannot hold together, found by leaving out one after the other."""
        clashing = list(dict.fromkeys(tests))
        if len(clashing) > _TESTS or not self._clash(clashing):
            return
        for each in list(clashing):
            fewer = [other for other in clashing if other is not each]
            if fewer and self._clash(fewer):
                clashing = fewer
        if len(clashing) == 1:
            yield from self._reasons(clashing[0].part, clashing[0].positive)
        else:
            clashing.sort(key=lambda each: each.part.node.span.start)
            yield together([each.said(self.text_of) for each in clashing])

    def _clash(self, tests: Sequence[_SignedPart]) -> bool:
        parts = tuple(each.as_part() for each in tests)
        if len(parts) == 1:
            return self.never(parts[0], True)
        return self.never(AndPart(And(tuple(each.node for each in parts)), parts), True)


@dataclass(frozen=True)
class _SignedPart:
    """A test or the negation of one, as written, and the truth that it should have."""

    part: Part
    positive: bool

    def as_part(self) -> Part:
        return self.part if self.positive else NotPart(Not(self.part.node, self.part.node.span), self.part)

    def said(self, text_of: Callable[[Part], str]) -> str:
        text = text_of(self.part)
        if self.positive:
            return text
        return f"not ({text})" if isinstance(self.part, NotPart) else f"not {text}"


def truth_word(positive: bool) -> str:
    """The truth that a test should have, as a word."""
    return "true" if positive else "false"


def together(said: Sequence[str], positive: bool = True) -> str:
    """The message that these tests contradict each other."""
    both = "both" if len(said) == 2 else "all"
    return f"{', '.join(said[:-1])} and {said[-1]} can never {both} be {truth_word(positive)}"


def constant_verdict(part: TruthPart, text: str) -> str | None:
    """The message about a test of constants only; None for `true`, `false` and `null` themselves."""
    if isinstance(part.node, TruthLiteral):
        return None
    value = "unknown" if part.value is None else str(part.value).lower()
    return f"{text} compares two constants and is always {value}"


def by_column(form: FormOf, parts: Sequence[Part], positive: bool) -> dict[Column, list[tuple[Part, ValueSet[Any]]]]:
    """The parts that are one set of values of one column, by column."""
    made: dict[Column, list[tuple[Part, ValueSet[Any]]]] = {}
    for part in parts:
        found = form(part, positive)
        if found is None or len(found.conjunctions) != 1:
            continue
        (one,) = found.conjunctions
        if len(one.values) == 1 and not one.probes:
            column, values = one.values[0]
            made.setdefault(column, []).append((part, values))
    return made


def _joined(reasons: Iterator[str]) -> str | None:
    found = list(dict.fromkeys(reasons))
    if not found:
        return None
    more = len(found) - _SHOWN
    return "; ".join(found[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")


def _ways(parts: Sequence[Part], positive: bool) -> list[tuple[_SignedPart, ...]] | None:
    """The alternatives of an AND of parts, each as its tests; None if there are too many."""
    found: list[tuple[_SignedPart, ...]] = [()]
    for part in parts:
        ways = _ways_of(part, positive)
        if ways is None or len(found) * len(ways) > _ALTERNATIVES:
            return None
        found = [(*one, *other) for one, other in product(found, ways)]
    return found


def _ways_of(part: Part, positive: bool) -> list[tuple[_SignedPart, ...]] | None:
    if isinstance(part, NotPart) and isinstance(part.part, NotPart | AndPart | OrPart):
        return _ways_of(part.part, not positive)
    if isinstance(part, AndPart | OrPart):
        if isinstance(part, AndPart) == positive:
            return _ways(part.parts, positive)
        several = [_ways_of(each, positive) for each in part.parts]
        if any(ways is None for ways in several) or sum(len(ways or ()) for ways in several) > _ALTERNATIVES:
            return None
        return [way for ways in several for way in ways or ()]
    return [(_SignedPart(part, positive),)]
