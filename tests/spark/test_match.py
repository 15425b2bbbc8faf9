"""Matches of DataFrames are those of the local engine on the same rows."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException, SparkRuntimeException
from pyspark.sql import functions as F

from tests.spark.random_tables import RandomTable
from vedette.engine.engine import Engine
from vedette.engine.snapshot import SavedEngine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, VedetteError
from vedette.filters.matcher import Matcher
from vedette.io.subscription_problems import BadSubscriptions
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema
from vedette.spark.compiled import loaded
from vedette.spark.dataframe_match import match
from vedette.spark.snapshots import ship
from vedette.spark.texts import needs_escapes
from vedette.spark.types import schema_of
from vedette.spark.worker_columns import sent_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@operator(time_limit=None)
def even(event: Any) -> bool:
    """Something that a filter can call."""
    return bool(event["x"] % 2 == 0)


def subscriptions(schema: Schema, texts: list[str], may_read: Callable[[Column], bool]) -> Subscriptions:
    """Those texts that make sense for the schema, and whose columns can be read."""
    made = Subscriptions(schema)
    for number, text in enumerate(texts):
        try:
            columns = check(parse(text), schema, text).columns()
            if all(map(may_read, columns)):
                made.add(f"s{number}", text)
        except VedetteError:
            continue
    return made


untyped: Any = match  # called with what its types do not allow


def outcomes(frame: DataFrame) -> list[tuple[int, str]]:
    """Row and subscription of every match, row and reason of every reject."""
    return sorted((row["row"], row["subscription"] or row["reason"]) for row in frame.collect())


def expected(matcher: Matcher | Engine, table: pa.Table) -> list[tuple[int, str]]:
    """The same by the local engine."""
    rejects: list[Reject] = []
    pairs = matcher.match_batch(table, rejects=rejects).to_pylist()
    rows = table.column("row").to_pylist()
    told = [(rows[pair["event"]], pair["subscription"]) for pair in pairs]
    return sorted(told + [(rows[one.row], f"attribute {one.attribute!r}: {one.reason}") for one in rejects])


@pytest.mark.filterwarnings("ignore:the events have no")  # some paths lead nowhere
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 5)), 102, 117, 120]
)
def test_the_same_as_the_local_engine_on_any_schema(spark: SparkSession, seed: int) -> None:
    random = RandomTable(seed)
    frame = spark.createDataFrame(random.rows, random.schema)
    table, schema = frame.toArrow(), schema_of(frame.schema)

    @functools.cache
    def may_read(column: Column) -> bool:
        """Neither engine refuses: what they say of what cannot be read is another test."""
        try:
            sent_columns([column], schema, frame.schema, lambda number: F.col(f"_{number}"))
            encode(table, [column], schema)
        except VedetteError:
            return False
        return True

    subs = subscriptions(schema, [render(each) for each in random.filters(400)], may_read)
    assert len(subs) > 100
    matcher = subs.compile()
    wanted = expected(matcher, table)
    assert len(wanted) > 400
    assert outcomes(match(frame, matcher, keep="row", rejects="keep")) == wanted


# ---------------------------------------------------------------- what comes out

STOCK = "id int, issue string, price double"
ROWS = [(1, "IBM", 119.0), (2, "MSFT", 5.0), (3, None, None)]
RECORDS = [
    {"id": "s1", "when": "issue = 'IBM' and price < 120", "subscriber": "ann"},
    {"id": "s2", "when": "price < 200"},
]
MATCHES = {(1, "s1"), (1, "s2"), (2, "s2")}


@pytest.fixture(scope="module")
def stock(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, STOCK)


def pairs(frame: DataFrame) -> set[tuple[int, str]]:
    return {(row["id"], row["subscription"]) for row in frame.collect()}


def _compiled() -> Subscriptions:
    made = Subscriptions({"issue": "string", "price": "float"})
    made.add_many(RECORDS)
    return made


def test_a_row_for_every_match_with_the_columns_of_its_event(stock: DataFrame) -> None:
    matches = match(stock, RECORDS)
    version = _version(RECORDS, stock)
    assert matches.columns == ["id", "issue", "price", "subscription", "version"]
    assert sorted(tuple(row) for row in matches.collect()) == [
        (1, "IBM", 119.0, "s1", version),
        (1, "IBM", 119.0, "s2", version),
        (2, "MSFT", 5.0, "s2", version),
    ]


def _version(records: list[dict[str, Any]], frame: DataFrame) -> str:
    made = Subscriptions(schema_of(frame.schema))
    made.add_many(records)
    return made.compile().version


def test_subscribers(stock: DataFrame) -> None:
    matches = match(stock, RECORDS, keep="id", subscribers=True)
    assert matches.columns == ["id", "subscription", "subscriber", "version"]
    found = sorted((row["id"], row["subscription"], row["subscriber"]) for row in matches.collect())
    assert found == [(1, "s1", "ann"), (1, "s2", None), (2, "s2", None)]


def test_every_form_of_subscriptions(stock: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    matcher = _compiled().compile()
    matcher.save(tmp_path / "snapshot")
    file = tmp_path / "subscriptions.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    # One of them has expired, and the columns come in another order.
    rows = [("price < 200", None, "s2", 7, None), ("issue = 'IBM' and price < 120", "ann", "s1", 7, None)]
    expired = ("true", None, "s3", 7, dt.datetime(2020, 1, 1))
    table = spark.createDataFrame(
        [*rows, expired], "`when` string, subscriber string, id string, n int, expires timestamp"
    )
    forms: list[Any] = [_compiled(), matcher, ship(matcher, spark), file, str(file), tmp_path / "snapshot"]
    forms += [str(tmp_path / "snapshot"), RECORDS, iter(RECORDS), table, table.where("id != 's3'").select("id", "when")]
    for form in forms:
        assert pairs(match(stock, form)) == MATCHES
    found = match(stock, table, subscribers=True).collect()
    assert {(row["subscription"], row["subscriber"]) for row in found} == {("s1", "ann"), ("s2", None)}


def test_a_table_of_subscriptions_has_one_version_whatever_its_order(stock: DataFrame, spark: SparkSession) -> None:
    rows = [(f"s{number}", f"price < {number}") for number in range(20)]
    versions = {
        match(stock, spark.createDataFrame(some, "id string, `when` string").repartition(parts)).head(1)[0]["version"]
        for some, parts in ((rows, 1), (rows[::-1], 3))
    }
    assert len(versions) == 1


def test_what_is_kept(stock: DataFrame) -> None:
    def names(keep: Any) -> list[str]:
        return match(stock, RECORDS, keep=keep).columns[:-2]

    assert names(None) == ["id", "issue", "price"]
    assert names([]) == []
    assert names("id") == ["id"]
    assert names(["price", "id"]) == ["price", "id"]
    assert names("*") == ["id", "issue", "price"]
    assert names([stock.id, (F.col("price") * 2).alias("twice")]) == ["id", "twice"]
    twice = match(stock, RECORDS, keep=["id", (F.col("price") * 2).alias("twice")]).collect()
    assert {(row["id"], row["twice"]) for row in twice} == {(1, 238.0), (2, 10.0)}
    assert match(stock, RECORDS, keep=[]).count() == 3


def test_kept_columns_may_have_any_name_and_any_type(spark: SparkSession) -> None:
    frame = spark.sql(
        """select 1 `a.b`, 2 `a``b`, 3 `x y`, 4 n, 5 N, named_struct('c', 6) s, 7 dup, 8 dup,
        interval 1 month i, parse_json('{"a": 1}') v, x'00ff' b, map(1, 2) m"""
    )
    matches = match(frame, [{"id": "s", "when": "n = 4"}])
    assert matches.columns == [*frame.columns, "subscription", "version"]
    assert matches.drop("v", "dup", "i").first() is not None
    kept = match(frame, [{"id": "s", "when": "n = 4"}], keep=["a.b", "a`b", "x y", "s.c"])
    assert kept.columns[:4] == ["a.b", "a`b", "x y", "c"]
    assert tuple(kept.first())[:4] == (1, 2, 3, 6)  # type: ignore[arg-type]


def test_names_are_read_by_their_exact_letters(spark: SparkSession) -> None:
    frame = spark.sql("select 4 n, 5 N, named_struct('a', 1, 'A', 2) s, array(named_struct('b', 1, 'B', 2)) l")
    records = [
        {"id": text, "when": text}
        for text in ("n = 4", "N = 4", "N = 5", "s.a = 1", "s.A = 1", "s.A = 2", "any(l.b) = 1", "any(l.B) = 2")
    ]
    found = {row["subscription"] for row in match(frame, records, keep=[]).collect()}
    assert found == {"n = 4", "N = 5", "s.a = 1", "s.A = 2", "any(l.b) = 1", "any(l.B) = 2"}


def test_subscriptions_that_speak_of_no_column(stock: DataFrame) -> None:
    records = [{"id": "all", "when": "true"}, {"id": "none", "when": "false"}]
    assert pairs(match(stock, records)) == {(1, "all"), (2, "all"), (3, "all")}
    assert match(stock, [{"id": "none", "when": "false"}]).count() == 0
    assert match(stock, []).count() == 0


def test_no_events_and_empty_partitions(stock: DataFrame) -> None:
    assert match(stock.where("id > 7"), RECORDS).count() == 0
    assert pairs(match(stock.repartition(5), RECORDS)) == MATCHES


AWKWARD = [
    *(chr(number) for number in range(1, 33)),
    *(f"a{chr(number)}b" for number in (0, 0x1B, 0x1D, 0x1E, 0x1F, 0x7F)),
    *(
        "\x1be",
        "\x1bs",
        "\x1b\x1b",
        "\x1f\x1f",
        "\x1d\x1d",
        "\x1besb",
        "es",
        "|",
        ",",
        "\\",
        "\\s",
        "'",
        '"',
        "`",
        "[",
        ".",
    ),
    *("é", "😀", "\u2028", "\ufeff", "\ufffe", "null", "NULL", " x ", "%s", "$1", "{}", "a" * 10_000),
]


def test_ids_and_subscribers_of_any_characters(stock: DataFrame) -> None:
    owners: list[str | None] = [*AWKWARD[::-1], "", None]
    ids = [*AWKWARD, "with the empty one", "with none"]
    records = [
        {"id": id_, "when": "true", "subscriber": owner} if owner is not None else {"id": id_, "when": "true"}
        for id_, owner in zip(ids, owners, strict=True)
    ]
    one = stock.where("id = 1")
    found = {(row["subscription"], row["subscriber"]) for row in match(one, records, subscribers=True).collect()}
    assert found == set(zip(ids, owners, strict=True))
    assert sorted(row["subscription"] for row in match(one, records).collect()) == sorted(ids)


@pytest.mark.parametrize("subscribers", [False, True])
@pytest.mark.parametrize(
    "ids",
    [
        ["a", "bc", " d", "é", "😀", "\t", "x\u00a0"],  # of one width with spaces
        ["a ", "a", " a", "  "],  # spaces of their own
        ["a", "b" * 100, "c" * 1000],  # too different
    ],
)
def test_labels_come_back_as_they_were(stock: DataFrame, ids: list[str], subscribers: bool) -> None:
    owners = [*reversed(ids[1:]), ""]
    records = [{"id": id_, "when": "true", "subscriber": owner} for id_, owner in zip(ids, owners, strict=True)]
    matches = match(stock, records, keep="id", subscribers=subscribers, rejects="keep")
    added = ["subscription", "subscriber"] if subscribers else ["subscription"]
    wanted = zip(ids, owners, strict=True) if subscribers else ((id_,) for id_ in ids)
    told = [tuple(row[name] for name in ("id", *added)) for row in matches.collect()]
    assert sorted(told) == sorted((number, *each) for each in list(wanted) for number in (1, 2, 3))


def test_plain_ids_are_not_escaped(stock: DataFrame) -> None:
    plain = _compiled().compile().filters
    assert not needs_escapes(plain)
    odd = Subscriptions()
    odd.add("a", "true", subscriber="x\x1ey")
    assert needs_escapes(odd.compile().filters)


def test_millions_of_matches(spark: SparkSession) -> None:
    events, subs = 3_000, 2_000
    frame = spark.range(events).selectExpr("cast(id as int) row", "cast(id % 7 as int) n").coalesce(1)
    records = [{"id": f"subscription number {number}", "when": f"n <= {number % 8}"} for number in range(subs)]
    counted = match(frame, records, keep="n").groupBy("n").count().collect()
    expected_counts = {
        n: sum(1 for row in range(events) if row % 7 == n) * sum(1 for number in range(subs) if n <= number % 8)
        for n in range(7)
    }
    assert {row["n"]: row["count"] for row in counted} == expected_counts


# ---------------------------------------------------------------- what is wrong


def test_events_that_break_the_schema_are_an_error(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "2024-05-01"), (2, "soon")], "id int, due string")
    records = [{"id": "s", "when": "due > date '2024-01-01'"}]
    for count in (False, True):  # also where nobody looks at the matches themselves
        matches = match(frame, records, schema={"due": "date"})
        with pytest.raises(SparkRuntimeException) as error:
            matches.count() if count else matches.collect()
        assert "an event breaks the schema: attribute 'due': 'soon' is not a date" in str(error.value)
        assert 'Hint: rejects="keep"' in str(error.value)
        assert len(str(error.value).splitlines()) < 4
    assert pairs(match(frame.where("id = 1"), records, schema={"due": "date"})) == {(1, "s")}


def test_events_that_break_the_schema_can_be_kept(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "2024-05-01"), (2, "so\x1fon"), (3, None)], "id int, due string")
    records = [{"id": "s", "when": "due > date '2024-01-01'"}, {"id": "n", "when": "due is null", "subscriber": "ann"}]
    matches = match(frame, records, schema={"due": "date"}, rejects="keep", subscribers=True)
    assert matches.columns == ["id", "due", "subscription", "subscriber", "version", "reason"]
    found = [(row["id"], row["subscription"], row["subscriber"], row["reason"]) for row in matches.collect()]
    assert [row[:3] for row in found] == [(1, "s", None), (2, None, None), (3, "n", "ann")]
    assert [row[3] for row in found][::2] == [None, None]
    assert found[1][3].startswith("attribute 'due': 'so")


def test_errors_in_workers_are_short(stock: DataFrame, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = _compiled().compile()
    gone = replace(ship(matcher, spark), folder="/nowhere/to/be/found")
    monkeypatch.setattr(
        "vedette.spark.compiled.opened", lambda _: SavedEngine(matcher.filters)
    )  # the driver has it still
    with pytest.raises(PythonException) as error:
        match(stock, gone).collect()
    assert "vedette.errors.SnapshotError: the snapshot /nowhere/to/be/found is gone" in str(error.value)
    assert len(str(error.value).splitlines()) < 8


def test_a_schema_of_some_attributes_leaves_the_others_as_they_are(spark: SparkSession) -> None:
    frame = spark.sql("select 1 id, '10.0.0.7' ip, 3.5d price, 7 at, named_struct('x', 1) s, 'a' `mixed`")
    texts = ["ip in cidr '10.0.0.0/8'", "price = 3.5", "s.x = 1", "at = timestamp '1970-01-01T00:00:07Z'"]
    records = [{"id": text, "when": text} for text in texts]
    found = match(frame, records, schema={"ip": "ip", "at": "timestamp", "mixed": "mixed"})
    assert {row["subscription"] for row in found.collect()} == set(texts)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: untyped(f, RECORDS, rejects="drop"), "rejects='drop' is not known\nHint: it is 'raise' or 'keep'"),
        (lambda f: untyped([{"price": 1}], RECORDS), "the events are a list, not a DataFrame of Spark\nHint:"),
        (lambda f: untyped(f, 7), "the subscriptions are a int\nHint: hand in Subscriptions, an Engine"),
        (lambda f: untyped(f, {"id": "s", "when": "true"}), "the subscriptions are a dict\nHint:"),
        (lambda f: untyped(f, _compiled().live()), "a LiveEngine changes while it matches"),
        (lambda f: match(f, [{"id": "w", "when": "price = 1", "to": "offers"}]), "'w' subscribes to offers"),
        (lambda f: match(f, f), "the DataFrame of subscriptions has no column when\nHint: subscriptions have"),
        (lambda f: untyped(f, RECORDS, keep=[7]), "keep has 7 in it\nHint:"),
        (
            lambda f: match(f.withColumnRenamed("issue", "Version"), [], prefix=""),
            "the events have a column 'Version', and so has",
        ),
        (lambda f: match(f.selectExpr("id m_Subscription"), [], prefix="m_"), "the events have a column 'm_Subscripti"),
        (
            lambda f: match(f.selectExpr("id", "id reason"), [], rejects="keep", prefix=""),
            "the events have a column 'r",
        ),
        (
            lambda f: match(f.selectExpr("id subscriber"), [], subscribers=True, prefix=""),
            "the events have a column 's",
        ),
        (lambda f: untyped(f, [], prefix=7), "prefix=7 is no text\nHint:"),
        (lambda f: match(f.selectExpr("1 a", "2 a"), [], keep="a"), "the events have 2 columns named 'a'\nHint:"),
        (lambda f: match(f.selectExpr("1 a", "2 a"), [{"id": "s", "when": "a = 1"}]), "the events have 2 columns na"),
    ],
)
def test_mistakes_are_told_at_once(stock: DataFrame, call: Callable[[DataFrame], Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        call(stock)
    assert str(error.value).startswith(says)


def test_names_clash_only_if_they_are_used(stock: DataFrame) -> None:
    frame = stock.selectExpr("*", "1 subscriber", "2 reason")
    assert match(frame, RECORDS).columns == [*frame.columns, "subscription", "version"]
    clash = stock.withColumnRenamed("issue", "subscription")
    assert match(clash, [{"id": "s", "when": "subscription = 'IBM'"}], keep="id").count() == 1


@pytest.mark.parametrize("name", ["version", "subscription", "kind"])
def test_events_may_have_columns_of_any_name(name: str, stock: DataFrame) -> None:
    events = stock.select("id", F.col("issue").alias(name))
    told = [{"id": "s", "when": f"{name} = 'IBM'"}]
    expected = [row.id for row in stock.where("issue = 'IBM'").collect()]

    def found(subscriptions: list[dict[str, str]], **how: str) -> tuple[list[str], list[Any]]:
        matched = match(events, subscriptions, **how)  # type: ignore[arg-type]
        return matched.columns, sorted(row.id for row in matched.collect())

    assert found(told, prefix="m_") == (["id", name, "m_subscription", "m_version"], sorted(expected))
    patterns = [*told, {"id": "p", "when": f"[{name} = 'IBM']"}]
    columns, ids = found(patterns, prefix="m_")
    assert columns[:5] == ["id", name, "m_subscription", "m_kind", "m_steps"]
    assert ids == sorted(expected * 2)
    with pytest.warns(UserWarning, match=f"have a column '{name}'.* named\\s+vedette_subscription"):
        assert found(patterns)[0][2:4] == ["vedette_subscription", "vedette_kind"]


def test_every_mistake_of_a_table_of_subscriptions_is_told(stock: DataFrame, spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", "price <"), ("b", "price < 3"), ("c", None)], "id string, `when` string")
    with pytest.raises(BadSubscriptions) as error:
        match(stock, table, strict=True)
    assert "'a'" in str(error.value)
    assert "when" in str(error.value)


def test_bad_rows_of_a_table_of_subscriptions_are_set_aside(
    stock: DataFrame, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [("a", "price <"), ("b", "price < 1000"), ("c", None), ("d", "true"), ("e", "nosuch(price)")]
    table = spark.createDataFrame(rows, "id string, `when` string")
    good = match(stock, table.where("id in ('b', 'd')"), keep="id")
    found = match(stock, table, keep="id")
    assert {row.version for row in found.collect()} == {row.version for row in good.collect()}
    assert sorted(found.collect()) == sorted(good.collect()) != []
    assert "subscription 'a'" in caplog.text
    assert "there is no operator 'nosuch'" in caplog.text
    assert "3 subscriptions are bad and set aside; the others are used." in caplog.text
    with pytest.raises(BadSubscriptions):
        match(stock, table.where("id = 'a'"))  # nothing is good


def test_a_snapshot_is_opened_whatever_is_in_it(tmp_path: Path) -> None:
    made = Subscriptions({"x": "int"})
    made.add("plain", "x > 7")
    made.compile().save(tmp_path / "plain")
    made.add("calls", "even() and x > 5")
    made.add("pattern", "[x = 1] ; [x = 2]")
    made.compile(operators=Operators(even)).save(tmp_path / "all")
    assert list(loaded(tmp_path / "plain", made.schema)) == ["plain"]
    engine = loaded(str(tmp_path / "all"), made.schema, Operators(even))
    assert isinstance(engine, Engine)
    with engine:
        assert (list(engine), engine.match({"x": 8})) == (["plain", "calls", "pattern"], ["plain", "calls"])


def test_a_stream_of_subscriptions_is_refused(stock: DataFrame, spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("cast(value as string) id", "'true' `when`")
    with pytest.raises(InputError, match="is a stream\nHint: read it as a table"):
        match(stock, stream)


def test_attributes_that_no_event_has_are_told_once(stock: DataFrame) -> None:
    records = [{"id": "s", "when": "prise < 3 or Issue = 'IBM' or x = 1 or y = 1 or z = 1"}]
    with pytest.warns(UserWarning, match="no 'Issue'") as warned:
        assert match(stock, records).count() == 0
    assert [str(one.message) for one in warned] == [
        "the events have no 'Issue' (there is 'issue'), no 'prise' (there is 'price'), no 'x' and 2 more, of which "
        "subscriptions speak: there it is null everywhere"
    ]
    assert warned[0].filename == __file__


# ---------------------------------------------------------------- what Spark is asked to do


def test_only_what_subscriptions_speak_of_crosses(spark: SparkSession) -> None:
    stored = "id int, order struct<total: double, note: string>, other string, m map<string, string>"
    frame = spark.createDataFrame([(1, (3.5, "x"), "y", {"k": "v"})], stored)
    plan = _plan(match(frame, [{"id": "s", "when": "order.total > 3 and m.k = 'v'"}], keep="id"))
    crossing = next(line for line in plan.splitlines() if "ArrowEvalPython" in line)
    assert "order#" in crossing
    assert ".total" in crossing
    assert "[k]" in crossing
    assert "note" not in crossing
    assert "other#" not in crossing
    assert plan.count("ArrowEvalPython") == 1


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_events_are_matched_once_whatever_is_done_with_the_matches(stock: DataFrame) -> None:
    matches = match(stock, RECORDS).where("subscription = 's2' and price > 1").groupBy("subscription").count()
    assert _plan(matches).count("ArrowEvalPython") == 1
    assert [tuple(row) for row in matches.collect()] == [("s2", 2)]


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "events"
    spark.createDataFrame(ROWS, STOCK).coalesce(1).write.parquet(str(source / "1"))
    spark.createDataFrame([(4, "IBM", 100.0)], STOCK).coalesce(1).write.parquet(str(source / "2"))
    events = spark.readStream.schema(STOCK).option("maxFilesPerTrigger", 1).parquet(str(source / "*"))
    matches = match(events, RECORDS, subscribers=True)
    assert matches.isStreaming
    query = (
        matches.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination(120)
    assert query.exception() is None
    found = spark.read.parquet(str(tmp_path / "out"))
    assert pairs(found) == MATCHES | {(4, "s1"), (4, "s2")}
    assert found.columns == ["id", "issue", "price", "subscription", "subscriber", "version"]


def test_the_time_that_a_stream_waits_for_late_events_is_kept(spark: SparkSession) -> None:
    events = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    matches = match(events, [{"id": "s", "when": "value >= 0"}], keep=["timestamp"])
    counted = matches.groupBy(F.window("timestamp", "1 minute"), "subscription").count()
    query = counted.writeStream.format("memory").queryName("counted").outputMode("append").start()  # needs a watermark
    query.stop()
