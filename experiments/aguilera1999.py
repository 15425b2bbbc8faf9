"""Aguilera 1999: Figure 7 (work and space of the matching tree) and the bound of Theorem 1.

python -m experiments.aguilera1999 OUT [--quick]

Figure 7 is printed without its numbers, so what can be compared is what the text says of it: the work grows more
slowly than the number of subscriptions, space linearly, collapsing *-edges saves about 60 % and successor sets
about 20 % of the rest, both of the matching time.

Visits are counted in two ways. `visits` is every row that is read. `visits_without_forks` leaves out rows that
test nothing and only stand for a collapsed edge with several successors; one may call these edges, not nodes.
The two differ only where collapsing and successor sets come together, and there the choice decides whether
successor sets seem to save visits, so both are reported, beside the time.

The quick sizes begin at 2,500: below that p1 and D change so much with N, to keep 100 matches, that the slope
over a few small sizes says little (500 .. 4,000 gives an exponent above 1).
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import CodedBatch, PredicateTable
from vedette.matching.tree import Tree, TreeOptions

MATCHES = 100  # per event, whatever the number of subscriptions
INDEXED = 3
FIRST_POPULARITY = 0.95

FIGURE_SIZES = (1_000, 2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 50_000, 100_000)
QUICK_SIZES = (2_500, 5_000, 10_000, 20_000)
BOUND_SPACES = ((2, 10), (3, 10), (3, 30), (10, 10), (30, 30))  # values, attributes
BOUND_SIZES = (100, 1_000, 10_000, 100_000)
QUICK_BOUND_SIZES = (100, 400, 1_600)


@dataclass(frozen=True)
class Space:
    """An event schema: so many attributes of so many values each."""

    values: int = 3
    attributes: int = 30

    def events(self, count: int, seed: int) -> CodedBatch:
        """Uniform, all attributes present."""
        ranks = np.random.default_rng(seed).integers(0, self.values, (self.attributes, count)).astype(np.int32)
        return CodedBatch(ranks, np.empty((0, count), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))

    def subscriptions(self, popularity: NDArray[np.float64], count: int, seed: int) -> PredicateTable:
        """Attribute i is tested with probability `popularity[i]`, against values from a Zipf distribution."""
        random = np.random.default_rng(seed)
        tested = random.random((count, self.attributes)) < popularity
        weights = 1 / np.arange(1, self.values + 1)
        value = random.choice(self.values, int(tested.sum()), p=weights / weights.sum())
        start = np.zeros(count + 1, np.int64)
        np.cumsum(tested.sum(axis=1), out=start[1:])
        return PredicateTable(
            start,
            np.nonzero(tested)[1].astype(np.int32),
            value.astype(np.int32),
            np.zeros(value.size, np.uint32),
        )

    def popularity(self, degradation: float, first: float = FIRST_POPULARITY) -> NDArray[np.float64]:
        """Each attribute is `degradation` times as popular as the one before it."""
        return np.multiply(first, degradation ** np.arange(self.attributes), dtype=np.float64)

    def match_probability(self, popularity: NDArray[np.float64]) -> float:
        """A test holds for one of the V values of a uniform event, whatever value it asks for."""
        return float(np.prod(1 - popularity * (1 - 1 / self.values)))

    def popularity_for(self, count: int, matches: float = MATCHES) -> NDArray[np.float64]:
        """p1 is fixed; D is solved for, so that an event matches so many of `count` subscriptions."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            too_many = self.match_probability(self.popularity(middle)) * count > matches
            low, high = (middle, high) if too_many else (low, middle)
        return self.popularity((low + high) / 2)


@dataclass(frozen=True)
class Row:
    """One tree, measured."""

    variant: str
    values: int
    attributes: int
    subscriptions: int
    matches: float
    visits: float
    visits_without_forks: float
    microseconds: float
    edges: int
    successors: int
    bound: float


def variants(attributes: int) -> dict[str, TreeOptions]:
    """The tree as it is, and with one optimisation of §5 after the other."""
    order, index = tuple(range(attributes)), tuple(range(INDEXED))
    return {
        "plain": TreeOptions(collapse=False, order=order),
        "collapsed": TreeOptions(order=order),
        "collapsed, successors": TreeOptions(successors=True, refine=True, order=order),
        "collapsed, factored": TreeOptions(index=index, order=order),
        "collapsed, successors, factored": TreeOptions(successors=True, refine=True, index=index, order=order),
    }


def bound(values: int, attributes: int, subscriptions: int) -> float:
    """Theorem 1: the expected number of nodes visited is at most this."""
    k = attributes + 1
    a = math.log(values) / (math.log(values) + math.log(k))
    factor = values * k * (math.log(values) + math.log(k)) / ((values * k - 1) * math.log(k))
    return factor * k * subscriptions ** (1 - a)


def measure(variant: str, options: TreeOptions, space: Space, table: PredicateTable, events: CodedBatch) -> Row:
    """Nodes visited, time and space of one tree; events are matched one at a time, as in the paper."""
    tree = Tree.build(table, space.attributes, events, options)
    pairs, visits = tree.match_counting(events)
    _, without_forks = tree.match_counting(events, forks=False)
    count = events.ranks.shape[1]
    singles = [events._replace(ranks=events.ranks[:, e : e + 1].copy(), sets=events.sets[:, :1]) for e in range(count)]
    tree.match_one(singles[0])
    begin = time.process_time()
    for single in singles:
        tree.match_one(single)
    took = time.process_time() - begin
    subscriptions = table.start.size - 1
    return Row(
        variant,
        space.values,
        space.attributes,
        subscriptions,
        pairs.event.size / count,
        float(visits.mean()),
        float(without_forks.mean()),
        1e6 * took / count,
        tree.edges,
        tree.successors,
        bound(space.values, space.attributes, subscriptions),
    )


