"""A folder with a pipeline file, its subscriptions and its events; and what the local engine says of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions

Record = Mapping[str, Any]


def compiled(records: Iterable[Record], schema: Record | None = None) -> Engine:
    """The local engine."""
    subscriptions = Subscriptions(schema)
    subscriptions.add_many(records)
    return subscriptions.compile()


class Workplace:
    """What a user has: files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = folder / "events"
        self.events.mkdir(parents=True)
        self.pipeline = folder / "watch.toml"
        self._written = 0

    def describe(self, **parts: Any) -> Path:
        """Write the pipeline file; tables are mappings, lists of tables are lists of mappings."""
        standard: dict[str, Any] = {
            "subscriptions": {"file": "subscriptions.jsonl"},
            "source": {"type": "jsonl", "path": "events"},
            "sinks": [{"name": "out", "type": "jsonl", "path": "out"}],
            "spark": {
                "master": "local[2]",
                "conf": {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"},
            },
        }
        said = {name: value for name, value in {**standard, **parts}.items() if value is not None}
        self.pipeline.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in said.items()))
        return self.pipeline

    def subscribe(self, *records: Record | str) -> None:
        """Replace the subscriptions as a careful writer does; the time is long past, so nobody waits for more."""
        beside = self.folder / "subscriptions.new"
        beside.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records))
        self._written += 1
        os.utime(beside, (self._written, self._written))
        beside.rename(self.folder / "subscriptions.jsonl")

    def publish(self, name: str, events: Iterable[Record | str]) -> None:
        """One more file of events, in one step."""
        beside = self.folder / f"{name}.new"
        beside.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in events))
        beside.rename(self.events / name)

    def lines(self, folder: str = "out") -> list[str]:
        """All lines of a JSONL sink, sorted; what is hidden is not there yet."""
        root = self.folder / folder
        files = [*root.glob("part-*.jsonl"), *root.glob("batch=*/part-*.jsonl")]
        return sorted(line for path in files for line in path.read_text().splitlines())

    def rows(self, folder: str = "out") -> list[dict[str, Any]]:
        """The same, read."""
        return [json.loads(line) for line in self.lines(folder)]


def pairs(rows: Iterable[Record]) -> list[tuple[str, str]]:
    """Who was told of what, sorted."""
    return sorted((row["event"], row["subscription"]) for row in rows)


def expected(matcher: Engine, events: Iterable[Record]) -> list[tuple[str, str]]:
    """The same by the local engine, one event at a time."""
    return sorted((event["id"], subscription) for event in events for subscription in matcher.match(event))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
