"""Templates for texts that differ only in their constants: normalised once, then only filled in.

A text is cut into its constants and the text between them, its skeleton. Skeletons are compared literally,
so two texts of one skeleton have the same tokens, the same tree and the same types, and differ in constants. Where
these are the constants of plain tests (comparisons, ranges, lists) joined by AND, the sets of values they allow are
computed from them as `vedette.language.truth_sets` does, from the same bounds. All other texts are parsed in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.errors import NotSupported
from vedette.language.ast import Composite, Filter, Literal, Operand
from vedette.language.check import check
from vedette.language.checked_tree import AndPart, Atom, CheckedExpression, Part, residuals
from vedette.language.lexer import NUMBER, STRING, scan
from vedette.language.literals import read_number
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.language.value_bounds import Bound
from vedette.language.valuesets import NOTHING, Interval, ValueSet, complement, intersection, of_intervals
from vedette.schema.columns import Column
from vedette.schema.keys import LOWEST, above, at_least
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

# Strings and numbers as the lexer has them; a digit that may belong to a name is not taken for a constant.
_CONSTANT = re.compile(r"('(?:[^']++|'')*+'|(?<![\w.])[0-9]++(?:\.(?!\.)[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+)")
# Beside these, what looks like a constant may be something else.
_UNCLEAR = re.compile(r"""[`"?$@;{}]|--|/\*""")
_LONGEST = 4_000  # characters, far below the limit on texts
_TEMPLATES = 10_000

_NEVER: NormalForm = NormalForm(())
_PLAIN = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING})


def normal_form(text: str, schema: Schema, most: int | None = None) -> NormalForm:
    """Parse, check and normalise the text of a filter over one event."""
    return normalise(_checked(text, schema), most=most)


class HasOperators(NotSupported):
    """Raised for a text that is a filter with calls of operators."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} cannot be decided by the index of attribute tests")


class IsPattern(NotSupported):
    """Raised for a text that is a pattern."""

    def __init__(self, composite: Composite) -> None:
        super().__init__("a pattern over several events cannot be matched event by event")
        self.composite = composite


def parsed_filter(text: str) -> Filter:
    """Parse a filter over one event; IsPattern for a pattern."""
    expression = parse(text)
    if isinstance(expression, Composite):
        raise IsPattern(expression)
    return expression


def _checked(text: str, schema: Schema) -> CheckedExpression:
    checked = check(parsed_filter(text), schema, text)
    assert checked.root is not None  # it is a filter
    beyond = next(residuals(checked.root), None)
    if beyond is not None:
        raise HasOperators(beyond.what)
    return checked


class Templates:
    """Computes normal forms of texts, quickly if a skeleton is repeated; `most` is that of `normalise`."""

    MOST = _TEMPLATES  # the most templates that are kept

    def __init__(self, schema: Schema, most: int | None = None) -> None:
        self._schema, self._most = schema, most
        self._known: dict[tuple[str, ...], _Template | None] = {}
        self._seen: set[tuple[str, ...]] = set()

    @staticmethod
    def skeleton(text: str) -> tuple[str, ...] | None:
        """The skeleton of a text; None for a text that is too long to be worth it."""
        return tuple(_CONSTANT.split(text)[::2]) if len(text) <= _LONGEST else None

    @staticmethod
    def is_clear(skeleton: tuple[str, ...]) -> bool:
        """Whether what looks like a constant is one, in every text of this skeleton."""
        return not any(_UNCLEAR.search(piece) for piece in skeleton)

    def normal_form(self, text: str) -> NormalForm:
        """The normal form of a text, the same as `normal_form` gives."""
        if len(text) > _LONGEST:
            return normal_form(text, self._schema, self._most)
        pieces = _CONSTANT.split(text)
        skeleton = tuple(pieces[::2])
        template = self._known.get(skeleton)
        if template is not None:
            form = template.filled(pieces[1::2])
            return form if form is not None else normal_form(text, self._schema, self._most)
        if skeleton in self._known:
            return normal_form(text, self._schema, self._most)
        if skeleton not in self._seen:  # making a template pays only if its skeleton is repeated
            if len(self._seen) >= _TEMPLATES:
                self._seen.clear()
            self._seen.add(skeleton)
            return normal_form(text, self._schema, self._most)
        return self._learn(text, skeleton, pieces)

    def _learn(self, text: str, skeleton: tuple[str, ...], pieces: list[str]) -> NormalForm:
        checked = _checked(text, self._schema)
        form = normalise(checked, most=self._most)
        if len(self._known) >= _TEMPLATES:
            self._known.clear()
        template = _template(text, pieces, checked)
        # Safety check: the template must give the normal form of its own text.
        if template is not None and template.filled(pieces[1::2]) != form:
            template = None
        self._known[skeleton] = template
        return form


@dataclass(frozen=True, slots=True)
class _Slot:
    """The source of a constant."""

    number: int
    negative: bool


@dataclass(frozen=True, slots=True)
class _TestTemplate:
    """A column's values from one bound up to another, or (not) in a list of constants; without a slot unbounded."""

    kind: Kind
    low: tuple[Bound, _Slot] | None = None
    high: tuple[Bound, _Slot] | None = None
    listed: tuple[_Slot, ...] = ()
    outside: bool = False

    def values(self, constants: Sequence[Any]) -> ValueSet[Any]:
        """The set of values, with these constants."""
        kind = self.kind
        if self.listed:
            inside = of_intervals([_point(kind, _constant(constants, slot)) for slot in self.listed])
            return complement(inside) if self.outside else inside
        lowest = LOWEST[kind]
        low, high = lowest, None
        if self.low is not None:
            bound, slot = self.low
            low = bound(kind, _constant(constants, slot))
            if low is None:
                return NOTHING
        if self.high is not None:
            bound, slot = self.high
            high = bound(kind, _constant(constants, slot))
        if high is not None and low >= high:
            return NOTHING
        return ValueSet((Interval(None if low == lowest else low, high),))


def _constant(constants: Sequence[Any], slot: _Slot) -> Any:
    return -constants[slot.number] if slot.negative else constants[slot.number]


def _point(kind: Kind, value: Any) -> tuple[Any, Any]:
    """The bounds of one value; empty ones where no value of the kind equals it."""
    low = at_least(kind, value)
    if low is None:
        return LOWEST[kind], LOWEST[kind]
    return (None if low == LOWEST[kind] else low), above(kind, value)


class _Template:
    """Columns, their tests, and which constants go where."""

    def __init__(self, columns: dict[Column, list[_TestTemplate]], strings: Sequence[bool]) -> None:
        in_order = sorted(columns, key=lambda column: column.order)
        self._columns = tuple((column, tuple(columns[column])) for column in in_order)
        self._strings = tuple(strings)

    def filled(self, constants: Sequence[str]) -> NormalForm | None:
        """The normal form with these constants; None if they are of other kinds, or need a full parse."""
        values: list[Any] = []
        for text, string in zip(constants, self._strings, strict=True):
            if (text[0] == "'") is not string or (string and not text.isascii()):
                return None
            try:
                values.append(text[1:-1].replace("''", "'") if string else read_number(text))
            except ValueError:
                return None
        found = []
        for column, tests in self._columns:
            whole = tests[0].values(values)
            for test in tests[1:]:
                whole = intersection(whole, test.values(values))
            if not whole.intervals:
                return _NEVER
            found.append((column, whole))
        return NormalForm((Conjunction(tuple(found)),))


# ---------------------------------------------------------------- understanding a text


def _template(text: str, pieces: list[str], checked: CheckedExpression) -> _Template | None:
    """The template of a text whose constants are `pieces[1::2]`; None where they are more than plain constants."""
    if checked.root is None or not Templates.is_clear(tuple(pieces[::2])):
        return None
    ends, at = [], 0
    for number, piece in enumerate(pieces):
        at += len(piece)
        if number % 2:
            ends.append(at)
    tokens = scan(text)
    tagged = {end: tag for tag, end in zip(tokens.tags, tokens.ends, strict=True) if tag in (NUMBER, STRING)}
    if list(tagged) != ends:
        return None
    place = {end: number for number, end in enumerate(ends)}
    columns: dict[Column, list[_TestTemplate]] = {}
    used: list[int] = []
    for atom in _atoms(checked.root):
        test = _test(atom, place, text)
        if test is None:
            return None
        columns.setdefault(atom.column, []).append(test)  # type: ignore[union-attr]
        bounded = [side[1] for side in (test.low, test.high) if side is not None]
        used += {slot.number: None for slot in (*test.listed, *bounded)}
    if sorted(used) != list(range(len(ends))):
        return None
    return _Template(columns, [tagged[end] is STRING for end in ends])


def _atoms(part: Part) -> Iterator[Part]:
    """The parts of an AND."""
    if isinstance(part, AndPart):
        for each in part.parts:
            yield from _atoms(each)
    else:
        yield part


def _test(part: Part, place: dict[int, int], text: str) -> _TestTemplate | None:
    """The template of a plain test; None if it is not plain."""
    if not isinstance(part, Atom) or part.quantifier is not None or part.column.other is not None:
        return None
    kind, test = part.column.type.kind, part.test
    if kind not in _PLAIN:
        return None
    bounds = test.bounds()
    if bounds is None:
        return None
    low, high = (side and _side(side, kind, place, text) for side in (bounds.low, bounds.high))
    listed = [_slot(operand, kind, place, text) for operand in bounds.listed]
    slots = [slot for slot in listed if slot is not None]
    if len(slots) < len(listed) or (low is None) > (bounds.low is None) or (high is None) > (bounds.high is None):
        return None
    return _TestTemplate(kind, low, high, tuple(slots), bounds.outside)


def _side(side: tuple[Bound, Operand], kind: Kind, place: dict[int, int], text: str) -> tuple[Bound, _Slot] | None:
    slot = _slot(side[1], kind, place, text)
    return None if slot is None else (side[0], slot)


def _slot(operand: Any, kind: Kind, place: dict[int, int], text: str) -> _Slot | None:
    """The constant of the text that an operand is, and whether a minus precedes it."""
    if not isinstance(operand, Literal) or operand.span.end not in place:
        return None
    if isinstance(operand.value, bool) or isinstance(operand.value, str) is not (kind is Kind.STRING):
        return None
    written = text[operand.span.start : operand.span.end]
    negative = written.startswith("-")
    bare = written[1:].lstrip() if negative else written
    if not _CONSTANT.fullmatch(bare):
        return None
    return _Slot(place[operand.span.end], negative)
