from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.kernels.ranks import rank_steps, ranks_of

_INT64 = st.integers(-(2**63), 2**63 - 1)


def _ranks(breakpoints: np.ndarray, keys: np.ndarray) -> list[int]:
    out = np.empty(len(keys), np.int32)
    ranks_of(rank_steps(breakpoints), keys, np.ones(len(keys), np.bool_), out)
    return out.tolist()


@pytest.mark.interpreted
@given(st.lists(st.one_of(_INT64, st.integers(-20, 20)), max_size=80), st.lists(_INT64, max_size=20))
def test_ranks_are_those_of_a_binary_search(breakpoints: list[int], others: list[int]) -> None:
    points = np.unique(np.array(breakpoints, np.int64))
    near = [k + d for k in breakpoints for d in (-1, 0, 1) if -(2**63) <= k + d < 2**63]
    keys = np.array([*near, *others], np.int64)
    assert _ranks(points, keys) == np.searchsorted(points, keys, side="right").tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize("shape", ["even", "crowded", "outliers", "exponents"])
def test_ranks_of_many_breakpoints(shape: str) -> None:
    random = np.random.default_rng(4)
    made = {
        "even": random.integers(0, 10**12, 3000),
        "crowded": np.concatenate([10**15 * c + random.integers(0, 999, 700) for c in range(4)]),
        "outliers": np.append(random.integers(10**6, 10**6 + 5000, 3000), [-(2**63), 2**63 - 1]),
        "exponents": random.lognormal(0, 20, 3000).view(np.int64),
    }[shape]
    points = np.unique(made.astype(np.int64))
    keys = np.concatenate([points, points[points < 2**63 - 1] + 1, random.integers(-(2**63), 2**63 - 1, 500)])
    assert _ranks(points, keys) == np.searchsorted(points, keys, side="right").tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize("points", [[], [5]])
def test_a_missing_value_has_no_rank(points: list[int]) -> None:
    out = np.empty(2, np.int32)
    steps = rank_steps(np.array(points, np.int64))
    ranks_of(steps, np.array([7, 7]), np.array([False, True]), out)
    assert out.tolist() == [-1, len(points)]
