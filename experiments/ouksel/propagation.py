"""Equation 2: how probably a subscription that is not covered meets a publication along a chain of brokers.

Printed, it has one rho for two things: that a broker has the publication, and that a guess finds a point outside of all
candidates. Both readings stand beside a simulation, in which every broker guesses for itself whether the subscription
is covered, and sends it on if it finds that it is not. The box is one of the extreme non-cover scenario, where the part
that is not covered is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.muthusamy.output import axes, finish
from experiments.ouksel.output import save, write
from experiments.ouksel.scenarios import extreme_non_cover
from vedette.covering.sampling import found_along_path, guess

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
    for publishing in sizes.publishing:
        for guesses in sizes.guesses:
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


def run(out: Path, quick: bool) -> str:
    """Write data and a plot; which reading is right."""
    rows = measure(QUICK if quick else FULL)
    write(out, "equation2", rows)
    plot(rows, out)
    return told(rows)


def plot(rows: Sequence[Row], out: Path) -> None:
    """A panel for each probability that a broker has the publication."""
    publishing = list(dict.fromkeys(row.publishing for row in rows))
    picture, panels = axes(1, len(publishing))
    for panel, one in zip(panels, publishing, strict=True):
        for number, guesses in enumerate(dict.fromkeys(row.guesses for row in rows)):
            own = [row for row in rows if (row.publishing, row.guesses) == (one, guesses)]
            brokers, color = [row.brokers for row in own], f"C{number}"
            panel.plot(brokers, [row.meant for row in own], color=color, label=f"d = {guesses}, ρ_w is meant")
            panel.plot(
                brokers, [row.printed for row in own], color=color, linestyle=":", label=f"d = {guesses}, printed"
            )
            panel.errorbar(
                brokers, [row.simulated for row in own], [2 * row.error for row in own], color=color, fmt="o", ms=3
            )
        finish(panel, f"a broker has it with ρ = {one}", "brokers in the chain", "probability that it is found")
    picture.suptitle(f"Ouksel 2006, equation 2: ρ_w = {GAP}; points are simulated")
    save(picture, out, "equation2")


def told(rows: Sequence[Row]) -> str:
    """How far each reading is from what happens."""
    off = {name: max(abs(getattr(row, name) - row.simulated) for row in rows) for name in ("printed", "meant")}
    widest = max(row.error for row in rows)
    return (
        f"Equation 2: with ρ_w for the guesses it is {off['meant']:.3f} from the simulation at most (standard error "
        f"{widest:.3f}), as printed with one ρ {off['printed']:.3f}."
    )
