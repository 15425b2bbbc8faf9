"""How commands end, in processes of their own: exit status, signals, closed pipes, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.session import COMMAND, PAIRS, files_in, pairs, process, vedette, write_lines
from vedette.cli.exit_status import BAD_INPUT, INTERRUPTED, READER_GONE


def test_the_reader_of_the_output_goes_away(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "many.jsonl", [{"price": 300 + i} for i in range(50_000)])
    command = [*COMMAND, "match", str(subscriptions), str(events), "-o", "-", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.readline()
        running.stdout.close()
        told = running.stderr.read()
        code = running.wait(timeout=300)
    assert json.loads(first) == {"event": "0", "subscription": "s2", "kind": "match"}
    assert told == b""
    assert code == READER_GONE


@pytest.mark.parametrize("warnings", [1, 5000])
def test_the_reader_of_warnings_goes_away(warnings: int, tmp_path: Path) -> None:
    """Also where all that there is to say fits into the buffers."""
    records = [{"id": f"s{i}", "when": "price > 3 and price < 2"} for i in range(warnings)]
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    command = [*COMMAND, "check", str(subscriptions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == b""
        assert running.wait(timeout=300) == READER_GONE


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_a_signal_ends_quietly_and_leaves_nothing(
    sent: signal.Signals, code: int, subscriptions: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "events.pipe"
    os.mkfifo(pipe)
    out = tmp_path / "out" / "matches.jsonl"
    out.parent.mkdir()
    command = [*COMMAND, "match", str(subscriptions), str(pipe), "--events-format", "jsonl", "-o", str(out), "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running, pipe.open("wb") as feed:
        feed.write(b'{"price": 300}\n')  # and never an end
        feed.flush()
        _wait_for(out.parent)
        running.send_signal(sent)
        told, error = running.communicate(timeout=300)
    assert running.returncode == code
    assert (told, error) == (b"", b"")
    assert files_in(out.parent) == set()


def _wait_for(folder: Path) -> None:
    """Until the output has been begun, under another name."""
    until = time.monotonic() + 60
    while not files_in(folder) and time.monotonic() < until:
        time.sleep(0.02)
    assert all(name.endswith(".partial") for name in files_in(folder))
    time.sleep(0.2)


def test_output_that_cannot_show_every_character(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "città = 'Orléans'"}])
    events = write_lines(tmp_path / "e.jsonl", [{"città": "Roma"}])
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = process("explain", subscriptions, events, "-s", "s1", "-e", "0", env=environment)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "The event does not match." in result.stdout


def test_interruption_is_quiet(subscriptions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vedette.cli.check.check", interrupted)
    result = vedette("check", subscriptions)
    assert (result.exit_code, result.stdout, result.stderr) == (INTERRUPTED, "", "")


def test_a_full_disk_is_told_without_a_traceback(subscriptions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device", "out.jsonl")

    monkeypatch.setattr("vedette.cli.check.check", full)
    result = vedette("check", subscriptions)
    assert result.exit_code == BAD_INPUT
    assert result.stderr.startswith("Error: out.jsonl: No space left on device\nHint: ")


def test_version_and_help() -> None:
    from vedette.version import __version__

    assert vedette("--version").stdout == f"vedette {__version__}\n"
    assert vedette("--help").exit_code == 0
    shown = vedette("--help").stdout
    assert all(name in shown for name in ("match", "explain", "check", "demo", "bench", "experiment"))
    assert "--install-completion" in shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vedette ma", ["match"]),
        ("vedette match --index ", ["clusters", "scan", "tree"]),
        ("vedette match --planner s", ["sequential", "suborder"]),
        ("vedette match s.jsonl e.jsonl --events-format ", ["jsonl", "csv", "parquet"]),
    ],
)
def test_completion(line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = line.split()
    number = len(words) if line.endswith(" ") else len(words) - 1
    monkeypatch.setenv("_VEDETTE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(number))
    assert vedette().stdout.split() == expected


def test_help_needs_none_of_the_engine() -> None:
    """So that help, completion and wrong usage answer at once."""
    code = "import sys, vedette.cli.main; print([m for m in ('numpy', 'pyarrow', 'numba') if m in sys.modules])"
    shown = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "[]\n"


def test_a_newcomers_session(tmp_path: Path) -> None:
    """What somebody types who has just installed it, in a real shell."""
    script = tmp_path / "session.sh"
    script.write_text(SESSION)
    environment = {**os.environ, "PYTHON": COMMAND[0]}
    shown = subprocess.run(
        ["sh", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "Traceback" not in shown.stderr
    parts = shown.stdout.split("---\n")
    assert pairs(parts[0]) == PAIRS[:2]
    assert pairs(parts[1]) == [*PAIRS[:2], ("e9", "s1")]
    assert "no problems" in parts[2]
    assert "Nearest miss: price < 120: price was 125.3" in parts[3]
    assert parts[4] == "status 1\nstatus 2\n"


SESSION = """\
vedette() { "$PYTHON" -m vedette "$@"; }
set -e
echo '{"id": "s1", "subscriber": "alice", "when": "issue = '"'IBM'"' and price < 120"}' > subscriptions.jsonl
echo '{"id": "s2", "subscriber": "bob", "when": "volume between 1000 and 5000"}' >> subscriptions.jsonl
echo '{"id": "e1", "issue": "IBM", "price": 119, "volume": 2000}' > events.jsonl
echo '{"id": "e3", "issue": "IBM", "price": 125.3}' >> events.jsonl
vedette match subscriptions.jsonl events.jsonl -o matches.jsonl
cat matches.jsonl
echo ---
(cat events.jsonl; echo '{"id": "e9", "issue": "IBM", "price": 1}'; echo oops) |
  vedette match subscriptions.jsonl - -o - --rejects rejects.jsonl
test -s rejects.jsonl
echo ---
vedette check subscriptions.jsonl
echo ---
vedette explain subscriptions.jsonl events.jsonl --event e3 --subscription s1
echo ---
set +e
echo '{"id": "s3", "when": "price <"}' >> subscriptions.jsonl
vedette match subscriptions.jsonl events.jsonl -o bad.jsonl; echo "status $?"
test ! -e bad.jsonl && vedette match subscriptions.jsonl; echo "status $?"
exit 0
"""
