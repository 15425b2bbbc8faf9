"""Tests single leaves of a JSON value."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from vedette.language.documents.nodes import (
    LeafAddress,
    LeafAnythingBut,
    LeafConstant,
    LeafEquals,
    LeafExists,
    LeafInNetwork,
    LeafRange,
    LeafTest,
    LeafTextTest,
    LeafWildcard,
)
from vedette.language.documents.text_case import ignoring_case
from vedette.schema.keys import ip_key, read_ip
from vedette.schema.readings import json_leaf, number_of

LeafPredicate: TypeAlias = Callable[[Any], bool]
_IPV4: Final = ipaddress.IPv6Network("::ffff:0:0/96")  # where Vedette maps IPv4 addresses


@functools.lru_cache(maxsize=65536)
def holds(test: LeafTest) -> LeafPredicate:
    """The test as a function of a leaf."""
    if isinstance(test, LeafEquals):
        text = test.text
        return lambda leaf: isinstance(leaf, str) and leaf == text
    if isinstance(test, LeafConstant):
        json = test.json
        return lambda leaf: not isinstance(leaf, str) and json_leaf(leaf) == json
    if isinstance(test, LeafTextTest | LeafWildcard):
        passes = _of_strings(test)
        return lambda leaf: isinstance(leaf, str) and passes(leaf)
    if isinstance(test, LeafRange):
        return _numeric(test)
    if isinstance(test, LeafInNetwork | LeafAddress):
        return _network(networks_of(test))
    if isinstance(test, LeafAnythingBut):
        excluded = tuple(map(holds, test.excluded))
        return lambda leaf: not any(one(leaf) for one in excluded)
    if isinstance(test, LeafExists):
        return lambda leaf: True
    raise TypeError(f"no test: {test!r}")


def networks_of(test: LeafInNetwork | LeafAddress) -> tuple[str, ...]:
    """The networks equivalent to one of AWS's, where no IPv4 address is in an IPv6 network."""
    if isinstance(test, LeafAddress):
        return (str(ipaddress.ip_network(read_ip(test.address))),)
    network = ipaddress.ip_network(test.network)
    if not isinstance(network, ipaddress.IPv6Network) or not network.overlaps(_IPV4):
        return (test.network,)
    return tuple(map(str, sorted(network.address_exclude(_IPV4))))


def _of_strings(test: LeafTextTest | LeafWildcard) -> Callable[[str], bool]:
    if isinstance(test, LeafWildcard):
        return functools.partial(_pieces_in, test.pieces)
    text = test.text
    if test.ignore_case:
        return ignoring_case(test.kind, text)
    return (lambda leaf: leaf.startswith(text)) if test.kind == "prefix" else (lambda leaf: leaf.endswith(text))


def _pieces_in(pieces: tuple[str, ...], text: str) -> bool:
    """Whether the text has the first piece at its start, the last at its end, and the others in order in between."""
    first, *middle = pieces
    if not middle:
        return text == first
    last = middle.pop()
    end = len(text) - len(last)
    if len(first) > end or not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _numeric(test: LeafRange) -> LeafPredicate:
    low, high, low_closed, high_closed = test.low, test.high, test.low_closed, test.high_closed

    def passes(leaf: Any) -> bool:
        value = number_of(leaf)
        if value is None:
            return False
        if low is not None and not (value >= low if low_closed else value > low):
            return False
        return high is None or (value <= high if high_closed else value < high)

    return passes


def _network(texts: tuple[str, ...]) -> LeafPredicate:
    networks = map(ipaddress.ip_network, texts)
    ends = [(ip_key(network[0]), ip_key(network[-1])) for network in networks]

    def passes(leaf: Any) -> bool:
        if not isinstance(leaf, str):
            return False
        try:
            address = ip_key(read_ip(leaf))
        except ValueError:
            return False
        return any(first <= address <= last for first, last in ends)

    return passes
