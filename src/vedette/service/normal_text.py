"""The normal form of a filter as text in Vedette's language, for people; equal sets give equal texts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from vedette.covering.witness import value_of
from vedette.language.normalform import Conjunction, ElementProbe, NormalForm, Probe, ValueProbe
from vedette.language.render import constant, string
from vedette.language.valuesets import AnyKey, Interval, ValueSet, single
from vedette.schema.columns import Column
from vedette.schema.keys import LOWEST, among_integers
from vedette.schema.types import Kind, Type

_MOST: Final = 50  # conjunctions that are written out
_TYPED: Final = {Kind.TIMESTAMP: "timestamp", Kind.DATE: "date", Kind.IP: "ip"}
_COMPARED: Final = ("<", "=", ">")


def lines(form: NormalForm) -> list[str]:
    """One line for each conjunction, of which one must hold; then those that must not (`unless`)."""
    said = [_conjunction(each) for each in form.conjunctions[:_MOST]]
    said += [f"unless {_conjunction(each)}" for each in form.vetoes[:_MOST]]
    more = max(0, len(form.conjunctions) - _MOST) + max(0, len(form.vetoes) - _MOST)
    return [*said, *([f"… and {more:,} more"] if more else [])] or ["false"]


def _conjunction(one: Conjunction) -> str:
    parts = [_values(column, values) for column, values in one.values]
    parts += [_probe(column, probe) for column, probe in one.probes]
    return " and ".join(parts) or "true"


def _values(column: Column, values: ValueSet[Any]) -> str:
    name = column.name if column.other is None else f"{column.name} ? {column.other}"
    if values.is_all_values:
        return f"{name} is not null" if not values.null else "true"
    said = list(_ranges(name, column.type, values.intervals))
    if column.type.kind is Kind.BOOL:
        said = [f"{name} = {constant(each)}" for each in (False, True) if values.contains(int(each))]
    if column.other is not None and column.reading is None:
        signs = [_COMPARED[key] for key in range(3) if values.contains(key)]
        said = [f"{column.path} {' or '.join(signs)} {column.other}"] if signs else []
    if values.null:
        said.append(f"{name} is null")
    return said[0] if len(said) == 1 else f"({' or '.join(said)})"


def _ranges(name: str, type_: Type, intervals: tuple[Interval[Any], ...]) -> Iterator[str]:
    holes = [Interval(one.high, other.low) for one, other in pairwise(intervals)]
    if holes and intervals[0].low is None and intervals[-1].high is None:
        points = [single(type_.kind, each) for each in holes]
        if None not in points:
            yield _listed(name, [_key(type_, point) for point in points], "!=", "not in")
            return
    points = [point for each in intervals if (point := single(type_.kind, each)) is not None]
    if points:
        yield _listed(name, [_key(type_, point) for point in points], "=", "in")
    for each in intervals:
        if single(type_.kind, each) is not None:
            continue
        if type_.kind is Kind.IP:
            yield _addresses(name, each)
        else:
            ends = [*_bound(type_, each.low, ">=", ">"), *_bound(type_, each.high, "<", "<=")]
            yield " and ".join(f"{name} {end}" for end in ends)


def _listed(name: str, items: list[str], one: str, several: str) -> str:
    return f"{name} {one} {items[0]}" if len(items) == 1 else f"{name} {several} ({', '.join(items)})"


def _bound(type_: Type, key: AnyKey | None, here: str, beside: str) -> Iterator[str]:
    """A bound as it is, or by the key below it, whichever is shorter: `> 120`, not `>= 120.00000000000001`."""
    if key is None or key == LOWEST.get(type_.kind):
        return
    said = f"{here} {_key(type_, key)}"
    below = None if type_.kind is Kind.FLOAT and not isinstance(key, bytes) and among_integers(key) else _below(key)
    if below is not None:
        said = min(said, f"{beside} {_key(type_, below)}", key=len)
    yield said


def _below(key: AnyKey) -> AnyKey | None:
    if isinstance(key, bytes):
        return key[:-1] if key.endswith(b"\0") else None
    return key - 1


def _addresses(name: str, interval: Interval[Any]) -> str:
    """A range of addresses as a network, if it is one, or by its first and last address."""
    first = 0 if interval.low is None else _address_from(interval.low)
    last = (1 << 128) - 1 if interval.high is None else _address_from(interval.high) - 1
    low, high = ipaddress.IPv6Address(first), ipaddress.IPv6Address(last)
    low4, high4 = low.ipv4_mapped, high.ipv4_mapped
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = (
        [*ipaddress.summarize_address_range(low4, high4)]
        if low4 is not None and high4 is not None
        else [*ipaddress.summarize_address_range(low, high)]
    )
    if len(networks) == 1:
        return f"{name} in cidr {string(str(networks[0]))}"
    said = [f">= ip '{low4 or low}'"] if first else []
    said += [f"<= ip '{high4 or high}'"] if last < (1 << 128) - 1 else []
    return " and ".join(f"{name} {end}" for end in said)


def _address_from(key: bytes) -> int:
    """The first address at or above a key, which may lie between two addresses (17 bytes)."""
    return int.from_bytes(key[:16]) + (len(key) > 16)


def _key(type_: Type, key: Any) -> str:
    if type_.kind is Kind.STRING:
        return string(key.decode(errors="replace"))  # ends of ranges may lie between two texts
    value = value_of(type_, key)
    if type_.kind in _TYPED and isinstance(value, str):
        return f"{_TYPED[type_.kind]} {string(value)}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return constant(value)


def _probe(column: Column, probe: Probe) -> str:
    said = sorted(_test(column, test) for test in probe.tests)
    joined = said[0] if len(said) == 1 else f"({' or '.join(said)})"
    return joined if probe.positive else f"not {joined if len(said) > 1 else f'({joined})'}"


def _test(column: Column, test: Any) -> str:
    match test:
        case ValueProbe():
            return f"{column.name} {test.phrase()}"
        case ElementProbe():
            inner = Column(f"{test.quantifier}({column.name})", column.type.element)
            if isinstance(test.test, ValueSet):
                return _values(inner, test.test)
            return _test(inner, test.test)
        case _:
            return column.name
