"""Constraints that meet: the local engine, the paper's queries in DuckDB and one join there, in turns, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table

from benchmarks import clock
from benchmarks.meeting_engines import Found, Local, Relational, in_order, read
from benchmarks.meeting_workloads import Factors, Name, Workload, generate
from benchmarks.tables import short, table
from vedette.meeting.meet import MeetingTables

_SAMPLE = 2_000  # subscriptions whose texts are read, to say what that costs
_LIMIT_S = 120.0
_AT_LEAST_S = 0.02  # what a clock can tell


@dataclass(frozen=True)
class MeetingRow:
    """One workload. What is timed is finding all pairs, with both sides ready."""

    workload: str
    publications: int
    subscriptions: int
    variables: int
    conjuncts: int
    operators: str
    pairs: int
    intermediate: int  # rows of the paper's intermediate table
    local_s: float
    paper_s: float
    join_s: float | None  # None: not within the limit
    read_us: float  # per constraint, from text
    ready_us: float  # per constraint, from what was read to the first answer
    load_s: float  # of all relations into DuckDB, with their indexes

    @property
    def of_paper(self) -> float:
        """The paper's queries take so many times as long."""
        return self.paper_s / self.local_s

    @property
    def of_join(self) -> float | None:
        """One join takes so many times as long."""
        return None if self.join_s is None else self.join_s / self.local_s


@dataclass(frozen=True)
class GrowthRow:
    """The fixed workload at one size."""

    subscriptions: int
    conjuncts: int
    pairs: int
    local_s: float


@dataclass
class MeetingFigures:
    """All that was measured of meeting."""

    engines: list[MeetingRow] = field(default_factory=list)
    growth: list[GrowthRow] = field(default_factory=list)

    @property
    def exponents(self) -> dict[int, float]:
        """By conjuncts: time grows as the number of subscriptions to this power, by a fit of logarithms."""
        found = {}
        for conjuncts in dict.fromkeys(row.conjuncts for row in self.growth):
            rows = [row for row in self.growth if row.conjuncts == conjuncts]
            if len(rows) > 1:
                found[conjuncts] = fitted([row.subscriptions for row in rows], [row.local_s for row in rows])
        return found

    def tables(self) -> Iterable[Table]:
        """For a person."""
        yield table(
            "Constraints that meet: local, the paper's queries in DuckDB, one join there; all ready, one thread",
            self.engines,
            _COLUMNS,
        )
        exponents = self.exponents
        columns: dict[str, Callable[[GrowthRow], str]] = {
            "conjuncts": lambda r: str(r.conjuncts),
            "subscriptions": lambda r: f"{r.subscriptions:,}",
            "pairs": lambda r: f"{r.pairs:,}",
            "local ms": lambda r: short(1e3 * r.local_s),
            "grows to the power of": lambda r: f"{exponents[r.conjuncts]:.2f}" if r.conjuncts in exponents else "",
        }
        yield table(
            "The fixed workload: 100 publications, the same pairs whatever the number of subscriptions",
            self.growth,
            columns,
            lambda row: row.conjuncts,
        )


_COLUMNS: dict[str, Callable[[MeetingRow], str]] = {
    "workload": lambda r: r.workload,
    "pubs": lambda r: f"{r.publications:,}",
    "subs": lambda r: f"{r.subscriptions:,}",
    "vars": lambda r: f"{r.variables}",
    "tests": lambda r: f"{r.conjuncts}",
    "ops": lambda r: r.operators,
    "pairs": lambda r: f"{r.pairs:,}",
    "between": lambda r: f"{r.intermediate:,}",
    "local ms": lambda r: short(1e3 * r.local_s),
    "paper ms": lambda r: short(1e3 * r.paper_s),
    "x paper": lambda r: short(r.of_paper),
    "join ms": lambda r: "" if r.join_s is None else short(1e3 * r.join_s),
    "x join": lambda r: "" if r.of_join is None else short(r.of_join),
    "read us": lambda r: short(r.read_us),
    "ready us": lambda r: short(r.ready_us),
    "load s": lambda r: short(r.load_s),
}


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    publications: int
    subscriptions: int
    growth: tuple[int, ...]
    turns: int
    cases: tuple[tuple[Name, int], ...] = (
        ("fixed", 1),
        ("fixed", 5),
        ("proportional", 1),
        ("proportional", 5),
        ("large-intermediate-results", 5),
        ("fixed-geometric", 1),
        ("uniform", 1),
    )

    @classmethod
    def of(cls, *, quick: bool) -> Sizes:
        """For a look, or for a table."""
        if quick:
            return cls(100, 5_000, (1_000, 10_000), 3)
        return cls(100, 100_000, (1_000, 10_000, 100_000, 1_000_000), 5)


