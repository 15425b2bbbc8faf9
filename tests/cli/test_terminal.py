"""Progress and colours: on a terminal, on standard error, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.session import COMMAND, pairs, write_lines
from vedette.cli.terminal import Terminal


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_progress_bar_is_drawn_on_a_terminal_only(subscriptions: Path, tmp_path: Path) -> None:
    import pty

    events = write_lines(tmp_path / "many.jsonl", [{"price": i} for i in range(1000)])
    leader, follower = pty.openpty()
    command = [*COMMAND, "match", str(subscriptions), str(events), "-o", "-"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env=environment) as running:
        os.close(follower)
        out, drawn = running.communicate(timeout=300)[0], b""
        while chunk := _read(leader):
            drawn += chunk
    os.close(leader)
    assert running.returncode == 0
    assert len(pairs(out.decode())) == 799
    assert b"\x1b" not in out
    assert "matching" in drawn.decode()
    assert "1,000 events" in drawn.decode()


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # nobody holds the other end any more
        return b""


def test_nothing_is_drawn_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    with terminal.working("counting", "sheep") as bar:
        bar.show(0.5, 10)
        bar.show(None, 20)
    assert capsys.readouterr() == ("", "")


def test_what_is_said_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(quiet=True)
    terminal.note("all is [well]")
    terminal.warn("nor this")
    terminal.warn("not [quite]", lost=True)
    assert capsys.readouterr() == ("", "Warning: not [quite]\n")
