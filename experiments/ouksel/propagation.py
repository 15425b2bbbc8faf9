"""Equation 2: how probably a subscription that is not covered meets a publication along a chain of brokers.

Printed, it has one rho for two things: that a broker has the publication, and that a guess finds a point outside of all
candidates. Both readings stand beside a simulation, in which every broker guesses for itself whether the subscription
is covered, and sends it on if it finds that it is not. The box is one of the extreme non-cover scenario, where the part
that is not covered is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from experiments.ouksel.scenarios import extreme_non_cover
from experiments.report.findings import Figure, Finding, compared
from experiments.report.plots import COLOURS, below, finish, panels
from experiments.report.tracking import track
from vedette.covering.box_decision import found_along_path, guess

GAP = 0.02  # of the box: the probability that a guess finds a point that is not covered
_NEVER = 1e-300  # an error that more guesses are needed for than any of GUESSES


@dataclass(frozen=True)
class Sizes:
    """How long the chain is, how often it is walked, and how many guesses a broker makes."""

    brokers: int
    trials: int
    publishing: tuple[float, ...]
    guesses: tuple[int, ...]


FULL = Sizes(12, 4000, (0.05, 0.2), (10, 50, 200))
QUICK = Sizes(6, 500, (0.05, 0.2), (10, 50))


@dataclass(frozen=True)
class Row:
    """The publication is found among the first so many brokers with these probabilities."""

    publishing: float
    guesses: int
    brokers: int
    printed: float
    meant: float
    simulated: float
    error: float  # standard error of the simulation


def found_at(publishing: float, guesses: int, brokers: int, trials: int) -> list[int]:
    """By trial, the broker (from 1) at which the publication is found; 0 where it never is."""
    random = np.random.default_rng([round(1000 * publishing), guesses])
    box = extreme_non_cover(random, 50, 5, GAP)
    found = []
    for _ in range(trials):
        at = 0
        for broker in range(1, brokers + 1):
            if random.random() < publishing:
                at = broker
                break
            if guess(*box, error=_NEVER, most=guesses, seed=int(random.integers(2**62))).point is None:
                break  # this broker takes it for covered
        found.append(at)
    return found


def measure(sizes: Sizes) -> list[Row]:
    """Both readings and the simulation, for every length of the chain."""
    rows = []
    for publishing, guesses in track("Equation 2", product(sizes.publishing, sizes.guesses)):
        at = np.array(found_at(publishing, guesses, sizes.brokers, sizes.trials))
        for brokers in range(1, sizes.brokers + 1):
            share = float(((at > 0) & (at <= brokers)).mean())
            rows.append(
                Row(
                    publishing,
                    guesses,
                    brokers,
                    found_along_path(publishing, publishing, guesses, brokers),
                    found_along_path(publishing, GAP, guesses, brokers),
                    share,
                    float(np.sqrt(share * (1 - share) / sizes.trials)),
                )
            )
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """Both readings beside what happens."""
    sizes = QUICK if quick else FULL
    rows = measure(sizes)
    yield Figure(
        "equation2",
        "Equation 2",
        f"A subscription with {GAP:.0%} that nobody covers travels along {sizes.brokers} brokers, each of which has "
        f"the publication with probability ρ, and makes d guesses; {sizes.trials:,} walks. Points are simulated, with "
        "two standard errors.",
        {"": rows},
        plot(rows),
        findings(rows),
    )


def plot(rows: Sequence[Row]) -> Any:
    """A panel for each probability that a broker has the publication."""
    publishing = list(dict.fromkeys(row.publishing for row in rows))
    figure, shown = panels(1, len(publishing), 4.8, 3.9)
    for panel, one in zip(shown, publishing, strict=True):
        for colour, guesses in zip(COLOURS, dict.fromkeys(row.guesses for row in rows), strict=False):
            own = [row for row in rows if (row.publishing, row.guesses) == (one, guesses)]
            brokers = [row.brokers for row in own]
            for name, style in (("meant", "-"), ("printed", ":")):
                values = [getattr(row, name) for row in own]
                panel.plot(brokers, values, color=colour, ls=style, marker="", label=f"d = {guesses}, {name}")
            errors = [2 * row.error for row in own]
            panel.errorbar(brokers, [row.simulated for row in own], errors, color=colour, fmt="o", ms=3)
        finish(panel, "brokers in the chain", "probability that it is found", f"ρ = {one}", legend=False)
    below(figure, shown[0], 3)
    return figure


def findings(rows: Sequence[Row]) -> list[Finding]:
    """How far each reading is from what happens."""
    off = {name: max(abs(getattr(row, name) - row.simulated) for row in rows) for name in ("printed", "meant")}
    widest = max(row.error for row in rows)
    return [
        compared(
            "§5",
            "equation 2, with one ρ for two things, gives the probability that the publication is found",
            f"as printed it is up to {off['printed']:.3f} from the simulation; with ρ_w, the probability that a guess "
            f"finds a point outside, for the guesses it is {off['meant']:.3f} at most (standard error {widest:.3f})",
            off["printed"] < 5 * widest,
            why="the printed formula takes the probability that a broker has the publication for that of a guess",
        )
    ]
