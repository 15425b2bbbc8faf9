"""The paper's relations and queries: its figures, every rule against the slow way, what the printed query misses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pytest

from tests.meeting.generate import SCHEMA, case
from tests.meeting.oracle import Oracle
from tests.seeds import some
from vedette.errors import InputError, NotSupported
from vedette.meeting import queries
from vedette.meeting.allowed_values import meets
from vedette.meeting.constraint_parser import read_constraint
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.queries import Counting, Pair
from vedette.meeting.relations import FAMILIES, ORDERED, PLACES, Id, Relations, relations, rows_of
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

NUMBERS = Schema.of({"x": "int", "y": "int", "z": "int"})
Texts: TypeAlias = Mapping[str, str] | Mapping[int, str] | Mapping[Id, str]
ORDERED_KINDS = frozenset(("int", "float", "string", "bool", "timestamp", "date", "ip"))


def _readable(texts: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Those that are constraints: a generator also writes what is refused."""
    found: dict[str, str] = {}
    for each, text in texts.items():
        with suppress(InputError):
            read_constraint(text, schema)
            found[each] = text
    return found


def _sides(publications: Texts, subscriptions: Texts, schema: Schema) -> tuple[Relations, Relations]:
    read = (
        {each: read_constraint(text, schema) for each, text in side.items()} for side in (publications, subscriptions)
    )
    return relations(next(read), "publication"), relations(next(read), "subscription")


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        yield connection


def _load(database: duckdb.DuckDBPyConnection, *sides: Relations) -> None:
    for side in sides:
        for name, table in side.items():
            database.register("incoming", table)
            database.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")


def _meeting(
    database: duckdb.DuckDBPyConnection,
    publications: Texts,
    subscriptions: Texts,
    schema: Schema,
    direction: Direction = "publication",
    how: Counting = "mended",
) -> list[tuple[Any, Any]]:
    sides = _sides(publications, subscriptions, schema)
    _load(database, *sides)
    return sorted(queries.issue(database, queries.pairs_in(*sides), direction, how).fetchall())


# ---------------------------------------------------------------- the paper's own example

WANTED: dict[Id, str] = {1: "x < 6 and y = 3", 2: "x < 4 and y < 2"}
OFFERED: dict[Id, str] = {3: "x < 5 and y = 1"}


def _rows(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.select(list(names)).to_pylist()]


def test_figures_1_to_3(database: duckdb.DuckDBPyConnection) -> None:
    pubs, subs = _sides(OFFERED, WANTED, NUMBERS)
    assert _rows(subs["integer_subs"], "s_id", "s_disjunct_id", "field", "val", "op") == [
        (1, 0, "x", 6, "<"),
        (1, 0, "y", 3, "="),
        (2, 0, "x", 4, "<"),
        (2, 0, "y", 2, "<"),
    ]
    assert _rows(pubs["integer_pubs"], "p_id", "p_disjunct_id", "field", "val", "op") == [
        (3, 0, "x", 5, "<"),
        (3, 0, "y", 1, "="),
    ]
    assert _rows(pubs["pub_master"], "id", "disjunct_id", "count") == [(3, 0, 2)]
    _load(database, pubs, subs)
    answer = queries.issue(database, queries.all_pairs())
    assert answer.fetchall() == [(3, 2)]
    figure_3 = database.execute("SELECT * FROM intermediate_answer").fetchall()
    assert sorted(figure_3) == [(3, 0, 1, 0, "x", 1), (3, 0, 2, 0, "x", 1), (3, 0, 2, 0, "y", 1)]


def test_the_query_of_the_text_is_the_one_that_the_rules_make() -> None:
    assert queries.matching(Pair(Kind.INT, "<", ">=")).splitlines()[1:] == [
        "FROM integer_pubs p, integer_subs s",
        "WHERE p.op = '<' AND s.op = '>=' AND p.field = s.field AND s.val < p.val",
        "GROUP BY p_id, p_disjunct_id, s_id, s_disjunct_id, p.field",
    ]
    names = [name for name, _ in queries.queries(queries.all_pairs((Kind.INT,)))]
    assert names[0] == "begin"
    assert names[-1] == "count"
    assert "integer: < with >=" in names
    assert "integer: is null with =" not in names  # they never meet
    assert len(names) == 2 + 11 * 11 + 1


