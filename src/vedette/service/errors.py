"""Errors of the service, beyond those of all of Vedette; each knows its HTTP status.

ServiceError
├── NotFound            there is none, or it is somebody else's: nobody can tell which
├── NotAllowed          no key, a wrong one, or a wrong ticket
├── Forbidden           a stream is there, and this right on it is not
├── Conflict            the id is taken, or what stands there is another version
├── TooLarge            a body, an event or a batch over its limit
├── OverLimit           more subscriptions, cost or requests than a tenant may have
├── ComputationStopped  what a request made the service compute took too long, or too much memory
├── StoreBusy           too much waits for the disk
├── NotMatching         events of the stream would not be matched: nothing was accepted
├── StoreFull           no room on the disk: nothing was acknowledged
└── StoreFailed         the database does not answer
    └── StoreDamaged    the database cannot be read: its pages are damaged
"""

from __future__ import annotations

from typing import ClassVar

from vedette.errors import VedetteError


class ServiceError(VedetteError):
    """An error that is reported to a client, with an HTTP status and a type that does not change."""

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class NotFound(ServiceError):
    """It does not exist, or belongs to another tenant."""

    status, kind = 404, "not-found"


class NotAllowed(ServiceError):
    """No key, a wrong one, or a wrong ticket."""

    status, kind = 401, "not-allowed"


class Forbidden(ServiceError):
    """The tenant has some right on the stream, but not this one."""

    status, kind = 403, "forbidden"


class Conflict(ServiceError):
    """The id is taken, or the registered one is another version."""

    status, kind = 409, "conflict"


class TooLarge(ServiceError):
    """A body, an event or a batch over its limit."""

    status, kind = 413, "too-large"


class OverLimit(ServiceError):
    """More than a tenant may have."""

    status, kind = 429, "over-limit"


class ComputationStopped(ServiceError):
    """A computation was stopped, as it took too long or too much memory."""

    status, kind = 503, "stopped"


class StoreBusy(ServiceError):
    """Too many writes wait for the disk."""

    status, kind = 503, "busy"


class NotMatching(ServiceError):
    """Events of the stream would not be matched, so none are accepted."""

    status, kind = 503, "not-matching"


class StoreFull(ServiceError):
    """No room on the disk."""

    status, kind = 507, "no-room"


class StoreFailed(ServiceError):
    """The database does not answer."""

    status, kind = 503, "no-database"


class StoreDamaged(StoreFailed):
    """The database cannot be read: its pages are damaged."""

    status, kind = 503, "damaged-database"
