"""A stand-in dialect beside the real ones."""

from __future__ import annotations

import pytest

from vedette.dialects import registry


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a dialect that is there for the test."""
    modules = {**registry._MODULES, "standin": "tests.dialects.standin"}
    monkeypatch.setattr(registry, "_MODULES", modules)
    monkeypatch.setattr(registry, "NAMES", tuple(modules))
    return "standin"
