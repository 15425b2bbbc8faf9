"""Sink for trials: prints the first rows of each batch as a table, and how many there were."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.sinks.base import Batch, Delivery

_ID_SHOWN = 8  # of its digits, where there is no room for all
_UNBOUND = 1 << 20  # columns of a terminal on which everything fits


class TerminalSink:
    """Prints batches; one that was printed before a crash is printed again after it."""

    delivery: Delivery = "at least once"

    def __init__(self, name: str, *, rows: int = 20) -> None:
        self.name = name
        self._rows = rows

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Nothing to check: there is always a standard output."""

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Print the first rows; an empty batch gets one line."""
        with described(notifications.sparkSession, batch.doing(f"show {self.name}")):
            count = notifications.count()
            shown = notifications.limit(self._rows).collect() if count else []
        console = Console(highlight=False)  # made here, so that it writes where standard output goes now
        more = f", the first {len(shown):,} are shown" if count > len(shown) else ""
        if shown:
            table, left_out = _fitting(notifications.columns, shown, console)
            console.print(table)
            more += f"; no room for {', '.join(left_out)}" if left_out else ""
        label = self.name if batch.number is None else f"{self.name}, {batch}"
        console.print(Text(f"{label}: {count:,} {'row' if count == 1 else 'rows'}{more}"))


def _fitting(columns: Sequence[str], rows: Sequence[Row], console: Console) -> tuple[Table, Sequence[str]]:
    """A table with one line for each row, and the columns that it leaves out so that the others have room."""
    least = ("event", "id") if "reason" in columns else ("version", "kind", "id")  # the first of them least of all
    order = sorted(columns, key=lambda name: (name in least, name == "id"))
    unbound = console.options.update(width=_UNBOUND)

    def fits(table: Table) -> bool:
        return Measurement.get(console, unbound, table).maximum <= console.width

    table = _table(order, rows, id_width=None)
    if fits(table):
        return table, ()
    for count in range(len(least) + 1):
        table = _table([name for name in order if name not in least[:count]], rows, id_width=_ID_SHOWN + 1)
        if fits(table):
            break
    return table, least[:count]


def _table(columns: Sequence[str], rows: Sequence[Row], *, id_width: int | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        # What may be wrapped is narrowed first; nothing is wrapped, as the cells say themselves.
        firm = name in ("event", "subscription", "place")
        table.add_column(_cell(name), no_wrap=firm, max_width=id_width if name == "id" else None)
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in columns))
    return table


def _cell(value: object) -> Text:
    """A value on one line, as `Text`: what looks like markup in an event is no markup."""
    text = "" if value is None else str(value)
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
    return Text(text, no_wrap=True, overflow="ellipsis")
