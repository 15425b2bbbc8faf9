"""A stand-in dialect beside the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin_packages import installed, made_up
from vedette.plugins import DIALECTS


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[str]:
    """The name of a dialect that is there for the test."""
    with installed(made_up(tmp_path / "standin", "made_up_standin", {DIALECTS: {"standin": "tests.dialects.standin"}})):
        yield "standin"
