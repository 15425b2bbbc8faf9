"""A run that stands still for ever at a named point of a micro-batch: `python -m`, with what `main` takes."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.progress import ProgressReport
from vedette.spark.pipeline.run import run


class _StandStill(ProgressReport):
    """Says that the point is reached, and never goes on."""

    def __init__(self, point: str, later: int, reached: Path) -> None:
        self._point, self._left, self._reached = point, later, reached

    def step(self, batch: int | None, name: str) -> None:
        if batch is None or name != self._point:
            return
        if self._left:
            self._left -= 1
            return
        beside = self._reached.with_suffix(".new")
        beside.write_text(str(batch))
        beside.rename(self._reached)
        threading.Event().wait()


def main(pipeline: str, point: str, later: str, reached: str) -> None:
    """The pipeline file, the point, how many times after the first, and the file that says so."""
    run(load(Path(pipeline)), report=_StandStill(point, int(later), Path(reached)))


if __name__ == "__main__":
    main(*sys.argv[1:])
