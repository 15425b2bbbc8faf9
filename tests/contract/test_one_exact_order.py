"""One exact order over integers of 64 bits and floats, with and without a schema, whichever way events come in."""

from __future__ import annotations

import decimal
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import vedette as vd
from tests import exact_numbers as exact
from tests.cli.session import vedette, write_lines
from tests.contract.engines import OnSpark
from tests.service.running import published, settings_in
from vedette.covering.cover_set import CoveringSet
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SnapshotError
from vedette.filters import snapshot
from vedette.filters.explain import FilterExplanation
from vedette.filters.matcher import Matcher
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.schema.schema import Schema
from vedette.service.service import Service
from vedette.service.subscription_registry import SubscriptionRequest

FLOATS = Schema.of({"x": "float", "y": "float", "l": "list of float"})
Event = dict[str, Any]
Pairs = set[tuple[int, str]]
USER = 1846987654321098753


def subscribed(trees: list[exact.Tree], schema: Schema | None = None) -> Subscriptions:
    made = Subscriptions(schema)
    for number, tree in enumerate(trees):
        made.add(str(number), exact.text(tree))
    return made


def expected(trees: list[exact.Tree], events: list[Event]) -> Pairs:
    return {
        (row, str(number))
        for row, event in enumerate(events)
        for number, tree in enumerate(trees)
        if exact.truth(tree, event) is True
    }


def pairs(table: pa.Table) -> Pairs:
    return set(zip(table["event"].to_pylist(), table["subscription"].to_pylist(), strict=True))


def in_batches(made: Subscriptions, events: list[Event] | pa.Table, folder: Path) -> Pairs:
    return pairs(made.compile().match_batch(events))


