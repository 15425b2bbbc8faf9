"""Computes the set of values for which one test is true, or for which it is false.

In three-valued logic the two are not complements: null is mostly in neither, and `x in (1, null)` is never false.
A test whose values are not intervals becomes a probe. A list can be tested in two ways: that some element is in a
set of values, or that every element is; `all(x) > 5` is "no element is outside of `> 5`", so that tests of every
element merge as those of some do.
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable
from typing import Any, TypeAlias

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
    TextTest,
    Within,
)
from vedette.language.checked_tree import Atom
from vedette.language.likes import LikeWildcard, pattern_of, pieces
from vedette.language.normalform import Elementary, ElementProbe, NearProbe, Probe, RegionProbe, TextProbe
from vedette.language.valuesets import (
    NOTHING,
    NULL,
    PRESENT,
    Interval,
    ValueSet,
    complement,
    of_intervals,
    union,
    union_all,
)
from vedette.schema.keys import LOWEST, above, at_least, ip_key
from vedette.schema.types import Kind

Values: TypeAlias = ValueSet[Any]
_Simple: TypeAlias = TextProbe | RegionProbe | NearProbe


def truth_set(atom: Atom, positive: bool) -> Values | Probe:
    """The values of the atom's column that make it true (`positive`) or false."""
    test = atom.test
    values: Values
    make_set = _SETS.get(type(test))
    if make_set is not None:
        values = make_set(test, atom.column.type.kind, positive)
        if type(test) is InNetwork and not positive and atom.of_leaves:
            values = union(values, NULL)  # a leaf that is no address is in no network
    else:
        found = _as_simple(test)
        if not isinstance(found, ValueSet):
            whole = found if atom.quantifier is None else ElementProbe(atom.quantifier, found)
            return Probe(frozenset((whole,)), positive)
        unknown = isinstance(test, TextTest) and test.pattern.value is None
        values = found if positive or unknown else complement(found)
    if atom.quantifier is None:
        return values
    return _some(values) if (atom.quantifier == "any") == positive else _every(values)


def _some(values: Values) -> Values | Probe:
    """The test that some element is one of the values."""
    return NOTHING if values.is_empty else Probe(frozenset((ElementProbe("any", values),)))


def _every(values: Values) -> Values | Probe:
    """The test that every element is one of the values."""
    if values.null or values.is_all_values:
        return PRESENT if values.is_everything else Probe(frozenset((ElementProbe("all", values),)))
    return Probe(frozenset((ElementProbe("any", complement(values)),)), positive=False)


# ---------------------------------------------------------------- sets of values


def _from(kind: Kind, low: Any) -> Values:
    if low is None:
        return NOTHING
    return PRESENT if low == LOWEST[kind] else ValueSet((Interval(low, None),))


def _to(kind: Kind, high: Any) -> Values:
    if high is None:
        return PRESENT
    return NOTHING if high <= LOWEST[kind] else ValueSet((Interval(None, high),))


def _span(kind: Kind, low: Any, high: Any) -> Values:
    if low is None or (high is not None and low >= high):
        return NOTHING
    return ValueSet((Interval(None if low == LOWEST[kind] else low, high),))


def _equal(kind: Kind, value: Any) -> Values:
    return _span(kind, at_least(kind, value), above(kind, value))


_COMPARISONS: dict[Comparator, Callable[[Kind, Any], Values]] = {
    Comparator.EQ: _equal,
    Comparator.NE: lambda kind, value: complement(_equal(kind, value)),
    Comparator.LT: lambda kind, value: _to(kind, at_least(kind, value)),
    Comparator.LE: lambda kind, value: _to(kind, above(kind, value)),
    Comparator.GT: lambda kind, value: _from(kind, above(kind, value)),
    Comparator.GE: lambda kind, value: _from(kind, at_least(kind, value)),
}


def _constant(operand: object) -> Any:
    if not isinstance(operand, Literal):
        raise TypeError(f"not a constant: {operand}")
    return operand.value


def _comparison(test: Comparison, kind: Kind, positive: bool) -> Values:
    value = _constant(test.right)
    if test.op is Comparator.SAME:
        same = NULL if value is None else _equal(kind, value)
        if positive:
            return same
        return PRESENT if value is None else union(complement(same), NULL)
    if value is None:
        return NOTHING
    return _COMPARISONS[test.op if positive else OPPOSITE[test.op]](kind, value)


def _range(test: Range, kind: Kind, positive: bool) -> Values:
    low, high = _constant(test.low), _constant(test.high)
    if low is None or high is None:
        if positive:
            return NOTHING
        # It is false where the known end makes it false.
        if low is not None:
            return _to(kind, at_least(kind, low) if test.low_closed else above(kind, low))
        if high is not None:
            return _from(kind, above(kind, high) if test.high_closed else at_least(kind, high))
        return NOTHING
    start = at_least(kind, low) if test.low_closed else above(kind, low)
    stop = above(kind, high) if test.high_closed else at_least(kind, high)
    inside = _span(kind, start, stop)
    return inside if positive else complement(inside)


