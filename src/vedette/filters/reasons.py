"""Explains why one test held or did not: the value seen, what was needed, and by how much it was missed."""

from __future__ import annotations

import datetime as dt
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.language.ast import (
    OPPOSITE,
    Comparator,
    Comparison,
    In,
    InNetwork,
    IsNull,
    Literal,
    Near,
    Range,
    TextPair,
    TextTest,
    Within,
)
from vedette.language.checked_tree import Atom, Leaf, PairAtom, Residual, Test, TruthPart
from vedette.language.evaluate import Event, Truth, atom_value, distance, tested, truth, value_of, view_of
from vedette.language.render import constant, render
from vedette.schema.keys import DENSE, UINT_MAX
from vedette.schema.paths import lookup
from vedette.schema.readings import viewer
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Miss:
    """How far a value was from what was needed: in words, and as a share of the constant."""

    words: str
    share: float


@dataclass(frozen=True, slots=True)
class Reason:
    """The result of one leaf for an event; `missed` is set if its truth is not the wanted one and can be measured."""

    truth: Truth
    value: Any
    why: str
    missed: Miss | None = None


def reason(leaf: Leaf, event: Event, schema: Schema | None, wanted: bool) -> Reason:
    """The truth of a leaf, with its reason; `wanted` is the truth that would help the whole filter."""
    if isinstance(leaf, TruthPart):
        return Reason(leaf.value, None, "whatever the event")
    if isinstance(leaf, Residual):
        return Reason(None, None, f"{leaf.what} is not evaluated here")
    found = truth(leaf, event, schema)
    if isinstance(leaf, PairAtom):
        return _pair(leaf, event, schema, found, wanted)
    if isinstance(leaf.node, TextPair):
        return _text_pair(leaf.node, event, found, wanted)
    value = atom_value(leaf, event, schema)
    return _atom(leaf, event, value, found, wanted)


