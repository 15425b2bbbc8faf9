"""Parse constraints into disjuncts: the values that each allows every attribute (Tomasic 2006, §3.1).

Negation is pushed down to the tests, since every test of an ordered attribute can be negated. ANDs are distributed over
ORs; nothing is simplified, since `x = 1 or x = 1 and y = 1` meets publications that `x = 1` alone does not. A disjunct
tests an attribute once: one test, or a lower and an upper bound, which together are a range.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from vedette.covering.key_bounds import real_key
from vedette.errors import FilterError, LimitError
from vedette.filters.templates import Templates
from vedette.language import limits
from vedette.language.ast import OPPOSITE, Comparator, Comparison, TextTest
from vedette.language.check import check
from vedette.language.checked_tree import (
    AndPart,
    Atom,
    CheckedExpression,
    NotPart,
    OrPart,
    PairAtom,
    Part,
    Residual,
    TruthPart,
)
from vedette.language.normalform import ElementProbe, Probe
from vedette.language.parser import parse_filter
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.language.truth_sets import truth_set
from vedette.language.valuesets import ValueSet, complement, intersection, of_intervals
from vedette.meeting.allowed_values import AllowedValues, Area, Disc, Elements, Values
from vedette.schema.columns import Column
from vedette.schema.schema import Schema

_NOT = re.compile(r"^[^'\"]*\bnot\b", re.IGNORECASE)
_SEVERAL_TIMES = (
    "say it once: as a range (x >= 1 and x < 5), a list (x in (1, 2)), or what it is not (x not in (1, 2)); "
    "else write alternatives: x > 1 and x < 5 or x > 5"
)
_LISTS_ONCE = "say it once: ask about the elements of a list by one any() or all()"


@dataclass(frozen=True, slots=True)
class SignedAtom:
    """A test of an attribute, as it was written, which has to be true (`positive`) or false."""

    atom: Atom
    positive: bool


@dataclass(frozen=True, slots=True)
class Term:
    """The values that a disjunct allows one attribute."""

    column: Column
    allowed: AllowedValues
    tests: tuple[SignedAtom, ...] = ()  # one, or the two ends of a range; none where they were not kept

    @property
    def attribute(self) -> str:
        """The path of the attribute."""
        return self.column.path


@dataclass(frozen=True, slots=True)
class Disjunct:
    """A conjunction of terms, each of another attribute, in the order of their names."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A disjunction of at least one disjunct."""

    text: str
    disjuncts: tuple[Disjunct, ...]


def read_constraint(text: str, schema: Schema) -> Constraint:
    """Parse a text; FilterError, with the place, if it is invalid, or contains what cannot be met."""
    checked = check(parse_filter(text), schema, text)
    assert checked.root is not None  # it is a filter
    reader = _ConstraintReader(checked)
    size = reader.size(checked.root, True)
    if size > limits.CONJUNCTIONS:
        hint = "ANDs of ORs multiply: write fewer alternatives, or several constraints"
        message = f"the constraint would have {size:,} disjuncts; the limit is {limits.CONJUNCTIONS:,}"
        raise LimitError(message, text=text, end=len(text), hint=hint)
    found = tuple(reader.disjunct(tests) for tests in reader.alternatives(checked.root, True))
    if not found:
        raise FilterError("this is never true, so that nothing can meet it", text=text, end=len(text))
    return Constraint(text, found)


