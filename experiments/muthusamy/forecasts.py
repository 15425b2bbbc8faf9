"""Figure 10: how precise forecasts are, by threshold and look-ahead, where training and testing are alike or not.

A prediction is made whenever an event moves the machine of a pattern on and the probability that it completes within
the look-ahead reaches the threshold; it is a true positive if the pattern does. `paper` is the paper's own formula,
`first passage` ours. All patterns are forecast, so there are fewer of them than in Figure 9: each sees every event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pattern_workloads import Sequences, Stream
from experiments.muthusamy.forecast_evaluation import outcomes, probabilities
from experiments.report.findings import Figure, Finding, compared, partly
from experiments.report.plots import finish, panels
from experiments.report.tracking import track
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.probability_table import ForecastSettings, Mode
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.outputs import Observations

THRESHOLDS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))
MODES: tuple[Mode, ...] = ("paper", "first passage")


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    patterns: int = 20
    look_ahead: tuple[int, ...] = (1, 2, 4, 8)
    partial: tuple[int, ...] = (20, 40, 80)  # partial matches of each pattern, beside 20 full ones


QUICK = Sizes(4, (1, 4), (20, 40))


@dataclass(frozen=True)
class Row:
    """Predictions of one kind, judged."""

    panel: str
    trained: str
    tested: str
    full: int
    partial: int
    mode: str
    look_ahead: int
    threshold: float
    true_positive: int
    false_positive: int
    precision: float  # nan: nothing was predicted
    recall: float  # of the moves after which the pattern did complete in time
    brier: float  # of all forecasts after moves


@dataclass(frozen=True)
class Seen:
    """A stream as the machines of the patterns saw it, and the rows in which an event moved one of them."""

    name: str
    stream: Stream
    observations: Observations
    moved: NDArray[np.bool_]


def observed(stream: Stream, records: Sequence[PatternRecord]) -> Seen:
    """Let the stream happen to the patterns."""
    seen = PatternMatcher(records).process(stream.events()).observations
    order = np.argsort(seen.pattern, kind="stable")
    before = np.zeros(len(seen), np.int64)
    before[order[1:]] = np.where(seen.pattern[order[1:]] == seen.pattern[order[:-1]], seen.state[order[:-1]], 0)
    # A state also changes where a partial match breaks off; the event that breaks it asks for nothing.
    moved = (seen.symbol != 0) & (seen.state != before) & (seen.state != 0)
    return Seen("gaussian_pub" if stream.gaussian else "uniform_pub", stream, seen, moved)


def judged(panel: str, model: Model, trained: str, test: Seen, records: Sequence[PatternRecord], n: int) -> list[Row]:
    """One model on one stream with one look-ahead, for all thresholds."""
    said = probabilities(model, records, test.observations, within=n)
    came_true, known = outcomes(test.observations, n)
    rows = test.moved & known
    said, came_true = said[rows], came_true[rows]
    found = []
    for threshold in THRESHOLDS:
        yes = said >= threshold
        true = int((yes & came_true).sum())
        found.append(
            Row(
                panel,
                trained,
                test.name,
                test.stream.full,
                test.stream.partial,
                model.settings.mode,
                n,
                threshold,
                true,
                int(yes.sum()) - true,
                true / int(yes.sum()) if yes.any() else float("nan"),
                true / max(1, int(came_true.sum())),
                float(np.mean((np.clip(said, 0, 1) - came_true) ** 2)),
            )
        )
    return found


def figure_10(sizes: Sizes) -> list[Row]:
    """(a): one training, tests with more and more partial matches; (b): the same workload; (c): another one."""
    sequences = Sequences(sizes.patterns)
    records = sequences.records(Predict(max(sizes.look_ahead)))
    uniform = observed(Stream(sequences, seed=60), records)
    gaussian = observed(Stream(sequences, gaussian=True, seed=61), records)
    tests = [observed(Stream(sequences, partial=partial, seed=62), records) for partial in sizes.partial]
    rows = []
    for mode in MODES:
        settings = ForecastSettings(context=0, mode=mode)
        one, other = (train([seen.observations], records, settings) for seen in (uniform, gaussian))
        for n in track(f"Figure 10, {mode}", sizes.look_ahead):
            for test in tests:
                rows += judged("a", one, uniform.name, test, records, n)
            rows += judged("b", one, uniform.name, tests[0], records, n)
            rows += judged("c", other, gaussian.name, tests[0], records, n)
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """Measured, drawn and judged."""
    sizes = QUICK if quick else Sizes()
    rows = figure_10(sizes)
    yield Figure(
        "figure10",
        "Figure 10",
        f"{sizes.patterns} patterns of 10 steps; models learn from one stream and are judged on another: (a) with "
        "more and more partial matches, (b) of the same distribution, (c) of another one. Above the paper's formula, "
        "below first passage.",
        {"": rows},
        plot(rows),
        [finding for mode in MODES for finding in findings([row for row in rows if row.mode == mode], mode)],
    )


def plot(rows: Sequence[Row]) -> Any:
    """Precision by threshold, above in the paper's mode, below in ours."""
    figure, shown = panels(2, 3)
    for axis, (mode, panel) in zip(shown, product(MODES, "abc"), strict=True):
        own = [row for row in rows if (row.mode, row.panel) == (mode, panel)]
        ends = min(row.look_ahead for row in own), max(row.look_ahead for row in own)
        for n, partial in dict.fromkeys((row.look_ahead, row.partial) for row in own):
            if panel == "a" and n not in ends:
                continue
            curve = [row for row in own if (row.look_ahead, row.partial) == (n, partial)]
            label = f"n = {n}" + (f", {curve[0].full}:{partial}" if panel == "a" else "")
            axis.plot([row.threshold for row in curve], [row.precision for row in curve], label=label)
        axis.set(xlim=(0, 1), ylim=(0, 1.02))
        finish(axis, "threshold", "precision", f"({panel}) {own[0].trained} → {own[0].tested}, {mode}")
    return figure


