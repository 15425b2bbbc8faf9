"""What can go wrong in the service, beyond what goes wrong everywhere; each knows what HTTP calls it.

ServiceError
├── NotFound            there is none, or it is somebody else's: nobody can tell which
├── NotAllowed          no key, a wrong one, or a wrong ticket
├── Conflict            the id is taken, or what stands there is another version
├── TooLarge            a body, an event or a batch over its limit
├── OverLimit           more subscriptions, cost or requests than a tenant may have
├── StoreBusy           too much waits for the disk
├── StoreFull           no room on the disk: nothing was acknowledged
└── StoreFailed         the database does not answer
"""

from __future__ import annotations

from typing import ClassVar

from vedette.errors import VedetteError


class ServiceError(VedetteError):
    """Something that a client is told: a status of HTTP, and a type that does not change."""

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class NotFound(ServiceError):
    """There is none, or it is somebody else's."""

    status, kind = 404, "not-found"


class NotAllowed(ServiceError):
    """No key, a wrong one, or a wrong ticket."""

    status, kind = 401, "not-allowed"


class Conflict(ServiceError):
    """The id is taken, or what stands there is another version."""

    status, kind = 409, "conflict"


class TooLarge(ServiceError):
    """A body, an event or a batch over its limit."""

    status, kind = 413, "too-large"


class OverLimit(ServiceError):
    """More than a tenant may have."""

    status, kind = 429, "over-limit"


class StoreBusy(ServiceError):
    """Too much waits for the disk."""

    status, kind = 503, "busy"


class StoreFull(ServiceError):
    """No room on the disk."""

    status, kind = 507, "no-room"


class StoreFailed(ServiceError):
    """The database does not answer."""

    status, kind = 503, "no-database"
