"""Cost of an event against the number of rules, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.record import OURS, Record
from benchmarks.peers.report import best, workloads

_STYLE: Any = {
    "svg.fonttype": "none",  # letters stay letters: small files that can be searched
    "svg.hashsalt": "vedette",  # the same figures make the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def write_plots(record: Record, folder: Path) -> dict[str, str]:
    """A file for each workload that was run at several sizes: its name, by workload."""
    import matplotlib as mpl

    mpl.use("svg")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_STYLE):
        return {name: _written(lines, name, folder) for name in workloads(record) if (lines := curves(record, name))}


def curves(record: Record, workload: str) -> dict[str, list[tuple[int, float]]]:
    """(rules, microseconds for an event) of each peer; nothing if there is only one size."""
    found: dict[str, list[tuple[int, float]]] = {}
    rows = [row for row in record.rows if row.workload == workload and row.counts and best(row)]
    for row in sorted(rows, key=lambda row: row.size):
        found.setdefault(row.peer, []).append((row.size, 1e6 / best(row)))
    return found if len({row.size for row in rows}) > 1 else {}


def _written(lines: dict[str, list[tuple[int, float]]], workload: str, folder: Path) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for peer in sorted(lines, key=lambda name: (name != OURS, name)):
        sizes, us = zip(*lines[peer], strict=True)
        ours = peer == OURS
        axes.plot(sizes, us, marker="o", markersize=3, label=peer, linewidth=2.6 if ours else 1.2)
    axes.set(xscale="log", yscale="log", xlabel="rules", ylabel="µs for an event", title=workload)
    axes.grid(visible=True, linewidth=0.3)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    name = f"{workload}.svg"
    figure.savefig(folder / name, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return name
