"""One index on one workload, in code space: how fast, how big, how long to build, and is it right.

python -m benchmarks.indexes W2 1e6 --index clusters,scan --batch 65536 --check
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks import clock
from benchmarks.clock import seconds
from benchmarks.coding import CodedSubscriptions, encode_subscriptions
from benchmarks.workloads import WORKLOADS, Workload
from vedette.filters.index import Index, index_class
from vedette.filters.kernels.scan import scan
from vedette.filters.scan import pad
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs
from vedette.plugins import INDEXES
from vedette.plugins import names as installed

SAMPLE = 4096  # events that steer the layout of an index; none of them is in a measured batch
BLOCK = 1024  # events that a scan takes together: with fewer it would look slower than it is
PATIENCE = 5  # times the budget that an index for batches may take, before a batch is cut
CHECKED = 512  # events on which the answers of two indexes are compared


@dataclass(frozen=True)
class Row:
    """What was measured of one index on one batch size."""

    workload: str
    subscriptions: int
    index: str
    batch: int
    events: int  # of the batch, that were really matched; the time per event is of these
    build_s: float
    us_per_event: float
    matches_per_event: float
    index_bytes: float  # per subscription, beyond the predicates
    total_bytes: float  # per subscription, predicates included
    ratio_to_scan: float | None = None
    verified_events: int = 0  # on so many events the pairs are those of the scan

    @property
    def events_per_s(self) -> float:
        """Throughput on one core."""
        return 1e6 / self.us_per_event


@dataclass(frozen=True)
class Case:
    """A workload at one size, in code space."""

    workload: Workload
    coded: CodedSubscriptions
    sample: CodedBatch

    def __len__(self) -> int:
        return len(self.coded.table.start) - 1

    def batch(self, count: int, seed: int = 2) -> CodedBatch:
        """`count` coded events."""
        return self.coded.encode(self.workload.events(count, seed))


@lru_cache(maxsize=1)
def prepare(workload: str, subscriptions: int) -> Case:
    """Generate and encode; the last case is kept, because several indexes are built on it."""
    found = WORKLOADS[workload]
    coded = encode_subscriptions(found.subscriptions(subscriptions))
    return Case(found, coded, coded.encode(found.events(SAMPLE, seed=77)))


@lru_cache(maxsize=1)
def built(name: str, workload: str, subscriptions: int) -> tuple[Index, float]:
    """The index and the seconds its building took; compiling is paid for by a small one before. The last is kept."""
    case, small = prepare(workload, subscriptions), prepare_small(workload)
    index_class(name).build(small.coded.table, small.coded.ranks, small.sample).match(small.sample)
    begin = clock.now()
    index = index_class(name).build(case.coded.table, case.coded.ranks, case.sample)
    return index, clock.now() - begin


@lru_cache(maxsize=8)
def prepare_small(workload: str) -> Case:
    """A case that is just big enough to go through all code of an index."""
    found = WORKLOADS[workload]
    coded = encode_subscriptions(found.subscriptions(2000))
    return Case(found, coded, coded.encode(found.events(256, seed=77)))


def head(batch: CodedBatch, count: int) -> CodedBatch:
    """The first `count` events of a batch without token columns."""
    return batch._replace(ranks=np.ascontiguousarray(batch.ranks[:, :count]), sets=batch.sets[:, :count])


def affordable(index: Index, batch: CodedBatch, budget_s: float) -> CodedBatch:
    """The whole batch, if it is matched within the budget; else as much of it, in whole blocks, as is.

    An index for batches is faster per event the more events it gets, so the estimate is made anew with larger
    and larger pieces before anything is left out.
    """
    events, size = batch.ranks.shape[1], 64
    while size < events:
        piece = head(batch, size)
        per_event = seconds(partial(index.match, piece), 1) / size
        if per_event * events <= budget_s:
            break
        size *= 16
        if per_event * min(size, events) > budget_s:
            return head(batch, min(events, max(1, int(budget_s / per_event / BLOCK)) * BLOCK))
    return batch


def measure(
    index_name: str, workload: str, subscriptions: int, batch: int, *, repetitions: int = 5, budget_s: float = 2.0
) -> Row:
    """Build an index, unless it is the last one built, and time batches of one size."""
    case = prepare(workload, subscriptions)
    index, build_s = built(index_name, workload, subscriptions)
    coded = affordable(index, case.batch(batch), budget_s if index_name == "scan" else PATIENCE * budget_s)
    events = coded.ranks.shape[1]
    pairs = index.match(coded)
    took = seconds(one_pass(index, case, coded, len(pairs.event)), repetitions, 2 * budget_s)
    index_bytes = sum(array.nbytes for array in index.arrays().values())
    predicate_bytes = sum(array.nbytes for array in case.coded.table)
    return Row(
        workload,
        subscriptions,
        index_name,
        batch,
        events,
        build_s,
        1e6 * took / events,
        len(pairs.event) / events,
        index_bytes / len(case),
        (index_bytes + predicate_bytes) / len(case),
    )


def one_pass(index: Index, case: Case, batch: CodedBatch, pairs: int) -> Callable[[], object]:
    """What is timed. The baseline gets a buffer that its output fits into, so that it never scans twice."""
    if index.name != "scan":
        return lambda: index.match(batch)
    padded, events = pad(batch), batch.ranks.shape[1]
    event, conjunction = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    return lambda: scan(case.coded.table, padded, events, event, conjunction)


def difference(index: Index, oracle: Index, batch: CodedBatch, conjunctions: int) -> str:
    """Where two indexes disagree on a batch; empty where they do not."""
    found, wanted = _numbers(index.match(batch), conjunctions), _numbers(oracle.match(batch), conjunctions)
    if len(np.unique(found)) != len(found):
        return f"{index.name}: {len(found) - len(np.unique(found))} pairs came more than once"
    missing, extra = np.setdiff1d(wanted, found), np.setdiff1d(found, wanted)
    if not len(missing) and not len(extra):
        return ""
    event, conjunction = divmod(int((missing if len(missing) else extra)[0]), conjunctions)
    return (
        f"{index.name}: {len(missing)} pairs missing and {len(extra)} too many, "
        f"e.g. event {event} and conjunction {conjunction}"
    )


def _numbers(pairs: ConjunctionPairs, conjunctions: int) -> NDArray[np.int64]:
    return np.sort(pairs.event.astype(np.int64) * conjunctions + pairs.conjunction)


def compare(
    names: Sequence[str],
    workload: str,
    subscriptions: int,
    batches: Sequence[int],
    *,
    check: bool = True,
    repetitions: int = 5,
    budget_s: float = 2.0,
) -> list[Row]:
    """Several indexes on the same events; with the scan among them, ratios to it and a comparison of the answers."""
    case = prepare(workload, subscriptions)
    ordered = sorted(names, key=("scan", "tree", "clusters").index)  # the scan first, for the ratios
    oracle = index_class("scan").build(case.coded.table, case.coded.ranks, case.sample)
    rows: list[Row] = []
    for name in ordered:
        index, _ = built(name, workload, subscriptions)
        verified = 0
        if check and name != "scan":
            sample = affordable(oracle, case.batch(CHECKED, seed=5), budget_s)
            if wrong := difference(index, oracle, sample, len(case)):
                raise ArithmeticError(f"{workload} at {subscriptions:,}: {wrong}")
            verified = sample.ranks.shape[1]
        for batch in batches:
            row = measure(name, workload, subscriptions, batch, repetitions=repetitions, budget_s=budget_s)
            base = next((r for r in rows if r.index == "scan" and r.batch == batch), None)
            ratio = base.us_per_event / row.us_per_event if base else (1.0 if name == "scan" else None)
            rows.append(replace(row, ratio_to_scan=ratio, verified_events=verified))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of one comparison."""
    from benchmarks.tables import index_table  # which is made of the rows above

    parser = argparse.ArgumentParser(prog="python -m benchmarks.indexes", description=__doc__)
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("subscriptions", type=lambda text: int(float(text)))
    parser.add_argument("--index", default=",".join(installed(INDEXES)), help="comma-separated (default: %(default)s)")
    parser.add_argument("--batch", default="65536", help="comma-separated batch sizes (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--check", action="store_true", help=f"compare the pairs of {CHECKED} events with the scan's")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: where others are busy too")
    parser.add_argument("--no-scan", action="store_true", help="do not time the scan as well")
    given = parser.parse_args(arguments)
    clock.use(given.clock)
    names = given.index.split(",")
    if "scan" not in names and not given.no_scan:
        names.append("scan")
    batches = [int(float(size)) for size in given.batch.split(",")]
    rows = compare(
        names, given.workload, given.subscriptions, batches, check=given.check, repetitions=given.repetitions
    )
    Console(width=180).print(index_table(rows))


if __name__ == "__main__":
    main()