def test_what_the_printed_last_query_gets_wrong(database: duckdb.DuckDBPyConnection) -> None:
    # It sees one attribute of a publication at a time: two of them never add up.
    assert _meeting(database, OFFERED, WANTED, NUMBERS, how="as printed") == []
    assert _meeting(database, OFFERED, WANTED, NUMBERS) == [(3, 2)]
    # One attribute is enough where two are needed, if a set is met twice.
    offered: dict[Id, str] = {1: "x in (1, 3) and y = 5"}
    wanted: dict[Id, str] = {2: "x < 9 and y = 6"}
    assert _meeting(database, offered, wanted, NUMBERS, how="as printed") == [(1, 2)]
    assert _meeting(database, offered, wanted, NUMBERS) == []
    # With a single attribute, and no set, it is right.
    alone: dict[Id, str] = {1: "x < 5"}
    assert _meeting(database, alone, WANTED, NUMBERS, how="as printed") == [(1, 1), (1, 2)]


def test_the_directions(database: duckdb.DuckDBPyConnection) -> None:
    pubs: dict[Id, str] = {"a": "x = 1", "b": "x = 1 and y = 1", "c": "true", "d": "z = 1 or x = 2"}
    subs: dict[Id, str] = {"A": "x = 1", "B": "x = 1 and y = 1", "C": "true", "D": "x = 2 and z > 1"}
    found = {
        direction: {f"{one}{other}" for one, other in _meeting(database, pubs, subs, NUMBERS, direction)}
        for direction in DIRECTIONS
    }
    assert found["publication"] == {"aA", "aB", "bB", "cA", "cB", "cC", "cD", "dD"}
    assert found["subscription"] == {"aA", "aC", "bA", "bB", "bC", "cC", "dC"}
    assert found["open"] == {"aA", "aB", "aC", "bA", "bB", "bC", "cA", "cB", "cC", "cD", "dA", "dB", "dC", "dD"}
    with pytest.raises(InputError, match="sideways"):
        queries.counting("sideways")  # type: ignore[arg-type]


# ---------------------------------------------------------------- how terms are written


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("i = 5", [("=", 5)]),
        ("not i < 5", [(">=", 5)]),
        ("i > 5 and i <= 9", [("(]", 5, 9)]),
        ("i in [5 .. 9)", [("[)", 5, 9)]),
        ("i between 5 and 9", [("[]", 5, 9)]),
        ("i > 5 and i < 9", [("()", 5, 9)]),
        ("i > 5 and i < 7", [("=", 6)]),
        ("i < 2.5", [("<", 3)]),
        ("i != 5", [("!=", 5)]),
        ("i in (1, 5)", [("=", 1), ("=", 5)]),
        ("i not in (1, 5)", [("<", 1), ("()", 1, 5), (">", 5)]),
        ("i >= -9223372036854775808", [("is not null",)]),
        ("i < -9223372036854775807", [("=", -(2**63))]),
        ("i is distinct from 5", [("is null",), ("!=", 5)]),
        ("f < 1", [("<=", 0.9999999999999999)]),
        ("f > 1 and f < 1.0000000000000004", [("=", 1.0000000000000002)]),
        ("f != 0", [("!=", 0.0)]),
        ("f < 0", [("<=", -5e-324)]),
        ("f > float 'inf'", [("=", "nan")]),
        ("f < float 'nan'", [("<=", float("inf"))]),
        ("s < 'b'", [("<", "b")]),
        ("s <= 'b'", [("<=", "b")]),
        ("s > 'b'", [(">", "b")]),
        ("s like 'ab%'", [("[)", "ab", "ac")]),
        ("s <= ''", [("=", "")]),
        ("b != true", [("=", False)]),
        ("b <= true", [("is not null",)]),
        ("d > '2024-05-01'", [(">", "2024-05-01")]),
        ("t <= '2024-05-01T12:00:00'", [("<=", "2024-05-01 12:00:00")]),
        ("a in cidr '10.0.0.0/30'", [("[]", "ffff0a000000".rjust(32, "0"), "ffff0a000003".rjust(32, "0"))]),
        ("a != '10.0.0.1'", [("!=", "ffff0a000001".rjust(32, "0"))]),
        ("p within region box(0, 1, 2, 3)", [("within", 0.0, 1.0, 2.0, 3.0)]),
        ("p is null", [("is null",)]),
        ("exists z", [("is not null",)]),
    ],
)
def test_rows_are_what_was_written(text: str, rows: list[tuple[Any, ...]]) -> None:
    found = relations({"one": read_constraint(text, SCHEMA)}, "publication")
    (table,) = (table for name, table in found.items() if name.endswith("_pubs") and len(table))
    values = [name for name in table.column_names if name not in ("p_id", "p_disjunct_id", "field", "op")]
    told = []
    for row in table.to_pylist():
        given = [row[name] for name in values if row[name] is not None]
        told.append((row["op"], *map(_told, given)))
    assert told == rows