def _in(test: In, kind: Kind, positive: bool) -> Values:
    constants = [item.value for item in test.items if item.value is not None]
    if not positive and len(constants) < len(test.items):
        return NOTHING
    lowest = LOWEST[kind]
    bounds = []
    for value in constants:
        low = at_least(kind, value)
        if low is not None:
            bounds.append((None if low == lowest else low, above(kind, value)))
    found: Values = of_intervals(bounds)
    return found if positive else complement(found)


def _is_null(test: IsNull, kind: Kind, positive: bool) -> Values:
    return NULL if positive else PRESENT


def _in_network(test: InNetwork, kind: Kind, positive: bool) -> Values:
    inside: Values = of_intervals([_network(text) for text in test.networks])
    return inside if positive else complement(inside)


@functools.lru_cache(maxsize=4096)
def _network(text: str) -> tuple[bytes | None, bytes | None]:
    network = ipaddress.ip_network(text)
    low, last = ip_key(network[0]), ip_key(network[-1])
    if low == last:
        return low, above(Kind.IP, network[-1])
    following = int.from_bytes(last) + 1
    return (low if low != LOWEST[Kind.IP] else None), (None if following >> 128 else following.to_bytes(16))


_SETS: dict[type, Callable[[Any, Kind, bool], Values]] = {
    Comparison: _comparison,
    Range: _range,
    In: _in,
    IsNull: _is_null,
    InNetwork: _in_network,
}

# ---------------------------------------------------------------- probes


def _as_simple(test: object) -> Values | _Simple:
    """The test as a set of values if it is one, else as a test of its own."""
    if isinstance(test, TextTest):
        return NOTHING if test.pattern.value is None else _as_text(test)
    if isinstance(test, Within):
        return RegionProbe(test.region)
    if isinstance(test, Near):
        return NearProbe(test.centre, test.metres)
    raise TypeError(f"not a test: {test}")


def _as_text(test: TextTest) -> Values | TextProbe:
    """The test as a set of texts if it is one, else in its simplest form."""
    pattern = str(test.pattern.value)
    kind, ignore_case = test.kind, test.ignore_case
    if kind == "fits":
        return TextProbe("fits", pattern)
    if kind == "matches":
        return TextProbe("matches", f"(?i){pattern}" if ignore_case else pattern)
    found: TextProbe
    if kind == "like":
        found = _like(pattern, test.escape, ignore_case)
    else:
        found = TextProbe(kind, pattern.lower() if ignore_case else pattern, ignore_case)
    if found.kind != "like" and not found.pattern:
        return PRESENT
    if not ignore_case:
        if found.kind == "startswith":
            return prefixed(found.pattern)
        if found.kind == "like":
            parts = pieces(found.pattern)
            if all(isinstance(part, str) for part in parts):
                return _equal(Kind.STRING, "".join(map(str, parts)))
    return found


def _like(pattern: str, escape: str, ignore_case: bool) -> TextProbe:
    parts = [part.lower() if ignore_case and isinstance(part, str) else part for part in pieces(pattern, escape)]
    match parts:
        case [LikeWildcard.ANY]:
            return TextProbe("contains", "", ignore_case)
        case [str(text), LikeWildcard.ANY]:
            return TextProbe("startswith", text, ignore_case)
        case [LikeWildcard.ANY, str(text)]:
            return TextProbe("endswith", text, ignore_case)
        case [LikeWildcard.ANY, str(text), LikeWildcard.ANY]:
            return TextProbe("contains", text, ignore_case)
    return TextProbe("like", pattern_of(parts), ignore_case)


def prefixed(prefix: str) -> Values:
    """All texts that begin with this one (which is not empty)."""
    low = prefix.encode()
    return ValueSet((Interval(low, after_prefix(low)),))


def after_prefix(prefix: bytes) -> bytes:
    """The first key after all that begin with the prefix: no byte of UTF-8 is 0xff."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))


def merged_tests(tests: frozenset[Elementary]) -> frozenset[Elementary]:
    """The same alternatives, with the value sets of all `any` tests merged into one."""
    several: list[tuple[Elementary, Values]] = [
        (test, test.test)
        for test in tests
        if isinstance(test, ElementProbe) and test.quantifier == "any" and isinstance(test.test, ValueSet)
    ]
    if len(several) < 2:
        return tests
    values = union_all(values for _, values in several)
    return (tests - {test for test, _ in several}) | {ElementProbe("any", values)}
