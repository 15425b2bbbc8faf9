"""`python -m benchmarks.mixture`: filters, filters that call operators and patterns in one set, through every host.

Of each host the time of the mixture stands beside that of its parts alone, on the same events. Whatever a host does
for events anyway (reading, encoding, writing) is in each of the parts, so that a mixture that costs no more
than its parts takes less than their sum: that is the ratio. A set of one filter that matches nothing says how much
of it is the host.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console

import vedette as vd
from benchmarks.spark.spent import spent
from benchmarks.tables import short, table

SCHEMA = {"id": "string", "time": "timestamp", "user": "int", "kind": "string", "price": "float", "size": "int"}
KINDS = [f"k{number}" for number in range(50)]
USERS = 200
_SUBSCRIBING = 64  # subscribers at a time
OPERATORS = '''
"""Operators that are quick, so that what is measured is the way to them."""

import pyarrow.compute as pc

from vedette.operators.operator import operator


@operator(batch=True, reads=("size",), time_limit=None)
def odd(events):
    return pc.fill_null(pc.equal(pc.bit_wise_and(events["size"], 1), 1), False)
'''


@dataclass(frozen=True)
class Sizes:
    """How many of each, and how many events of each kind of host."""

    filters: int = 100_000
    calls: int = 1_000
    patterns: int = 1_000
    events: int = 20_000
    single: int = 500
    published: int = 2_000


@dataclass(frozen=True)
class Row:
    """Of one host: seconds for every set."""

    host: str
    events: int
    nothing: float
    filters: float
    calls: float
    patterns: float
    mixture: float
    matches: int

    @property
    def ratio(self) -> float:
        """The mixture as a share of its parts."""
        return self.mixture / (self.filters + self.calls + self.patterns)


Sets = Mapping[str, Sequence[Mapping[str, Any]]]


def sets(sizes: Sizes, seed: int = 7) -> Sets:
    """The parts, and all of them; an event matches some ten filters, a call or two, and now and then a pattern."""
    random = Random(seed)
    filters = [
        {
            "id": f"f{number}",
            "when": f"kind = '{random.choice(KINDS)}' and user = {random.randrange(USERS)} "
            f"and price > {random.random():.3f}",
        }
        for number in range(sizes.filters)
    ]
    calls = [
        {"id": f"c{number}", "when": f"kind = '{random.choice(KINDS)}' and price > {random.random():.3f} and odd()"}
        for number in range(sizes.calls)
    ]
    patterns = [
        {
            "id": f"p{number}",
            "when": f"[kind = '{random.choice(KINDS)}' and price > 0.5] ; [kind = '{random.choice(KINDS)}'] "
            "by user within 60 s",
        }
        for number in range(sizes.patterns)
    ]
    nothing = [{"id": "none", "when": "user = -1"}]
    return {
        "nothing": nothing,
        "filters": filters,
        "calls": calls,
        "patterns": patterns,
        "mixture": [*filters, *calls, *patterns],
    }


def events(count: int, seed: int = 8) -> list[dict[str, Any]]:
    """A second apart."""
    random = Random(seed)
    return [
        {
            "id": f"e{number}",
            "time": 1_700_000_000 + number,
            "user": random.randrange(USERS),
            "kind": random.choice(KINDS),
            "price": round(random.random(), 4),
            "size": random.randrange(1_000),
        }
        for number in range(count)
    ]


def as_table(some: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The same in columns, with times as such."""
    made = pa.Table.from_pylist(list(some))
    at = made.schema.get_field_index("time")
    return made.set_column(at, "time", pc.multiply(made["time"], 1_000_000).cast(pa.timestamp("us", "UTC")))


class Place:
    """Where files of the benchmark are, and the engines: each set is compiled once, for all hosts that take engines."""

    def __init__(self, folder: Path, sizes: Sizes, open_: ExitStack) -> None:
        self.folder, self.sizes, self._open = folder, sizes, open_
        self._engines: dict[int, vd.Engine] = {}
        self.operators_file = folder / "operators_of_benchmark.py"
        self.operators_file.write_text(OPERATORS)
        self.operators = vd.Operators.read(self.operators_file)

    def compiled(self, records: Sequence[Mapping[str, Any]]) -> vd.Engine:
        """An engine of them."""
        if id(records) not in self._engines:
            subscriptions = vd.Subscriptions(SCHEMA)
            subscriptions.add_many(records)
            self._engines[id(records)] = self._open.enter_context(subscriptions.compile(operators=self.operators))
        return self._engines[id(records)]