def _told(value: Any) -> Any:
    """As it is, but for times, and what is not equal to itself."""
    plain = isinstance(value, bool | str | int) or (isinstance(value, float) and not math.isnan(value))
    return value if plain else str(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("f = 9007199254740992", r"f is compared with a number beyond 2\*\*53"),
        ("any(ns) = 1", "ns is a list"),
        ("ns is null", "ns is a list"),
        ("p within 5 km of point(0, 0)", "p is within a distance"),
        ("z within region 'POLYGON((0 3, 2 3, 0 5, 0 3))'", "z is in a region that is no rectangle"),
    ],
)
def test_what_relations_cannot_say_is_refused(text: str, told: str) -> None:
    with pytest.raises(NotSupported, match=f"(?s){told}.*Hint: "):
        relations({"one": read_constraint(text, SCHEMA)}, "subscription")


# ---------------------------------------------------------------- every rule

_TEXTS: dict[str, tuple[str, ...]] = {
    "i": ("-9223372036854775808", "-1", "0", "1", "2", "3", "9223372036854775807"),
    "f": ("float '-inf'", "-5e-324", "0.0", "5e-324", "1.0", "1.0000000000000002", "float 'inf'", "float 'nan'"),
    "s": ("''", "'a'", "'aa'", "'ab'", "'é'", "'😀'"),
    "b": ("false", "true"),
    "d": ("'2024-05-01'", "'2024-05-02'", "'2024-05-03'", "'2024-05-04'"),
    "t": ("'2024-05-01'", *(f"'2024-05-01T00:00:00.{last:06}'" for last in (1, 2, 3, 500))),
    "a": ("'::'", "'10.0.0.1'", "'10.0.0.2'", "'10.0.0.3'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'"),
}


def _every_test(attribute: str) -> dict[str, str]:
    """All comparisons, ranges and sets of the constants that can be true."""
    constants = _TEXTS[attribute]
    texts = [f"{attribute} {op} {one}" for op in ("=", "!=", "<", "<=", ">", ">=") for one in constants]
    for low, high in itertools.combinations(constants, 2):
        texts += [f"{attribute} in {left}{low} .. {high}{right}" for left in "([" for right in ")]"]
    texts += [f"{attribute} is null", f"{attribute} is not null"]
    texts += [f"{attribute} {word} ({', '.join(constants[::2])})" for word in ("in", "not in")]
    texts += [f"{attribute} is distinct from {constants[0]}"]
    return _readable({text: text for text in texts}, SCHEMA)