def figure_7(sizes: Sequence[int], events: int) -> list[Row]:
    """V = 3, K = 30, three index attributes, 100 matches per event."""
    space = Space()
    batch = space.events(events, seed=7)
    rows = []
    for count in sizes:
        table = space.subscriptions(space.popularity_for(count), count, seed=count)
        rows += [measure(name, options, space, table, batch) for name, options in variants(space.attributes).items()]
    return rows


def theorem_1(sizes: Sequence[int], events: int) -> list[Row]:
    """Trees without optimisations, in several spaces."""
    rows = []
    for values, attributes in BOUND_SPACES:
        space = Space(values, attributes)
        batch = space.events(events, seed=1)
        plain = variants(attributes)["plain"]
        for count in sizes:
            table = space.subscriptions(np.full(attributes, 0.35), count, seed=count)  # 65 % of tests are *, as in §7
            rows.append(measure("plain", plain, space, table, batch))
    return rows


def exponent(rows: Iterable[Row], attribute: str = "visits") -> float:
    """How a measure grows with the number of subscriptions: the slope between logarithms."""
    points = [(row.subscriptions, getattr(row, attribute)) for row in rows]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def saved(rows: Sequence[Row], variant: str, against: str, attribute: str = "visits") -> float:
    """The mean share of a measure that one variant saves of another's."""
    by = {(row.variant, row.subscriptions): getattr(row, attribute) for row in rows}
    sizes = sorted({row.subscriptions for row in rows})
    return float(np.mean([1 - by[variant, size] / by[against, size] for size in sizes]))


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One line for each tree."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _axes(count: int) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("The plots need matplotlib. Install it with: pip install 'vedette[experiments]'") from error
    figure = Figure(figsize=(5.5 * count, 4.2), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0]


def plot_figure_7(rows: Sequence[Row], out: Path) -> None:
    """Work and space over the number of subscriptions."""
    figure, (work, space) = _axes(2)
    for variant in dict.fromkeys(row.variant for row in rows):
        own = [row for row in rows if row.variant == variant]
        sizes = [row.subscriptions for row in own]
        work.plot(sizes, [row.visits for row in own], marker="o", label=variant)
        space.plot(sizes, [row.edges + row.successors for row in own], marker="o", label=variant)
    work.set(ylabel="nodes visited per event", title="work")
    space.set(ylabel="edges + successor links", title="space")
    for axis in (work, space):
        axis.set(xlabel="subscriptions", xscale="log", yscale="log")
        axis.grid(True, alpha=0.3)
    work.legend(fontsize="small")
    figure.suptitle("Aguilera 1999, Figure 7: V = 3, K = 30, 100 matches per event")
    _save(figure, out, "aguilera1999-figure7")


def plot_theorem_1(rows: Sequence[Row], out: Path) -> None:
    """Measured visits beside the bound."""
    figure, (axis,) = _axes(1)
    for number, (values, attributes) in enumerate(dict.fromkeys((row.values, row.attributes) for row in rows)):
        own = [row for row in rows if (row.values, row.attributes) == (values, attributes)]
        sizes, colour = [row.subscriptions for row in own], f"C{number}"
        axis.plot(sizes, [row.visits for row in own], marker="o", color=colour, label=f"V = {values}, K = {attributes}")
        axis.plot(sizes, [row.bound for row in own], linestyle="--", color=colour)
    axis.set(
        xlabel="subscriptions",
        ylabel="nodes visited per event",
        xscale="log",
        yscale="log",
        title="Aguilera 1999, Theorem 1: measured, and the bound (dashed)",
    )
    axis.grid(True, alpha=0.3)
    axis.legend(fontsize="small")
    _save(figure, out, "aguilera1999-theorem1")


def _save(figure: Any, out: Path, name: str) -> None:
    for suffix in ("png", "svg"):
        figure.savefig(out / f"{name}.{suffix}", dpi=150)


def run(out: Path, quick: bool) -> str:
    """Write data and plots under `out`; one line that compares with the paper."""
    out.mkdir(parents=True, exist_ok=True)
    figure = figure_7(QUICK_SIZES if quick else FIGURE_SIZES, events=200 if quick else 1000)
    theorem = theorem_1(QUICK_BOUND_SIZES if quick else BOUND_SIZES, events=200 if quick else 1000)
    write_csv(out / "aguilera1999-figure7.csv", figure)
    write_csv(out / "aguilera1999-theorem1.csv", theorem)
    plot_figure_7(figure, out)
    plot_theorem_1(theorem, out)
    best = [row for row in figure if row.variant == "collapsed, successors, factored"]
    chained = ("collapsed, successors", "collapsed")
    return (
        f"Figure 7: with all optimisations visits grow as N^{exponent(best):.2f} (paper: sub-linearly). "
        f"Collapsing changes visits by {-saved(figure, 'collapsed', 'plain'):+.0%} and time by "
        f"{-saved(figure, 'collapsed', 'plain', 'microseconds'):+.0%} (paper: time -60 %); successor sets then "
        f"change visits by {-saved(figure, *chained):+.0%} ({-saved(figure, *chained, 'visits_without_forks'):+.0%} "
        f"if forks are not counted) and time by {-saved(figure, *chained, 'microseconds'):+.0%} (paper: time -20 %). "
        f"Theorem 1: visits are at most {max(row.visits / row.bound for row in theorem):.0%} of the bound."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(run(arguments.out, arguments.quick))
