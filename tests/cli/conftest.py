"""Files that most tests of the command line start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.session import EVENTS, SUBSCRIPTIONS, write_lines


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    """Three subscriptions."""
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Four events."""
    return write_lines(tmp_path / "events.jsonl", EVENTS)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the folder of the files."""
    monkeypatch.chdir(tmp_path)
