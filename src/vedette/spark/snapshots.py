"""How a compiled set of subscriptions gets to every host: once, as a folder that all its workers map."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from vedette.matching.matcher import Matcher


@dataclass(frozen=True, slots=True)
class Shipped:
    """A snapshot that the workers of a session can open: what travels with a task is only this."""

    version: str
    folder: str  # on the driver's host
    file: str | None  # the name under which hosts that do not see the folder find its archive


def ship(matcher: Matcher, spark: SparkSession) -> Shipped:
    """Make a matcher's snapshot known to all hosts of a session."""
    raise NotImplementedError


def opened(shipped: Shipped) -> Matcher:
    """The matcher, in a worker: mapped from this host's copy, and kept for the next task of this process."""
    raise NotImplementedError
