"""Notes, warnings, progress and explanations of a command, all on standard error."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

if TYPE_CHECKING:
    from vedette.filters.subscription_set import SubscriptionKind


_STEPS = 1000  # of a progress bar


class OutputConsole(Console):
    """Standard output; a closed pipe is handled by `vedette.cli.exit_status`."""

    def on_broken_pipe(self) -> None:
        """Called while the error of a closed pipe is being handled."""
        raise BrokenPipeError


def error_console() -> Console:
    """A console for standard error: colours on a terminal only, and no line is broken or cut."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def output_console() -> Console:
    """A console for reports on standard output: colours on a terminal only, and no line is broken or cut."""
    return OutputConsole(highlight=False, soft_wrap=True)


def counted(count: int, what: str, many: str | None = None) -> str:
    """`1 event`, `2,000 events`."""
    return f"{count:,} {what if count == 1 else many or f'{what}s'}"


def counted_kinds(kinds: Mapping[SubscriptionKind, int]) -> list[str]:
    """`3 filters`, `1 filter with operators`, `1 pattern`: the kinds with any subscriptions."""
    said: list[tuple[SubscriptionKind, str, str]]
    said = [("filter", "filter", ""), ("operators", "filter", " with operators"), ("pattern", "pattern", "")]
    return [counted(kinds[kind], what) + more for kind, what, more in said if kinds[kind]]


def say_error(message: str) -> None:
    """Print an error, in the same form for all commands."""
    error_console().print(Text.assemble(("Error: ", "bold red"), message))


class Bar:
    """A progress bar of one piece of work."""

    def __init__(self, progress: Progress, task: TaskID, unit: str) -> None:
        self._progress = progress
        self._task = task
        self._unit = unit
        self._begin = time.perf_counter()

    def show(self, fraction: float | None, count: int | None = None) -> None:
        """Show that this share (None: unknown) is done, and the number seen."""
        told = ""
        if count is not None:
            rate = count / max(1e-9, time.perf_counter() - self._begin)
            told = f"{count:,} {self._unit}, {rate:,.0f}/s"
        if fraction is None:
            self._progress.update(self._task, told=told)
        else:
            self._progress.update(self._task, total=_STEPS, completed=_STEPS * fraction, told=told)


class Terminal:
    """Prints what is going on; `quiet` leaves only errors."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = error_console()
        self.quiet = quiet

    def note(self, message: str | Text) -> None:
        """Print a note."""
        if not self.quiet:
            self.console.print(message, markup=False)

    def warn(self, message: str, *, lost: bool = False) -> None:
        """Print a warning; if something is `lost`, even when quiet."""
        if lost or not self.quiet:
            self.console.print(Text.assemble(("Warning: ", "bold yellow"), message))

    @contextmanager
    def working(self, what: str, unit: str = "", *, shown: bool = True) -> Iterator[Bar]:
        """A progress bar, on a terminal; it vanishes when the work is done."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[told]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
        )
        hidden = self.quiet or not shown or not sys.stderr.isatty()
        with Progress(
            *columns, console=self.console, transient=True, disable=hidden, redirect_stdout=False, redirect_stderr=False
        ) as progress:
            yield Bar(progress, progress.add_task(what, total=None, told=""), unit)


_STYLES = {"✓": "bold green", "✗": "bold red", "?": "bold yellow"}
_MARK = re.compile(r"(?:(?<=─ )|^)[✓✗?](?= )")


def styled(explanation: object) -> Iterator[Text]:
    """The lines of `str(explanation)`, with colours."""
    for line in str(explanation).splitlines():
        text = Text(line)
        mark = _MARK.search(line)
        if mark is not None:
            text.stylize(_STYLES[mark.group()], *mark.span())
        yield text
