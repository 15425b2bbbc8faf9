"""Figures 6 to 10: what the paper says of them beside what `reduction` measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from experiments.ouksel import reduction
from experiments.ouksel.reduction import SCENARIOS, Row
from experiments.ouksel.scenarios import ANYWHERE, FROM_A_SIDE
from experiments.report.findings import Figure, Finding, beyond, compared, partly
from experiments.report.plots import COLOURS, MARKERS, below, finish, panels
from experiments.report.tables import only


def figures(quick: bool) -> Iterator[Figure]:
    """Figures 6 to 10, and how fast boxes are decided."""
    sizes = reduction.QUICK if quick else reduction.FULL
    rows = reduction.all_rows(sizes)
    redundant, free = ([row for row in rows if row.scenario == scenario] for scenario in SCENARIOS)
    point = ("scenario", "candidates_lie", "attributes", "candidates", "runs")
    setting = (
        "A box over m attributes and k candidates that meet it, none of which covers it alone, δ = 1e-10, "
        f"{sizes.runs} questions at each point ({sizes.timed} where candidates lie anywhere). The paper does not say "
        "how far candidates reach into the box: here from one side, at most 70 % of the way, and, dotted, anywhere in "
        "it. "
    )
    covered = "A fifth of the candidates covers the box together, cut along one attribute; the others are redundant."
    open_ = "No candidate has 5 % of the first attribute's range, so that the box is not covered."
    yield Figure(
        "figure6",
        "Figure 6",
        setting + covered,
        {"": only(redundant, *point, "removed", "nothing_left")},
        dropped_plot(redundant),
        dropped(redundant),
    )
    yield Figure(
        "figure7",
        "Figure 7",
        "The same questions as in Figure 6. d is the number of guesses that equation 1 asks for.",
        {"": only(redundant, *point, "log_before", "log_after")},
        guesses_plot(redundant),
        theoretical(redundant),
    )
    yield Figure(
        "figure8",
        "Figure 8",
        setting + open_,
        {"": only(free, *point, "removed", "nothing_left")},
        dropped_plot(free),
        dropped_more(redundant, free),
    )
    yield Figure(
        "figure9",
        "Figure 9",
        "The same questions as in Figure 8. d is the number of guesses that equation 1 asks for.",
        {"": only(free, *point, "log_before", "log_after")},
        guesses_plot(free),
        fewer(free),
    )
    yield Figure(
        "figure10",
        "Figure 10",
        "The same questions as in Figure 8: guesses that sampling makes until it finds a point that no candidate has.",
        {"": only(free, *point, "guesses", "sampling_wrong")},
        made_plot(free),
        made(free),
    )
    yield Figure(
        "decisions",
        "Exact decisions on the questions of Figures 6 to 10",
        "The paper holds that no deterministic algorithm decides such boxes efficiently. Ours drops what MCS drops and "
        "subtracts boxes from what is left, within a budget.",
        {
            "": only(
                rows, *point, "auto_wrong", "auto_uncertain", "auto_per_second", "paper_per_second", "table_per_second"
            )
        },
        speed_plot(redundant),
        decided(rows),
    )


def _lying(rows: Sequence[Row], lie: str) -> list[Row]:
    return [row for row in rows if row.candidates_lie == lie]


def dropped(rows: Sequence[Row]) -> list[Finding]:
    """§6.1 of Figure 6."""
    own, hard = _lying(rows, FROM_A_SIDE), [row for row in _lying(rows, ANYWHERE) if row.candidates >= 100]
    shares = [row.removed for row in own]
    curve = {m: [row.removed for row in own if row.attributes == m] for m in sorted({row.attributes for row in own})}
    least, most = min(curve), max(curve)
    drop = {m: shares[0] - min(shares) for m, shares in curve.items()}
    recovered = {m: shares[-1] - min(shares) for m, shares in curve.items()}
    told = ", ".join(
        f"{shares[0]:.1%} at first, {min(shares):.1%} at worst, {shares[-1]:.1%} at last for m = {m}"
        for m, shares in curve.items()
    )
    return [
        compared(
            "§6.1",
            "MCS removes between 80 % and 100 % of the redundant candidates",
            f"{min(shares):.1%} to {max(shares):.1%}",
            min(shares) >= 0.8,
            why="candidates that reach farther into the box leave MCS less to remove",
        ),
        compared(
            "§6.1",
            "nearly all for few candidates, then fewer, and more again with many candidates and attributes; at m = 10 "
            "fewer and fewer",
            told,
            partly(
                all(shares[0] > 0.99 for shares in curve.values()),
                all(recovered[m] > 0.25 * drop[m] for m in curve if m != least),
                recovered[least] < 0.25 * drop[least] or drop[least] == 0,
            ),
            why=f"with our candidates the share falls with k for every m, by {drop[least]:.1%} at m = {least} and "
            f"{drop[most]:.1%} at m = {most}, and comes back by {max(recovered.values()):.1%} at most",
        ),
        beyond(
            f"if candidates may lie anywhere in the box, MCS removes {max(row.removed for row in hard):.1%} at most "
            "from k = 100 on: the figure depends on how far they reach in, which the paper does not say"
        ),
    ]


def theoretical(rows: Sequence[Row]) -> list[Finding]:
    """§6.1 of Figure 7."""
    own = _lying(rows, FROM_A_SIDE)
    at = {row.attributes: row for row in own if row.candidates == 100}
    first, after = at[min(at)], [at[m].log_after for m in sorted(at)]
    hard = [row.log_after for row in _lying(rows, ANYWHERE) if row.candidates >= 100]
    return [
        compared(
            "§6.1",
            "d < 10^5 after MCS for 100 candidates with 10 attributes",
            f"10^{first.log_before:.1f} before MCS, 10^{first.log_after:.1f} after it (the mean of log d)",
            first.log_after < 5,
        ),
        compared(
            "§6.1",
            "without MCS d is extremely high",
            f"10^{min(row.log_before for row in own):.1f} to 10^{max(row.log_before for row in own):.1f}",
            min(row.log_before for row in own if row.candidates >= 100) > 10,
        ),
        compared(
            "§6.1",
            "d decreases significantly with more attributes",
            "at k = 100 it is "
            f"{', '.join(f'10^{log:.1f} for m = {m}' for m, log in zip(sorted(at), after, strict=True))}",
            after[-1] < after[0],
            why="what is left after MCS is mostly the cover, which is cut along one attribute here whatever m is",
        ),
        beyond(f"if candidates may lie anywhere, d stays at 10^{min(hard):.0f} and more from k = 100 on"),
    ]


def dropped_more(redundant: Sequence[Row], free: Sequence[Row]) -> list[Finding]:
    """§6.2 of Figure 8."""
    means = [float(np.mean([row.removed for row in _lying(rows, FROM_A_SIDE)])) for rows in (redundant, free)]
    least = min(row.removed for row in _lying(free, FROM_A_SIDE))
    hard = [row.removed for row in _lying(free, ANYWHERE) if row.candidates >= 100]
    return [
        compared(
            "§6.2",
            "MCS removes even more than where the box is covered",
            f"{means[1]:.2%} on average and {least:.2%} at least, against {means[0]:.2%} on average in Figure 6",
            means[1] > means[0],
        ),
        beyond(f"if candidates may lie anywhere, it removes {min(hard):.1%} to {max(hard):.1%} from k = 100 on"),
    ]


def fewer(rows: Sequence[Row]) -> list[Finding]:
    """§6.2 of Figure 9."""
    own = _lying(rows, FROM_A_SIDE)
    before, after = max(row.log_before for row in own), max(row.log_after for row in own)
    return [
        compared(
            "§6.2",
            "d decreases tremendously with MCS, to few iterations",
            f"from up to 10^{before:.1f} to 10^{after:.2f} at most, on average over log d",
            partly(before - after > 3, after < 2),
        )
    ]


def made(rows: Sequence[Row]) -> list[Finding]:
    """§6.2 of Figure 10."""
    own = _lying(rows, FROM_A_SIDE)
    most = max(row.guesses for row in own)
    wrong, runs = sum(row.sampling_wrong for row in own), sum(row.runs for row in own)
    hard = _lying(rows, ANYWHERE)
    return [
        compared(
            "§6.2", "fewer than 0.5 guesses on average", f"{most:.2f} at most, at any point of the figure", most < 0.5
        ),
        compared(
            "§6.2", "the algorithm always detects that the box is not covered", f"{wrong} wrong of {runs:,}", wrong == 0
        ),
        beyond(
            f"if candidates may lie anywhere, up to {max(row.guesses for row in hard):,.0f} guesses on average, and "
            f"{sum(row.sampling_wrong for row in hard)} wrong of {sum(row.runs for row in hard):,}"
        ),
    ]


def decided(rows: Sequence[Row]) -> list[Finding]:
    """What is exact, and how fast."""
    faster = [row.auto_per_second / row.paper_per_second for row in rows]
    without = [row.auto_per_second / row.table_per_second for row in rows]
    wrong, unsure = sum(row.auto_wrong for row in rows), sum(row.auto_uncertain for row in rows)
    asked = sum(row.runs for row in rows)
    return [
        compared(
            "§6.5",
            "what MCS leaves cannot be decided efficiently by a deterministic algorithm",
            f"of {asked:,} questions {asked - unsure:,} were decided exactly within the budget, {wrong} of them "
            "wrongly",
            unsure > 0,
            why="co-NP completeness is about the worst case: with up to 310 candidates these are far from it",
        ),
        beyond(
            f"{min(row.auto_per_second for row in rows):,.0f} to {max(row.auto_per_second for row in rows):,.0f} exact "
            f"decisions a second, {min(faster):.1f} to {max(faster):,.0f} times as many as in the paper's order, "
            f"{min(without):.1f} to {max(without):.1f} times as many as its conflict table and MCS alone",
            timed=True,
        ),
    ]


def dropped_plot(rows: Sequence[Row]) -> Any:
    """Shares that MCS removes."""
    figure, (panel,) = panels(1, 1, 6.4, 3.8)
    for lie, style in ((FROM_A_SIDE, "-"), (ANYWHERE, ":")):
        _lines(panel, _lying(rows, lie), "removed", lie, style)
    return _legend(figure, panel, "share of the redundant ones that MCS removes")


def guesses_plot(rows: Sequence[Row]) -> Any:
    """Guesses needed."""
    figure, (panel,) = panels(1, 1, 6.4, 3.8)
    own = _lying(rows, FROM_A_SIDE)
    _lines(panel, own, "log_after", "after MCS", "-")
    _lines(panel, own, "log_before", "without MCS", ":")
    return _legend(figure, panel, "log10 d, on average")


def made_plot(rows: Sequence[Row]) -> Any:
    """Guesses made."""
    figure, (panel,) = panels(1, 1, 6.4, 3.4)
    _lines(panel, _lying(rows, FROM_A_SIDE), "guesses", FROM_A_SIDE, "-")
    return _legend(figure, panel, "guesses made, on average")


def speed_plot(rows: Sequence[Row]) -> Any:
    """Decisions a second."""
    figure, (panel,) = panels(1, 1, 6.4, 3.8)
    own = _lying(rows, FROM_A_SIDE)
    _lines(panel, own, "auto_per_second", "exact", "-")
    _lines(panel, own, "paper_per_second", "the paper's order", ":")
    panel.set(yscale="log")
    return _legend(figure, panel, "decisions per second, redundant covering")


def _legend(figure: Any, panel: Any, y: str) -> Any:
    finish(panel, "candidates k", y, legend=False)
    below(figure, panel, 3)
    return figure


def _lines(panel: Any, rows: Sequence[Row], field: str, name: str, style: str) -> None:
    for number, attributes in enumerate(sorted({row.attributes for row in rows})):
        own = [row for row in rows if row.attributes == attributes]
        panel.plot(
            [row.candidates for row in own],
            [getattr(row, field) for row in own],
            marker=MARKERS[number],
            linestyle=style,
            color=COLOURS[number],
            label=f"m = {attributes}, {name}",
        )
