"""`python -m benchmarks`: every workload, index and peer, patterns, operators, covering, meeting, Sigma, starting."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # before anything imports Numba

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import clock, covering, forms, meeting, operators, patterns, sigma
from benchmarks.clock import seconds
from benchmarks.covering_workloads import COVERING as COVERING_WORKLOADS
from benchmarks.engine import measure_engine
from benchmarks.indexes import built, compare, prepare
from benchmarks.meeting_workloads import Name
from benchmarks.peers import duckdb_join
from benchmarks.report import Peer, Report
from benchmarks.startup import measure_startup
from benchmarks.visits import measure_visits
from benchmarks.workloads import WORKLOADS
from vedette.plugins import INDEXES, names

PATTERNS, OPERATORS, COVERING, MEETING, SIGMA = OTHERS = (
    "patterns",
    "operators",
    "covering",
    "meeting",
    "sigma",
)  # the workloads that are not of plain filters
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Plan:
    """What a run measures."""

    workloads: tuple[str, ...]
    sizes: tuple[int, ...]
    batches: tuple[int, ...]
    indexes: tuple[str, ...]
    largest: dict[str, int]  # the sizes above which an index, a workload or a peer is left out
    repetitions: int
    budget_s: float
    singles: int
    startup: bool
    patterns: patterns.Sizes | None
    operators: operators.Sizes | None
    covering: covering.Sizes | None
    meeting: meeting.Sizes | None
    sigma: sigma.Sizes | None

    def sizes_of(self, workload: str, *limits: str) -> list[int]:
        """The sizes that a workload is measured at, within the limits that are named."""
        most = min(self.largest.get(name, max(self.sizes)) for name in (workload, *limits))
        return [size for size in self.sizes if size <= most]


@dataclass(frozen=True)
class Stage:
    """One step of the run, with the words that the progress bar shows."""

    name: str
    work: Callable[[Report], None]


def stages(plan: Plan) -> Iterator[Stage]:
    """Small before large, so that something is seen soon."""
    for workload in plan.workloads:
        for size in plan.sizes_of(workload):
            names = [name for name in plan.indexes if size in plan.sizes_of(workload, name)]
            if names:
                yield Stage(f"{workload} at {size:,}: {', '.join(names)}", _indexes(plan, workload, size, names))
            if size in plan.sizes_of(workload, "engine"):
                peer = size in plan.sizes_of(workload, f"duckdb {workload}")
                told = f"{workload} at {size:,}: the matcher" + (" and DuckDB" if peer else "")
                yield Stage(told, _engine(plan, workload, size, peer=peer))
    if "tree" in plan.indexes:
        for values in (3, 30):
            workload = f"W1-{values}"
            for size in plan.sizes_of(workload, "tree") if workload in plan.workloads else []:
                yield Stage(f"{workload} at {size:,}: nodes visited", _visits(values, size))
    if plan.patterns is not None:
        yield from _patterns(plan, plan.patterns)
    if plan.operators is not None:
        yield Stage("operators", _operators(plan.operators))
    if plan.covering is not None:
        for name in COVERING_WORKLOADS:
            yield Stage(f"covering: {name}", _covering(plan.covering, name))
    if plan.meeting is not None:
        for case in plan.meeting.cases:
            yield Stage(f"meeting: {case[0]}, {case[1]} conjuncts", _meeting(plan.meeting, *case))
        yield Stage("meeting: growth", _meeting_growth(plan.meeting))
    if plan.sigma is not None:
        yield Stage("rules of Sigma", _sigma(plan.sigma))
    if plan.startup:
        yield Stage("starting a process with and without compiled kernels", _startup)


def _indexes(plan: Plan, workload: str, size: int, names: Sequence[str]) -> Callable[[Report], None]:
    def work(report: Report) -> None:
        report.indexes += compare(
            names, workload, size, plan.batches, repetitions=plan.repetitions, budget_s=plan.budget_s
        )

    return work


def _engine(plan: Plan, workload: str, size: int, *, peer: bool) -> Callable[[Report], None]:
    def work(report: Report) -> None:
        batch = max(plan.batches)
        row, matcher = measure_engine(workload, size, batch, repetitions=plan.repetitions, singles=plan.singles)
        report.engine.append(row)
        if not peer:
            return
        made = WORKLOADS[workload]
        events = made.events(batch)
        joined = duckdb_join.join(made.subscriptions(size), events, limit_s=plan.budget_s)
        if joined is None:
            report.notes.append(f"DuckDB: no join of 64 events with {workload} at {size:,} ended in time")
            return
        # Ours on as many events as DuckDB was given, so that neither has the larger batch.
        index, _ = built("clusters", workload, size)
        coded = prepare(workload, size).coded.encode(events.head(joined.events))
        table = forms.arrow(events.head(joined.events))
        found = len(index.match(coded).event)
        if found != joined.matches:
            raise ArithmeticError(f"{workload} at {size:,}: DuckDB finds {joined.matches:,} pairs, clusters {found:,}")
        in_code = seconds(lambda: index.match(coded), plan.repetitions) / joined.events
        from_arrow = seconds(lambda: matcher.match_rows(table), plan.repetitions) / joined.events
        ratios = joined.us_per_event / 1e6 / in_code, joined.us_per_event / 1e6 / from_arrow
        report.peers.append(Peer(workload, size, joined, *ratios))

    return work


def _patterns(plan: Plan, sizes: patterns.Sizes) -> Iterator[Stage]:
    def workload(size: int, report: Report) -> None:
        patterns.measure_workload(report.patterns, sizes, size, repetitions=plan.repetitions)

    for size in sizes.patterns:
        yield Stage(f"patterns at {size:,}", partial(workload, size))
    for name, measure in (("what costs", patterns.measure_growth), ("merged and not", patterns.measure_merging)):
        yield Stage(
            f"patterns: {name}",
            partial(lambda measure, report: measure(report.patterns, sizes, repetitions=plan.repetitions), measure),
        )
    yield Stage("patterns: real data", lambda report: patterns.measure_streams(report.patterns, sizes))


def _operators(sizes: operators.Sizes) -> Callable[[Report], None]:
    return lambda report: operators.measure_operators(report.operators, sizes)


def _covering(sizes: covering.Sizes, name: str) -> Callable[[Report], None]:
    return lambda report: covering.measure_covering(report.covering, sizes, name)


def _meeting(sizes: meeting.Sizes, name: Name, conjuncts: int) -> Callable[[Report], None]:
    return lambda report: meeting.measure_meeting(report.meeting, sizes, name, conjuncts)


def _meeting_growth(sizes: meeting.Sizes) -> Callable[[Report], None]:
    return lambda report: meeting.measure_growth(report.meeting, sizes)


def _sigma(sizes: sigma.Sizes) -> Callable[[Report], None]:
    return lambda report: sigma.measure_sigma(report.sigma, sizes)


def _visits(values: int, size: int) -> Callable[[Report], None]:
    return lambda report: report.visits.append(measure_visits(values, size))


def _startup(report: Report) -> None:
    report.startup = measure_startup()


def run(plan: Plan, console: Console) -> Report:
    """All stages, with a progress bar; what was measured so far is kept if one is interrupted."""
    report, begin, todo = Report(), time.perf_counter(), list(stages(plan))
    busy = os.getloadavg()[0]
    if busy > 1.0:
        harm = "times are" if clock.used() == "wall" else "what two threads gain is"
        report.notes.append(f"Note: the machine was busy before the run (load {busy:.1f}), so {harm} too bad")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(todo))
        try:
            for number, stage in enumerate(todo, 1):
                progress.update(task, description=stage.name)
                if not console.is_terminal:
                    print(f"{number}/{len(todo)} {stage.name}", file=sys.stderr, flush=True)
                stage.work(report)
                progress.advance(task)
        except KeyboardInterrupt:
            report.notes.append("Note: interrupted; this is what was measured until then")
    report.seconds = time.perf_counter() - begin
    return report


def plan_of(given: argparse.Namespace) -> Plan:
    """From the command line."""
    words = set(given.workload.split(",")) if given.workload else {*OTHERS, *WORKLOADS}
    of_patterns = sorted(_numbers(given.sizes or ("1e3" if given.quick else "1e3,1e4,1e5")))
    sizes = given.sizes or ("1e3,1e4" if given.quick else "1e3,1e4,1e5,1e6,1e7")
    batches = given.batch or ("1024,16384" if given.quick else "64,1024,16384,65536")
    largest = {"tree": 100_000, "engine": 1_000_000}
    for name in WORKLOADS:
        largest[name] = 10_000_000 if name == "W2" else 1_000_000
        largest[f"duckdb {name}"] = 1_000_000 if name == "W2" else 100_000
    if given.sizes:
        largest = {}
    return Plan(
        tuple(name for name in WORKLOADS if name in _named(words)),
        tuple(sorted(_numbers(sizes))),
        tuple(sorted(_numbers(batches))),
        tuple(given.index.split(",")),
        largest,
        repetitions=3 if given.quick else 5,
        budget_s=0.3 if given.quick else 2.0,
        singles=500 if given.quick else 2000,
        startup=not given.quick and not given.workload and not given.sizes,
        patterns=patterns.Sizes.of(of_patterns, quick=given.quick) if PATTERNS in words else None,
        operators=operators.Sizes.of(quick=given.quick) if OPERATORS in words else None,
        covering=covering.Sizes.of(quick=given.quick) if COVERING in words else None,
        meeting=meeting.Sizes.of(quick=given.quick) if MEETING in words else None,
        sigma=sigma.Sizes.of(quick=given.quick) if SIGMA in words else None,
    )


def _named(words: Iterable[str]) -> set[str]:
    """`W1` stands for both of its forms."""
    found = set()
    for word in words:
        meant = {name for name in (*WORKLOADS, *OTHERS) if name == word or name.startswith(f"{word}-")}
        if not meant:
            raise SystemExit(f"there is no workload {word!r}; there are {', '.join((*WORKLOADS, *OTHERS))}")
        found |= meant
    return found


def _numbers(text: str) -> list[int]:
    return [int(float(word)) for word in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--workload", help=f"comma-separated, of {', '.join((*WORKLOADS, *OTHERS))} (default: all)")
    parser.add_argument("--sizes", help="numbers of subscriptions (default: 1e3,1e4,1e5,1e6, and 1e7 for W2)")
    parser.add_argument("--batch", help="events at a time (default: 64,1024,16384,65536)")
    parser.add_argument("--index", default=",".join(names(INDEXES)), help="default: %(default)s")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: where others are busy too")
    parser.add_argument("--json", type=Path, help="where the figures go (default: benchmarks/results/<time>.json)")
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    given = parser.parse_args(arguments)
    clock.use(given.clock)
    console = Console(width=None if Console().is_terminal else 180)
    report = run(plan_of(given), console)
    report.show(console)
    path = given.json or RESULTS / f"{datetime.now():%Y-%m-%d-%H%M%S}.json"
    report.write(path)
    console.print(f"{report.seconds:,.0f} s in all; figures in {path}")


if __name__ == "__main__":
    main()
