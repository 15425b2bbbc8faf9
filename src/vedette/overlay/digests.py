"""Digests by which two brokers find where their subscriptions differ, without sending them all.

Keys are spread over parts by their hashes, and a part's digest is the XOR of the hashes in it: the order does not
matter, and parts with equal digests need no further messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from vedette.overlay.messages import SubscriptionKey

PARTS = 256
BITS = 64  # of a part's digest


def digest(keys: Iterable[SubscriptionKey]) -> tuple[int, ...]:
    """The digests of all parts."""
    parts = [0] * PARTS
    for key in keys:
        hashed = _hashed(key)
        parts[hashed % PARTS] ^= hashed
    return tuple(parts)


def part(key: SubscriptionKey) -> int:
    """The part of a key."""
    return _hashed(key) % PARTS


def differing(mine: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[int, ...]:
    """The parts with different digests."""
    return tuple(number for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])


def _hashed(key: SubscriptionKey) -> int:
    # Lengths precede the names, so that different keys have different encodings.
    written = f"{len(key.origin)} {len(key.id)} {key.origin}{key.id}{key.version}".encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=BITS // 8).digest(), "little")
