"""Every engine in turn, for tests that all of them have to pass."""

from __future__ import annotations

import pytest

from tests.contract.engines import Engine, Local, OnSpark


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each of the engines."""
    return Local() if request.param == "local" else OnSpark(request.getfixturevalue("spark"))
