"""Processes of Spark's own for tests: masters, workers, servers; and jobs that are run against them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest

from vedette.spark.java import java_home

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 300  # seconds before a process that does not answer is given up


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(**more: str) -> dict[str, str]:
    """What the processes see: this Python, this checkout, a Java, the loopback alone."""
    return {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(CHECKOUT),
        **more,
    }


class Daemon(NamedTuple):
    """A process that runs, and what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, words: str) -> None:
        """Until it has said so."""
        end = time.monotonic() + PATIENCE
        while words not in (said := self.log.read_text(errors="replace")):
            if time.monotonic() > end or self.process.poll() is not None:
                pytest.fail(f"waited in vain for {words!r}:\n{said[-2000:]}")
            time.sleep(0.1)


@contextmanager
def daemon(folder: Path, name: str, *arguments: str, **variables: str) -> Iterator[Daemon]:
    """A process of Spark's, ended at the end."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    folder.mkdir(exist_ok=True)
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [str(program), *arguments],
            env=environment(**{"SPARK_DAEMON_MEMORY": "256m", "SPARK_WORKER_DIR": str(folder / name), **variables}),
            cwd=folder,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Daemon(running, log)
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def travelled(address: str, folder: Path, **variables: str) -> Any:
    """What `tests.spark.journey` found on a cluster or a server."""
    answers = folder / "answers.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.journey", address, str(answers)],
        env=environment(**variables),
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads(answers.read_text())


def copies(cache: Path) -> list[Path]:
    """The snapshots in a cache."""
    return [path for path in (cache / "snapshots").iterdir() if path.is_dir()]
