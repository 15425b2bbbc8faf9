"""Who may renew, replace or cancel? Whoever holds the ticket (Liu 2007, §5.1). Who is a tenant? Whoever holds a key.

Both are 256 random bits. What is kept is a hash: whoever reads the database cannot act for anybody. A fast hash is
enough for what nobody can guess, and comparing takes the same time whatever is wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final, NamedTuple

_BYTES: Final = 32
TICKET, KEY = "vt_", "vk_"  # so that people, and scanners for secrets, see what they have


class Secret(NamedTuple):
    """What the holder gets, once, and what is kept of it."""

    text: str
    hash: str

    def __repr__(self) -> str:  # a log must not have it
        return f"Secret(hash={self.hash!r})"


def new(prefix: str) -> Secret:
    """A secret that was never there before."""
    text = prefix + secrets.token_urlsafe(_BYTES)
    return Secret(text, hashed(text))


def hashed(text: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def holds(text: str | None, kept: str) -> bool:
    """Whether a text is the secret of which this hash was kept."""
    return hmac.compare_digest(hashed(text or ""), kept)
