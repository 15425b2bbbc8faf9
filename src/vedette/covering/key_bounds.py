"""Normalise bounds of texts and addresses to keys that a value can have.

A bound of a filter may lie between two values: behind all texts that begin with `aÿ` there are bytes with which no
text begins, and behind an address there is a key of 17 bytes. Boxes whose bounds admit the same values have
to be equal, so every bound becomes the first real key that is not below it.
"""

from __future__ import annotations

from bisect import bisect_left

from vedette.schema.keys import LOWEST
from vedette.schema.types import Kind

_ADDRESS = 16  # bytes
_SURROGATES = 0xD800, 0x800  # code points that are no characters: the first of them, and how many
_CHARACTERS = range(0x110000 - _SURROGATES[1])


def real_key(kind: Kind, key: bytes) -> bytes | None:
    """The first key of a value that is not below this one; empty if it is the lowest of all, None if there is none."""
    found = _address(key) if kind is Kind.IP else _text(key)
    return b"" if found == LOWEST[kind] else found


def _address(key: bytes) -> bytes | None:
    if len(key) <= _ADDRESS:
        return key.ljust(_ADDRESS, b"\0")
    following = int.from_bytes(key[:_ADDRESS]) + 1
    return None if following >> (8 * _ADDRESS) else following.to_bytes(_ADDRESS)


def _text(key: bytes) -> bytes | None:
    try:
        key.decode()
    except UnicodeDecodeError as wrong:
        before, rest = key[: wrong.start].decode(), key[wrong.start :]
    else:
        return key
    # The order of UTF-8 is that of the code points.
    place = bisect_left(_CHARACTERS, rest, key=lambda number: _character(number).encode())
    if place < len(_CHARACTERS):
        return (before + _character(place)).encode()
    return _after(before)


def _after(text: str) -> bytes | None:
    """The first text after all with this prefix."""
    while text:
        following = _number(text[-1]) + 1
        text = text[:-1]
        if following < len(_CHARACTERS):
            return (text + _character(following)).encode()
    return None


def _character(number: int) -> str:
    first, count = _SURROGATES
    return chr(number if number < first else number + count)


def _number(character: str) -> int:
    first, count = _SURROGATES
    return ord(character) if ord(character) < first else ord(character) - count
