"""Why §4 needs workloads at all: how many pairs meet if operators and values are drawn uniformly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.meeting_engines import Local
from benchmarks.meeting_workloads import Factors, generate
from experiments.report.findings import Figure, Finding, compared
from experiments.report.plots import finish, panels
from experiments.report.tracking import gather

VARIABLES = 50
OPERATORS = 4


@dataclass(frozen=True)
class Sizes:
    """Publications, the numbers of subscriptions, and how many seeds."""

    publications: int
    subscriptions: tuple[int, ...]
    seeds: int


FULL = Sizes(100, (1_000, 10_000, 100_000), 20)
QUICK = Sizes(20, (500, 2_000), 3)


@dataclass(frozen=True)
class Row:
    """One draw."""

    operators: str
    publications: int
    subscriptions: int
    seed: int
    pairs: int


def measure(sizes: Sizes, subscriptions: int, all_operators: bool) -> list[Row]:
    """As many draws as there are seeds."""
    factors = Factors(sizes.publications, subscriptions, VARIABLES, all_operators)
    rows = []
    for seed in range(1, sizes.seeds + 1):
        workload = generate("uniform", factors, seed)
        local = Local(workload)
        local.publish(workload.publications)
        pairs = len(local.find()[0])
        rows.append(Row("= != < >=" if all_operators else "=", sizes.publications, subscriptions, seed, pairs))
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """Counted, drawn and judged."""
    sizes = QUICK if quick else FULL
    cases = product(sizes.subscriptions, (False, True))
    rows = gather("Uniform constraints", cases, lambda case: measure(sizes, *case))
    yield Figure(
        "uniform",
        "Result sizes (§4)",
        f"{sizes.publications} publications and up to {sizes.subscriptions[-1]:,} subscriptions with one conjunct over "
        f"one of {VARIABLES} variables; values uniform from 1 to the number of subscriptions, {sizes.seeds} seeds.",
        {"": rows},
        plot(rows),
        findings(rows),
    )


def mean(rows: Sequence[Row], operators: str, subscriptions: int) -> float:
    """Pairs, over the seeds."""
    own = [row.pairs for row in rows if (row.operators, row.subscriptions) == (operators, subscriptions)]
    return sum(own) / len(own)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """The two figures that §4 gives."""
    many, published = max(row.subscriptions for row in rows), rows[0].publications
    equal, every = (mean(rows, operators, many) for operators in ("=", "= != < >="))
    expected = published / VARIABLES
    printed, same = published * many * OPERATORS / VARIABLES, published * many / VARIABLES
    return [
        compared(
            "§4",
            f"with = alone the expected result of 100 publications is 2 pairs (here: {expected:g})",
            f"{equal:.2f} pairs on average with {published} publications and {many:,} subscriptions",
            abs(equal - expected) <= max(1.0, 0.5 * expected),
        ),
        compared(
            "§4",
            f"with all operators it approaches publications x subscriptions x operators / variables: {printed:,.0f}",
            f"{every:,.0f} pairs on average, {every / same:.0%} of all {same:,.0f} that speak of the same variable",
            abs(every / printed - 1) < 0.1,
            why=f"the formula exceeds what there is: only {same:,.0f} pairs speak of the same variable at all. That "
            "the result is unrealistically large, which is the point of it, holds",
        ),
    ]


def plot(rows: Sequence[Row]) -> Any:
    """Pairs over the number of subscriptions."""
    figure, (panel,) = panels(1, 1, 6.0, 3.6)
    sizes = sorted({row.subscriptions for row in rows})
    for operators in dict.fromkeys(row.operators for row in rows):
        panel.plot(sizes, [mean(rows, operators, size) for size in sizes], label=operators.replace(" ", ", "))
    limit = [rows[0].publications * size / VARIABLES for size in sizes]
    panel.plot(sizes, limit, linestyle="--", marker="", color="#5c636a", label="all of the same variable")
    panel.set(xscale="log", yscale="log")
    finish(panel, "subscriptions", "pairs that meet, on average")
    return figure
