"""`vedette demo`: match a year of real flights, and write a page that shows who was notified, and why."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vedette.cli.choices import EngineChoice
from vedette.cli.demo.demo_findings import DemoFindings, demo_findings
from vedette.cli.demo.demo_report import print_report
from vedette.cli.demo.flights import data_folder, read_flights
from vedette.cli.demo.page import write_page
from vedette.cli.demo.subscribers import DemoSubscription, wishes
from vedette.cli.match import MatchOptions, match
from vedette.cli.terminal import Bar, Terminal
from vedette.errors import NotInstalled, StartError
from vedette.io.output import OutputTarget
from vedette.schema.values import json_text


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


_PIPELINE = Template("""\
# The flights and subscribers of the demo as a pipeline. Paths are relative to this file.

keep = ["dep_delay"]                # what notifications carry of the flight, besides its id

[subscriptions]
file = "subscriptions.jsonl"

[source]
type = "parquet"
path = "flights.parquet"

[[sinks]]
name = "everybody"
type = "parquet"
path = "notifications"
if_exists = "replace"

[[sinks]]
name = "one"
type = "console"
subscribers = [$subscriber]
""")


def write_pipeline(path: Path, subscriber: str) -> None:
    """Write a pipeline: all notifications into a folder, those of one subscriber on the terminal."""
    path.write_text(_PIPELINE.substitute(subscriber=json.dumps(subscriber, ensure_ascii=False)), encoding="utf-8")


_SAMPLE_DAY = dt.date(2013, 2, 8)  # the blizzard: no day had more cancelled flights
_STRIDE = 500  # subscriptions between two looks at the progress


def demo(folder: Path, subscriptions: int) -> None:
    """Make the files, match, and report the results."""
    terminal = Terminal()
    source = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with _stage(terminal, "Reading a year of flights, planes and weather"):
        flights = read_flights(source)
        pq.write_table(flights, folder / "flights.parquet")
        sample = _write_sample(flights, folder)
    with _stage(terminal, f"Making up {subscriptions:,} subscribers") as bar:
        made = _write_subscriptions(flights, subscriptions, folder / "subscriptions.jsonl", bar)
    with started_engine(terminal) as engine:
        where = "on Spark" if engine is EngineChoice.SPARK else "in this process"
        terminal.note(f"Matching {where} (the first time, the loops are compiled) …")
        tally = match(
            MatchOptions(
                subscriptions=str(folder / "subscriptions.jsonl"),
                events=str(folder / "flights.parquet"),
                out=str(folder / "matches.parquet"),
                engine=engine,
                show_schema=False,
            )
        )
    with _stage(terminal, "Counting and explaining"):
        findings = demo_findings(flights, made, folder / "matches.parquet")
        commands = _commands(folder, sample, findings)
        if engine is EngineChoice.SPARK and findings.cases:
            write_pipeline(folder / "pipeline.toml", findings.cases[0].wish.subscriber)
            commands.append(f"vedette run {folder / 'pipeline.toml'}")
        write_page(folder / "index.html", findings, tally, commands)
    print_report(findings, tally, folder, commands, time.perf_counter() - begin)


@contextmanager
def _stage(terminal: Terminal, what: str) -> Iterator[Bar]:
    """A step of the demo: a progress bar while it runs, a line when it is done."""
    begin = time.perf_counter()
    with terminal.working(what, "subscriptions") as bar:
        yield bar
    terminal.note(f"{what}: {time.perf_counter() - begin:.1f} s")


def _write_sample(flights: pa.Table, folder: Path) -> Path:
    """Write one day as lines of JSON, to read and change."""
    path = folder / f"flights-{_SAMPLE_DAY}.jsonl"
    day = flights.filter(pc.equal(flights["date"], pa.scalar(_SAMPLE_DAY)))
    path.write_text("".join(f"{json_text(_without_missing(flight))}\n" for flight in day.to_pylist()), encoding="utf-8")
    return path


def _without_missing(record: dict[str, object]) -> dict[str, object]:
    return {
        name: _without_missing(value) if isinstance(value, dict) else value
        for name, value in record.items()
        if value is not None
    }


def _write_subscriptions(flights: pa.Table, count: int, path: Path, bar: Bar) -> list[DemoSubscription]:
    made: list[DemoSubscription] = []
    target = OutputTarget(path)
    try:
        for wish in wishes(flights, count):
            record = {"id": wish.id, "subscriber": wish.subscriber, "when": wish.when}
            target.stream.write(orjson.dumps(record) + b"\n")
            made.append(wish)
            if len(made) % _STRIDE == 0:
                bar.show(len(made) / count, len(made))
    except BaseException:
        target.abandon()
        raise
    target.finish()
    return made


def _commands(folder: Path, sample: Path, findings: DemoFindings) -> list[str]:
    """The commands to try next."""
    subscriptions = folder / "subscriptions.jsonl"
    commands = [
        f"vedette match {subscriptions} {sample} -o -",
        f"vedette check {subscriptions}",
    ]
    if findings.miss is not None:
        which = f"--event {findings.miss.flight['id']} --subscription {findings.miss.wish.id}"
        commands.append(f"vedette explain {subscriptions} {folder / 'flights.parquet'} {which}")
    return commands
