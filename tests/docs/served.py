"""The command `vedette` as bash finds it on a page: served by this process, and by the Spark that it has running.

A process of its own for every command would load the same kernels, and start the same Spark, again and again. Bash
finds a small client of that name, which hands over its arguments, variables and standard streams, and ends as the
command ended. That `vedette` starts and ends well by itself is held by README's own commands and by tests of the CLI.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO
from unittest.mock import patch

from typer.main import get_command

from vedette.cli.main import app

_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    said = json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]).encode()
    socket.send_fds(server, [len(said).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(said)
    status = server.recv(1)
sys.exit(status[0] if status else "the command was not served")
"""
_LOOK_S = 0.02  # between looks at whether bash has ended
_PATIENCE_S = 300  # the first command may have to compile kernels


class Served:
    """Runs commands of bash, and those of `vedette` among them in this process, one at a time."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        address = folder / "served"
        client = folder / "vedette"
        client.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
        client.chmod(0o755)
        self._environment = {**environment, "PATH": f"{folder}{os.pathsep}{environment['PATH']}"}
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(address))
        self._listening.listen()
        self._said = folder / "said"

    def close(self) -> None:
        """No more commands."""
        self._listening.close()

    def bash(self, command: str) -> tuple[int, str]:
        """The exit status of a command, and all that it printed."""
        with self._said.open("wb") as said:
            running = subprocess.Popen(
                ["bash", "-c", command],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        with _at_most(_PATIENCE_S):
            while running.poll() is None:
                if select.select([self._listening], [], [], _LOOK_S)[0]:
                    self._serve_one()
        return running.returncode, self._said.read_text(encoding="utf-8")

    def _serve_one(self) -> None:
        client, _ = self._listening.accept()
        with client:
            size, streams, _, _ = socket.recv_fds(client, 4, 3)
            with client.makefile("rb") as incoming:
                folder, variables, arguments = json.loads(incoming.read(int.from_bytes(size, "big")))
            client.send(bytes([_command(folder, variables, arguments, streams)]))


def _command(folder: str, variables: Mapping[str, str], arguments: list[str], streams: list[int]) -> int:
    """Run it as if it were the only thing that this process does; its exit status."""
    before = Path.cwd()
    with ExitStack() as stack:
        for name, number in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            mode = "r" if name == "stdin" else "w"
            opened = stack.enter_context(open(number, mode, encoding="utf-8", errors="replace"))
            stack.enter_context(patch.object(sys, name, opened))
        stack.enter_context(patch.dict(os.environ, variables, clear=True))
        places = [str(Path(folder, each)) for each in variables.get("PYTHONPATH", "").split(os.pathsep) if each]
        stack.enter_context(patch.object(sys, "path", [*(one for one in places if one not in sys.path), *sys.path]))
        stack.enter_context(_plain_warnings(sys.stderr))
        stack.callback(os.chdir, before)
        os.chdir(folder)
        try:
            get_command(app)(arguments, prog_name="vedette")
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    raise AssertionError("a command ends with a status")


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """What takes longer is interrupted."""

    def interrupt(number: int, frame: object) -> None:
        raise TimeoutError(f"a command took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _plain_warnings(stream: TextIO) -> Iterator[None]:
    """Shown, and not errors as in tests."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        stream.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings(), patch.object(warnings, "showwarning", show):
        warnings.simplefilter("default")
        for ignored in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", ignored)
        yield
