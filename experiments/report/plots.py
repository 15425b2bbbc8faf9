"""How all plots look, and how they are saved: the same bytes for the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = ("#0b6bcb", "#d9480f", "#2b8a3e", "#862e9c", "#0c8599", "#c2255c", "#846358", "#5c636a")
INK, FAINT, PAPER = "#1b1f24", "#d4d8dd", "#ffffff"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "svg.fonttype": "none",  # letters stay letters: small files that can be searched
    "svg.hashsalt": "vedette",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


def style() -> None:
    """Plots that are made from now on look like all others."""
    try:
        import matplotlib.style as mpl_style
        from cycler import cycler
    except ImportError as error:
        raise SystemExit("The plots need matplotlib. Install it with: pip install 'vedette[experiments]'") from error
    mpl_style.use({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS, marker=MARKERS)})


def panels(rows: int, columns: int, width: float = 4.4, height: float = 3.3) -> tuple[Any, list[Any]]:
    """A figure, and its panels from left to right, from above."""
    style()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def finish(panel: Any, x: str, y: str, title: str = "", *, legend: bool = True) -> None:
    """What every panel has."""
    panel.set(xlabel=x, ylabel=y, title=title)
    if legend:
        panel.legend()


def below(figure: Any, panel: Any, columns: int) -> None:
    """One legend for all panels, under them."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: Any, out: Path, name: str) -> str:
    """As pixels and as lines; the name of the latter."""
    figure.savefig(out / f"{name}.png", dpi=144, metadata={"Software": None})
    figure.savefig(out / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return f"{name}.svg"
