"""How do two brokers find out where they differ, without telling all they have?

Keys are spread over parts by their hashes, and a part's digest is the XOR of the hashes in it: the order does not
matter, and where two digests of a part agree nothing more has to be said about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from vedette.overlay.messages import Key

PARTS = 256
BITS = 64  # of a part's digest


def digest(keys: Iterable[Key]) -> tuple[int, ...]:
    """The digests of all parts."""
    parts = [0] * PARTS
    for key in keys:
        hashed = _hashed(key)
        parts[hashed % PARTS] ^= hashed
    return tuple(parts)


def part(key: Key) -> int:
    """The part that a key belongs to."""
    return _hashed(key) % PARTS


def differing(mine: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[int, ...]:
    """The parts whose digests are not the same."""
    return tuple(number for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])


def _hashed(key: Key) -> int:
    # Lengths stand before the names, so that no two keys are written alike.
    written = f"{len(key.origin)} {len(key.id)} {key.origin}{key.id}{key.version}".encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=BITS // 8).digest(), "little")
