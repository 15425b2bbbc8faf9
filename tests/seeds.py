"""Seeds of random tests: a few on every run, all of them with `make test-thorough`."""

from __future__ import annotations

from typing import Any

import pytest


def some(end: int, first: int = 0, *, usual: int | None = None) -> list[Any]:
    """The seeds from the first on, those beyond the usual ones (by default a quarter of them) only thoroughly."""
    few = max(1, (end - first) // 4) if usual is None else usual
    return [
        seed if seed < first + few else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(first, end)
    ]