# A host takes a set and gives what is to be timed, which says how many matches it told.
Told = Callable[[], int]
Host = Callable[[Place, Sequence[Mapping[str, Any]], ExitStack], tuple[Told, int]]


def in_a_batch(place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
    """`stream.process(an Arrow table)`."""
    del open_
    engine = place.compiled(records)
    given = as_table(events(place.sizes.events))
    return lambda: engine.stream().process(given).num_rows, len(given)


def one_by_one(place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
    """`stream.process_one(a dict)`."""
    del open_
    engine = place.compiled(records)
    given = events(place.sizes.single)

    def told() -> int:
        stream = engine.stream()
        return sum(len(stream.process_one(event)) for event in given)

    return told, len(given)


def live(place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
    """A stream of a live engine, which was changed a moment ago."""
    made = open_.enter_context(place.compiled(records).live())
    made.add("one more", "user = -2")
    given = as_table(events(place.sizes.events))
    return lambda: made.stream().process(given).num_rows, len(given)


def command_line(place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
    """`vedette match` of files, in a process of its own: starting and compiling are in it."""
    del open_
    given = events(place.sizes.events)
    files = {"subscriptions": records, "events": given}
    for name, lines in files.items():
        (place.folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (place.folder / "schema.json").write_text(json.dumps(SCHEMA))
    out = place.folder / "out.parquet"
    command = [sys.executable, "-m", "vedette", "match", "subscriptions.jsonl", "events.jsonl", "-o", str(out)]
    command += ["--schema", "schema.json", "--operators", str(place.operators_file), "--quiet"]

    def told() -> int:
        out.unlink(missing_ok=True)
        subprocess.run(command, cwd=place.folder, check=True, env=os.environ)
        return int(pq.read_metadata(out).num_rows)

    return told, len(given)


def service(place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
    """The service in this process: events are durable, and notifications are in its database."""
    import sqlalchemy as sa

    from vedette.service.incoming_events import EventLimits, read
    from vedette.service.service import Service
    from vedette.service.settings import ServiceSettings
    from vedette.service.storage.tables import notifications
    from vedette.service.subscription_registry import SubscriptionRequest

    folder = Path(tempfile.mkdtemp(dir=place.folder))
    plenty = 10 * len(records) + 1_000_000
    settings = ServiceSettings.model_validate(
        {
            "store": {"url": f"sqlite:///{folder / 'service.db'}"},
            "server": {"console": False},
            "streams": {"default": {"schema": SCHEMA}},
            "operators": str(place.operators_file),
            "limits": {"queue": plenty, "subscriptions": plenty, "tenant_cost": plenty},
        }
    )
    running = open_.enter_context(Service(settings))
    tenant = running.tenants.add("acme")
    # Many at a time, as by many connections: those who wait are written down together.
    with ThreadPoolExecutor(_SUBSCRIBING) as threads:
        asked = (SubscriptionRequest(record["when"]) for record in records)
        for _ in threads.map(lambda one: running.registry.subscribe(tenant, one), asked):
            pass
    rounds = iter(range(1_000))

    def notified() -> int:
        newest = sa.select(sa.func.coalesce(sa.func.max(notifications.c.number), 0))
        return int(running.store.read(lambda connection: connection.execute(newest).scalar_one()))

    def told() -> int:
        number, before = next(rounds), notified()
        given = [
            {**event, "id": f"{number}-{event['id']}", "time": event["time"] + 1_000_000 * number}
            for event in events(place.sizes.published)
        ]
        for begin in range(0, len(given), 500):
            incoming = read(
                json.dumps(given[begin : begin + 500]).encode(), "application/json", {}, EventLimits(1 << 18, 1_000, 32)
            )
            running.journal.publish("default", incoming).result(60)
        while running.pump.behind > 0:
            assert running.pump.failure is None
            time.sleep(0.002)
        return notified() - before

    return told, place.sizes.published


class Spark:
    """A session for both ways of asking it."""

    def __init__(self) -> None:
        self._session: Any = None

    def _frame(self, place: Place) -> tuple[Any, str, int]:
        if self._session is None:
            self._session = vd.spark.session()
            self._session.sparkContext.setLogLevel("OFF")
        given = as_table(events(place.sizes.events))
        path = str(place.folder / "events.parquet")
        pq.write_table(given, path, coerce_timestamps="us", row_group_size=5_000)
        return self._session, path, len(given)

    def batch(self, place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
        """`vd.spark.match` of a table."""
        session, path, count = self._frame(place)
        del open_
        found = self._matched(session.read.parquet(path), place, records)
        return lambda: int(found.count()), count

    def stream(self, place: Place, records: Sequence[Mapping[str, Any]], open_: ExitStack) -> tuple[Told, int]:
        """`vd.spark.match` of a stream, all that is there at once."""
        del open_
        session, path, count = self._frame(place)
        folder = Path(tempfile.mkdtemp(dir=place.folder))
        (folder / "in").mkdir()
        os.link(path, folder / "in" / "events.parquet")
        schema = session.read.parquet(path).schema

        def told() -> int:
            found = self._matched(session.readStream.schema(schema).parquet(str(folder / "in")), place, records)
            counts: list[int] = []
            checkpoint = tempfile.mkdtemp(dir=folder)
            query = (
                found.writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return sum(counts)

        return told, count

    def _matched(self, frame: Any, place: Place, records: Sequence[Mapping[str, Any]]) -> Any:
        return vd.spark.match(
            frame, place.compiled(records), keep="id", schema=SCHEMA, operators=str(place.operators_file)
        )


def hosts() -> Mapping[str, Host]:
    """By name."""
    spark = Spark()
    return {
        "batch": in_a_batch,
        "single": one_by_one,
        "live": live,
        "command line": command_line,
        "service": service,
        "spark": spark.batch,
        "spark stream": spark.stream,
    }


def measure(name: str, host: Host, place: Place, given: Sets, repetitions: int, clock: Callable[[], float]) -> Row:
    """Every set in turn; the first time compiles kernels, and is not counted."""
    took: dict[str, float] = {}
    found, count = 0, 0
    for part, records in given.items():
        with ExitStack() as open_:
            told, count = host(place, records, open_)
            told()
            times = []
            for _ in range(repetitions):
                begin = clock()
                found = told()
                times.append(clock() - begin)
            took[part] = sorted(times)[len(times) // 2]
    return Row(name, count, **took, matches=found)


def main() -> None:
    """Measure what is asked for, and show it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = hosts()
    parser.add_argument("--hosts", nargs="*", default=list(known), choices=list(known))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: of all processes, in seconds")
    for name, size in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=size)
    asked = parser.parse_args()
    sizes = Sizes(**{name: getattr(asked, name) for name in vars(Sizes())})
    clock = spent if asked.clock == "cpu" else time.perf_counter
    logging.disable(logging.WARNING)
    console = Console()
    given = sets(sizes)
    rows = []
    folder: AbstractContextManager[str] = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with folder as path, ExitStack() as open_:
        place = Place(Path(path), sizes, open_)
        for name in asked.hosts:
            with console.status(name):
                rows.append(measure(name, known[name], place, given, asked.repetitions, clock))
            console.print(shown([rows[-1]]) if sys.stdout.isatty() else f"{rows[-1]}")
    console.print(shown(rows))


def shown(rows: Sequence[Row]) -> Any:
    """Microseconds per event."""

    def each(name: str) -> Callable[[Row], str]:
        return lambda row: short(1e6 * getattr(row, name) / row.events)

    columns: dict[str, Callable[[Row], str]] = {"host": lambda row: row.host}
    columns |= {f"{name}, µs": each(name) for name in ("nothing", "filters", "calls", "patterns", "mixture")}
    columns["mixture / its parts"] = lambda row: f"{row.ratio:.2f}"
    return table("A mixture through every host, per event", rows, columns)


if __name__ == "__main__":
    main()
