"""Signatures of webhooks by Standard Webhooks, so that subscribers know the sender."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

from vedette.errors import InputError

PREFIX: Final = "whsec_"
_LEAST, _MOST = 24, 64  # bytes


def new_secret() -> str:
    """A new secret for one webhook."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def check_secret(text: str) -> str:
    """A secret given by a subscriber; InputError if it is not valid."""
    try:
        size = len(base64.b64decode(text.removeprefix(PREFIX), validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if not text.startswith(PREFIX) or not _LEAST <= size <= _MOST:
        raise InputError(
            f"the secret of a webhook is {PREFIX} and {_LEAST} to {_MOST} bytes in base64\n"
            "Hint: leave it out, and the service makes one"
        )
    return text


def signed(secret: str, id_: str, seconds: int, body: bytes) -> dict[str, str]:
    """The headers that sign a body: id, time and signature."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    content = b".".join((id_.encode(), str(seconds).encode(), body))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"webhook-id": id_, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{signature}"}
