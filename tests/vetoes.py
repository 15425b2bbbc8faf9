"""Vetoes wherever they can be: what many exceptions need, for filters of a few."""

from __future__ import annotations

from random import Random

import pytest

from tests.filters.test_live import random_text
from vedette.language import limits, vetoes


def everywhere(patch: pytest.MonkeyPatch) -> None:
    """From now on every OR that can be is said by vetoes."""
    patch.setattr(limits, "DISTRIBUTED", 1)
    patch.setattr(vetoes, "KEPT", 1)
    patch.setattr(vetoes, "WORTH", 0)


def random_exceptions(random: Random) -> str:
    """A filter of the attributes of `test_live`: a few tests, and exceptions."""
    parts = [f"({random_text(random)})" for _ in range(random.randint(0, 2))]
    parts += [
        f"not (({random_text(random)}) and ({random_text(random)}))" if random.random() < 0.7 else "(n > 3 or s = 'b')"
        for _ in range(random.randint(1, 3))
    ]
    random.shuffle(parts)
    return " and ".join(parts) if random.random() < 0.8 else f"({' and '.join(parts)}) or {random_text(random)}"
