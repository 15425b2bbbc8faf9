"""How much of everything a run measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Sizes of the parts; filters and events (but for f and g) are W2's, in four columns: id, symbol, price, volume."""

    repetitions: int = 5
    # a and c: matching beside crossing, one core beside two
    filters: int = 100_000
    events: int = 4_000_000
    lines: int = 1_000_000
    # b: what a Spark user would write
    join_filters: int = 10_000
    join_events: int = 200_000
    wheres: int = 20
    where_events: int = 8_000_000  # so many that starting a job counts for little
    # d: latency
    rows_per_second: int = 10_000
    warm_up_s: int = 20
    measured_s: int = 60
    # e: memory
    memory_filters: int = 1_000_000
    memory_events: int = 400_000
    # f: meeting
    meet: int = 100_000  # on each side
    meet_nested: int = 100_000
    meet_warm_up: int = 5_000
    # g: covering
    cover: tuple[int, ...] = (10_000, 30_000, 100_000)
    cover_warm_up: int = 20_000
    # h: patterns
    patterns: int = 100
    keys: tuple[int, ...] = (1, 100, 10_000)
    micro_batch: int = 100_000
    micro_batches: int = 8
    # i: real events
    real_batches: int = 8


FULL = Plan()
QUICK = Plan(
    repetitions=1,
    filters=2_000,
    events=40_000,
    lines=20_000,
    join_filters=500,
    join_events=4_000,
    wheres=3,
    where_events=20_000,
    rows_per_second=500,
    warm_up_s=3,
    measured_s=4,
    memory_filters=5_000,
    memory_events=20_000,
    meet=2_000,
    meet_nested=1_000,
    meet_warm_up=500,
    cover=(10_000,),
    cover_warm_up=500,
    patterns=10,
    keys=(10,),
    micro_batch=2_000,
    micro_batches=3,
    real_batches=2,
)
