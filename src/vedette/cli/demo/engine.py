"""Where the demo matches: on Spark with all cores of this machine, or else in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from vedette.cli.choices import Engine
from vedette.cli.terminal import Terminal
from vedette.errors import NotInstalled, StartError


@contextmanager
def started_engine(terminal: Terminal) -> Iterator[Engine]:
    """Spark, stopped again afterwards if it was not there before; where it cannot run, that is said, and done without.

    The answers are the same. Whoever tries the demo on a machine without Java shall see them too.
    """
    try:
        from vedette.spark.session import running, session

        before = running()
        begin = time.perf_counter()
        with terminal.working("Starting Spark"):
            spark = session(app="vedette demo")
    except (NotInstalled, StartError) as error:
        terminal.warn(f"{error}\nThe demo goes on without Spark, in this process, with the same answers.")
        yield Engine.LOCAL
        return
    terminal.note(f"Starting Spark: {time.perf_counter() - begin:.1f} s")
    try:
        yield Engine.SPARK
    finally:
        if before is None:
            spark.stop()
