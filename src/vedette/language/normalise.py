"""Brings a checked filter to its normal form: an OR of conjunctions, each literal over one column.

1. Negation is pushed down to the tests, and literals over one column merge: by intersection within an AND, by union
   within an OR. So `x > 5 and x < 10 and x != 7` is one set, and a hundred `contains` joined by OR are one probe.
2. In ANDs that would become very many conjunctions, some ORs are replaced by vetoes
   (`vedette.language.vetoes`).
3. The number of conjunctions is computed, and refused if it is over the limit, before any of them is made.
4. ANDs are distributed over ORs (`vedette.language.forms`); conjunctions that cannot be true are dropped on the way.
5. `vedette.language.simplify` makes the result smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from vedette.errors import LimitError, NotSupported
from vedette.language import limits
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
from vedette.language.forms import AndForm, Form, disjoined, distributed, size, tidied
from vedette.language.normalform import NormalForm, Probe
from vedette.language.simplify import not_refused, simplified
from vedette.language.syntax import Comparator
from vedette.language.truth_sets import truth_set
from vedette.language.valuesets import (
    NOTHING,
    NULL,
    PRESENT,
    Interval,
    ValueSet,
    complement,
    intersection_all,
)
from vedette.language.vetoes import with_exceptions
from vedette.schema.columns import Column

Values: TypeAlias = ValueSet[Any]

TESTS_PER_CONJUNCTION = 32  # on average, at the limit of conjunctions


def normalise(checked: CheckedExpression, limit: int = limits.CONJUNCTIONS, most: int | None = None) -> NormalForm:
    """The normal form of a filter; LimitError if it would have more than `limit` conjunctions.

    It has vetoes where an AND would become more than `most` conjunctions, and they make it smaller.
    """
    if checked.root is None:
        raise NotSupported("a pattern speaks of several events and has no normal form; each of its steps has one")
    return normal_form(checked.root, limit=limit, text=checked.text, most=most)


def normal_form(
    part: Part, positive: bool = True, limit: int = limits.CONJUNCTIONS, text: str = "", most: int | None = None
) -> NormalForm:
    """The normal form of a part of a filter being true (`positive`) or false."""
    form = _form(part, positive)
    if isinstance(form, AndForm) and not form.anys:
        single = tidied(form)
        return NormalForm(() if single is None else (single,))
    wider, vetoes = (form if isinstance(form, list) else [form]), list[AndForm]()
    found = size(wider)
    if found[0] > (most := limits.DISTRIBUTED if most is None else most):
        wider, vetoes = with_exceptions(wider, most)
        found = size([*wider, *vetoes])
    _refuse_if_too_large(*found, limit, text)
    conjunctions = simplified(distributed(wider))
    if not vetoes:
        return NormalForm(tuple(conjunctions))
    refused = simplified(distributed(vetoes))
    conjunctions = not_refused(conjunctions, refused)
    return NormalForm(tuple(conjunctions), tuple(refused) if conjunctions else ())


# ---------------------------------------------------------------- 1: negation to the tests, and merging


def _form(part: Part, positive: bool) -> Form:
    return _FORMS[type(part)](part, positive)


def _truth(part: TruthPart, positive: bool) -> Form:
    return AndForm() if part.value is positive else []


def _atom(part: Atom, positive: bool) -> Form:
    found = truth_set(part, positive)
    if isinstance(found, Probe):
        return AndForm({}, [(part.column, found)])
    return _literal(part.column, found)


def _literal(column: Column, values: Values) -> Form:
    if values.is_empty:
        return []
    return AndForm() if values.is_everything else AndForm({column: values})


_LESS: Values = ValueSet((Interval(None, 1),))
_EQUAL: Values = ValueSet((Interval(1, 2),))
_GREATER: Values = ValueSet((Interval(2, None),))
_SIGNS: dict[Comparator, Values] = {
    Comparator.EQ: _EQUAL,
    Comparator.SAME: _EQUAL,
    Comparator.NE: complement(_EQUAL),
    Comparator.LT: _LESS,
    Comparator.LE: complement(_GREATER),
    Comparator.GT: _GREATER,
    Comparator.GE: complement(_LESS),
}


def _pair(part: PairAtom, positive: bool) -> Form:
    """A comparison of two attributes; its column is missing if one of them is, so `<=>` tests both as well."""
    left, right, same = part.left, part.right, part.op is Comparator.SAME
    if left.path == right.path:
        holds = _SIGNS[part.op].contains(1) is positive
        if same:
            return AndForm() if positive else []
        return _literal(left, PRESENT if holds else NOTHING)
    values = _SIGNS[part.op]
    compared = AndForm({part.column: values if positive else complement(values)})
    if not same:
        return compared
    if positive:
        return [compared, AndForm({left: NULL, right: NULL})]
    return [compared, AndForm({left: NULL, right: PRESENT}), AndForm({left: PRESENT, right: NULL})]


def _residual(part: Residual, positive: bool) -> Form:
    raise NotSupported(f"{part.what} cannot be decided by the index of attribute tests")


def _and(part: AndPart, positive: bool) -> Form:
    return _all_of(part.parts, positive) if positive else _any_of(part.parts, positive)


def _or(part: OrPart, positive: bool) -> Form:
    return _any_of(part.parts, positive) if positive else _all_of(part.parts, positive)


def _not(part: NotPart, positive: bool) -> Form:
    return _form(part.part, not positive)


_FORMS: dict[type, Callable[[Any, bool], Form]] = {
    TruthPart: _truth,
    Atom: _atom,
    PairAtom: _pair,
    Residual: _residual,
    AndPart: _and,
    OrPart: _or,
    NotPart: _not,
}


def _all_of(parts: Iterable[Part], positive: bool) -> Form:
    """The AND of parts; tests of one column become one set."""
    sets: dict[Column, Values] = {}
    repeated: dict[Column, list[Values]] = {}
    probes: list[tuple[Column, Probe]] = []
    anys: list[list[AndForm]] = []

    def add(column: Column, values: Values) -> None:
        before = sets.setdefault(column, values)
        if before is not values:
            repeated.setdefault(column, [before]).append(values)

    for part in parts:
        if type(part) is Atom:  # fast path for the usual case, without an AndForm in between
            found = truth_set(part, positive)
            if type(found) is Probe:
                probes.append((part.column, found))
            else:
                add(part.column, found)  # type: ignore[arg-type]
            continue
        form = _FORMS[type(part)](part, positive)
        if isinstance(form, list):
            if not form:
                return form
            anys.append(form)
            continue
        for column, values in form.values.items():
            add(column, values)
        probes.extend(form.probes)
        anys.extend(form.anys)
    for column, several in repeated.items():
        sets[column] = intersection_all(several)
    for column, values in list(sets.items()):
        if not values.intervals and not values.null:
            return []
        if values.null and values.is_everything:
            del sets[column]
    return AndForm(sets, probes, anys)


def _any_of(parts: Iterable[Part], positive: bool) -> Form:
    return disjoined([_FORMS[type(part)](part, positive) for part in parts])


# ---------------------------------------------------------------- 3: the limit


def _refuse_if_too_large(conjunctions: int, tests: int, limit: int, text: str) -> None:
    if conjunctions > limit:
        message = f"the normal form would have {_grouped(conjunctions)} conjunctions; the limit is {limit:,}"
    elif tests > limit * TESTS_PER_CONJUNCTION:
        most = limit * TESTS_PER_CONJUNCTION
        message = f"the normal form would have {tests:,} tests in {conjunctions:,} conjunctions; the limit is {most:,}"
    else:
        return
    hint = "ANDs of ORs multiply: write fewer alternatives, or several subscriptions"
    raise LimitError(message, text=text, end=len(text), hint=hint)


def _grouped(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"more than 10^{int(math.log10(number))}"
