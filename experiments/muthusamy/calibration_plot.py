"""A calibration plot: predicted probabilities against observed frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vedette.errors import NotInstalled
from vedette.patterns.forecasts.score import Score


def calibration_plot(scores: Mapping[str, Score], *, parts: int = 10) -> Any:
    """A matplotlib figure with a line for each score; the nearer to the diagonal, the better. Size shows the number."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotInstalled("The plots need matplotlib. Install it with: pip install 'vedette[experiments]'") from error
    figure = Figure(figsize=(5.5, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="as said")
    for name, score in scores.items():
        deciles = score.calibration(parts)
        said, true = [one.predicted for one in deciles], [one.observed for one in deciles]
        (line,) = axes.plot(said, true, label=name)
        sizes = [8 + 60 * (one.forecasts / max(score.forecasts, 1)) ** 0.5 for one in deciles]
        axes.scatter(said, true, s=sizes, color=line.get_color())
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="came true")
    axes.legend()
    return figure
