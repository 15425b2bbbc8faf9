"""Thousands of random filters against DuckDB's WHERE: an oracle that nobody here wrote.

Every filter is made twice, as our text and as DuckDB's SQL. Where the two languages differ, the SQL says what ours
means: DuckDB's LIKE has no escape character unless one is named, and it compares an integer with a fraction by
rounding both to doubles, where ours is exact (the SQL compares decimals).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numba import config

from vedette.matching.indexes import NAMES
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema

# Uncompiled, the same loops are some hundred times slower.
EVENTS, FILTERS, AT_ONCE = (160, 2400, 120) if not config.DISABLE_JIT else (160, 960, 120)
SCHEMA = Schema.of(
    {
        "i": "int",
        "j": "int",
        "f": "float",
        "g": "float",
        "s": "string",
        "r": "string",
        "b": "bool",
        "t": "timestamp",
        "d": "date",
    }
)
_INTS = [-(2**63), -(2**53) - 1, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10, 2**53 + 1, 2**63 - 1]
_SMALL = [-2, -1, 0, 1, 2, 3, 4, 5, 7, 10]
_FLOATS = [float("-inf"), -1.5, -0.0, 0.0, 5e-324, 0.1, 1.0, 1.5, 2.0, 2.5, 3.0, 1e300, float("inf"), float("nan")]
_TEXTS = ["", "a", "A", "ab", "aB", "abc", "abd", "b", "ba", "é", "éa", "a%", "a_c", "a\\b", "it's", "a\nb", "z"]
_TIMES = [
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 2, 29),
    dt.datetime(2024, 2, 29, 12, 30, 0, 1),
    dt.datetime(2024, 3, 1),
]
_DATES = [dt.date(1970, 1, 1), dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)]
_LIKES = [
    "a%",
    "%a",
    "%a%",
    "%",
    "",
    "a",
    "a_",
    "_",
    "a%c",
    "%%a",
    "a\\%",
    "a\\_c",
    "_%",
    "é%",
    "a\\\\b",
    "%b",
    "%\\%%",
]
_REGEXES = ["a", "^a", "b$", "^[ab]+c?$", "", "(?i)AB", ".", "a.c", "^$"]
_VALUES: dict[str, list[Any]] = {
    "i": _INTS,
    "j": _SMALL,
    "f": _FLOATS,
    "g": _FLOATS,
    "s": _TEXTS,
    "r": _TEXTS,
    "b": [True, False],
    "t": _TIMES,
    "d": _DATES,
}
_TYPES = {
    **dict.fromkeys("ij", pa.int64()),
    **dict.fromkeys("fg", pa.float64()),
    **dict.fromkeys("sr", pa.string()),
    "b": pa.bool_(),
    "t": pa.timestamp("us"),
    "d": pa.date32(),
}


def events() -> pa.Table:
    """Every value of every column, and nulls, mixed at random."""
    random = Random(5)
    return pa.table(
        {
            name: pa.array([random.choice([None, *values]) for _ in range(EVENTS)], _TYPES[name])
            for name, values in _VALUES.items()
        }
    )


class Both(NamedTuple):
    """A filter as our text and as DuckDB's."""

    ours: str
    sql: str


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Maker:
    """Makes random filters."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def filter(self, depth: int) -> Both:
        """A tree of and, or, not over tests."""
        chance = self.random.random()
        if depth == 0 or chance < 0.25:
            return self.random.choice(_TESTS)(self)
        if chance < 0.4:
            part = self.filter(depth - 1)
            return Both(f"not ({part.ours})", f"NOT ({part.sql})")
        parts = [self.filter(depth - 1) for _ in range(self.random.randint(2, 4))]
        word = self.random.choice(["and", "or"])
        return Both(
            f" {word} ".join(f"({part.ours})" for part in parts),
            f" {word.upper()} ".join(f"({part.sql})" for part in parts),
        )

    def operands(self) -> tuple[str, Callable[[], Both], str]:
        """An attribute, a source of constants to compare it with, and the attribute in SQL."""
        name = self.random.choice("iiijffgssrtd")
        kind = {"i": "int", "j": "int", "f": "float", "g": "float", "s": "text", "r": "text", "t": "time", "d": "date"}[
            name
        ]
        if kind == "int" and self.random.random() < 0.2:
            # Decimals hold every int64 and every constant here exactly.
            return name, self._fraction, f"CAST({name} AS DECIMAL(38, 3))"
        return name, lambda: self._constant(kind), name

    def _fraction(self) -> Both:
        number = self.random.choice([*_SMALL, -0.5, 0.5, 2.5, 3.999])
        return Both(repr(number), f"CAST('{number}' AS DECIMAL(38, 3))")

    def _constant(self, kind: str) -> Both:
        if kind == "int":
            number = self.random.choice(_INTS)
            return Both(str(number), f"CAST('{number}' AS BIGINT)")
        if kind == "float":
            value = self.random.choice([*_SMALL, -1.5, -0.0, 0.1, 1.5, 2.5, 1e300, 5e-324])
            return Both(repr(value), f"CAST('{value!r}' AS DOUBLE)")
        if kind == "text":
            text = _quoted(self.random.choice(_TEXTS))
            return Both(text, text)
        if kind == "time":
            moment = self.random.choice(_TIMES)
            ours = self.random.choice([f"timestamp '{moment.isoformat()}Z'", f"'{moment.isoformat(sep=' ')}'"])
            return Both(ours, f"TIMESTAMP '{moment.isoformat(sep=' ')}'")
        day = self.random.choice(_DATES)
        return Both(self.random.choice([f"date '{day}'", f"'{day}'"]), f"DATE '{day}'")

    def comparison(self) -> Both:
        """attribute op constant, or the other way round."""
        name, constant, sql = self.operands()
        one = constant()
        op = self.random.choice(["=", "!=", "<>", "<", "<=", ">", ">=", "<=>"])
        in_sql = "IS NOT DISTINCT FROM" if op == "<=>" else op
        if self.random.random() < 0.1:
            return Both(f"{one.ours} {op} {name}", f"{one.sql} {in_sql} {sql}")
        if self.random.random() < 0.05:
            return Both(f"{name} {op} null", f"{sql} {in_sql} NULL")
        return Both(f"{name} {op} {one.ours}", f"{sql} {in_sql} {one.sql}")

    def pair(self) -> Both:
        """Two attributes of a kind."""
        left, right = self.random.choice(["ij", "fg", "sr", "ii", "jf", "rs"])
        op = self.random.choice(["=", "!=", "<", ">=", "<=>"])
        in_sql = "IS NOT DISTINCT FROM" if op == "<=>" else op
        return Both(f"{left} {op} {right}", f"{left} {in_sql} {right}")

    def range(self) -> Both:
        """between, and the four ranges."""
        name, constant, sql = self.operands()
        low, high = constant(), constant()
        shape = self.random.choice(["between", "not between", "[]", "[)", "(]", "()"])
        if "between" in shape:
            return Both(f"{name} {shape} {low.ours} and {high.ours}", f"{sql} {shape.upper()} {low.sql} AND {high.sql}")
        first, last = (">=" if shape[0] == "[" else ">"), ("<=" if shape[1] == "]" else "<")
        return Both(
            f"{name} in {shape[0]}{low.ours} .. {high.ours}{shape[1]}",
            f"({sql} {first} {low.sql} AND {sql} {last} {high.sql})",
        )

    def membership(self) -> Both:
        """Short lists, long lists, and null among the items."""
        name, constant, sql = self.operands()
        items = [constant() for _ in range(self.random.choice([1, 2, 3, 12, 20]))]
        if self.random.random() < 0.15:
            items.append(Both("null", "NULL"))
        word = self.random.choice(["in", "not in"])
        ours, theirs = (", ".join(item[side] for item in items) for side in range(2))
        return Both(f"{name} {word} ({ours})", f"{sql} {word.upper()} ({theirs})")

    def null(self) -> Both:
        """is null, is not null, exists."""
        name = self.random.choice(list(_VALUES))
        ours, sql = self.random.choice(
            [("{} is null", "IS NULL"), ("{} is not null", "IS NOT NULL"), ("exists {}", "IS NOT NULL")]
        )
        return Both(ours.format(name), f"{name} {sql}")

    def boolean(self) -> Both:
        """A boolean alone, or compared."""
        ours, sql = self.random.choice(
            [("b", "b"), ("b = false", "b = FALSE"), ("b <> true", "b <> TRUE"), ("b <=> true", "b IS TRUE")]
        )
        return Both(ours, sql)

    def truth(self) -> Both:
        """A constant."""
        return self.random.choice([Both("true", "TRUE"), Both("false", "FALSE"), Both("null", "CAST(NULL AS BOOLEAN)")])

    def text_test(self) -> Both:
        """like, contains, startswith, endswith, matches; some without regard to case."""
        name = self.random.choice("sr")
        shape = self.random.choice(
            ["like", "like", "like with escape", "matches", "contains", "startswith", "endswith"]
        )
        negated = self.random.choice(["", "", "not "])
        in_sql = "NOT " if negated else ""
        fold = shape != "matches" and self.random.random() < 0.25
        operand = f"lower({name})" if fold else name
        if shape.startswith("like"):
            pattern = self.random.choice(_LIKES)
            word = "ilike" if fold else "like"
            if shape == "like with escape":
                pattern = pattern.replace("\\\\", "~").replace("\\", "!").replace("~", "\\")
                ours = f"{name} {negated}{word} {_quoted(pattern)} escape '!'"
                escape = "!"
            else:
                ours, escape = f"{name} {negated}{word} {_quoted(pattern)}", "\\"
            folded = pattern.lower() if fold else pattern
            return Both(ours, f"{operand} {in_sql}LIKE {_quoted(folded)} ESCAPE '{escape}'")
        if shape == "matches":
            pattern = _quoted(self.random.choice(_REGEXES))
            return Both(f"{name} {negated}matches {pattern}", f"{in_sql}regexp_matches({name}, {pattern})")
        word = f"i{shape}" if fold else shape
        text = self.random.choice(_TEXTS)
        function = {"contains": "contains", "startswith": "starts_with", "endswith": "suffix"}[shape]
        folded = _quoted(text.lower() if fold else text)
        return Both(f"{name} {negated}{word} {_quoted(text)}", f"{in_sql}{function}({operand}, {folded})")


_TESTS: list[Callable[[Maker], Both]] = [
    *[Maker.comparison] * 5,
    *[Maker.range] * 3,
    *[Maker.membership] * 3,
    *[Maker.text_test] * 3,
    Maker.null,
    Maker.boolean,
    Maker.pair,
    Maker.truth,
]


@pytest.fixture(scope="module")
def filters() -> list[Both]:
    """Random filters, always the same ones; single tests first, then deeper and deeper trees."""
    maker = Maker(Random(11))
    return [maker.filter(4 * number // FILTERS) for number in range(FILTERS)]


@pytest.fixture(scope="module")
def wanted(filters: list[Both]) -> np.ndarray:
    """[event, filter]: what DuckDB says."""
    table = events()
    with duckdb.connect() as connection:
        connection.register("events", table)
        parts = []
        for first in range(0, len(filters), AT_ONCE):
            selected = ", ".join(
                f"({one.sql}) IS TRUE AS c{n}" for n, one in enumerate(filters[first : first + AT_ONCE])
            )
            found = connection.sql(f"SELECT {selected} FROM events").to_arrow_table()
            parts += [column.to_numpy() for column in found.columns]
    return np.stack(parts, axis=1)


@pytest.mark.interpreted
@pytest.mark.parametrize("index", NAMES)
def test_filters_match_what_duckdb_selects(index: str, filters: list[Both], wanted: np.ndarray) -> None:
    subscriptions = Subscriptions(SCHEMA)
    for number, one in enumerate(filters):
        subscriptions.add(str(number), one.ours)
    table = events()
    matcher = subscriptions.compile(index, sample=table)
    pairs = matcher.match_pairs(table)
    found = np.zeros((EVENTS, FILTERS), np.bool_)
    found[pairs.event, pairs.subscription] = True
    assert len(pairs.event) == found.sum()
    wrong = np.argwhere(found != wanted)
    if len(wrong):
        event, number = wrong[0]
        pytest.fail(
            f"{len(wrong)} of {found.size} differ, e.g. {filters[number].ours}\n(DuckDB: {filters[number].sql})\n"
            f"on {table.slice(event, 1).to_pylist()[0]}: we say {found[event, number]}"
        )
    # The same again, one event at a time and from plain dicts.
    rows = table.to_pylist()
    for event in range(0, EVENTS, 8):
        assert matcher.match(rows[event]) == [str(n) for n in np.flatnonzero(wanted[event])]
