"""Pipeline files for tests: their parts, a folder with what they name, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vedette.errors import Mistake, PipelineError
from vedette.spark.pipeline.config import Pipeline, load

SUBSCRIPTIONS = '[subscriptions]\nfile = "subscriptions.jsonl"\n'
SOURCE = '[source]\ntype = "jsonl"\npath = "events"\n'
SINK = '[[sinks]]\ntype = "console"\n'
TABLE_SOURCE = '[source]\ntype = "parquet"\npath = "events"\n'
KAFKA = '[source]\ntype = "kafka"\nservers = ["broker:9092"]\ntopics = ["events"]\n'
JDBC = '[source]\ntype = "jdbc"\nurl = "jdbc:postgresql://host/db"\n'
BATCH = SUBSCRIPTIONS + SOURCE + SINK
STREAM = 'mode = "available-now"\ncheckpoint = "state"\n'


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with what these files name; the one we are in is another."""
    (folder / "events").mkdir()
    (folder / "events" / "one.jsonl").write_text('{"price": 1}\n')
    (folder / "events" / "two.jsonl").write_text('{"id": "s1", "when": "true"}\n')
    (folder / "subscriptions.jsonl").write_text('{"id": "s1", "subscriber": "alice", "when": "price < 120"}\n')
    (folder / "schema.yaml").write_text("price: float\norder:\n  total: float\n")
    (folder / "subs.db").touch()
    (folder / "data" / "in").mkdir(parents=True)
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    monkeypatch.setenv("SET_HERE", "hunter2")
    monkeypatch.delenv("NOT_SET", raising=False)
    return folder


def loaded(folder: Path, text: str) -> Pipeline:
    """What a file with this text says."""
    file = folder / "pipeline.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def mistakes(folder: Path, text: str) -> tuple[Mistake, ...]:
    """What is said to be wrong with it."""
    with pytest.raises(PipelineError) as caught:
        loaded(folder, text)
    assert caught.value.mistakes
    for mistake in caught.value.mistakes:
        assert str(mistake) in str(caught.value)
    return caught.value.mistakes
