"""The hosts of the engine, behind one protocol: a case in, what is told out, whatever lies between."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson
import pyarrow as pa

import vedette as vd
from tests.cli.session import vedette, write_lines
from tests.contract.cases import SCHEMA, Case
from tests.service.running import published, settings_in
from tests.spark.pipeline.workplace import Workplace
from tests.waiting import until
from vedette.operators.values import as_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ARROW = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "int": pa.int64(),
    "float": pa.float64(),
    "list of string": pa.list_(pa.string()),
}


class Told(NamedTuple):
    """Who hears of which event, and all that is said of it."""

    event: str
    subscription: str
    kind: str
    steps: tuple[tuple[str, str], ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()
    probability: float | None = None
    within: int | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Told:
        """A row of a table, a line of a file, a notification."""
        steps, bindings = (dict(row.get(name) or ()) for name in ("steps", "bindings"))
        likely = row.get("probability")
        return cls(
            str(row["event"]),
            row["subscription"],
            row.get("kind") or "match",
            tuple(sorted((name, str(event)) for name, event in steps.items())),
            tuple(sorted((name, as_text(value)) for name, value in bindings.items())),
            None if likely is None else round(round(likely, 6), 5),  # files have six digits
            row.get("within"),
        )


class Host(Protocol):
    """Whatever steps the engine."""

    learns: bool = False  # forecasts learn while it goes, and none knows anything before

    def told(self, case: Case, folder: Path) -> list[Told]:
        """What it tells of all events."""
        ...


def sorted_rows(rows: Iterable[Mapping[str, Any]]) -> list[Told]:
    """Rows in one order, whatever order a host promises."""
    return sorted(map(Told.of, rows), key=repr)


def table_of(events: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Events in columns, with their times as times."""
    fields = [pa.field(name, _ARROW[type_]) for name, type_ in SCHEMA.items()]
    rows = [{**event, "time": event["time"] * 1_000_000} for event in events]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def _parts(case: Case) -> Iterator[list[Mapping[str, Any]]]:
    """The events, cut anywhere."""
    random, at = Random(len(case.events)), 0
    while at < len(case.events):
        size = random.choice((1, 1, 2, 7, 40))
        yield list(case.events[at : at + size])
        at += size


# ---------------------------------------------------------------- one process


class InOneBatch:
    """`compile(…).match_batch(dicts)`; where nothing is forecast: `match_batch` has a stream of its own."""

    learns = False
    arrow = False

    def told(self, case: Case, folder: Path) -> list[Told]:
        with case.subscriptions().compile(operators=case.operators(folder), model=case.model(folder)) as engine:
            return self._told(engine, case)

    def _told(self, engine: vd.Engine, case: Case) -> list[Told]:
        events = table_of(case.events) if self.arrow else list(case.events)
        with engine.stream(learn=False) as stream:
            found = [stream.offer(id_, text) for id_, text in case.offers.items()]
            found.append(stream.process(events, ids=[event["id"] for event in case.events]))
            return sorted_rows(row for table in (*found, stream.finish()) for row in table.to_pylist())


class InOneTable(InOneBatch):
    """The same with an Arrow table."""

    arrow = True


class InParts(InOneBatch):
    """A stream that gets its events in parts, some of them alone, and is written down and read again between them."""

    def _told(self, engine: vd.Engine, case: Case) -> list[Told]:
        rows: list[Mapping[str, Any]] = []
        stream, offers = engine.stream(learn=False), iter(case.offers.items())
        for number, part in enumerate(_parts(case)):
            for id_, text in islice(offers, 1):
                rows += stream.offer(id_, text).to_pylist()
            if len(part) == 1:
                rows += stream.process_one(part[0], id=part[0]["id"])
            else:
                rows += stream.process(part, ids=[event["id"] for event in part]).to_pylist()
            if number % 5 == 0:
                stream = engine.resume(stream.to_bytes(), learn=False)
        return sorted_rows([*rows, *stream.finish().to_pylist()])


class Saved(InOneBatch):
    """An engine that was saved and opened."""

    def told(self, case: Case, folder: Path) -> list[Told]:
        operators = case.operators(folder)
        case.subscriptions().compile(operators=operators, model=case.model(folder)).save(folder / "snapshot")
        with vd.open(folder / "snapshot", operators=operators) as engine:
            return self._told(engine, case)


class Live(InOneBatch):
    """A live engine whose subscriptions come one by one, in between others that go again."""

    def told(self, case: Case, folder: Path) -> list[Told]:
        empty = vd.Subscriptions(SCHEMA)
        live = vd.LiveEngine(empty.compile(operators=case.operators(folder), model=case.model(folder)))
        with live:
            for record in case.records:
                live.add("passing", "n = 1" if len(live) % 2 else "[n = 1] ; [n = 2]")
                live.add_many([record])
                live.remove("passing")
            return self._told(live.now, case)


class Learning(InOneBatch):
    """A stream whose forecasts learn while it goes: what hosts without a model tell."""

    learns = True

    def told(self, case: Case, folder: Path) -> list[Told]:
        with case.subscriptions().compile(operators=case.operators(folder)) as engine, engine.stream() as stream:
            found = stream.process(list(case.events), ids=[event["id"] for event in case.events])
            return sorted_rows(found.to_pylist())


# ---------------------------------------------------------------- files, and the service


class CommandLine:
    """`vedette match`, whose forecasts learn."""

    learns = True
    engine = "local"
    output = "jsonl"

    def told(self, case: Case, folder: Path) -> list[Told]:
        out = folder / f"out.{self.output}"
        subscriptions = write_lines(folder / "subscriptions.jsonl", list(case.records))
        events = write_lines(folder / "events.jsonl", list(case.events))
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        options = ["--schema", folder / "schema.json", "--operators", case.operators_file(folder), "--quiet"]
        result = vedette("match", subscriptions, events, "-o", out, *options, "--engine", self.engine)
        assert result.exit_code == 0, result.output
        return sorted_rows(self._rows(out))

    def _rows(self, out: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in out.read_text().splitlines()]


