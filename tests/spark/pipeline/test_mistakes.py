"""What is said of every mistake in a pipeline file, with its line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.spark.pipeline.documents import (
    BATCH,
    JDBC,
    KAFKA,
    SINK,
    SOURCE,
    STREAM,
    SUBSCRIPTIONS,
    TABLE_SOURCE,
    mistakes,
    prepared,
)
from vedette.errors import InputError
from vedette.spark.pipeline.config import load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the files name is here."""
    return prepared(tmp_path, monkeypatch)


# ---------------------------------------------------------------- what is wrong


class Case(NamedTuple):
    """A file whose only mistake is on the line that ends in `#!`."""

    text: str
    message: str
    hint: str | None


FILE_SINK = '[[sinks]]\ntype = "parquet"\n'
WRONG = {
    # keys and types
    "unknown key": Case("trigr = 1 #!\n" + BATCH, "`trigr` is not a key that is known here", "did you mean `trigger`?"),
    "unknown key of a sink": Case(BATCH + "rosw = 1 #!\n", "`rosw` of sink 1 is not a key", "did you mean `rows`?"),
    "key of another type": Case(
        BATCH.replace("[[", 'id = "x" #!\n[['),
        "`id` of [source] is not",
        "it is a key of the types delta, jdbc, parquet",
    ),
    "key of another table": Case('refresh = "1 s" #!\n' + BATCH, "`refresh` is not", "it is a key of [subscriptions]"),
    "top key in a table": Case(
        SUBSCRIPTIONS + 'keep = ["x"] #!\n' + SOURCE + SINK, "`keep` of [sub", "the top of the file, before the first"
    ),
    "nothing like it": Case(
        SUBSCRIPTIONS + "zzz = 1 #!\n" + SOURCE + SINK,
        "`zzz` of [subscriptions]",
        "the keys here are file, table, path",
    ),
    "a password": Case(
        SUBSCRIPTIONS + JDBC + 'table = "t"\npassword = "hunter2" #!\n' + SINK,
        "`password` of [source] is not a key",
        "did you mean `password_env`, the name of an environment variable?",
    ),
    "unknown key in a table in a table": Case(
        SUBSCRIPTIONS
        + JDBC
        + 'table = "t"\n[source.partition]\ncolumn = "c"\nlower = 0\nupper = 9\ncount = 2\ncuont = 2 #!\n'
        + SINK,
        "`partition.cuont` of [source] is not",
        "did you mean `count`?",
    ),
    "unknown source": Case(
        SUBSCRIPTIONS + '[source]\ntype = "jsonln" #!\n' + SINK, '"jsonln"', 'did you mean "jsonl"?'
    ),
    "unknown sink": Case(
        SUBSCRIPTIONS + SOURCE + '[[sinks]]\ntype = "zzz" #!\n', "which is not known", '"console", "j'
    ),
    "unknown quarantine": Case(BATCH + '[quarantine]\ntype = "Console " #!\n', "`type` of [quarantine]", '"console"?'),
    "no type": Case(
        SUBSCRIPTIONS + '[source] #!\npath = "x"\n' + SINK, "`type` of [source] is missing", '"csv", "delta"'
    ),
    "type that is no text": Case(SUBSCRIPTIONS + "[source]\ntype = 3 #!\n" + SINK, "`type` of [source]", '"jsonl"'),
    "other choice": Case('mode = "continous" #!\n' + BATCH, '`mode` is "continous"', 'did you mean "continuous"?'),
    "other choice, not alike": Case('mode = "x" #!\n' + BATCH, '`mode` is "x"', 'one of "batch", "available-now"'),
    "choice that is no text": Case("mode = 3 #!\n" + BATCH, "`mode` is a number, not a text", "it is one of"),
    "missing key": Case(
        SUBSCRIPTIONS + '[source] #!\ntype = "csv"\n' + SINK, "`path` of [source] is missing", "a file, a"
    ),
    "no source": Case("#!\n" + SUBSCRIPTIONS + SINK, "there is no [source]", "say where events come from"),
    "no subscriptions": Case("#!\n" + SOURCE + SINK, "there are no [subscriptions]", "say where they come from"),
    "no sinks": Case("#!\n" + SUBSCRIPTIONS + SOURCE, "there is no sink", "[[sinks]]"),
    "empty sinks": Case("sinks = [] #!\n" + SUBSCRIPTIONS + SOURCE, "there is no sink", "[[sinks]]"),
    "source that is no table": Case(
        'source = "x" #!\n' + SUBSCRIPTIONS + SINK, "[source] is a text, not a table", "[sou"
    ),
    "spark that is no table": Case("spark = [] #!\n" + BATCH, "[spark] is a list, not a table", "[spark]"),
    "sinks as one table": Case(
        SUBSCRIPTIONS + SOURCE + '[sinks] #!\ntype = "console"\n', "`sinks` is a table, not a list", "[[sinks]]"
    ),
    "sink that is no table": Case(
        "sinks = [3] #!\n" + SUBSCRIPTIONS + SOURCE, "sink 1 is a number, not a table", "[[s"
    ),
    "number for a text": Case(SUBSCRIPTIONS + TABLE_SOURCE + "id = 3 #!\n" + SINK, "is a number, not a text", "quotes"),
    "text for a number": Case(BATCH + 'rows = "3" #!\n', "`rows` of sink 1 is a text, not a whole number", None),
    "boolean for a number": Case(BATCH + "rows = true #!\n", "`rows` of sink 1 is a boolean, not a whole number", None),
    "text for a list": Case('keep = "price" #!\n' + BATCH, "`keep` is a text, not a list", "write a list"),
    "element of a list": Case('keep = [\n  "a",\n  3, #!\n]\n' + BATCH, "`keep[1]` is a number, not a text", "quotes"),
    "empty text": Case(SUBSCRIPTIONS + TABLE_SOURCE + 'id = "" #!\n' + SINK, "`id` of [source] is empty", "write"),
    "empty list": Case(BATCH + "subscribers = [] #!\n", "`subscribers` of sink 1 is an empty list", "write something"),
    "too small": Case(BATCH + "rows = 0 #!\n", "`rows` of sink 1 is 0; it must be at least 1", None),
    "too large": Case(BATCH + "rows = 99999999999 #!\n", "it must be at most 2,147,483,647", None),
    "name": Case('name = "a/b" #!\n' + BATCH, "`name` cannot be a name", "letters, digits"),
    "name of a sink": Case(BATCH + 'name = "../x" #!\n', "`name` of sink 1 cannot be a name", "letters, digits"),
    # values with a form
    "duration": Case(
        'mode = "continuous"\ncheckpoint = "c"\ntrigger = "10 bananas" #!\n' + BATCH,
        '`trigger` is "10 bananas", which is no length of time',
        '"10 seconds"',
    ),
    "duration as a number": Case(
        STREAM + SUBSCRIPTIONS + "refresh = 30 #!\n" + SOURCE + SINK,
        "`refresh` of [subscriptions] is no length",
        '"5 min"',
    ),
    "duration of nothing": Case(
        STREAM + SUBSCRIPTIONS + 'refresh = "0 s" #!\n' + SOURCE + SINK,
        "not between a millisecond and a year",
        '"5 min"',
    ),
    "path that is no text": Case(
        SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = 3 #!\n' + SINK, "not a text", "quotes"
    ),
    "empty path": Case(SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = " " #!\n' + SINK, "is empty", "write a path"),
    "path with a zero": Case(
        SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = "a\\u0000" #!\n' + SINK, "no path can have", "leave it out"
    ),
    "server": Case(
        SUBSCRIPTIONS + KAFKA.replace(':9092"]', '"] #!') + SINK,
        '`servers[0]` of [source] is "broker", not',
        "localhost:",
    ),
    "topics": Case(
        SUBSCRIPTIONS + KAFKA.replace('"events"]', '"a,b"] #!') + SINK, '"a,b", which is no name', "several"
    ),
    "no topics": Case(
        SUBSCRIPTIONS + KAFKA.replace('"events"]', "] #!") + SINK, "`topics` of [source] is an empty", "wr"
    ),
    "no servers": Case(
        SUBSCRIPTIONS + '[source] #!\ntype = "kafka"\ntopics = ["a"]\n' + SINK,
        "`servers` of [source] is missing",
        "host:",
    ),
    "webhook without http": Case(
        BATCH + '[[sinks]]\ntype = "webhook"\nurl = "hunter2:80" #!\n',
        "`url` of sink 2 does not begin with http:// or https://",
        'write e.g. "http://localhost:8080/hook"',
    ),
    "webhook without a host": Case(
        BATCH + '[[sinks]]\ntype = "webhook"\nurl = "https:///hook" #!\n', "`url` of sink 2 names no host", "http://"
    ),
    "jdbc address": Case(
        SUBSCRIPTIONS + '[source]\ntype = "jdbc"\ntable = "t"\nurl = "postgresql://h/d" #!\n' + SINK, "no JDBC", "jdbc:"
    ),
    "option": Case(
        SUBSCRIPTIONS + KAFKA + "options = { a = [1] } #!\n" + SINK, 'has "a", which is neither a text', "quotes"
    ),
    "options that are no table": Case(SUBSCRIPTIONS + KAFKA + "options = 3 #!\n" + SINK, "is no table", "write e.g."),
    "bound": Case(
        SUBSCRIPTIONS
        + JDBC
        + 'table = "t"\n[source.partition]\ncolumn = "c"\nlower = 0.5 #!\nupper = 9\ncount = 2\n'
        + SINK,
        "`partition.lower` of [source] is neither",
        '"2024-01-01"',
    ),
    # secrets
    "variable that is not set": Case(
        SUBSCRIPTIONS + JDBC + 'table = "t"\npassword_env = "NOT_SET" #!\n' + SINK,
        "`password_env` of [source] is NOT_SET, an environment variable that is not set",
        "set it before",
    ),
    "secret for a variable": Case(
        SUBSCRIPTIONS + JDBC + 'table = "t"\npassword_env = "hunter2" #!\n' + SINK,
        "is something that is no environment variable",
        "name a variable, not what it holds",
    ),
    "variable that is no text": Case(
        SUBSCRIPTIONS + JDBC + 'table = "t"\npassword_env = 3 #!\n' + SINK,
        "is not a text",
        "name an environment variable",
    ),
    "option that is not set": Case(
        SUBSCRIPTIONS + KAFKA + 'options_env = { "a.b" = "NOT_SET" } #!\n' + SINK,
        'has "a.b" = NOT_SET, an env',
        "set it",
    ),
    "option's variable that is no text": Case(
        SUBSCRIPTIONS + KAFKA + "options_env = { a = 1 } #!\n" + SINK, 'has "a", which is not a text', "name an env"
    ),
    "variables that are no table": Case(
        SUBSCRIPTIONS + KAFKA + "options_env = 1 #!\n" + SINK, "is no table", "write e.g."
    ),
    "secret among options": Case(
        SUBSCRIPTIONS + KAFKA + 'options = { "kafka.ssl.key.password" = "hunter2" } #!\n' + SINK,
        'has a secret in the file, "kafka.ssl.key.password"',
        "in `options_env`",
    ),
    "secret among headers": Case(
        BATCH + '[[sinks]]\ntype = "webhook"\nurl = "http://h/"\nheaders = { Authorization = "hunter2" } #!\n',
        "has a secret in the file",
        "in `headers_env`",
    ),
    "password in a JDBC address": Case(
        SUBSCRIPTIONS + JDBC.replace('db"', 'db?user=a&password=hunter2" #!') + 'table = "t"\n' + SINK,
        "`url` of [source] holds a password",
        "`user` and `password_env`",
    ),
    "password in a webhook": Case(
        BATCH + '[[sinks]]\ntype = "webhook"\nurl = "https://me:hunter2@host/" #!\n',
        "`url` of sink 2 holds a",
        "headers_e",
    ),
    "password in a database address": Case(
        '[subscriptions]\ntable = "s"\ndatabase = "postgresql://me:hunter2@host/db" #!\n' + SOURCE + SINK,
        "`database` of [subscriptions] holds a password",
        "`password_env`",
    ),
    # what does not go together
    "trigger of a batch": Case('trigger = "1 s" #!\n' + BATCH, '`trigger` is for mode = "continuous"', "or leave"),
    "trigger of available-now": Case(
        STREAM + 'trigger = "1 s" #!\n' + BATCH, 'and this is "available-now"', "or leave"
    ),
    "no checkpoint": Case(
        'mode = "continuous" #!\n' + BATCH, 'mode = "continuous" needs a `checkpoint`', "checkpoint ="
    ),
    "checkpoint of a batch": Case('checkpoint = "c" #!\n' + BATCH, "`checkpoint` is for streams", '"available-now"'),
    "refresh of a batch": Case(
        SUBSCRIPTIONS + 'refresh = "1 s" #!\n' + SOURCE + SINK,
        "`refresh` of [subscriptions] is for streams",
        "leave it out",
    ),
    "files per trigger of a batch": Case(
        SUBSCRIPTIONS + SOURCE + "max_files_per_trigger = 1 #!\n" + SINK, "is for streams", "leave it out"
    ),
    "records per trigger of a batch": Case(
        SUBSCRIPTIONS + KAFKA + "max_offsets_per_trigger = 1 #!\n" + SINK, "is for streams", "leave it out"
    ),
    "if_exists of a stream": Case(
        STREAM + BATCH + FILE_SINK + 'path = "out"\nif_exists = "replace" #!\n', "is for batches", "leave it out"
    ),
    "a database as a stream": Case(
        STREAM + SUBSCRIPTIONS + JDBC.replace('"jdbc"', '"jdbc" #!') + 'table = "t"\n' + SINK,
        "a database (jdbc) cannot be read as a stream",
        'mode = "batch"',
    ),
    "rate as a batch": Case(SUBSCRIPTIONS + '[source]\ntype = "rate" #!\n' + SINK, "rate never ends", '"continuous"'),
    "rate, available-now": Case(
        STREAM + SUBSCRIPTIONS + '[source]\ntype = "rate" #!\n' + SINK, "rate never ends", '"continuous"'
    ),
    "the latest of Kafka in a batch": Case(
        SUBSCRIPTIONS + KAFKA + 'starting = "latest" #!\n' + SINK, "reads nothing", 'starting = "earliest"'
    ),
    "a single file as a stream": Case(
        STREAM + SUBSCRIPTIONS + '[source]\ntype = "jsonl"\npath = "events/one.jsonl" #!\n' + SINK,
        "`path` of [source] is a single file, which cannot be read as a stream",
        "name the folder",
    ),
    "table and query": Case(
        SUBSCRIPTIONS + JDBC + 'table = "t"\nquery = "select 1" #!\n' + SINK,
        "cannot both be given",
        "`table` or `query`",
    ),
    "neither table nor query": Case(
        SUBSCRIPTIONS + JDBC.replace("[source]", "[source] #!") + SINK,
        "[source] has neither `table` nor `query`",
        "give",
    ),
    "partition of a query": Case(
        SUBSCRIPTIONS + JDBC + 'query = "q"\npartition = { column = "c", lower = 0, upper = 9, count = 2 } #!\n' + SINK,
        "`partition` goes with `table`",
        "AS events",
    ),
    "delta by path and name": Case(
        SUBSCRIPTIONS + '[source]\ntype = "delta"\npath = "events"\ntable = "t" #!\n' + SINK,
        "cannot both",
        "`path` or `table`",
    ),
    "subscriptions from nowhere": Case(
        "[subscriptions] #!\n" + SOURCE + SINK, "[subscriptions] has neither", "give it"
    ),
    "subscriptions from two places": Case(
        SUBSCRIPTIONS + 'path = "here" #!\n' + SOURCE + SINK,
        "`file` of [subscriptions] and `path` cannot both",
        "leave one",
    ),
    "subscriptions of a database without a table": Case(
        '[subscriptions]\ndatabase = "sqlite:///subs.db" #!\n' + SOURCE + SINK, "which table of the database", "table ="
    ),
    "format of a file": Case(
        SUBSCRIPTIONS + 'format = "delta" #!\n' + SOURCE + SINK, "`format` goes with `path`", "leave it out"
    ),
    "password of a file": Case(
        SUBSCRIPTIONS + 'password_env = "SET_HERE" #!\n' + SOURCE + SINK, "goes with `database`", "leave it out"
    ),
    "option of the pipeline's own": Case(
        SUBSCRIPTIONS + KAFKA + 'options = { startingOffsets = "latest" } #!\n' + SINK,
        "set by the pipeline",
        "`starting`",
    ),
    "setting of the pipeline's own": Case(
        BATCH + '[spark.conf]\n"spark.master" = "local" #!\n', '"spark.master" is set by the pipeline', "use `master`"
    ),
    "names of sinks": Case(
        BATCH + 'name = "a"\n' + SINK + 'name = "A" #!\n', 'sink 2 has the name of sink 1, "A"', "a name of its own"
    ),
    "name of the quarantine": Case(
        BATCH + 'name = "quarantine" #!\n[quarantine]\ntype = "console"\n', "sink 1 has the name of [quarantine]", "own"
    ),
    "routing of the quarantine": Case(
        BATCH + '[quarantine]\ntype = "console"\nsubscribers = ["a"] #!\n', "bad rows are nobody's", "leave it out"
    ),
    "key of the quarantine": Case(
        BATCH + '[quarantine]\ntype = "kafka"\nservers = ["a:1"]\ntopic = "t"\nkey = "subscriber" #!\n',
        "no such column",
        "leave",
    ),
    "kept column that is there": Case('keep = ["Event"] #!\n' + BATCH, '"Event" is a column that every', "rename"),
    "kept id": Case('keep = ["id"] #!\n' + BATCH, '"id" is a column that every', "the event's id is in `event`"),
    "kept twice": Case('keep = ["a", "A"] #!\n' + BATCH, '`keep` names "A" twice', "capitals"),
    "kept, but not in the schema": Case(
        'schema = "schema.yaml"\nkeep = ["pric"] #!\n' + BATCH, 'the schema knows no attribute "pric"', '"price"?'
    ),
    # places
    "source that is not there": Case(
        SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = "nowhere" #!\n' + SINK,
        "there is no ",
        "relative to the pipeline",
    ),
    "folder of a stream that is not there": Case(
        STREAM + SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = "nowhere" #!\n' + SINK,
        "there is no ",
        "make the folder",
    ),
    "pattern of nothing": Case(
        SUBSCRIPTIONS + '[source]\ntype = "csv"\npath = "*.csv" #!\n' + SINK, "no file is like", "check the pattern"
    ),
    "sink in the source": Case(
        BATCH + FILE_SINK + 'path = "events/out" #!\n',
        "`path` of sink 2 is inside `path` of [source]",
        "a place of its own",
    ),
    "source in the sink": Case(
        SUBSCRIPTIONS + SOURCE.replace("events", "data/in") + FILE_SINK + 'if_exists = "replace"\npath = "data" #!\n',
        "`path` of [source] is inside `path` of sink 1",
        "a place of its own",
    ),
    "two sinks in one place": Case(
        BATCH + FILE_SINK + 'path = "out"\n' + FILE_SINK + 'path = "./x/../out/" #!\n',
        "same as `path` of sink 2",
        "own",
    ),
    "quarantine in a sink": Case(
        BATCH + FILE_SINK + 'path = "out" #!\n[quarantine]\ntype = "jsonl"\npath = "out/bad"\n',
        "`path` of [quarantine] is inside `path` of sink 2",
        "own",
    ),
    "two sinks in one bucket": Case(
        BATCH + FILE_SINK + 'path = "s3a://b/out"\n' + FILE_SINK + 'path = "s3a://b/out/x" #!\n',
        "inside `path` of",
        "own",
    ),
    "checkpoint in a sink": Case(
        'mode = "continuous"\ncheckpoint = "out/c"\n' + BATCH + FILE_SINK + 'path = "out" #!\n',
        "`checkpoint` is inside",
        "own",
    ),
    "checkpoint in the source": Case(
        'mode = "continuous"\ncheckpoint = "events/c" #!\n' + BATCH, "`checkpoint` is inside `path` of [source]", "own"
    ),
    "subscriptions in the source": Case(
        '[subscriptions]\nfile = "events/two.jsonl" #!\n' + SOURCE + SINK, "is inside `path` of [source]", "own"
    ),
    "sink that the pattern finds": Case(
        SUBSCRIPTIONS
        + '[source]\ntype = "jsonl"\npath = "{events,out}/*.jsonl"\n'
        + SINK
        + FILE_SINK
        + 'path = "out" #!\n',
        "`path` of [source] is inside `path` of sink 2",
        "own",
    ),
    "topic in a circle": Case(
        SUBSCRIPTIONS + KAFKA + '[[sinks]]\ntype = "kafka"\nservers = ["x:1", "broker:9092"]\ntopic = "events" #!\n',
        "`topic` of sink 1 is a topic of the source",
        "read its own notifications",
    ),
    "table in a circle": Case(
        SUBSCRIPTIONS
        + JDBC
        + 'table = "t"\n[[sinks]]\ntype = "jdbc"\nurl = "jdbc:postgresql://host/db"\ntable = "T" #!\n',
        "`table` of sink 1 is the table of the source",
        "another table",
    ),
    "Delta table that is not there": Case(
        SUBSCRIPTIONS + '[source]\ntype = "delta"\npath = "nowhere" #!\n' + SINK,
        "there is no ",
        "relative to the pipeline",
    ),
    "folder of subscriptions that is not there": Case(
        '[subscriptions]\npath = "nowhere" #!\n' + SOURCE + SINK, "`path` of [subscriptions]: there is no ", "relative"
    ),
    "database of subscriptions that is not there": Case(
        '[subscriptions]\ntable = "s"\ndatabase = "sqlite:///nowhere.db" #!\n' + SOURCE + SINK,
        "there is no ",
        "relative",
    ),
    "jar that is not there": Case(
        BATCH + '[spark]\njars = ["a.jar"] #!\n', "`jars[0]` of [spark]: there is no", "path"
    ),
    "sink that is a file": Case(BATCH + FILE_SINK + 'path = "schema.yaml" #!\n', "schema.yaml is a file", "a folder"),
    "sink that is a pattern": Case(BATCH + FILE_SINK + 'path = "out/*" #!\n', "is a pattern", "name one folder"),
    "sink that holds something": Case(
        BATCH + FILE_SINK + 'path = "data" #!\n', "data holds something already", 'if_exists = "replace"'
    ),
    "checkpoint that is a file": Case(
        'mode = "continuous"\ncheckpoint = "schema.yaml" #!\n' + BATCH, "schema.yaml is a file", "name a folder"
    ),
    # other files
    "schema that is not there": Case('schema = "nowhere.yaml" #!\n' + BATCH, "`schema`: there is no", "relative to"),
    "schema elsewhere": Case('schema = "s3a://b/s.yaml" #!\n' + BATCH, "must be a file of this machine", "copy it"),
    "schema of no known format": Case('schema = "pipeline.toml" #!\n' + BATCH, "does not say which format", ".json"),
    "subscriptions that are not there": Case(
        '[subscriptions]\nfile = "nowhere.jsonl" #!\n' + SOURCE + SINK,
        "`file` of [subscriptions]: there is no",
        "relative",
    ),
    # the text
    "not TOML": Case("mode = batch #!\n" + BATCH, "this is not TOML: Invalid value", "quotes"),
    "twice": Case(SUBSCRIPTIONS + 'file = "x" #!\n', "this is not TOML: Cannot overwrite a value", "quotes"),
    "not closed": Case(BATCH + 'x = """ #!', "this is not TOML: Unterminated string", "quotes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_mistake_is_named_with_its_line(folder: Path, name: str) -> None:
    text, message, hint = WRONG[name]
    (found,) = mistakes(folder, text)
    (line,) = (number for number, each in enumerate(text.splitlines(), 1) if each.endswith("#!"))
    assert (found.file, found.line) == (str(folder / "pipeline.toml"), line), found
    assert message in found.message
    assert (hint is None) == (found.hint is None)
    assert hint is None or hint in (found.hint or "")
    assert "hunter2" not in str(found)


def test_many_mistakes_are_named_at_once_in_the_order_of_lines(folder: Path) -> None:
    (folder / "subscriptions.jsonl").write_text('{"id": "a", "when": "price <"}\n{"when": "true"}\n')
    text = """
trigger = "soon"
mode = "bach"
[subscriptions]
file = "subscriptions.jsonl"
files = 1
[source]
type = "jsonl"
path = "events"
id = "x"
[[sinks]]
type = "parquet"
path = "events/out"
rows = 3
[[sinks]]
type = "kafka"
topic = 3
name = "parquet"
[[sinks]]
type = "jsonl"
name = "parquet"
path = "events/out"
[spark]
jars = ["nowhere.jar"]
"""
    found = mistakes(folder, text)
    places = [(Path(mistake.file).name, mistake.line) for mistake in found]
    assert places == [
        *(("pipeline.toml", line) for line in (2, 3, 6, 10, 13, 14, 15, 17, 22, 22, 24)),
        ("subscriptions.jsonl", 1),
        ("subscriptions.jsonl", 2),
    ]


def test_a_schema_that_is_wrong_hides_nothing_of_the_subscriptions(folder: Path) -> None:
    nowhere = '[subscriptions]\nfile = "nowhere.jsonl"\n' + SOURCE + SINK
    for schema in ('schema = "nowhere.yaml"\n', "schema = 3\n"):
        assert [mistake.line for mistake in mistakes(folder, schema + nowhere)] == [1, 3]
    lines = ('{"id": "a", "when": "price <"}', '{"id": "b"}', '{"id": "c", "when": "[a = 1] ; [a = 2]"}')
    (folder / "subscriptions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    found = mistakes(folder, 'schema = "nowhere.yaml"\n' + BATCH)
    assert [(Path(mistake.file).name, mistake.line) for mistake in found] == [
        ("pipeline.toml", 1),
        *(("subscriptions.jsonl", line) for line in (1, 2, 3)),
    ]


def test_a_schema_that_is_wrong_lets_no_types_be_guessed(folder: Path) -> None:
    """What the subscriptions say of an attribute may be right by the schema that was meant."""
    (folder / "subscriptions.jsonl").write_text('{"id": "a", "when": "at < \'2026-01-01\' and at > 3"}\n')
    assert len(mistakes(folder, 'schema = "nowhere.yaml"\n' + BATCH)) == 1


@pytest.mark.parametrize("schema", ["", 'schema = "schema.yaml"\n', 'schema = "nowhere.yaml"\n'])
def test_a_pattern_is_sent_to_where_it_is_matched(folder: Path, schema: str) -> None:
    (folder / "subscriptions.jsonl").write_text('{"id": "rise", "when": "[price < 1] ; [price > 2]"}\n')
    *_, found = mistakes(folder, schema + BATCH)
    assert found.message == "subscription 'rise': a pattern over several events, and this pipeline follows none"
    assert found.hint == "give it a section [patterns]; in a stream it may say `lateness`"


def test_with_patterns_they_may_be_subscribed_to(folder: Path) -> None:
    (folder / "subscriptions.jsonl").write_text('{"id": "rise", "when": "[price < 1] ; [price > 2]"}\n')
    (folder / "pipeline.toml").write_text(f"{BATCH}[patterns]\nlearn = true\n")
    assert load(folder / "pipeline.toml").patterns is not None


def test_the_whole_message(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "pipeline.toml").write_text("mod = 1\n" + BATCH)
    (folder / "subscriptions.jsonl").write_text('{"id": "s1", "when": "price betwen 1 and 2"}\n')
    with pytest.raises(InputError) as caught:
        load("pipeline.toml")
    assert str(caught.value) == (
        "pipeline.toml:1: `mod` is not a key that is known here\n"
        "  Hint: did you mean `mode`?\n"
        "\n"
        "subscriptions.jsonl:1: subscription 's1': line 1, column 7: "
        "expected a comparison such as = or 'in', found 'betwen'\n"
        "    price betwen 1 and 2\n"
        "          ^^^^^^\n"
        "  Hint: did you mean 'between'?\n"
        "\n"
        "2 mistakes in pipeline.toml or what it names; nothing was started."
    )
