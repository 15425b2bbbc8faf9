"""Encryption of the secrets of webhooks in the database, by keys from the environment.

Whoever reads a database, or a copy of one, could sign in the name of the service. With `VEDETTE_SECRETS_KEY` they read
what Fernet (AES-128-CBC with HMAC-SHA256, of the package `cryptography`) made of it. Several keys, separated by commas,
are for rotation: the first encrypts, all decrypt, and what an older one encrypted is encrypted anew at the next start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

from vedette.errors import InputError, NotInstalled

VARIABLE: Final = "VEDETTE_SECRETS_KEY"
SEALED: Final = "fernet:"
_MAKE: Final = "Hint: openssl rand -base64 32 makes one"


class Secrets:
    """Keys that encrypt and decrypt; without any, secrets are kept as plain text."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: list[Any] = [_fernet(key) for key in keys]

    @classmethod
    def from_environment(cls) -> Secrets:
        """The keys from the environment; the settings file cannot have them."""
        return cls(filter(None, (key.strip() for key in os.environ.get(VARIABLE, "").split(","))))

    def __bool__(self) -> bool:
        return bool(self._keys)

    def seal(self, secret: str) -> str:
        """The secret as it is stored; one that is encrypted already stays as it is."""
        if not self._keys or secret.startswith(SEALED):
            return secret
        return SEALED + str(self._keys[0].encrypt(secret.encode()).decode())

    def open(self, kept: str) -> str:
        """The secret, decrypted; InputError if none of the keys fits."""
        if not kept.startswith(SEALED):
            return kept
        found = next(filter(None, (_opened(key, kept) for key in self._keys)), None)
        if found is None:
            what = "none of the keys in" if self._keys else "there is no key in"
            raise InputError(
                f"the secrets of webhooks are encrypted, and {what} {VARIABLE} opens them\n"
                f"Hint: set {VARIABLE} to the key that was used; after a change of keys to new,old"
            )
        return found

    def renewed(self, kept: str) -> str:
        """The secret as the first of the keys stores it."""
        secret = self.open(kept)
        if kept.startswith(SEALED) and _opened(self._keys[0], kept) is not None:
            return kept
        return self.seal(secret)


def _fernet(key: str) -> Any:
    try:
        from cryptography.fernet import Fernet
    except ModuleNotFoundError:
        raise NotInstalled(
            f"{VARIABLE} is set, and what encrypts is not installed\n"
            'Hint: pip install "vedette[service]", which has the package cryptography'
        ) from None
    try:
        return Fernet(key.replace("+", "-").replace("/", "_").encode())
    except ValueError:
        raise InputError(f"{VARIABLE} is no key: 32 random bytes in base64\n{_MAKE}") from None


def _opened(key: Any, kept: str) -> str | None:
    from cryptography.fernet import InvalidToken

    try:
        return str(key.decrypt(kept.removeprefix(SEALED).encode()).decode())
    except InvalidToken:
        return None
