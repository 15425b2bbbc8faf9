"""Response time and throughput of both engines on one workload, with publications in batches or one by one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import clock
from benchmarks.meeting import check, local_seconds
from benchmarks.meeting_engines import Found, Local, Relational
from benchmarks.meeting_workloads import Factors, Name, generate
from experiments.report.tables import clocked

ENGINES = ("local", "paper")
WORKLOADS: tuple[Name, ...] = ("fixed", "proportional", "large-intermediate-results", "fixed-geometric")


@dataclass(frozen=True)
class Row:
    """One engine on one workload. Both sides are ready: texts are read, relations loaded, indexes made."""

    workload: str
    engine: str
    publications: int
    subscriptions: int
    variables: int
    conjuncts: int
    operators: str
    batch: int  # publications at a time
    timed: int  # batches
    pairs: int  # of the batches that were timed
    intermediate: int  # rows of the paper's intermediate table, of the last batch
    response_ms: float = clocked()  # of a batch, on average
    publications_per_s: float = clocked()


def factors_of(name: Name, factors: Factors) -> Factors:
    """With as many conjuncts as a workload takes: one, but for large intermediate results."""
    if name != "large-intermediate-results":
        return factors
    variables = max(2, factors.variables)
    return Factors(factors.publications, factors.subscriptions, variables, factors.all_operators, min(5, variables))


def measure(name: Name, factors: Factors, batches: tuple[int, ...], most: int) -> Iterator[Row]:
    """Both engines on the same batches, at most so many of a size; ArithmeticError if they do not find the same."""
    factors = factors_of(name, factors)
    workload = generate(name, factors)
    local = Local(workload)
    with Relational(workload) as relational:
        for size in batches:
            firsts = list(range(0, factors.publications, size))
            firsts = firsts[:: -(-len(firsts) // most)]  # from all over, since those that meet come first
            taken: dict[str, list[float]] = {engine: [] for engine in ENGINES}
            pairs = intermediate = 0
            for first in firsts:
                part = workload.publications.part(first, size)
                local.publish(part)
                relational.publish(part)
                taken["local"].append(local_seconds(local))
                seconds, found = timed(relational.papers_queries)
                taken["paper"].append(seconds)
                check("paper", found, local.find())
                pairs += len(found[0])
                intermediate = relational.intermediate()
            for engine in ENGINES:
                mean = statistics.fmean(taken[engine])
                yield Row(
                    name,
                    engine,
                    factors.publications,
                    factors.subscriptions,
                    factors.variables,
                    factors.conjuncts,
                    _operators(name, factors),
                    size,
                    len(firsts),
                    pairs,
                    intermediate,
                    1e3 * mean,
                    size / mean,
                )


def _operators(name: Name, factors: Factors) -> str:
    if name == "fixed-geometric":
        return "within"
    return "= != < >=" if factors.all_operators else "="


def timed(find: Callable[[], Found]) -> tuple[float, Found]:
    """Seconds, and what was found."""
    begin = clock.now()
    found = find()
    return clock.now() - begin, found
