"""Seeds of random tests: fresh ones on every run, a few of them by `make test`, all of them by `make test-thorough`.

As every run has others, each needs few: what one run does not try, the next ones do. It says at its end where they
began; `SEED=12345 make test` repeats it, and `SEED=0` begins at 0. `EXAMPLES=400` tries more of every property.
"""

from __future__ import annotations

import os
import secrets
from typing import Any, Final

import pytest

# Processes of pytest-xdist have the environment of the one that starts them, and so the same seeds.
SEED: Final = int(os.environ.setdefault("SEED", str(secrets.randbelow(100_000))))
EXAMPLES: Final = int(os.environ.get("EXAMPLES", "40"))  # of a property; SEED decides which Hypothesis chooses
_APART: Final = 10_000  # more than the seeds of any test, so that two runs share none


def some(end: int, first: int = 0, *, usual: int | None = None) -> list[Any]:
    """As many seeds as there are from `first` to `end`, those beyond the usual ones (by default a quarter) thoroughly.

    Tests are named by the numbers in the range, which stay; the seeds are those and what this run adds to them.
    """
    few = max(1, (end - first) // 4) if usual is None else usual
    return [
        pytest.param(SEED * _APART + number, id=str(number), marks=() if number < first + few else pytest.mark.thorough)
        for number in range(first, end)
    ]