def _atom(atom: Atom, event: Event, value: Any, found: Truth, wanted: bool) -> Reason:
    path = atom.column.name
    if value is None:
        raw = None if atom.column.reading == "nested" else lookup(event, atom.column.path)
        if raw is not None:
            kind = atom.column.type.kind.value
            return Reason(found, None, f"{path} was {shown(raw)}, which is no {kind} and counts as missing")
        return Reason(found, None, f"{path} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{path} was {shown(value)}"
    if found is wanted:
        return Reason(found, value, seen)
    if found is None and atom.quantifier is None:
        return Reason(found, value, f"{seen}, and a comparison with null is unknown")
    missed = _missed(atom, value, wanted)
    return Reason(found, value, _missing(f"{seen}, needed {_need(atom, wanted)}", missed), missed)


def _pair(atom: PairAtom, event: Event, schema: Schema | None, found: Truth, wanted: bool) -> Reason:
    paths = (atom.left.name, atom.right.name)
    sides = (atom.left, atom.right)
    left, right = (
        value_of(each.path, None, event, schema) if each.reading is None else view_of(each, event) for each in sides
    )
    both = (left, right)
    absent = next((path for path, value in zip(paths, both, strict=True) if value is None), None)
    if absent is not None:
        return Reason(found, both, f"{absent} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{paths[0]} was {shown(left)} and {paths[1]} was {shown(right)}"
    if found is wanted:
        return Reason(found, both, seen)
    if found is None:
        return Reason(found, both, f"{seen}, which have no common order")
    op = _directed(atom.test.op, wanted)
    missed = None if op is Comparator.NE else _between(left, right)
    return Reason(found, both, _missing(f"{seen}, needed {paths[0]} {op.value} {paths[1]}", missed), missed)


def _text_pair(node: TextPair, event: Event, found: Truth, wanted: bool) -> Reason:
    names = [f"text({view.attribute.path})" for view in (node.left, node.right)]
    both = tuple(viewer("text", view.attribute.path)(event) for view in (node.left, node.right))
    absent = next((name for name, value in zip(names, both, strict=True) if value is None), None)
    if absent is not None:
        return Reason(found, both, f"{absent} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{names[0]} was {shown(both[0])} and {names[1]} was {shown(both[1])}"
    return Reason(found, both, seen if found is wanted else f"{seen}, needed {'' if wanted else 'not '}{render(node)}")


def _missing(need: str, missed: Miss | None) -> str:
    return need if missed is None else f"{need}: missed by {missed.words}"


_UNKNOWN = ", so this is unknown"


# ---------------------------------------------------------------- values in words

_SHORT = reprlib.Repr()
_SHORT.maxstring = 60


def shown(value: Any) -> str:
    """A value as people write it, truncated if it is long."""
    if isinstance(value, list | tuple | set | frozenset) and not _is_point(value):
        inside = ", ".join(shown(each) for each in list(value)[:6])
        return f"[{inside}{', …' if len(value) > 6 else ''}]"
    if _is_point(value):
        return f"point({value[0]:g}, {value[1]:g})"
    if isinstance(value, float) and DENSE < abs(value) <= UINT_MAX:
        return constant(int(value))  # it is whole, and may be compared with a neighbouring integer
    if value is None or isinstance(value, bool | int | float):
        return constant(value)
    if isinstance(value, str):
        return _SHORT.repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return reprlib.repr(value)
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _is_point(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(each) is float for each in value)


def _duration(seconds: float) -> str:
    for size, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{_rounded(seconds / size)} {name}"
    return f"{seconds:.6g} s"


def _length(metres: float) -> str:
    return f"{_rounded(metres / 1000)} km" if metres >= 1000 else f"{_rounded(metres)} m"


def _rounded(number: float) -> str:
    """The number with three significant digits, and never with an exponent for large numbers."""
    return f"{float(f'{number:.3g}'):,.15g}"


def _radius(metres: float) -> str:
    return f"{metres / 1000:,.9g} km" if metres >= 1000 else f"{metres:.9g} m"


# ---------------------------------------------------------------- what was needed


def _directed(op: Comparator, wanted: bool) -> Comparator:
    return op if wanted else OPPOSITE.get(op, Comparator.NE)


def _need(atom: Atom, wanted: bool) -> str:
    test = atom.test
    which = (
        "" if atom.quantifier is None else "some element " if (atom.quantifier == "any") == wanted else "every element "
    )
    if isinstance(test, Comparison) and isinstance(test.right, Literal):
        op = test.op if wanted else OPPOSITE.get(test.op, Comparator.NE)
        if op is not None:
            return f"{which}{op.value} {_constant(test.right)}"
    if isinstance(test, IsNull):
        return f"{which}{'to be missing' if wanted else 'to be there'}"
    return f"{which}{'' if wanted else 'not '}{_PHRASES[type(test)](test)}"


def _constant(literal: Any) -> str:
    value = literal.value if isinstance(literal, Literal) else literal
    return shown(value)


def _range_phrase(test: Range) -> str:
    if test.low_closed and test.high_closed:
        return f"between {_constant(test.low)} and {_constant(test.high)}"
    opening, closing = "[" if test.low_closed else "(", "]" if test.high_closed else ")"
    return f"in {opening}{_constant(test.low)} .. {_constant(test.high)}{closing}"


def _in_phrase(test: In) -> str:
    more = f", … ({len(test.items)} in all)" if len(test.items) > 6 else ""
    return f"one of {', '.join(_constant(item) for item in test.items[:6])}{more}"


def _text_phrase(test: TextTest) -> str:
    return f"{test.kind} {_constant(test.pattern)}{' in any case' if test.ignore_case else ''}"


_PHRASES: dict[type, Callable[[Any], str]] = {
    Range: _range_phrase,
    In: _in_phrase,
    TextTest: _text_phrase,
    InNetwork: lambda test: f"in {' or '.join(test.networks[:6])}",
    Within: lambda test: "inside the region",
    Near: lambda test: f"within {_radius(test.metres)} of point({test.centre.x:g}, {test.centre.y:g})",
}

# ---------------------------------------------------------------- by how much it was missed


def _missed(atom: Atom, value: Any, wanted: bool) -> Miss | None:
    test = atom.test
    if isinstance(test, Comparison) and _directed(test.op, wanted) is Comparator.NE:
        return None  # any other value would have done
    if isinstance(test, In) and not wanted:
        return None
    if atom.quantifier is None:
        return _distance(atom.test, value)
    elements = [each for each in value if each is not None and tested(atom.test, each) is not wanted]
    misses = [_distance(atom.test, each) for each in elements]
    measured = [each for each in misses if each is not None]
    if not measured or len(measured) < len(misses):
        return None
    # If some element must hold, the nearest one counts; if all must, the farthest.
    return (min if (atom.quantifier == "any") == wanted else max)(measured, key=lambda each: each.share)


def _distance(test: Test, value: Any) -> Miss | None:
    """The distance of a value from the nearest end of the test's set, on either side."""
    if isinstance(test, Comparison):
        return _nearest(value, [test.right])
    if isinstance(test, Range):
        return _nearest(value, [test.low, test.high])
    if isinstance(test, In):
        return _nearest(value, test.items)
    if isinstance(test, Near):
        away = distance(value, (test.centre.x, test.centre.y)) - test.metres
        return Miss(_length(abs(away)), abs(away) / max(test.metres, 1.0))
    return None


def _nearest(value: Any, literals: Sequence[Any]) -> Miss | None:
    constants = [each.value for each in literals if isinstance(each, Literal)]
    misses = [_between(value, each) for each in constants if each is not None]
    measured = [each for each in misses if each is not None]
    return min(measured, key=lambda each: each.share) if measured else None


def _between(value: Any, other: Any) -> Miss | None:
    """The distance between two values."""
    if isinstance(value, bool) or isinstance(other, bool):
        return None
    if isinstance(value, int | float) and isinstance(other, int | float):
        return _apart(value, other)
    if isinstance(value, dt.date) and isinstance(other, dt.date):
        seconds = abs((_moment(value) - _moment(other)).total_seconds())
        return Miss(_duration(seconds), seconds / 86_400)
    return None


def _apart(value: float, other: float) -> Miss | None:
    try:
        gap = _gap(value, other)
        largest = max(abs(float(value)), abs(float(other)))
    except OverflowError:  # an integer beyond every float
        return None
    if not math.isfinite(gap):
        return None
    # 125.3 - 120 is 5.299999999999997 in binary: show the decimal result.
    words = str(gap) if isinstance(gap, int) else repr(float(f"{gap:.12g}"))
    return Miss(words, gap / largest if largest else 0.0)


def _gap(value: float, other: float) -> float:
    """The difference; an integer is not rounded to a float: it may be 1 from a float where floats are 256 apart."""
    whole = all(isinstance(each, int) or (each.is_integer() and abs(each) > DENSE) for each in (value, other))
    return abs(int(value) - int(other)) if whole else abs(value - other)


def _moment(value: dt.date) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