def precision(rows: Sequence[Row], **wanted: object) -> float:
    """Of all predictions of these rows together."""
    own = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    true, false = sum(row.true_positive for row in own), sum(row.false_positive for row in own)
    return true / (true + false) if true + false else float("nan")


def findings(rows: Sequence[Row], mode: str) -> list[Finding]:
    """What came of the paper's claims."""
    near, far = min(row.look_ahead for row in rows), max(row.look_ahead for row in rows)
    few, many = min(row.partial for row in rows), max(row.partial for row in rows)
    highest = max(row.threshold for row in rows if row.panel == "b" and row.true_positive + row.false_positive)
    close, distant = (precision(rows, panel="b", look_ahead=n) for n in (near, far))
    low, middle, high = (precision(rows, panel="b", threshold=one) for one in (0.1, 0.5, highest))
    with_few, with_many = (precision(rows, panel="a", partial=count) for count in (few, many))
    same, other = (precision(rows, panel=panel) for panel in "bc")
    called = f"{mode}: "
    return [
        compared(
            "§6.2",
            "(a) precision decreases as the look-ahead grows",
            f"{called}{close:.2f} for n = {near}, {distant:.2f} for n = {far}",
            distant < close,
        ),
        compared(
            "§6.2",
            "(a) it improves with the threshold, and is stable for larger ones",
            f"{called}{low:.2f} at 0.1, {middle:.2f} at 0.5, {high:.2f} at {highest}, the highest that any forecast "
            "reaches",
            partly(middle > low, abs(high - middle) < 0.1),
        ),
        compared(
            "§6.2",
            "(a) it decreases with more partial matches in the test",
            f"{called}{with_few:.2f} with {few}, {with_many:.2f} with {many}",
            with_many < with_few,
        ),
        compared(
            "§6.2",
            "(b), (c) it decreases where training and test differ in distribution",
            f"{called}{other:.3f} instead of {same:.3f}",
            other < same - 0.005,
            why="only the lengths of partial matches differ between the two, and they change little in how often a "
            "state leads to the next",
        ),
    ]
