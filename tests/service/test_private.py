"""What only the owner of the service may read: its files, its new keys, its metrics."""

from __future__ import annotations

import io
import logging
import os
import stat
from pathlib import Path

import pytest

from tests.service.running import ADMIN, over_http, published, settings_in
from vedette.cli.serve import _greet, _Keys
from vedette.cli.terminal import Terminal
from vedette.service.service import Service

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_every_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Service(settings_in(tmp_path)) as service:
            published(service, {"x": 1})
            found = modes(tmp_path)
    finally:
        os.umask(before)
    assert {"service.db", "service.db-wal", "service.db-shm", "service.db-lock"} <= found.keys()
    assert set(found.values()) == {0o600}, found


def test_files_of_older_versions_are_tightened_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Service(settings_in(tmp_path)):
        pass
    for file in tmp_path.iterdir():
        file.chmod(0o644)
    with caplog.at_level(logging.WARNING), Service(settings_in(tmp_path)):
        assert set(modes(tmp_path).values()) == {0o600}
    assert [one for one in caplog.messages if "service.db could be read or written by others" in one]


def test_keys_go_to_a_file_that_nobody_else_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    planted = tmp_path / "service.db-first-key"
    planted.symlink_to(tmp_path / "elsewhere")
    keys = _Keys(terminal, f"sqlite:///{tmp_path / 'service.db'}")
    _greet(terminal, keys, "http://x", "default", "vk_secret")
    said = capsys.readouterr().err
    assert "vk_secret" not in said
    assert f"$(cat {planted})" in said
    assert (planted.read_text(), modes(tmp_path)) == ("vk_secret\n", {"service.db-first-key": 0o600})


def test_keys_that_cannot_be_written_are_not_shown_instead(capsys: pytest.CaptureFixture[str]) -> None:
    keys = _Keys(Terminal(), "sqlite:////nonexistent/folder/service.db")
    keys.tell("admin-key", "va_secret", "the admin key is")
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert "va_secret" not in said


def test_a_terminal_is_shown_them(tmp_path: Path) -> None:
    terminal = Terminal()
    terminal.console._force_terminal = True
    terminal.console.file = io.StringIO()
    _Keys(terminal, f"sqlite:///{tmp_path / 'service.db'}").tell("admin-key", "va_secret", "the admin key is")
    assert "the admin key is va_secret" in terminal.console.file.getvalue()
    assert not list(tmp_path.iterdir())


def test_metrics_may_ask_for_a_key(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, server={"metrics_key": "of-prometheus"})) as running:
        statuses = [
            running.http.get("/metrics", headers={"Authorization": f"Bearer {key}"} if key else {}).status_code
            for key in (None, "wrong", running.key, "of-prometheus", ADMIN)
        ]
    assert statuses == [401, 401, 401, 200, 200]
