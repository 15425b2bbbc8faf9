"""Tickets of subscriptions (Liu 2007, §5.1) and keys of tenants: whoever holds one may act.

Both are 256 random bits. Only a hash is kept: whoever reads the database cannot act for anybody. A fast hash is enough
for what nobody can guess, and comparing takes the same time whatever is wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final, NamedTuple

_BYTES: Final = 32
TICKET, KEY = "vt_", "vk_"  # so that people, and scanners for secrets, see what they have


class Secret(NamedTuple):
    """A secret for its holder, shown once, and the hash that is kept."""

    text: str
    hash: str

    def __repr__(self) -> str:  # a log must not have it
        return f"Secret(hash={self.hash!r})"


def new(prefix: str) -> Secret:
    """A new random secret."""
    text = prefix + secrets.token_urlsafe(_BYTES)
    return Secret(text, hashed(text))


def hashed(text: str) -> str:
    """The hash that is kept of a secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def holds(text: str | None, kept: str) -> bool:
    """Whether a text is the secret of this hash."""
    return hmac.compare_digest(hashed(text or ""), kept)
