"""The four workloads of §4: what is found, how long it takes as subscriptions become more, and what a batch gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.meeting import fitted
from benchmarks.meeting_workloads import Name
from experiments.report.findings import Figure, Finding, compared
from experiments.report.plots import finish, panels
from experiments.tomasic import batching, scaling
from experiments.tomasic.measuring import ENGINES, WORKLOADS, Row

NEARLY_LOGARITHMIC = 0.3  # an exponent: a hundred times the subscriptions take less than four times as long


def figures(quick: bool) -> Iterator[Figure]:
    """One for each workload."""
    sizes, batches = (scaling.QUICK, batching.QUICK) if quick else (scaling.FULL, batching.FULL)
    scaled, batched = scaling.all_rows(sizes), batching.all_rows(batches)
    for name in WORKLOADS:
        own, in_batches = ([row for row in rows if row.workload == name] for rows in (scaled, batched))
        setting = (
            f"{sizes.publications} publications at once against {sizes.subscriptions[0]:,} to "
            f"{sizes.subscriptions[-1]:,} subscriptions over 50 variables, {own[0].operators.replace(' ', ', ')}; "
            f"batches against {batches.subscriptions:,}. `local` is Vedette's engine, `paper` the paper's queries in "
            "DuckDB, one thread each, in memory, both sides ready; they have to find the same pairs."
        )
        yield Figure(
            name,
            f"Workload {name}",
            setting,
            {"": own, "batches": in_batches},
            plot(own, in_batches),
            [*result_sizes(name, own), growth(name, own), *batches_gain(in_batches)],
        )


def _by(rows: Sequence[Row], engine: str) -> list[Row]:
    return [row for row in rows if row.engine == engine]


def result_sizes(name: Name, rows: Sequence[Row]) -> list[Finding]:
    """What the workload is named for."""
    first, last = (_by(rows, "paper")[place] for place in (0, -1))
    times = last.subscriptions / first.subscriptions
    pairs = f"{first.pairs:,} pairs at {first.subscriptions:,} subscriptions, {last.pairs:,} at {last.subscriptions:,}"
    if name == "proportional":
        claim = "the result grows in proportion to the number of subscriptions"
        return [compared("§4", claim, pairs, last.pairs == times * first.pairs)]
    found = [compared("§4", "the result stays as it is as subscriptions become more", pairs, last.pairs == first.pairs)]
    if name == "large-intermediate-results":
        grown = last.intermediate / first.intermediate
        found.append(
            compared(
                "§4",
                "the intermediate result grows with the number of subscriptions",
                f"its rows go from {first.intermediate:,} to {last.intermediate:,}, {grown:.1f} times as many for "
                f"{times:.0f} times the subscriptions",
                grown > 0.9 * times,
            )
        )
    return found


def growth(name: Name, rows: Sequence[Row]) -> Finding:
    """How response time grows, of both engines."""
    power, slower, told = {}, {}, []
    for engine in ENGINES:
        own = _by(rows, engine)
        power[engine] = fitted([row.subscriptions for row in own], [row.response_ms for row in own])
        slower[engine] = own[-1].response_ms / own[0].response_ms
        told.append(f"{engine} as N^{power[engine]:.2f}, {slower[engine]:.1f} times as long at the end")
    times = rows[-1].subscriptions / rows[0].subscriptions
    found = f"with {times:.0f} times the subscriptions response time grows: {', '.join(told)}"
    if name == "large-intermediate-results":
        return compared(
            "§7",
            "time depends heavily on the size of intermediate results",
            f"{found}; the local engine keeps no such table",
            power["paper"] > NEARLY_LOGARITHMIC,
            timed=True,
        )
    return compared(
        "§4",
        "the cost of a publication is logarithmic in the number of subscriptions, in practical circumstances",
        found,
        max(power.values()) < NEARLY_LOGARITHMIC,
        timed=True,
    )


def batches_gain(rows: Sequence[Row]) -> list[Finding]:
    """Publications a second, one by one and in the largest batch."""
    gains, told = {}, []
    for engine in ENGINES:
        own = _by(rows, engine)
        gains[engine] = own[-1].publications_per_s / own[0].publications_per_s
        told.append(
            f"{engine} {own[0].publications_per_s:,.0f} a second one by one, {own[-1].publications_per_s:,.0f} "
            f"{own[-1].batch} at a time"
        )
    paper = [row.publications_per_s for row in _by(rows, "paper")]
    worse = [
        row.batch for row, next_ in zip(_by(rows, "paper")[1:], paper, strict=False) if row.publications_per_s < next_
    ]
    return [
        compared("§6", "batching is effective", "; ".join(told), min(gains.values()) > 1.5, timed=True),
        compared(
            "§4",
            "as publications are batched, the optimiser does not adapt and makes a poor plan",
            f"a publication of the largest batch costs the paper's queries {gains['paper']:.1f} times less than "
            "one alone" + (f"; batches of {', '.join(map(str, worse))} cost more than smaller ones" if worse else ""),
            bool(worse),
            why="another optimiser plans here, DuckDB's, and it plans every batch anew",
            timed=True,
        ),
    ]


def plot(rows: Sequence[Row], batches: Sequence[Row]) -> Any:
    """Times, sizes, and batches."""
    figure, (time, size, batch) = panels(1, 3)
    for engine in ENGINES:
        own = _by(rows, engine)
        time.plot([row.subscriptions for row in own], [row.response_ms for row in own], label=engine)
        own = _by(batches, engine)
        batch.plot([row.batch for row in own], [row.publications_per_s for row in own], label=engine)
    own = _by(rows, "paper")
    for what, style in (("pairs", "-"), ("intermediate", "--")):
        size.plot([row.subscriptions for row in own], [getattr(row, what) for row in own], linestyle=style, label=what)
    for panel in (time, size, batch):
        panel.set(xscale="log", yscale="log")
    finish(time, "subscriptions", "ms for all publications", "response time")
    finish(size, "subscriptions", "rows", "results")
    finish(batch, "publications at a time", "publications per second", "throughput")
    return figure
