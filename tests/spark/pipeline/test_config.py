"""Pipeline files: what a good one says, what is read besides it, limits, and anything at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.seeds import EXAMPLES
from tests.spark.pipeline.documents import (
    BATCH,
    JDBC,
    SINK,
    SOURCE,
    STREAM,
    SUBSCRIPTIONS,
    TABLE_SOURCE,
    loaded,
    mistakes,
    prepared,
)
from tests.spark.pipeline.test_mistakes import WRONG
from vedette.errors import Mistake, PipelineError
from vedette.spark.pipeline import config, sink_config, source_config
from vedette.spark.pipeline.config import EXAMPLE, Pipeline, load
from vedette.spark.pipeline.fields import PipelineTable
from vedette.spark.pipeline.kinds import SINKS, SOURCES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the files name is here."""
    return prepared(tmp_path, monkeypatch)


# ---------------------------------------------------------------- what is right


def test_the_smallest_file(folder: Path) -> None:
    pipeline = loaded(folder, BATCH)
    assert (pipeline.name, pipeline.mode, pipeline.streaming) == ("pipeline", "batch", False)
    assert (pipeline.trigger, pipeline.checkpoint, pipeline.schema_file, pipeline.schema_given) == (None,) * 4
    assert pipeline.file == folder / "pipeline.toml"
    assert pipeline.subscriptions.kind == "file"
    assert pipeline.subscriptions.file == str(folder / "subscriptions.jsonl")
    assert isinstance(pipeline.source, source_config.JsonlSource)
    assert pipeline.source.path == str(folder / "events")
    assert isinstance(pipeline.sinks[0], sink_config.ConsoleSink)
    assert (pipeline.sinks[0].name, pipeline.sinks[0].rows) == ("console", 20)
    assert pipeline.quarantine is None
    assert pipeline.spark.master is None


def test_a_file_with_everything(folder: Path) -> None:
    text = """
name = "fraud"
mode = "continuous"
trigger = "10 seconds"
checkpoint = "state/fraud"
schema = "schema.yaml"
keep = ["price", "order"]

[subscriptions]
file = "subscriptions.jsonl"
refresh = "0.5 min"

[source]
type = "kafka"
servers = ["one:9092", "[::1]:9092"]
topics = ["orders", "returns"]
starting = "latest"
max_offsets_per_trigger = 1000
options = { "kafka.security.protocol" = "SASL_SSL", failOnDataLoss = false, minPartitions = 4 }
options_env = { "kafka.sasl.jaas.config" = "SET_HERE" }

[quarantine]
type = "jsonl"
path = "bad/"

[[sinks]]
name = "alerts"
type = "parquet"
path = "s3a://bucket/alerts"
subscribers = ["alice", "ops-*"]

[[sinks]]
type = "jdbc"
url = "jdbc:postgresql://host/db"
table = "notifications"
user = "me"
password_env = "SET_HERE"

[[sinks]]
type = "webhook"
url = "https://host/hook"
headers_env = { Authorization = "SET_HERE" }
timeout = "500 ms"

[[sinks]]
type = "kafka"
servers = ["one:9092"]
topic = "alerts"
key = "subscriber"
subscriptions = ["s1"]

[spark]
master = "local[2]"
conf = { "spark.driver.memory" = "2g", "spark.sql.shuffle.partitions" = 4 }
conf_env = { "spark.hadoop.fs.s3a.secret.key" = "SET_HERE" }
"""
    pipeline = loaded(folder, text)
    assert (pipeline.name, pipeline.streaming, pipeline.keep) == ("fraud", True, ("price", "order"))
    assert str(pipeline.trigger) == "10 seconds"
    assert pipeline.checkpoint == str(folder / "state" / "fraud")
    assert pipeline.schema_given is not None
    assert sorted(pipeline.schema_given) == ["order.total", "price"]
    assert pipeline.subscriptions.refresh == config.Duration(30_000)
    source = pipeline.source
    assert isinstance(source, source_config.KafkaSource)
    assert source.servers == ("one:9092", "[::1]:9092")
    assert source.options == {"kafka.security.protocol": "SASL_SSL", "failOnDataLoss": "false", "minPartitions": "4"}
    assert source.secret_options() == {"kafka.sasl.jaas.config": SecretStr("hunter2")}
    assert [sink.name for sink in pipeline.sinks] == ["alerts", "jdbc", "webhook", "kafka"]
    parquet, jdbc, webhook, _ = pipeline.sinks
    assert isinstance(parquet, sink_config.ParquetSink)
    assert parquet.path == "s3a://bucket/alerts"
    assert isinstance(jdbc, sink_config.JdbcSink)
    assert jdbc.password == SecretStr("hunter2")
    assert isinstance(webhook, sink_config.WebhookSink)
    assert webhook.secret_headers() == {"Authorization": SecretStr("hunter2")}
    assert webhook.timeout.seconds == 0.5
    assert pipeline.spark.secret_conf() == {"spark.hadoop.fs.s3a.secret.key": SecretStr("hunter2")}
    assert "hunter2" not in repr(pipeline) + str(pipeline) + pipeline.model_dump_json()


