"""Does a leaf pass a test?"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from vedette.language.documents.cases import ignoring_case
from vedette.language.documents.nodes import (
    AnythingBut,
    Constant,
    Equal,
    Exists,
    InNetwork,
    LeafTest,
    Numeric,
    SameAddress,
    TextTest,
    Wildcard,
)
from vedette.schema.keys import ip_key, read_ip
from vedette.schema.readings import json_leaf, number_of

Holds: TypeAlias = Callable[[Any], bool]
_IPV4: Final = ipaddress.IPv6Network("::ffff:0:0/96")  # where Vedette has the addresses of IPv4


@functools.lru_cache(maxsize=65536)
def holds(test: LeafTest) -> Holds:
    """The test as a function of a leaf."""
    if isinstance(test, Equal):
        text = test.text
        return lambda leaf: isinstance(leaf, str) and leaf == text
    if isinstance(test, Constant):
        json = test.json
        return lambda leaf: not isinstance(leaf, str) and json_leaf(leaf) == json
    if isinstance(test, TextTest | Wildcard):
        passes = _of_strings(test)
        return lambda leaf: isinstance(leaf, str) and passes(leaf)
    if isinstance(test, Numeric):
        return _numeric(test)
    if isinstance(test, InNetwork | SameAddress):
        return _network(networks_of(test))
    if isinstance(test, AnythingBut):
        excluded = tuple(map(holds, test.excluded))
        return lambda leaf: not any(one(leaf) for one in excluded)
    if isinstance(test, Exists):
        return lambda leaf: True
    raise TypeError(f"no test: {test!r}")


def networks_of(test: InNetwork | SameAddress) -> tuple[str, ...]:
    """The networks that make up one of AWS's, where IPv4 addresses are in none of IPv6."""
    if isinstance(test, SameAddress):
        return (str(ipaddress.ip_network(read_ip(test.address))),)
    network = ipaddress.ip_network(test.network)
    if not isinstance(network, ipaddress.IPv6Network) or not network.overlaps(_IPV4):
        return (test.network,)
    return tuple(map(str, sorted(network.address_exclude(_IPV4))))


def _of_strings(test: TextTest | Wildcard) -> Callable[[str], bool]:
    if isinstance(test, Wildcard):
        return functools.partial(_pieces_in, test.pieces)
    text = test.text
    if test.ignore_case:
        return ignoring_case(test.kind, text)
    return (lambda leaf: leaf.startswith(text)) if test.kind == "prefix" else (lambda leaf: leaf.endswith(text))


def _pieces_in(pieces: tuple[str, ...], text: str) -> bool:
    """The first piece at the beginning, the last at the end, the others between them, each as early as can be."""
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


def _numeric(test: Numeric) -> Holds:
    low, high, low_closed, high_closed = test.low, test.high, test.low_closed, test.high_closed

    def passes(leaf: Any) -> bool:
        value = number_of(leaf)
        if value is None:
            return False
        if low is not None and not (value >= low if low_closed else value > low):
            return False
        return high is None or (value <= high if high_closed else value < high)

    return passes


def _network(texts: tuple[str, ...]) -> Holds:
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
