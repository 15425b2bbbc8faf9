"""The terminal, for trials: the first rows of each batch as a table, and how many there were."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vedette.spark.pipeline.jobs import described
from vedette.spark.pipeline.sinks.base import Batch, Delivery


class TerminalSink:
    """Prints; what was printed before a crash is printed again after it. Quiet: it prints nothing."""

    delivery: Delivery = "at least once"

    def __init__(self, name: str, *, rows: int = 20, quiet: bool = False) -> None:
        self.name = name
        self._rows = rows
        self._quiet = quiet

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """There is always a terminal, or something that stands for it."""

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Print the first rows; an empty batch gets one line."""
        if self._quiet:
            return
        with described(notifications.sparkSession, batch.doing(f"show {self.name}")):
            count = notifications.count()
            shown = notifications.limit(self._rows).collect() if count else []
        console = Console(highlight=False)  # made here, so that it writes where standard output goes now
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in notifications.columns:
            table.add_column(Text(name), overflow="fold")
        for row in shown:
            # As `Text`: what looks like markup in an event is no markup.
            table.add_row(*(Text("" if value is None else str(value)) for value in row))
        if shown:
            console.print(table)
        more = f", the first {len(shown):,} are shown" if count > len(shown) else ""
        label = self.name if batch.number is None else f"{self.name}, {batch}"
        console.print(Text(f"{label}: {count:,} {'row' if count == 1 else 'rows'}{more}"))