GOOD = {
    "a table with its id": SUBSCRIPTIONS + TABLE_SOURCE + 'id = "key"\n' + SINK,
    "a database in parts": SUBSCRIPTIONS
    + JDBC
    + 'table = "t"\npartition = { column = "at", lower = 2024-01-01, upper = "2025-01-01", count = 4 }\n'
    + SINK,
    "delta by name": SUBSCRIPTIONS + '[source]\ntype = "delta"\ntable = "events"\n' + SINK,
    "rate": 'mode = "continuous"\ncheckpoint = "state"\n' + SUBSCRIPTIONS + '[source]\ntype = "rate"\n' + SINK,
    "a stream of files": STREAM + SUBSCRIPTIONS + SOURCE + "max_files_per_trigger = 3\n" + SINK,
    "a stream of a pattern": STREAM + SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = "events/*.csv"\n' + SINK,
    "one file": SUBSCRIPTIONS + '[source]\ntype = "jsonl"\npath = "events/one.jsonl"\n' + SINK,
    "a pattern beside the subscriptions": SUBSCRIPTIONS + '[source]\ntype = "jsonl"\npath = "e*/*.jsonl"\n' + SINK,
    "subscriptions of the catalog": '[subscriptions]\ntable = "catalog.subscriptions"\n' + SOURCE + SINK,
    "subscriptions of a folder": '[subscriptions]\npath = "here"\nformat = "delta"\n' + SOURCE + SINK,
    "a quarantine in the terminal": BATCH + '[quarantine]\ntype = "console"\n',
    "a folder that is replaced": BATCH + '[[sinks]]\ntype = "jsonl"\npath = "here"\nif_exists = "replace"\n',
    "an empty folder": BATCH + '[[sinks]]\ntype = "jsonl"\npath = "here"\n',
    "a byte order mark": "\ufeff" + BATCH,
    "lines of Windows": BATCH.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_files(folder: Path, name: str) -> None:
    assert loaded(folder, GOOD[name]).sinks


def test_the_example_can_be_run_as_it_is(folder: Path) -> None:
    (folder / "events.jsonl").write_text('{"price": 1}\n')
    pipeline = loaded(folder, EXAMPLE)
    assert [sink.name for sink in pipeline.sinks] == ["everything", "alice"]


def test_what_the_example_has_in_comments_is_right_too(folder: Path) -> None:
    """Line by line, its comments are taken for what they offer, and the other choice is left out."""
    text = "\n".join(re.sub(r"^# (?=\[|\w+ = )", "", line) for line in EXAMPLE.splitlines())
    text = re.sub(
        r'^(mode = "(?:batch|available-now)"|if_exists|\[source\]\ntype = "jsonl"|path = "events).*$',
        "",
        text,
        flags=re.M,
    )
    pipeline = loaded(folder, text)
    assert (pipeline.mode, pipeline.keep, pipeline.source.type) == ("continuous", ("price",), "kafka")
    assert pipeline.spark.master == "spark://host:7077"


def test_sinks_without_a_name_keep_theirs_when_another_is_added(folder: Path) -> None:
    names = [sink.name for sink in loaded(folder, BATCH + SINK + SINK).sinks]
    assert names == ["console", "console-2", "console-3"]
    named = loaded(folder, SUBSCRIPTIONS + SOURCE + '[[sinks]]\ntype = "jsonl"\npath = "x"\nname = "console"\n' + SINK)
    assert [sink.name for sink in named.sinks] == ["console", "console-2"]


def test_a_quarantine_has_a_name_of_its_own(folder: Path) -> None:
    quarantine = loaded(folder, BATCH + '[quarantine]\ntype = "console"\n').quarantine
    assert quarantine is not None
    assert quarantine.name == "quarantine"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("fraud.toml", "fraud"),
        ("my pipeline.v2.toml", "my-pipeline.v2"),
        ("-.toml", "pipeline"),
        ("é.toml", "pipeline"),
    ],
)
def test_a_pipeline_is_called_after_its_file(folder: Path, file: str, name: str) -> None:
    (folder / file).write_text(BATCH)
    assert load(folder / file).name == name


def test_paths_are_relative_to_the_file_wherever_we_are(folder: Path) -> None:
    (folder / "pipeline.toml").write_text(BATCH)
    assert load("../pipeline.toml").checkpoint is None
    assert load("../pipeline.toml").subscriptions.file == str(folder / "subscriptions.jsonl")