def measure_meeting(figures: MeetingFigures, sizes: Sizes, name: Name, conjuncts: int) -> None:
    """One workload, all ways."""
    factors = Factors(sizes.publications, sizes.subscriptions, 50, True, conjuncts)
    figures.engines.append(measure(name, factors, sizes.turns))


def measure_growth(figures: MeetingFigures, sizes: Sizes) -> None:
    """The fixed workload at all sizes, in turns, so that whatever else the machine does is the same for all."""
    for conjuncts in (1, 5):
        made = {
            size: Local(generate("fixed", Factors(sizes.publications, size, conjuncts=conjuncts)))
            for size in sizes.growth
        }
        times: dict[int, list[float]] = {size: [] for size in made}
        for _ in range(sizes.turns):
            for size, local in made.items():
                times[size].append(local_seconds(local))
        for size, local in made.items():
            pairs = len(local.find()[0])
            figures.growth.append(GrowthRow(size, conjuncts, pairs, statistics.median(times[size])))


def measure(name: Name, factors: Factors, turns: int) -> MeetingRow:
    """All ways in turns; ArithmeticError if they do not find the same."""
    workload = generate(name, factors)
    read_us, ready_us = preparation(workload)
    local = Local(workload)
    begin = clock.now()
    times: dict[str, list[float]] = {"local": [], "paper": [], "join": []}
    with Relational(workload) as relational:
        load_s = clock.now() - begin
        intermediate = 0
        for _ in range(turns):
            times["local"].append(local_seconds(local))
            for way in ("paper", "join"):
                timed = relational.timed(way, _LIMIT_S) if len(times[way]) == len(times["local"]) - 1 else None
                if timed is not None:
                    times[way].append(timed[0])
                    check(way, timed[1], local.find())
                elif way == "paper":
                    raise TimeoutError(f"{name}: the paper's queries take more than {_LIMIT_S:.0f} s")
                if way == "paper":
                    intermediate = relational.intermediate()
        operators = sorted({pair.published for pair in relational.pairs})
    return MeetingRow(
        name,
        factors.publications,
        factors.subscriptions,
        factors.variables,
        factors.conjuncts,
        " ".join(operators),
        len(local.find()[0]),
        intermediate,
        statistics.median(times["local"]),
        statistics.median(times["paper"]),
        statistics.median(times["join"]) if times["join"] else None,
        read_us,
        ready_us,
        load_s,
    )


def local_seconds(local: Local) -> float:
    """Of one search for all pairs, on average over as many as a clock can tell apart."""
    begin, count = clock.now(), 0
    while True:
        local.find()
        count += 1
        took = clock.now() - begin
        if took > _AT_LEAST_S:
            return took / count


def preparation(workload: Workload) -> tuple[float, float]:
    """Microseconds per constraint for reading texts, and for tables and lists, from a part of the subscriptions."""
    part = workload.subscriptions.part(0, _SAMPLE)
    few = read(part.part(0, 2), workload.schema)
    MeetingTables.of(few, few).pairs("publication")  # kernels are compiled, or loaded, once
    begin = clock.now()
    made = read(part, workload.schema)
    between = clock.now()
    MeetingTables.of(made[:1], made).pairs("publication")
    end = clock.now()
    return 1e6 * (between - begin) / len(made), 1e6 * (end - between) / len(made)


def check(way: str, found: Found, expected: Found) -> None:
    """ArithmeticError if the pairs are not the same."""
    if not np.array_equal(in_order(found), in_order(expected)):
        raise ArithmeticError(f"{way} finds {len(found[0]):,} pairs, the local engine {len(expected[0]):,}, or others")


def fitted(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of a power law, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
