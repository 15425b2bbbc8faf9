"""Servers that tests start: on free ports, with what they say in a file, and gone when the test is."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_LIBC = ctypes.CDLL(None)
PATIENCE_S = 120.0  # for a machine that is busy with other things


def free_ports(count: int) -> list[int]:
    """Ports on the loopback interface that nobody listens on now; all held until all are known."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


@contextmanager
def running(
    command: list[str], log: Path, *, environment: Mapping[str, str] | None = None, user: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own; whatever happens inside, the group does not outlive the block."""
    with log.open("ab") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 (it takes no lock)
            user=user,
            cwd=log.parent,
        )
    try:
        yield process
    finally:
        stop(process)


def _end_with_parent() -> None:
    """Linux: have the kernel kill this process when the one that started it dies, even of `kill -9`."""
    if sys.platform == "linux":
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def stop(process: subprocess.Popen[bytes], patience_s: float = 15.0) -> None:
    """Ask, then kill, the process and all that it has started."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` of the process and of all that it has started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(
    true: Callable[[], object], what: str, process: subprocess.Popen[bytes] | None = None, log: Path | None = None
) -> None:
    """Look often; give up with what the process said if it has died, or if patience is at its end."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        dead = process is not None and process.poll() is not None
        if dead or time.monotonic() > end:
            said = log.read_text(errors="replace")[-4000:] if log and log.exists() else ""
            raise AssertionError(f"{what}: {'its process has ended' if dead else 'not in time'}\n{said}")
        time.sleep(0.1)