@pytest.mark.parametrize(
    ("address", "becomes"),
    [
        ("sqlite:///subs.db", "sqlite:///{folder}/subs.db"),
        ("sqlite:///{folder}/subs.db", "sqlite:///{folder}/subs.db"),
        ("sqlite+pysqlite:///a/../subs.db?mode=ro", "sqlite+pysqlite:///{folder}/subs.db?mode=ro"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
    ],
)
def test_an_sqlite_file_is_beside_the_pipeline(folder: Path, address: str, becomes: str) -> None:
    pipeline = loaded(
        folder, f'[subscriptions]\ndatabase = "{address.format(folder=folder)}"\ntable = "s"\n{SOURCE}{SINK}'
    )
    assert pipeline.subscriptions.database == becomes.format(folder=folder)
    assert pipeline.subscriptions.kind == "database"


def test_nothing_can_be_changed(folder: Path) -> None:
    pipeline = loaded(folder, BATCH)
    with pytest.raises(ValueError, match="frozen"):
        pipeline.mode = "continuous"


def test_checking_loads_no_engine() -> None:
    wanted = ("pyspark", "py4j", "numba", "sqlalchemy", "urllib3")
    code = f"import sys, vedette.spark.pipeline.config; print([name for name in {wanted} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# ---------------------------------------------------------------- other files, and limits


def test_subscriptions_are_held_against_the_schema(folder: Path) -> None:
    (folder / "subscriptions.jsonl").write_text('{"id": "a", "when": "pric < 1"}\n{"id": "b", "when": "price < 1"}\n')
    assert loaded(folder, 'schema = "schema.yaml"\n' + BATCH)  # a run sets bad ones aside
    with pytest.raises(PipelineError, match="did you mean price"):
        config.load(folder / "pipeline.toml", every=True)
    strict = BATCH.replace("[source]", "strict = true\n[source]")
    (found,) = mistakes(folder, 'schema = "schema.yaml"\n' + strict)
    assert (Path(found.file).name, found.line) == ("subscriptions.jsonl", 1)
    assert "pric" in found.message
    assert found.hint == "did you mean price?"


def test_a_schema_that_is_wrong(folder: Path) -> None:
    (folder / "schema.yaml").write_text("price: flaot\n")
    (found,) = mistakes(folder, 'schema = "schema.yaml"\n' + BATCH)
    assert found.line == 1
    assert "flaot" in found.message


def test_twenty_bad_subscriptions_are_enough(folder: Path) -> None:
    bad = [f'{{"id": "s{number}", "when": "price <"}}\n' for number in range(1000)]
    (folder / "subscriptions.jsonl").write_text("".join(bad))
    found = mistakes(folder, BATCH)
    assert [mistake.line for mistake in found] == [*range(1, 21), None]
    assert "vedette check" in (found[-1].hint or "")


def test_a_file_that_is_something_else_is_not_read_to_its_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vedette.io import subscription_rows

    read = 0
    checked = subscription_rows._checked

    def counted(
        record: object, line: int, role: subscription_rows.RecordRole, written: subscription_rows.Written
    ) -> object:
        nonlocal read
        read += 1
        return checked(record, line, role, written)

    monkeypatch.setattr(subscription_rows, "_checked", counted)
    (folder / "subscriptions.jsonl").write_text('{"price": 1}\n' * 50_000)
    assert len(mistakes(folder, BATCH)) == 21
    assert read == 21


def test_a_file_over_the_limit(folder: Path) -> None:
    (found,) = mistakes(folder, BATCH + "#" * config.MOST_BYTES)
    assert found.message == "is larger than 1,048,576 bytes"


def test_a_hundred_sinks_are_the_most(folder: Path) -> None:
    assert len(loaded(folder, SUBSCRIPTIONS + SOURCE + SINK * 100).sinks) == 100
    (found,) = mistakes(folder, SUBSCRIPTIONS + SOURCE + SINK * 101)
    assert found.message == "`sinks` has 101 elements; 100 are the most"
    assert found.hint == "make several pipelines"


def test_a_thousand_attributes_are_kept_at_most(folder: Path) -> None:
    kept = ", ".join(f'"a{number}"' for number in range(1001))
    (found,) = mistakes(folder, f"keep = [{kept}]\n{BATCH}")
    assert found.message == "`keep` has 1,001 elements; 1,000 are the most"


def test_thousands_of_sinks_are_not_compared_with_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vedette.spark.pipeline import place_checks

    asked = 0

    def counted(one: object, other: object) -> bool:
        nonlocal asked
        asked += 1
        return False

    monkeypatch.setattr(place_checks, "overlap", counted)
    sinks = "".join(f'[[sinks]]\ntype = "jsonl"\npath = "o{number}"\n' for number in range(2000))
    assert len(mistakes(folder, SUBSCRIPTIONS + SOURCE + sinks)) == 1
    assert asked <= 102 * 101 / 2  # the first hundred, the source and the subscriptions


def test_a_hundred_mistakes_are_shown(folder: Path) -> None:
    with pytest.raises(PipelineError, match="more than 100 mistakes") as caught:
        loaded(folder, "".join(f"x{number} = 1\n" for number in range(5000)) + BATCH)
    assert str(caught.value).count("is not a key") == 100


def test_a_file_that_cannot_be_opened(folder: Path) -> None:
    for path in (folder / "nowhere.toml", folder, "a\0b", folder / ("x" * 5000)):
        with pytest.raises(PipelineError, match="cannot be opened"):
            load(path)


def test_a_file_that_is_not_utf8(folder: Path) -> None:
    (folder / "pipeline.toml").write_bytes(b'name = "x"\nmode = "\xff"\n')
    with pytest.raises(PipelineError, match="this is not UTF-8 text") as caught:
        load(folder / "pipeline.toml")
    assert caught.value.mistakes[0].line == 2


def test_texts_that_are_hard_on_readers(folder: Path) -> None:
    deep = "[" * 5000 + "]" * 5000
    assert "nested too deeply" in mistakes(folder, f"a = {deep}\n")[0].message
    assert "this key has too many parts" in mistakes(folder, BATCH + "a" + ".a" * 100_000 + " = 1\n")[0].message
    assert "longer than 4,096" in mistakes(folder, BATCH.replace('"events"', f'"{"a/" * 100_000}"'))[0].message
    assert "a number is too large" in mistakes(folder, f"a = {'9' * 5000}\n")[0].message
    assert "`" + "x" * 79 + "…` is not a key" in mistakes(folder, "x" * 5000 + " = 1\n" + BATCH)[0].message


def test_a_variable_that_is_gone_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = loaded(folder, SUBSCRIPTIONS + JDBC + 'table = "t"\npassword_env = "SET_HERE"\n' + SINK).source
    assert isinstance(source, source_config.JdbcSource)
    monkeypatch.delenv("SET_HERE")
    with pytest.raises(PipelineError, match="SET_HERE is not set"):
        _ = source.password


# ---------------------------------------------------------------- anything at all

_WORDS = st.sampled_from(
    sorted(
        {word for case in WRONG.values() for word in case.text.replace("\n", " \n ").split(" ")}
        | {
            "\n",
            " ",
            '"',
            "'",
            "[",
            "]",
            "{",
            "}",
            "=",
            ",",
            "1",
            "[[sinks]]\n",
            '"\\u0000"',
            '"~"',
            '"file:///"',
            '"//"',
        }
    )
)
_TEXTS = st.lists(_WORDS, max_size=40).map(" ".join).map(str.encode)
_VALUES = st.recursive(
    st.sampled_from(
        ['""', '"a"', '"\\u0000"', '"*"', '"."', "0", "-1", "1.5", "true", "1979-05-27", "[]", "{}", '"1 s"']
    )
    | st.text(max_size=5).map(
        lambda text: "'" + "".join(sign for sign in text if sign.isprintable() and sign != "'") + "'"
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | inner.map(lambda item: f"{{ a = {item} }}")
    ),
    max_leaves=4,
)
_MODELS: list[type[PipelineTable]] = [*SOURCES.loadable().values(), *SINKS.loadable().values(), Pipeline]
_KEYS = st.sampled_from(sorted({key for model in _MODELS for key in config.keys_of(model)} | {"x"}))


@st.composite
def _files(draw: st.DrawFn) -> bytes:
    """Files with the right tables and keys, and any values."""
    parts = []
    for header in ["", "[subscriptions]", "[source]", "[[sinks]]", "[[sinks]]", "[quarantine]", "[spark]"]:
        pairs = draw(st.dictionaries(_KEYS, _VALUES, max_size=4))
        if header.strip("[]") in ("source", "sinks", "quarantine"):
            types = ["jsonl", "csv", "parquet", "delta", "kafka", "jdbc", "rate", "console", "webhook"]
            pairs["type"] = f'"{draw(st.sampled_from(types))}"'
        parts += [header, *(f"{key} = {value}" for key, value in pairs.items())]
    return "\n".join(parts).encode()


@settings(max_examples=3 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | _TEXTS | _files())
@example(content=BATCH.encode())
def test_any_file_is_a_pipeline_or_has_mistakes(folder: Path, content: bytes) -> None:
    file = folder / "any.toml"
    file.write_bytes(content)
    found: tuple[Mistake, ...] = ()
    try:
        load(file)
    except PipelineError as error:
        found = error.mistakes
        if not found:
            raise
    for mistake in found:
        if mistake.file == os.fspath(file) and mistake.line is not None:
            assert 1 <= mistake.line <= content.count(b"\n") + 1