def one_by_one(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    matcher = made.compile()
    return {(row, id_) for row, event in enumerate(events) for id_ in matcher.match(event)}


def by_evaluation(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    checked = {id_: check(parse(made.text(id_)), made.schema, made.text(id_)) for id_ in made}
    return {
        (row, id_) for row, event in enumerate(events) for id_, one in checked.items() if evaluate(one, event) is True
    }


def with_the_scan(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    return pairs(made.compile(index="scan").match_batch(events))


def with_the_tree(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    return pairs(made.compile(index="tree").match_batch(events))


def from_a_snapshot(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    made.compile().save(folder)
    opened = Matcher.open(folder)
    return pairs(opened.match_batch(events)) & {(r, s) for r, event in enumerate(events) for s in opened.match(event)}


def live(made: Subscriptions, events: list[Event], folder: Path) -> Pairs:
    matcher = Subscriptions(made.schema).live()
    for id_ in made:  # one by one: segments are built anew over and over again
        matcher.add(id_, made.text(id_))
    return pairs(matcher.match_batch(events))


WAYS = [in_batches, one_by_one, by_evaluation, with_the_scan, with_the_tree, from_a_snapshot, live]
Way = Callable[[Subscriptions, list[Event], Path], Pairs]


@pytest.fixture(scope="module")
def drawn() -> tuple[list[exact.Tree], list[Event]]:
    rng = random.Random(53)
    return [exact.tree(rng) for _ in range(100)], [exact.event(rng) for _ in range(120)]


@pytest.mark.parametrize("schema", [None, FLOATS], ids=["no schema", "float"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_compares_exactly(
    way: Way, schema: Schema | None, drawn: tuple[list[exact.Tree], list[Event]], tmp_path: Path
) -> None:
    trees, events = drawn
    assert way(subscribed(trees, schema), events, tmp_path / "snapshot") == expected(trees, events)


@given(st.randoms(use_true_random=False))
def test_any_filters_and_events(rng: random.Random) -> None:
    trees, events = [exact.tree(rng) for _ in range(3)], [exact.event(rng) for _ in range(5)]
    made, wanted = subscribed(trees), expected(trees, events)
    folder = Path()
    assert in_batches(made, events, folder) == wanted
    assert one_by_one(made, events, folder) == wanted
    assert by_evaluation(made, events, folder) == wanted


def test_a_constant_that_comes_later_is_told_apart_from_then_on() -> None:
    matcher = Subscriptions().live()
    matcher.add("wide", "user > 5")
    assert matcher.match({"user": USER}) == ["wide"]
    matcher.add("exact", f"user = {USER}")
    assert [matcher.match({"user": USER + step}) for step in (-1, 0, 1)] == [["wide"], ["wide", "exact"], ["wide"]]
    matcher.remove("exact")
    assert matcher.match({"user": USER}) == ["wide"]


# ---------------------------------------------------------------- covering and meeting


def points(trees: list[exact.Tree]) -> list[Event]:
    """Events of one attribute that make every difference, the missing one among them."""
    return [{}, *({"x": number} for number in exact.told_apart(trees))]


@pytest.mark.parametrize("schema", [None, FLOATS], ids=["no schema", "float"])
def test_covering_is_exact(schema: Schema | None) -> None:
    rng, covered = random.Random(7), 0
    for _ in range(150):
        several: list[exact.Tree] = [("or", exact.plain_test(rng, "x"), exact.plain_test(rng, "x")) for _ in range(2)]
        one = exact.plain_test(rng, "x")
        found = CoveringSet(schema or Schema(closed=False))
        for number, tree in enumerate(several):
            found.add(str(number), exact.text(tree))
        answer = found.add("one", exact.text(one))
        misses = [
            event
            for event in points([*several, one])
            if exact.truth(one, event) is True and not any(exact.truth(tree, event) is True for tree in several)
        ]
        assert (answer.covered, answer.certain) == (not misses, True), (exact.text(one), list(map(exact.text, several)))
        if answer.witness is not None:
            assert exact.truth(one, answer.witness) is True
            assert not any(exact.truth(tree, answer.witness) is True for tree in several)
        covered += answer.covered
    assert covered > 20


def everything_between(one: str, other: str) -> list[exact.Tree]:
    """Filters that split all numbers at an integer, which is no float64."""
    return [("is", ("of", "x"), one, USER), ("is", ("of", "x"), other, USER)]


@pytest.mark.parametrize(("one", "other"), [("<", ">="), ("<=", ">"), ("=", "!=")])
def test_two_halves_cover_all_that_is_there(one: str, other: str) -> None:
    found = CoveringSet(FLOATS)
    for number, tree in enumerate(everything_between(one, other)):
        assert not found.add(str(number), exact.text(tree)).covered
    assert found.add("all", "x is not null").covered
    assert not found.add("with null", "x is null or x > 0").covered


def constraint_of(rng: random.Random) -> dict[str, exact.Tree]:
    return {path: exact.plain_test(rng, path) for path in rng.choice([["x"], ["x", "y"]])}


def constraint_text(one: dict[str, exact.Tree]) -> str:
    return " and ".join(map(exact.text, one.values()))


def meet_naively(one: dict[str, exact.Tree], other: dict[str, exact.Tree]) -> bool:
    """Whether every attribute that both speak of has a number that both allow."""
    for path in one.keys() & other.keys():
        numbers = exact.told_apart([one[path], other[path]])
        if not any(exact.truth(one[path], {path: n}) and exact.truth(other[path], {path: n}) for n in numbers):
            return False
    return True


def test_meeting_is_exact_all_at_once_and_one_after_the_other() -> None:
    rng = random.Random(11)
    sides = [{f"{side}{number}": constraint_of(rng) for number in range(60)} for side in ("p", "s")]
    for side in sides:
        side[f"{next(iter(side))}f"] = {"x": ("is", ("of", "x"), ">", 0.5), "y": ("is", ("of", "y"), ">", 0.5)}
    publications, subscriptions = sides
    wanted = {
        (p, s) for p, one in publications.items() for s, other in subscriptions.items() if meet_naively(one, other)
    }
    records = [[{"id": id_, "when": constraint_text(one)} for id_, one in side.items()] for side in sides]
    found = vd.meet(*records, direction="open")
    assert set(zip(*(found[name].to_pylist() for name in ("publication", "subscription")), strict=True)) == wanted
    meeting = vd.Meeting(direction="open")
    met = set()
    for record in records[0]:
        meeting.publications.add(record["id"], record["when"])
    for record in records[1]:
        met |= {(p, record["id"]) for p in meeting.subscriptions.add(record["id"], record["when"])}
    assert met == wanted


# ---------------------------------------------------------------- files


def as_json(path: Path, events: list[Event]) -> Path:
    return write_lines(path.with_suffix(".jsonl"), events)


def as_csv(path: Path, events: list[Event]) -> Path:
    lines = ["x,y,l", *(",".join(_cell(event.get(name)) for name in ("x", "y", "l")) for event in events)]
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".csv")


def _cell(value: Any) -> str:
    return "" if value is None else f'"{value}"' if isinstance(value, list) else repr(value)


def as_parquet(path: Path, events: list[Event]) -> Path:
    pq.write_table(pa.Table.from_pylist(events), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def finite(value: Any) -> bool:
    return all(map(finite, value)) if isinstance(value, list) else math.isfinite(value)


@pytest.fixture(scope="module")
def in_files(drawn: tuple[list[exact.Tree], list[Event]]) -> tuple[list[exact.Tree], list[Event]]:
    """JSON has no infinity, and a number that is as large as one is no number there."""
    trees, events = drawn
    return trees[:80], [{name: value for name, value in event.items() if finite(value)} for event in events]


@pytest.mark.parametrize("schema", [None, FLOATS], ids=["inferred", "float"])
@pytest.mark.parametrize("write", [as_json, as_csv])
def test_files_of_integers_and_fractions(
    write: Callable[[Path, list[Event]], Path],
    schema: Schema | None,
    in_files: tuple[list[exact.Tree], list[Event]],
    tmp_path: Path,
) -> None:
    trees, events = in_files
    if schema is None and write is as_csv:  # without a schema no cell is a list
        trees = [tree for tree in trees if "(l)" not in exact.text(tree)]
    subscriptions = [{"id": str(number), "when": exact.text(tree)} for number, tree in enumerate(trees)]
    options = []
    if schema is not None:
        (tmp_path / "schema.yaml").write_text(str(schema))
        options = ["--schema", tmp_path / "schema.yaml"]
    written = write(tmp_path / "events", events)
    found = vedette("match", write_lines(tmp_path / "subscriptions.jsonl", subscriptions), written, "-o", "-", *options)
    assert found.exit_code == 0, found.output
    told = {(int(one["event"]), one["subscription"]) for one in map(json.loads, found.stdout.splitlines())}
    assert told == expected(trees, events)


ARROW = [pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(18, 0), pa.decimal128(20, 0), pa.decimal128(38, 2)]


@pytest.mark.parametrize("stored", ARROW, ids=str)
def test_columns_of_tables(stored: pa.DataType, drawn: tuple[list[exact.Tree], list[Event]]) -> None:
    trees, _ = drawn
    rng = random.Random(str(stored))
    columns: dict[str, list[Any]] = {}
    for path in ("x", "y"):
        values = [exact.number(rng) for _ in range(400)]
        columns[path] = [value for value in values if _fits(value, stored)][:80]
    size = min(map(len, columns.values()))
    table = pa.table({path: _array(values[:size], stored) for path, values in columns.items()})
    events = [{path: values[row] for path, values in columns.items()} for row in range(size)]
    trees = [tree for tree in trees if "(l)" not in exact.text(tree)]
    assert in_batches(subscribed(trees), table, Path()) == expected(trees, events)
    assert in_batches(subscribed(trees, FLOATS), table, Path()) == expected(trees, events)


def _fits(value: float, stored: pa.DataType) -> bool:
    if pa.types.is_floating(stored):
        return isinstance(value, float)
    if not isinstance(value, int):
        return False
    if pa.types.is_decimal128(stored):
        return abs(value) < min(10 ** (stored.precision - stored.scale), 2**64)
    return 0 <= value < 2**64 if pa.types.is_uint64(stored) else -(2**63) <= value < 2**63


def _array(values: list[Any], stored: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(stored):
        return pa.array([decimal.Decimal(value) for value in values]).cast(stored)
    return pa.array(values, stored)


def test_views_of_numbers_are_exact() -> None:
    matcher = Subscriptions()
    matcher.add("is", f"any(numbers(x)) = {USER}")
    matcher.add("is not", f"any(numbers(x)) = {USER - 1}")
    made = matcher.compile()
    events: list[dict[str, Any]] = [{"x": USER}, {"x": [USER - 1, 0.5]}, {"x": [2**64 - 1]}]
    wanted = {(0, "is"), (1, "is not")}
    assert pairs(made.match_batch(events)) == wanted
    assert {(row, id_) for row, event in enumerate(events) for id_ in made.match(event)} == wanted
    assert pairs(made.match_batch(pa.table({"x": pa.array([[USER], [USER - 1], [7]])}))) == wanted


# ---------------------------------------------------------------- Spark, patterns, the service


def test_on_spark_longs_doubles_and_decimals(spark: SparkSession, drawn: tuple[list[exact.Tree], list[Event]]) -> None:
    values = [exact.number(random.Random(number)) for number in range(700)]
    decimals = [value for value in values if _fits(value, pa.decimal128(20, 0))][:60]
    floats = [value for value in values if isinstance(value, float)][:60]
    whole = [value for value in values if _fits(value, pa.int64())][-60:]
    events: list[Event] = [{"x": x, "y": y, "l": [z]} for x, y, z in zip(decimals, floats, whole, strict=True)]
    table = pa.table(
        {
            "x": _array(decimals, pa.decimal128(20, 0)),
            "y": pa.array(floats),
            "l": pa.array([[value] for value in whole], pa.list_(pa.int64())),
        }
    )
    trees = drawn[0][:60]
    assert OnSpark(spark).match(table, subscribed(trees)) == expected(trees, events)


FIRST = [2**53 + 1, 2.0**63, 2**63 + 1, 0.5, 2**62 - 1]
THEN = [2**53, 2**53 + 1, 2.0**53, 2**63, 2**63 + 1, 2**63 + 2, 0.5, 2.0**62, 2**62 - 1]


@pytest.mark.parametrize("schema", [None, Schema.of({"k": "string", "x": "float"})], ids=["no schema", "float"])
def test_join_variables_and_partitions_tell_integers_apart(schema: Schema | None) -> None:
    subscriptions = Subscriptions(schema)
    subscriptions.add("joined", "[k = 'a' and x = $v] ; [k = 'b' and x = $v]")
    subscriptions.add("by", "[k = 'a'] ; [k = 'b'] by x")
    events = [{"k": "a", "x": value} for value in FIRST] + [{"k": "b", "x": value} for value in THEN]
    wanted = {
        (len(FIRST) + row, id_)
        for row, then in enumerate(THEN)
        for id_ in ("joined", "by")
        if any(exact.order(first, then) == 0 for first in FIRST)
    }
    whole = vd.StreamMatcher(subscriptions).process(events)
    assert pairs(whole) == wanted
    stream, found = vd.StreamMatcher(subscriptions), set()
    for row, event in enumerate(events):
        found |= {(row, one["subscription"]) for one in stream.process([event]).to_pylist()}
    assert found == wanted


def test_the_service_without_a_schema(tmp_path: Path) -> None:
    wanted = [f"user = {USER}", f"user != {USER}", f"user = {USER - 1}", f"user in ({USER}, 0.5)"]
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        numbers = [service.registry.subscribe(tenant, SubscriptionRequest(text)).subscription.number for text in wanted]
        published(service, {"user": USER}, {"user": USER - 1}, {"user": 0.5})
        told = [len(list(service.outbox.pending(number, 0, 100))) for number in numbers]
    assert told == [1, 2, 1, 2]


def test_explanations_show_the_integer_itself() -> None:
    subscriptions = Subscriptions()
    subscriptions.add("s", f"user = {USER - 1}")
    explained = subscriptions.compile().explain({"user": USER}, "s")
    assert not explained.matched
    assert str(USER) in str(explained)


@pytest.mark.parametrize("schema", [None, Schema.of({"user": "float"})], ids=["no schema", "float"])
def test_explanations_round_neither_the_integer_nor_how_far_it_was(schema: Schema | None) -> None:
    subscriptions = Subscriptions(schema)
    subscriptions.add("s", f"user = {USER}")
    for user, missed in ((USER - 1, 1), (USER + 4, 4), (float(USER), 1)):
        assert float(user) == float(USER)
        explained = subscriptions.compile().explain({"user": user}, "s")
        assert isinstance(explained, FilterExplanation)
        assert explained.nearest[0].why == f"user was {int(user)}, needed = {USER}: missed by {missed}"


def test_snapshots_of_another_order_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = Subscriptions()
    subscriptions.add("s", f"user = {float(USER)}")
    subscriptions.add("in lists", f"any(users) = {float(USER)}")
    with monkeypatch.context() as as_before:
        as_before.setattr(snapshot, "_among_integers", lambda codebook: False)
        subscriptions.compile().save(tmp_path / "snapshot")
    with pytest.raises(SnapshotError, match=r"compares numbers beyond 2\*\*53 as floats"):
        Matcher.open(tmp_path / "snapshot")
