"""Lives of a pipeline that end with kill -9, at moments that are seen in its folders or at exactly named points.

Moments follow what is seen in the folders, not the clock alone, so that they are as well spread on a slow machine as on
a fast one.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Mapping

from tests.spark.pipeline.processes import kill_all, standing_still, started
from tests.spark.pipeline.workplace import Workplace
from vedette.spark.pipeline.progress import ProgressReport

ALL = bool(os.environ.get("VEDETTE_ALL_KILLS"))  # else only a few, since every life of a pipeline takes many seconds
COMMITTED = "state/commits/[0-9]*"
_STARTING = "starting"
MOMENTS: Mapping[str, str] = {
    "planned": "state/offsets/*",
    "in the ledger": "state/vedette/batches/*",
    "being written": "out/_staging/*",
    "written to the first sink": "out/batch=*",
    "written to all sinks": "bad/*/batch=*",
    "committed": "state/commits/*",
}


class Crash(Exception):
    """What ends a run in this process."""


class CrashAt(ProgressReport):
    """Ends the run when it comes to a point of the work on a micro-batch, so many times after the first."""

    def __init__(self, point: str, later: int = 0) -> None:
        self._point, self._left = point, later

    def step(self, batch: int | None, name: str) -> None:
        if batch is not None and name == self._point:
            if not self._left:
                raise Crash(f"{name} of {batch}")
            self._left -= 1


def seen(place: Workplace, pattern: str) -> int:
    """How many files or folders there are of a kind."""
    return sum(1 for _ in place.folder.glob(pattern))


def moments(draw: random.Random, count: int, patterns: Mapping[str, str] = MOMENTS) -> list[str]:
    """So many, all of them as often as the others, in any order."""
    kinds = [_STARTING, *patterns]
    drawn = [*kinds * (count // len(kinds)), *draw.sample(kinds, count % len(kinds))]
    draw.shuffle(drawn)
    return drawn


def kill(place: Workplace, moment: str, draw: random.Random, patterns: Mapping[str, str] = MOMENTS) -> bool:
    """One life, and its end at about that moment; False if it came to a good end before."""
    later = draw.randrange(2)  # so many times more is the moment waited for
    delay = draw.uniform(0, 4) if moment == _STARTING else draw.choice([0, draw.uniform(0, 0.3)])
    log = place.folder / "run.log"
    with started(place.pipeline, log) as process:
        if moment != _STARTING:
            pattern, reached = patterns[moment], 0
            last = seen(place, pattern)
            while process.poll() is None and reached <= later:
                now = seen(place, pattern)
                reached += now > last  # a folder that is written to comes and goes
                last = now
                time.sleep(0.005)
        _sleep_while_alive(process, delay)
        if process.poll() is not None:
            assert process.returncode == 0, log.read_text()[-6000:]
            return False
        kill_all(process)
    print(f"killed: {moment}, {later} more, {delay:.3f} s later; {seen(place, COMMITTED)} committed")
    return True


def kill_at(place: Workplace, point: str, later: int) -> int:
    """One life, and its end at exactly that point of a micro-batch, so many after the first; which one it was."""
    log, reached = place.folder / "run.log", place.folder / f"reached-{point.replace(' ', '-')}"
    with standing_still(place.pipeline, log, point, later, reached) as process:
        while not reached.exists():
            assert process.poll() is None, log.read_text()[-6000:]
            time.sleep(0.005)
        kill_all(process)
    batch = int(reached.read_text())
    print(f"killed: {point} of {batch}; {seen(place, COMMITTED)} committed")
    return batch


def _sleep_while_alive(process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
