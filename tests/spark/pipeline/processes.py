"""`vedette run` as a process of its own, and ways to end it and everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

VEDETTE = str(Path(sys.executable).with_name("vedette"))
ROOT = Path(__file__).parents[3]


@contextmanager
def started(pipeline: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a session of its own; whatever is left of it at the end is killed."""
    with _process([VEDETTE, "run", str(pipeline)], log, pipeline.parent) as process:
        yield process


@contextmanager
def standing_still(
    pipeline: Path, log: Path, point: str, later: int, reached: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The same, but it stands still at a named point of a micro-batch, and writes its number to the file `reached`."""
    words = [sys.executable, "-m", "tests.spark.pipeline.standing_still"]
    with _process([*words, str(pipeline), point, str(later), str(reached)], log, ROOT) as process:
        yield process


@contextmanager
def _process(words: list[str], log: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as out:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, start_new_session=True
        )
    try:
        yield process
    finally:
        kill_all(process)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the process, the Java that it started, and the Python workers that Java started; all at once."""
    members = _session(process.pid)
    for member in members:
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 60
    while left := _session(process.pid):  # workers that were being born
        assert time.monotonic() < until, f"cannot be killed: {left}"
        for member in left:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        time.sleep(0.01)


def _session(leader: int) -> list[int]:
    """The living processes of a session: groups are not enough, since Spark's workers make one of their own."""
    members = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, ValueError):
            # pid (name) state parent group session: the name may hold anything, even brackets
            state, _, _, session = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state not in "ZX":
                members.append(int(entry))
    return members
