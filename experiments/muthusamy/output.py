"""Where the real data are: beside the checkout, if they are on this machine."""

from __future__ import annotations

from pathlib import Path

from experiments.report.findings import Missing

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

__all__ = ["DATA", "Missing", "shared"]


def shared(name: str) -> Path:
    """A file of the real data."""
    if not (DATA / name).exists():
        raise Missing(f"{name} is not among the shared data")
    return DATA / name
