"""The engine of the demo: on Spark with all cores of this machine, or else in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from vedette.cli.choices import EngineChoice
from vedette.cli.terminal import Terminal
from vedette.errors import NotInstalled, StartError


@contextmanager
def started_engine(terminal: Terminal) -> Iterator[EngineChoice]:
    """Yield the engine to use: Spark, stopped afterwards unless it ran before, or this process if Spark cannot run.

    The results are the same without it, so the demo works on a machine without Java, too.
    """
    try:
        from vedette.spark.spark_session import running, session

        before = running()
        begin = time.perf_counter()
        with terminal.working("Starting Spark"):
            spark = session(app="vedette demo")
    except (NotInstalled, StartError) as error:
        terminal.warn(f"{error}\nThe demo goes on without Spark, in this process, with the same answers.")
        yield EngineChoice.LOCAL
        return
    terminal.note(f"Starting Spark: {time.perf_counter() - begin:.1f} s")
    try:
        yield EngineChoice.SPARK
    finally:
        if before is None:
            spark.stop()
