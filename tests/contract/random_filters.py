"""Random filters, each written three times: in our language, in DuckDB's SQL and in Spark's.

Where the languages differ, the SQL says what ours means. DuckDB's LIKE has no escape character unless one is named.
Both engines compare an integer with a fraction by rounding to doubles, where ours is exact: the SQL compares decimals.
In a text of Spark's a backslash escapes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from numba import config

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


class Filter(NamedTuple):
    """The same filter, or a part of one, in three languages."""

    ours: str
    duckdb: str
    spark: str


def _same(ours: str, sql: str) -> Filter:
    """Where both engines say it alike."""
    return Filter(ours, sql, sql)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str) -> str:
    """A text of Spark's."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _text(text: str) -> Filter:
    return Filter(_quoted(text), _quoted(text), _escaped(text))


class Maker:
    """Makes random filters."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def filter(self, depth: int) -> Filter:
        """A tree of and, or, not over tests."""
        chance = self.random.random()
        if depth == 0 or chance < 0.25:
            return self.random.choice(_TESTS)(self)
        if chance < 0.4:
            return Filter(*(f"NOT ({text})" for text in self.filter(depth - 1)))
        parts = [self.filter(depth - 1) for _ in range(self.random.randint(2, 4))]
        word = self.random.choice([" AND ", " or "])
        return Filter(*(word.join(f"({text})" for text in texts) for texts in zip(*parts, strict=True)))

    def operands(self) -> tuple[Filter, Callable[[], Filter]]:
        """An attribute, and a source of constants to compare it with."""
        name = self.random.choice("iiijffgssrtd")
        kind = {"i": "int", "j": "int", "f": "float", "g": "float", "s": "text", "r": "text", "t": "time", "d": "date"}[
            name
        ]
        if kind == "int" and self.random.random() < 0.2:
            # Decimals hold every int64 and every constant here exactly.
            return _same(name, f"CAST({name} AS DECIMAL(38, 3))"), self._fraction
        return _same(name, name), lambda: self._constant(kind)

    def _fraction(self) -> Filter:
        number = self.random.choice([*_SMALL, -0.5, 0.5, 2.5, 3.999])
        return _same(repr(number), f"CAST('{number}' AS DECIMAL(38, 3))")

    def _constant(self, kind: str) -> Filter:
        if kind == "int":
            number = self.random.choice(_INTS)
            return _same(str(number), f"CAST('{number}' AS BIGINT)")
        if kind == "float":
            value = self.random.choice([*_SMALL, -1.5, -0.0, 0.1, 1.5, 2.5, 1e300, 5e-324, "nan", "inf", "-inf"])
            ours = f"float '{value}'" if isinstance(value, str) else repr(value)
            return _same(ours, f"CAST('{value}' AS DOUBLE)")
        if kind == "text":
            return _text(self.random.choice(_TEXTS))
        if kind == "time":
            moment = self.random.choice(_TIMES)
            ours = self.random.choice([f"timestamp '{moment.isoformat()}Z'", f"'{moment.isoformat(sep=' ')}'"])
            return _same(ours, f"TIMESTAMP '{moment.isoformat(sep=' ')}'")
        day = self.random.choice(_DATES)
        return _same(self.random.choice([f"date '{day}'", f"'{day}'"]), f"DATE '{day}'")

    def comparison(self) -> Filter:
        """attribute op constant, or the other way round."""
        attribute, constant = self.operands()
        one = constant()
        op = self._operator("=", "!=", "<>", "<", "<=", ">", ">=", "<=>")
        if self.random.random() < 0.1:
            return _joined(one, op, attribute)
        if self.random.random() < 0.05:
            return _joined(attribute, op, _same("null", "NULL"))
        return _joined(attribute, op, one)

    def pair(self) -> Filter:
        """Two attributes of a kind."""
        left, right = self.random.choice([("i", "j"), ("f", "g"), ("s", "r"), ("i", "i"), ("j", "f"), ("r", "s")])
        return _joined(_same(left, left), self._operator("=", "!=", "<", ">=", "<=>"), _same(right, right))

    def _operator(self, *known: str) -> Filter:
        op = self.random.choice(known)
        return Filter(op, "IS NOT DISTINCT FROM" if op == "<=>" else op, op)

    def range(self) -> Filter:
        """between, and the four ranges."""
        attribute, constant = self.operands()
        low, high = constant(), constant()
        shape = self.random.choice(["between", "not between", "[]", "[)", "(]", "()"])
        if "between" in shape:
            return _joined(attribute, _same(shape, shape), low, _same("and", "and"), high)
        first, last = (">=" if shape[0] == "[" else ">"), ("<=" if shape[1] == "]" else "<")
        ours = f"{attribute.ours} in {shape[0]}{low.ours} .. {high.ours}{shape[1]}"
        both = (
            f"({name} {first} {least} AND {name} {last} {most})"
            for name, least, most in zip(attribute[1:], low[1:], high[1:], strict=True)
        )
        return Filter(ours, *both)

    def membership(self) -> Filter:
        """Short lists, long lists, and null among the items."""
        attribute, constant = self.operands()
        items = [constant() for _ in range(self.random.choice([1, 2, 3, 12, 20]))]
        if self.random.random() < 0.15:
            items.append(_same("null", "NULL"))
        word = self.random.choice(["in", "not in"])
        listed = Filter(*(f"({', '.join(texts)})" for texts in zip(*items, strict=True)))
        return _joined(attribute, _same(word, word), listed)

    def null(self) -> Filter:
        """is null, is not null, exists."""
        name = self.random.choice(list(_VALUES))
        ours, sql = self.random.choice(
            [("{} is null", "IS NULL"), ("{} is not null", "IS NOT NULL"), ("exists {}", "IS NOT NULL")]
        )
        return _same(ours.format(name), f"{name} {sql}")

    def boolean(self) -> Filter:
        """A boolean alone, or compared."""
        ours, sql = self.random.choice(
            [("b", "b"), ("b = false", "b = FALSE"), ("b <> true", "b <> TRUE"), ("b <=> true", "b IS TRUE")]
        )
        return _same(ours, sql)

    def truth(self) -> Filter:
        """A constant."""
        return self.random.choice(
            [_same("true", "TRUE"), _same("false", "FALSE"), _same("null", "CAST(NULL AS BOOLEAN)")]
        )

    def text_test(self) -> Filter:
        """like, contains, startswith, endswith, matches; some without regard to case."""
        name = self.random.choice("sr")
        shape = self.random.choice(
            ["like", "like", "like with escape", "matches", "contains", "startswith", "endswith"]
        )
        negated = self.random.choice(["", "", "not "])
        fold = shape != "matches" and self.random.random() < 0.25
        if shape.startswith("like"):
            return self._like(name, negated, fold, named=shape == "like with escape")
        if shape == "matches":
            pattern = _text(self.random.choice(_REGEXES))
            return Filter(
                f"{name} {negated}matches {pattern.ours}",
                f"{negated}regexp_matches({name}, {pattern.duckdb})",
                f"{name} {negated}RLIKE {pattern.spark}",
            )
        text = self.random.choice(_TEXTS)
        searched, operand = (_text(text.lower()), f"lower({name})") if fold else (_text(text), name)
        in_duckdb = {"contains": "contains", "startswith": "starts_with", "endswith": "suffix"}[shape]
        return Filter(
            f"{name} {negated}{'i' * fold}{shape} {_quoted(text)}",
            f"{negated}{in_duckdb}({operand}, {searched.duckdb})",
            f"{negated}{shape}({operand}, {searched.spark})",
        )

    def _like(self, name: str, negated: str, fold: bool, *, named: bool) -> Filter:
        pattern = self.random.choice(_LIKES)
        word = "ilike" if fold else "like"
        if named:
            pattern = pattern.replace("\\\\", "~").replace("\\", "!").replace("~", "\\")
        text, escape = _text(pattern), "!" if named else "\\"
        lowered = _text(pattern.lower()) if fold else text
        operand = f"lower({name})" if fold else name
        return Filter(
            f"{name} {negated}{word} {text.ours}" + " escape '!'" * named,
            f"{operand} {negated}LIKE {lowered.duckdb} ESCAPE '{escape}'",
            f"{name} {negated}{word} {text.spark}" + " ESCAPE '!'" * named,
        )


def _joined(*parts: Filter) -> Filter:
    return Filter(*(" ".join(texts) for texts in zip(*parts, strict=True)))


_TESTS: list[Callable[[Maker], Filter]] = [
    *[Maker.comparison] * 5,
    *[Maker.range] * 3,
    *[Maker.membership] * 3,
    *[Maker.text_test] * 3,
    Maker.null,
    Maker.boolean,
    Maker.pair,
    Maker.truth,
]


def random_filters() -> list[Filter]:
    """Always the same ones; single tests first, then deeper and deeper trees."""
    maker = Maker(Random(11))
    return [maker.filter(4 * number // FILTERS) for number in range(FILTERS)]
