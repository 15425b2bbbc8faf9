"""The whole engine on one workload: Arrow tables and dicts in, subscriptions out, through the public matcher."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks import bulk, clock, forms
from benchmarks.clock import seconds
from benchmarks.coding import encode_subscriptions
from benchmarks.indexes import CHECKED, SAMPLE, head
from benchmarks.workloads import WORKLOADS
from vedette.filters.index import index_class
from vedette.filters.kernels.match_rows import MatchRows
from vedette.filters.matcher import Matcher

LEAST_S = 0.03  # work that two threads should at least share, or starting them is what is measured


@dataclass(frozen=True)
class EngineRow:
    """What was measured of a compiled matcher."""

    workload: str
    subscriptions: int
    index: str
    compile_s: float  # from columns of constants: coding and index
    bytes: float  # per subscription, predicates and index
    batch: int
    us_per_event: float  # from an Arrow table, encoding included
    encode_us: float  # the part of it that encodes
    matches_per_event: float
    one_p50_us: float  # a dict in, ids out
    one_p99_us: float
    two_threads: float | None  # times as fast as one, on encoded events; unknown where there is too little to do
    verified_events: int

    @property
    def events_per_s(self) -> float:
        """Throughput on one core."""
        return 1e6 / self.us_per_event


def measure_engine(
    workload: str, subscriptions: int, batch: int, *, index: str = "clusters", repetitions: int = 5, singles: int = 2000
) -> tuple[EngineRow, Matcher]:
    """Compile, match batches and single events, and compare the answers with the scan's."""
    made = WORKLOADS[workload]
    constraints = made.subscriptions(subscriptions)
    sample = made.events(SAMPLE, seed=77)
    bulk.matcher(made.subscriptions(2000), sample, index).match_rows(forms.arrow(sample.head(256)))  # compiles kernels
    begin = clock.now()
    matcher = bulk.matcher(constraints, sample, index)
    compile_s = clock.now() - begin
    table = forms.arrow(made.events(batch))
    rows = matcher.match_rows(table)
    encoded = matcher.encode(table)
    one, two = (
        seconds(partial(matcher.match_rows, encoded, threads=threads), repetitions, clock=time.perf_counter)
        for threads in (1, 2)
    )
    p50, p99 = single_events(matcher, forms.dicts(made.events(singles, seed=3)))
    row = EngineRow(
        workload,
        subscriptions,
        index,
        compile_s,
        matcher.nbytes / subscriptions,
        batch,
        1e6 * seconds(lambda: matcher.match_rows(table), repetitions) / batch,
        1e6 * seconds(lambda: matcher.encode(table), repetitions) / batch,
        len(rows.subscription) / batch,
        p50,
        p99,
        one / two if one > LEAST_S else None,
        verify(matcher, workload, subscriptions, min(CHECKED, batch)),
    )
    return row, matcher


def single_events(matcher: Matcher, events: list[dict[str, object]]) -> tuple[float, float]:
    """p50 and p99, in microseconds, of one event after another; the first pass warms up."""
    for event in events[:200]:
        matcher.match(event)
    took = np.empty(len(events))
    for place, event in enumerate(events):
        begin = clock.now()
        matcher.match(event)
        took[place] = clock.now() - begin
    p50, p99 = np.percentile(took, [50, 99]) * 1e6
    return float(p50), float(p99)


def verify(matcher: Matcher, workload: str, subscriptions: int, events: int) -> int:
    """The matcher's answers are those of the scan over predicates that were coded independently."""
    made = WORKLOADS[workload]
    coded = encode_subscriptions(made.subscriptions(subscriptions))
    batch = made.events(events, seed=5)
    whole = coded.encode(batch)
    scan = index_class("scan").build(coded.table, coded.ranks, head(whole, 1))
    pairs = scan.match(whole)
    wanted = np.sort(pairs.event.astype(np.int64) * subscriptions + pairs.conjunction)
    if not np.array_equal(numbers(matcher.match_rows(forms.arrow(batch)), subscriptions), wanted):
        raise ArithmeticError(f"{workload} at {subscriptions:,}: the matcher and the scan disagree")
    return events


def numbers(rows: MatchRows, subscriptions: int) -> NDArray[np.int64]:
    """Every match as one number, ascending."""
    event = np.repeat(np.arange(len(rows.start) - 1, dtype=np.int64), np.diff(rows.start))
    return np.sort(event * subscriptions + rows.subscription)
