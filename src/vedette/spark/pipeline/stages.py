"""What happens to the events of a micro-batch between source and routing: a tuple of functions, in order.

The first stage makes outcomes of events; each of the others takes outcomes and gives outcomes (matches, and rows that
were set aside).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame

from vedette.schema.schema import Schema
from vedette.spark.operators.match import Ready
from vedette.spark.snapshots import Shipped

if TYPE_CHECKING:
    from vedette.spark.pipeline.sources import Source


@dataclass(frozen=True, slots=True)
class Work:
    """What the stages of one micro-batch are done with."""

    source: Source
    shipped: Shipped  # the version of the subscriptions that this micro-batch uses
    keep: tuple[str, ...]
    schema: Schema
    read: Accumulator[int] | None = None  # hears how many events there were, where the source counts them itself
    operators: Ready | None = None  # the filters that call some, and the plain ones


Stage: TypeAlias = Callable[[DataFrame, Work], DataFrame]


def filters(events: DataFrame, work: Work) -> DataFrame:
    """Validate events and match them against the filters."""
    return work.source.outcomes(events, work.shipped, work.keep, work.schema, read=work.read, operators=work.operators)


STAGES: tuple[Stage, ...] = (filters,)


def outcomes(events: DataFrame, work: Work, stages: tuple[Stage, ...] = STAGES) -> DataFrame:
    """What comes of the events of a micro-batch."""
    for stage in stages:
        events = stage(events, work)
    return events