class Constraints:
    """Parses texts, faster if they differ only in their constants."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._templates = Templates(schema)
        self._plain: dict[tuple[str, ...], tuple[Column, ...] | None] = {}

    def read(self, text: str) -> Constraint:
        """Same as `read_constraint`, except that the original tests may be missing."""
        skeleton = self._templates.skeleton(text) if isinstance(text, str) else None
        columns = None if skeleton is None else self._plain.get(skeleton)
        if columns is None:
            made = read_constraint(text, self.schema)
            if skeleton is not None and skeleton not in self._plain:
                if len(self._plain) >= Templates.MOST:
                    self._plain.clear()
                self._plain[skeleton] = _columns_if_plain(made) if Templates.is_clear(skeleton) else None
            return made
        form = self._templates.normal_form(text)
        found = form.conjunctions[0].values if len(form.conjunctions) == 1 and not form.vetoes else ()
        if tuple(column for column, _ in found) != columns:
            return read_constraint(text, self.schema)  # some set is empty, or all there is: the long way says so
        return Constraint(text, (Disjunct(tuple(Term(column, _real(column, values)) for column, values in found)),))


def _columns_if_plain(made: Constraint) -> tuple[Column, ...] | None:
    """The columns of a single disjunct that allows sets of values only, in order."""
    if len(made.disjuncts) > 1:
        return None
    (disjunct,) = made.disjuncts
    if not disjunct.terms or not all(isinstance(term.allowed, ValueSet) for term in disjunct.terms):
        return None
    return tuple(term.column for term in disjunct.terms)


class _ConstraintReader:
    """Reads one checked filter."""

    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked

    def size(self, part: Part, positive: bool) -> int:
        """The number of disjuncts."""
        if isinstance(part, NotPart):
            return self.size(part.part, not positive)
        if isinstance(part, AndPart | OrPart):
            sizes = [self.size(each, positive) for each in part.parts]
            total = 1
            if isinstance(part, AndPart) is not positive:
                return sum(sizes)
            for size in sizes:
                total *= size
            return total
        return int(not isinstance(part, TruthPart) or part.value is positive)

    def alternatives(self, part: Part, positive: bool) -> Iterator[tuple[SignedAtom, ...]]:
        """The tests of each disjunct, in the order of the text."""
        if isinstance(part, NotPart):
            yield from self.alternatives(part.part, not positive)
        elif isinstance(part, AndPart | OrPart):
            if isinstance(part, AndPart) is not positive:
                for each in part.parts:
                    yield from self.alternatives(each, positive)
                return
            for chosen in itertools.product(*(list(self.alternatives(each, positive)) for each in part.parts)):
                yield tuple(itertools.chain.from_iterable(chosen))
        elif isinstance(part, TruthPart):
            if part.value is positive:
                yield ()
        elif isinstance(part, Atom):
            test = SignedAtom(part, positive)
            if part.column.reading is not None:
                hint = "ask about attributes themselves, without text(…) and the like"
                self._fail(f"{part.column.name} is a view, and what it allows does not meet", test, hint)
            yield (test,)
        else:
            self._refuse(part)

    def disjunct(self, tests: tuple[SignedAtom, ...]) -> Disjunct:
        """The disjunct of these tests, attribute by attribute."""
        together: dict[str, list[SignedAtom]] = {}
        for test in tests:
            together.setdefault(test.atom.column.path, []).append(test)
        return Disjunct(tuple(self._term(several) for _, several in sorted(together.items())))

    def _term(self, tests: list[SignedAtom]) -> Term:
        column = tests[0].atom.column
        allowed = self._allowed(tests[0])
        if len(tests) > 1:
            allowed = self._range(tests, allowed)
        if isinstance(allowed, Elements):
            allowed = Elements(allowed.quantifier, _real(column, allowed.values))
        elif isinstance(allowed, ValueSet):
            allowed = _real(column, allowed)
        # Every element of a list without any satisfies whatever is asked.
        values = allowed.values if isinstance(allowed, Elements) and allowed.quantifier == "any" else allowed
        if isinstance(values, ValueSet) and values.is_empty:
            what = " and ".join(map(self._written, tests))
            self._fail(f"no value of {column.path} satisfies {what}", tests[-1], "leave it out, or mend its bounds")
        return Term(column, allowed, tuple(tests))

    def _range(self, tests: list[SignedAtom], first: AllowedValues) -> Values:
        """A range from a lower and an upper bound."""
        path = tests[0].atom.column.path
        bounds = {_end(tests[0]), _end(tests[1])} == {-1, 1} and tests[0].atom.column == tests[1].atom.column
        if not bounds or len(tests) > 2:
            late = tests[2 if bounds else 1]
            hint = _SEVERAL_TIMES if late.atom.quantifier is None else _LISTS_ONCE
            self._fail(f"{path} is asked about more than once where all of it has to hold", late, hint)
        second = self._allowed(tests[1])
        if not isinstance(first, ValueSet) or not isinstance(second, ValueSet):
            raise TypeError("bounds are sets of values")
        return intersection(first, second)

    def _allowed(self, test: SignedAtom) -> AllowedValues:
        found = truth_set(test.atom, test.positive)
        if isinstance(found, ValueSet):
            return found
        allowed = _as_allowed(found)
        if allowed is not None:
            return allowed
        what = self._written(test)
        if isinstance(test.atom.test, TextTest):
            self._fail(
                f"which texts satisfy {what} cannot be compared with other constraints",
                test,
                "use =, !=, in, <, between, or a beginning: like 'abc%'",
            )
        if test.atom.quantifier is not None:
            self._fail(f"lists of places, as in {what}, do not meet", test, "ask about one place")
        return self._fail(
            f"{what} cannot be brought into a form without a negation", test, "say where it is, not where it is not"
        )

    def _written(self, test: SignedAtom) -> str:
        said = self._checked.text_of(test.atom)
        # `x not in (1, 2)` is the negation of a test, and what is written of that test is the whole.
        return said if test.positive or _NOT.search(said) else f"not {said}"

    def _refuse(self, part: PairAtom | Residual) -> NoReturn:
        span = part.node.span
        what = "two attributes" if isinstance(part, PairAtom) else f"more than constants ({part.what})"
        message = f"{self._checked.text_of(part)} compares with {what}; constraints meet by their constants"
        hint = "compare an attribute with a constant"
        raise FilterError(message, text=self._checked.text, start=span.start, end=span.end, hint=hint)

    def _fail(self, message: str, test: SignedAtom, hint: str) -> NoReturn:
        span = test.atom.node.span
        raise FilterError(message, text=self._checked.text, start=span.start, end=span.end, hint=hint)


def _end(test: SignedAtom) -> int:
    """-1: an upper bound, 1: a lower bound, 0: anything else."""
    comparison = test.atom.test
    if not isinstance(comparison, Comparison) or test.atom.quantifier is not None:
        return 0
    op = comparison.op if test.positive else OPPOSITE.get(comparison.op)
    return -1 if op in (Comparator.LT, Comparator.LE) else int(op in (Comparator.GT, Comparator.GE))


def _as_allowed(probe: Probe) -> AllowedValues | None:
    if len(probe.tests) != 1:
        return None
    (test,) = probe.tests
    if isinstance(test, ElementProbe):
        if not isinstance(test.test, ValueSet):
            return None
        if probe.positive:
            return Elements(test.quantifier, test.test)
        return Elements("all", complement(test.test)) if test.quantifier == "any" else None
    if not probe.positive:
        return None
    if isinstance(test, RegionProbe):
        return Area(test.region)
    return Disc(test.centre, test.metres) if isinstance(test, NearProbe) else None


def _real(column: Column, values: Values) -> Values:
    """The same set with bounds that are possible values."""
    kind = column.type.kind
    if not kind.textual:
        return values
    ends: list[tuple[bytes | None, bytes | None]] = []
    for one in values.intervals:
        low = None if one.low is None else real_key(kind, one.low)
        high = None if one.high is None else real_key(kind, one.high)
        if high == b"" or (low is None and one.low is not None):
            continue  # below all values, or above them
        ends.append((low or None, high))
    return of_intervals(ends, values.null)
