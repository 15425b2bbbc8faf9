"""`python -m benchmarks.peers`: Vedette beside its peers; same machine, same rules, same events, one core."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.peers import report
from benchmarks.peers.measuring import measure, steps
from benchmarks.peers.plan import Plan, parsed
from benchmarks.peers.record import Record, merged

RESULTS = Path(__file__).resolve().parents[1] / "results"


def run(plan: Plan, console: Console) -> Record:
    """With a progress bar; what was measured so far is kept if it is interrupted."""
    record = Record.begun()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=steps(plan))

        def tell(what: str) -> None:
            progress.update(task, description=what)
            if not console.is_terminal:
                print(what, file=sys.stderr, flush=True)

        try:
            measure(plan, record, tell, lambda: progress.advance(task))
        except KeyboardInterrupt:
            record.notes.append("Note: interrupted; this is what was measured until then")
    return record


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    plan, given = parsed(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that drivers end with us then, too
    console = Console(width=None if Console().is_terminal else 200)
    record = merged([*(Record.read(path) for path in given.merge), run(plan, console)])
    report.show(record, console)
    path = given.json or RESULTS / f"peers-{datetime.now():%Y-%m-%d-%H%M%S}.json"
    record.write(path)
    if given.docs:
        from benchmarks.peers.page import write_page

        console.print(f"written: {write_page(record)}")
    console.print(f"{record.seconds:,.0f} s in all; figures in {path}")


if __name__ == "__main__":
    main()
