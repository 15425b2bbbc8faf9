"""How far a measurement is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Case = TypeVar("Case")
Row = TypeVar("Row")

_SECONDS = 30.0  # between two lines, where there is no terminal


def track(what: str, cases: Iterable[Case]) -> Iterator[Case]:
    """All cases, one after another, while people see how many are done."""
    todo = list(cases)
    with _bar(what, len(todo)) as done:
        for case in todo:
            yield case
            done()


def gather(what: str, cases: Iterable[Case], measure: Callable[[Case], Sequence[Row]]) -> list[Row]:
    """The rows of all cases."""
    return [row for case in track(what, cases) for row in measure(case)]


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield _lines(console, what, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, *times, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


def _lines(console: Console, what: str, total: int) -> Callable[[], None]:
    count, last = 0, time.monotonic()

    def done() -> None:
        nonlocal count, last
        count += 1
        if time.monotonic() - last >= _SECONDS:
            last = time.monotonic()
            console.print(f"  {what}: {count} of {total}", markup=False)

    return done
