"""The report at the end of the demo: who was notified, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from vedette.cli.demo.demo_findings import DemoCase, DemoFindings
from vedette.cli.match_job import JobTally
from vedette.cli.terminal import OutputConsole, styled

_WIDTH = 118  # without a terminal that has a width


def print_report(
    findings: DemoFindings, tally: JobTally, folder: Path, commands: Sequence[str], seconds: float
) -> None:
    """Print it to standard output."""
    console = OutputConsole(highlight=False)
    if not console.is_terminal:
        console = OutputConsole(highlight=False, width=_WIDTH)
    console.print()
    console.print(_notifications(findings))
    if findings.cases:
        console.print(_case(findings.cases[0]))
    if findings.miss is not None:
        console.print(_case(findings.miss))
    console.print(_busiest(findings))
    console.print(
        Text.assemble(
            (
                f"{tally.events:,} flights, {tally.subscriptions:,} subscriptions, {tally.matches:,} notifications ",
                "bold",
            ),
            f"to {findings.told:,} of them; {tally.rate:,.0f} flights a second; {seconds:.0f} s in all.",
        )
    )
    console.print(
        Text.assemble("Look at ", (str(folder / "index.html"), "bold underline"), " in a browser, or go on with:")
    )
    for command in commands:
        console.print(Text(f"  {command}", style="cyan"), soft_wrap=True)


def _notifications(findings: DemoFindings) -> Table:
    table = Table(title="Who was told what, and why", title_justify="left", title_style="bold", show_lines=False)
    table.add_column("subscriber", max_width=28)
    table.add_column("was told of", no_wrap=True)
    table.add_column("because")
    for case in findings.cases:
        table.add_row(Text(case.wish.subscriber), Text(case.headline), Text(case.because))
    return table


def _case(case: DemoCase) -> Panel:
    verb = "heard of" if case.explanation.matched else "did not hear of"
    lines = Text("\n").join(list(styled(case.explanation))[1:])
    return Panel(lines, title=f"Why {case.wish.subscriber} {verb} {case.headline}", title_align="left")


def _busiest(findings: DemoFindings) -> Table:
    table = Table(title="The busiest subscriptions", title_justify="left", title_style="bold")
    table.add_column("subscriber", max_width=36)
    table.add_column("filter")
    table.add_column("notifications", justify="right")
    for wish, heard in findings.busiest:
        table.add_row(Text(wish.subscriber), Text(wish.when), f"{heard:,}")
    return table