@pytest.mark.parametrize("attribute", sorted(_TEXTS))
def test_every_pair_of_operators_meets_where_the_sets_do(attribute: str, database: duckdb.DuckDBPyConnection) -> None:
    texts = _every_test(attribute)
    read = {text: read_constraint(text, SCHEMA) for text in texts.values()}
    terms = {text: each.disjuncts[0].terms[0] for text, each in read.items()}
    kind = SCHEMA[attribute].kind
    assert {row.op for term in terms.values() for row in rows_of(term)} == set(FAMILIES[kind].operators)
    expected = {
        (one, other)
        for one, other in itertools.product(terms, terms)
        if meets(terms[one].allowed, terms[other].allowed)
    }
    assert set(_meeting(database, texts, texts, SCHEMA)) == expected
    assert 0 < len(expected) < len(terms) ** 2


def test_rectangles_meet_where_they_touch(database: duckdb.DuckDBPyConnection) -> None:
    boxes = ("0, 0, 2, 2", "2, 0, 4, 2", "4, 2, 5, 3", "6, 0, 7, 1", "-9, -9, 9, 9", "1, 1, 1.5, 1.5")
    texts: dict[Id, str] = {box: f"z within region box({box})" for box in boxes}
    texts |= {"none": "z is null", "some": "exists z"}
    terms = {each: read_constraint(text, SCHEMA).disjuncts[0].terms[0] for each, text in texts.items()}
    assert {row.op for term in terms.values() for row in rows_of(term)} == set(PLACES)
    expected = {
        (one, other)
        for one, other in itertools.product(terms, terms)
        if meets(terms[one].allowed, terms[other].allowed)
    }
    assert set(_meeting(database, texts, texts, SCHEMA)) == expected


# ---------------------------------------------------------------- whole constraints


@pytest.mark.parametrize("seed", some(12))
def test_random_constraints_meet_as_the_slow_way_says(seed: int, database: duckdb.DuckDBPyConnection) -> None:
    made = case(seed, kinds=ORDERED_KINDS)
    given = _readable(made.publications, SCHEMA), _readable(made.subscriptions, SCHEMA)
    sides = _sides(*given, SCHEMA)
    _load(database, *sides)
    pairs = queries.pairs_in(*sides)
    for direction in DIRECTIONS:
        found = queries.issue(database, pairs, direction).fetchall()
        assert len(found) == len(set(found))
        assert set(found) == made.oracle.pairs(*given, direction)
        assert set(database.execute(queries.single_query(pairs, direction)).fetchall()) == set(found)


def test_sides_without_anybody(database: duckdb.DuckDBPyConnection) -> None:
    assert _meeting(database, {}, {}, NUMBERS) == []
    assert _meeting(database, {"a": "x = 1"}, {}, NUMBERS, "open") == []


@pytest.mark.long
def test_spark_runs_the_same_queries(spark: Any) -> None:
    """Neighbours between open bounds, of all types whose bounds can be open, and all directions."""
    values = {name: _TEXTS[name][1:4] for name in ("i", "s", "d", "t")}
    above = {f"{name}{n}": f"{name} > {each}" for name, some in values.items() for n, each in enumerate(some)}
    below = {f"{name}{n}": f"{name} < {each}" for name, some in values.items() for n, each in enumerate(some)}
    above |= {"both": "i > 0 and s > 'a'", "all": "true"}
    sides = _sides(above, below, SCHEMA)
    for side in sides:
        for name, table in side.items():
            spark.createDataFrame(table).createOrReplaceTempView(name)
    oracle = Oracle(SCHEMA, [*above.values(), *below.values()])
    for direction in DIRECTIONS:
        found = spark.sql(queries.single_query(queries.pairs_in(*sides), direction)).collect()
        assert {tuple(row) for row in found} == oracle.pairs(above, below, direction)
    for kind in (Kind.TIMESTAMP, Kind.IP, Kind.POINT):
        for pair in queries.all_pairs((kind,)):
            assert spark.sql(queries.matching(pair)).columns[-2:] == ["field", "count"]
    assert {pair.published for pair in queries.all_pairs((Kind.INT,))} == set(ORDERED)
