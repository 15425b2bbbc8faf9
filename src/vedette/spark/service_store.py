"""The subscriptions of one tenant and stream of the service (`vedette serve`), as a store."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from typing import Any

import orjson

from vedette.errors import FileError, Refused
from vedette.io.subscription_rows import SourceLine, SubscriptionRows

_PAGE = 1_000  # the most that the service gives at once
_SAID = ("id", "subscriber", "when", "origin", "predict")


class ServiceStore:
    """A stream of a service, by its address. The service itself ends subscriptions that have expired."""

    def __init__(self, url: str, *, key: str | None, stream: str = "default") -> None:
        self._url, self._key, self._stream = url, key, stream

    @property
    def name(self) -> str:
        """The stream and its service."""
        return f"stream {self._stream} of {self._url}"

    def stamp(self) -> None:
        """None: only reading the subscriptions shows changes."""

    def digest(self) -> str:
        """A hash of the subscriptions; renewing does not change it."""
        found = hashlib.sha256()
        for record in self._read():
            found.update(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS))
        return found.hexdigest()

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions, a page at a time, in the order of registration."""
        placed: Iterator[SourceLine] = ((number, record, None) for number, record in enumerate(self._read(), 1))
        return SubscriptionRows(self.name, placed, now)

    def _read(self) -> Iterator[dict[str, Any]]:
        from vedette.client import Client

        try:
            with Client(self._url, self._key) as client:
                after: int | None = 0
                while after is not None:
                    page = client.subscriptions(after=after, limit=_PAGE)
                    for one in page["subscriptions"]:
                        # Wants meet offers, not events; and rules are translated already.
                        if one["stream"] == self._stream and one["kind"] != "want":
                            yield {name: one[name] for name in _SAID if one[name] is not None}
                    after = page["next"]
        except Refused as error:
            told, _, hint = str(error).partition("\nHint: ")
            raise FileError(
                f"cannot read the subscriptions of {self.name}: {told}\n"
                f"Hint: {hint or 'check the address and the key, and that the service runs'}"
            ) from None