class InTheService:
    """Subscriptions and events of the service, over its journal and database."""

    learns = True

    def told(self, case: Case, folder: Path) -> list[Told]:
        from vedette.service.service import Service
        from vedette.service.subscription_registry import SubscriptionRequest

        stream = {"schema": dict(SCHEMA)}
        settings = settings_in(
            folder, limits={"queue": 100_000}, streams={"default": stream}, operators=str(case.operators_file(folder))
        )
        rows: list[dict[str, Any]] = []
        with Service(settings) as service:
            tenant = service.tenants.add("acme")
            numbers = {}
            texts = case.subscriptions()  # rules of other dialects are translated where they come in
            for record in case.records:
                text, want = texts.text(record["id"]), record.get("to") == "offers"
                wanted = SubscriptionRequest(text, predict=record.get("predict"), want=want)
                numbers[service.registry.subscribe(tenant, wanted).subscription.number] = record["id"]
            offered = {service.market.offer(tenant, "default", text)[0].id: id_ for id_, text in case.offers.items()}
            for part in _parts(case):
                published(service, *(dict(event) for event in part))
            until(lambda: not service.market.behind)
            for number, id_ in numbers.items():
                for one in service.outbox.pending(number, 0, 1_000_000):
                    body = orjson.loads(one.body)
                    event = offered[body["offer"]["id"]] if "offer" in body else body["event"]["id"]
                    rows.append({**body, "event": event, "subscription": id_})
        return sorted_rows(rows)


# ---------------------------------------------------------------- Spark


class OnSpark:
    """`vedette.spark.match` over a table, by an engine."""

    learns = False

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def told(self, case: Case, folder: Path) -> list[Told]:
        from vedette.spark.versions import from_arrow

        frame = from_arrow(self._spark, table_of(case.events)).repartition(3)
        return self._rows(self._matched(frame, case, folder).collect())

    def _matched(self, frame: DataFrame, case: Case, folder: Path) -> DataFrame:
        engine = case.subscriptions().compile(operators=case.operators(folder), model=case.model(folder))
        return vd.spark.match(frame, engine, keep="id")

    @staticmethod
    def _rows(found: Iterable[Any]) -> list[Told]:
        rows = (row.asDict() for row in found)
        return sorted_rows({**row, "event": row["id"]} for row in rows if row["id"] != "last")


class InAStream(OnSpark):
    """The same over a stream, in micro-batches, by subscriptions."""

    def told(self, case: Case, folder: Path) -> list[Told]:
        (folder / "in").mkdir()
        last = {"id": "last", "time": case.events[-1]["time"] + 1_000_000, "kind": "nothing"}
        for number, part in enumerate(self._cut(case, last)):
            path = write_lines(folder / "in" / f"{number:06}.json", [dict(event) for event in part])
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes the oldest first
        columns = "id string, time bigint, kind string, user string, n bigint, price double, tags array<string>"
        reader = self._spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        query = (
            self._matched(reader.json(str(folder / "in")), case, folder)
            .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(folder / "out"), format="parquet")
        )
        query.awaitTermination()
        return self._rows(self._spark.read.parquet(str(folder / "out")).collect())

    def _matched(self, frame: DataFrame, case: Case, folder: Path) -> DataFrame:
        return vd.spark.match(
            frame,
            case.subscriptions(),
            keep="id",
            schema=SCHEMA,
            model=case.model(folder),
            operators=case.operators_file(folder),
        )

    @staticmethod
    def _cut(case: Case, last: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
        third = -(-len(case.events) // 3)
        return [*(list(case.events[at : at + third]) for at in range(0, len(case.events), third)), [last]]


class APipeline(OnSpark):
    """`vedette run` over files of JSON lines, all at once."""

    mode = "batch"

    def told(self, case: Case, folder: Path) -> list[Told]:
        from vedette.spark.pipeline.config import load
        from vedette.spark.pipeline.run import run

        place = Workplace(folder / "place")
        place.subscribe(*case.records)
        place.folder.joinpath("schema.yaml").write_text("".join(f"{path}: {type_}\n" for path, type_ in SCHEMA.items()))
        model = case.model(folder)
        followed: dict[str, Any] | None = {} if case.subscriptions().patterns else None
        if model is not None:
            model.save(place.folder / "model")
            followed = {"model": "model"}
        begin = len(case.events) // 2
        last = {"id": "last", "time": case.events[-1]["time"] + 1_000_000, "kind": "nothing"}
        for number, part in enumerate((case.events[:begin], [*case.events[begin:]], [last])):
            place.publish(f"{number}.jsonl", part)
            os.utime(place.events / f"{number}.jsonl", (1_700_000_000 + number,) * 2)
        streamed: dict[str, Any] = {"mode": self.mode}
        if self.mode != "batch":
            source = {"type": "jsonl", "path": "events", "max_files_per_trigger": 1}
            streamed |= {"checkpoint": "state", "source": source}
        operators = {"file": str(case.operators_file(folder))}
        place.describe(schema="schema.yaml", patterns=followed, operators=operators, **streamed)
        run(load(place.pipeline), spark=self._spark)
        return sorted_rows(row for row in place.rows() if row["event"] != "last")


class AStreamingPipeline(APipeline):
    """The same as a stream, in micro-batches of a file each."""

    mode = "available-now"


class CommandLineOnSpark(CommandLine):
    """`vedette match --engine spark`, which gives the same answer."""

    engine = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark  # the session that is running is the one that it takes
