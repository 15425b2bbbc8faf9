"""Reads networks of addresses; those of IPv4 quickly, since blocklists have many thousands of them in one filter."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from vedette.schema.keys import ip_key

_OCTET: Final = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4: Final = re.compile(rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}/(3[0-2]|[12]?\d)", re.ASCII)
_ALL: Final = 0xFFFF_FFFF
_MAPPED: Final = int.from_bytes(ip_key(ipaddress.IPv4Address(0)))  # keys of IPv4 addresses begin there


def canonical_network(text: str) -> str:
    """A network in canonical notation, without bits after its prefix; ValueError for what is none."""
    return text if _ipv4(text) is not None else str(ipaddress.ip_network(text, strict=False))


def network_keys(text: str) -> tuple[bytes, bytes]:
    """The keys of the first and the last address of a network; ValueError for what is none."""
    if (found := _ipv4(text)) is not None:
        first, last = found
        return (_MAPPED + first).to_bytes(16), (_MAPPED + last).to_bytes(16)
    network = ipaddress.ip_network(text)
    return ip_key(network[0]), ip_key(network[-1])


def _ipv4(text: str) -> tuple[int, int] | None:
    """The first and the last address of an IPv4 network in canonical notation; None for all other texts."""
    found = _IPV4.fullmatch(text)
    if found is None:
        return None
    a, b, c, d, bits = map(int, found.groups())
    first, hosts = a << 24 | b << 16 | c << 8 | d, _ALL >> bits
    return None if first & hosts else (first, first | hosts)
