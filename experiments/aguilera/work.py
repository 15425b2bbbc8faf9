"""Figure 7: work and space of the tree as the number of subscriptions grows, with one optimisation after the other.

The quick sizes begin at 2,500: below that p1 and D change so much with N, to keep 100 matches, that the slope
over a few small sizes says little (500 .. 4,000 gives an exponent above 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.aguilera.trees import MATCHES, Row, Space, exponent, measure, saved, variants
from experiments.report.findings import Figure, Finding, beyond, compared, partly
from experiments.report.plots import finish, panels
from experiments.report.tracking import track

SIZES = (1_000, 2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 50_000, 100_000)
QUICK_SIZES = (2_500, 5_000, 10_000, 20_000)
BEST = "collapsed, successors, factored"


def figure_7(sizes: Sequence[int], events: int) -> list[Row]:
    """V = 3, K = 30, three index attributes, 100 matches per event."""
    space = Space()
    batch = space.events(events, seed=7)
    rows = []
    for count in track("Figure 7", sizes):
        table = space.subscriptions(space.popularity_for(count), count, seed=count)
        rows += [measure(name, options, space, table, batch) for name, options in variants(space.attributes).items()]
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """Measured, drawn and judged."""
    events = 200 if quick else 1_000
    rows = figure_7(QUICK_SIZES if quick else SIZES, events)
    yield Figure(
        "figure7",
        "Figure 7",
        f"Trees over 30 attributes of 3 values, 3 of them factored out where it says so. p1 is 0.95, and D such that "
        f"one of {events:,} uniform events matches {MATCHES} subscriptions, whatever their number. Events are "
        "matched one at a time; time is the processor's.",
        {"": rows},
        plot(rows),
        findings(rows),
    )


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the text says of the figure, which is printed without numbers."""
    best = [row for row in rows if row.variant == BEST]
    work, space = exponent(best), _space(best)
    collapsing = saved(rows, "collapsed", "plain", "microseconds")
    chained = ("collapsed, successors", "collapsed")
    following = saved(rows, *chained, "microseconds")
    per_visit = [
        1e3 * sum(row.microseconds for row in own) / sum(row.visits_without_forks for row in own)
        for own in ([row for row in rows if row.variant == variant] for variant in chained)
    ]
    forks, visits = saved(rows, *chained, "visits_without_forks"), saved(rows, *chained)
    return [
        compared(
            "§4, §7",
            "the expected time to match an event grows more slowly than the number of subscriptions",
            f"with all optimisations nodes visited grow as N^{work:.2f}, from {best[0].visits:,.0f} at "
            f"{best[0].subscriptions:,} to {best[-1].visits:,.0f} at {best[-1].subscriptions:,} subscriptions",
            work < 1,
            why="over so few sizes D, which keeps the matches at 100, changes more than N does",
        ),
        compared(
            "§7",
            "space, counted in edges and members of successor sets, is linear in the number of subscriptions",
            f"it grows as N^{space:.2f}, to {best[-1].edges + best[-1].successors:,}",
            partly(space < 1.15, space < 1.4),
            why="D grows with N to keep the matches at 100, so later subscriptions test more attributes and share less",
        ),
        compared(
            "§5",
            "collapsing chains of *-edges takes 60 % off the matching time",
            f"it takes {collapsing:.0%} off the time, and {saved(rows, 'collapsed', 'plain'):.0%} off the visits",
            partly(collapsing > 0.5, collapsing > 0.1),
            timed=True,
        ),
        compared(
            "§5",
            "successor sets take about another 20 % off it",
            f"they change time by {-following:+.0%}, and visits by {-forks:+.0%} ({-visits:+.0%} if a fork, which "
            "tests nothing, counts as a node)",
            partly(following > 0.1, forks > 0.1),
            why=f"visits become fewer and dearer, {per_visit[0]:.0f} ns instead of {per_visit[1]:.0f} each: to follow "
            "a list of successors costs our tree more than the test that it saves",
            timed=True,
        ),
        beyond(
            f"factoring out 3 attributes takes {saved(rows, BEST, 'collapsed, successors'):.0%} off the nodes visited, "
            f"for {_times_the_space(rows):.1f} times the space"
        ),
    ]


def _space(rows: Sequence[Row]) -> float:
    return exponent(rows, "links")


def _times_the_space(rows: Sequence[Row]) -> float:
    last = max(row.subscriptions for row in rows)
    size = {row.variant: row.links for row in rows if row.subscriptions == last}
    return size[BEST] / size["collapsed, successors"]


def plot(rows: Sequence[Row]) -> Any:
    """Work, space and time over the number of subscriptions."""
    figure, shown = panels(1, 3)
    for variant in dict.fromkeys(row.variant for row in rows):
        own = [row for row in rows if row.variant == variant]
        sizes = [row.subscriptions for row in own]
        for panel, attribute in zip(shown, ("visits", "links", "microseconds"), strict=True):
            panel.plot(sizes, [getattr(row, attribute) for row in own], label=variant)
    words = ("nodes visited per event", "edges + members of successor sets", "µs per event")
    for panel, what, title in zip(shown, words, ("work", "space", "time"), strict=True):
        panel.set(xscale="log", yscale="log")
        finish(panel, "subscriptions", what, title, legend=panel is shown[0])
    return figure
