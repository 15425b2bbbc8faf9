"""Result of one request to a subscriber, in classes of reasons that its owner may read.

Subscribers choose where requests go. If they could read whether a connection was refused, timed out or was reset, the
service would scan ports for them; if they could read which names are known, it would list a private network. So they
read one of these classes, or the status that an HTTP server sent. Details go to the log of whoever runs the service.
"""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

BLOCKED: Final = "blocked"  # the URL is none that the settings allow: follows from the URL alone, so that more is said
NO_ADDRESS: Final = "no address"  # its name is not known, or leads to an address that webhooks may not go to
UNREACHABLE: Final = "unreachable"  # nothing there that speaks HTTP and answers in time, whatever there is
CERTIFICATE: Final = "certificate"  # a server answered, with a certificate that does not hold for the name


class DeliveryResult(NamedTuple):
    """Result of one request."""

    status: int | None  # None: no answer
    reason: str  # for the owner of the subscription
    retry_after: float | None = None
    detail: str | None = None  # for the log alone

    @property
    def ok(self) -> bool:
        """Whether the subscriber accepted the notification."""
        return self.status is not None and 200 <= self.status < 300


def response_result(status: int, retry_after: float | None = None) -> DeliveryResult:
    """The result when an HTTP server answered."""
    return DeliveryResult(status, f"HTTP {status}", retry_after)


def failure_result(reason: str, error: BaseException) -> DeliveryResult:
    """The result when there was no answer; the text of the error goes to the log alone."""
    return DeliveryResult(None, reason, detail=f"{type(error).__name__}: {error}"[:500])


def no_answer(error: BaseException) -> DeliveryResult:
    """The result when a connection, or a request over it, failed."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return failure_result(CERTIFICATE, cause)
        cause = cause.__cause__ or cause.__context__
    return failure_result(UNREACHABLE, error)
