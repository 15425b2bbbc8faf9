"""What people do without an engine for many rules: a query for each of them, over a table of events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from vedette.language import ast
from vedette.language.likes import LikeWildcard, pieces

_ESCAPE = "!"  # a backslash is one of the texts' own characters, and Spark's escape
_COMPARATORS = {ast.Comparator.EQ: "=", ast.Comparator.NE: "<>"}


class NotSql(Exception):
    """A test that plain SQL does not have: networks, keywords, two fields."""


@dataclass(frozen=True)
class Dialect:
    """How an engine writes texts, and looks for regular expressions."""

    literal: Callable[[str], str]
    matches: str  # with {column}, {pattern}


DUCKDB = Dialect(lambda text: "'" + text.replace("'", "''") + "'", "regexp_matches({column}, {pattern})")
SPARK = Dialect(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'", "{column} RLIKE {pattern}")


class Query:
    """A rule as the condition of a query over a table with one column for each attribute."""

    def __init__(self, rule: ast.Filter) -> None:
        self.rule = rule
        self.paths: dict[str, str] = {}  # of attributes, by column
        self.where(DUCKDB)

    def where(self, dialect: Dialect) -> str:
        """The condition."""
        return self._said(self.rule, dialect)

    def _said(self, node: ast.Filter, dialect: Dialect) -> str:
        match node:
            case ast.And():
                return "(" + " AND ".join(self._said(part, dialect) for part in node.parts) + ")"
            case ast.Or():
                return "(" + " OR ".join(self._said(part, dialect) for part in node.parts) + ")"
            case ast.Not():
                return f"(NOT {self._said(node.part, dialect)})"
            case ast.IsNull():
                return f"{self._column(node.operand)} IS NULL"
            case ast.Comparison(left, op, ast.Literal(str() as text)) if op in _COMPARATORS:
                return f"{self._column(left)} {_COMPARATORS[op]} {dialect.literal(text)}"
            case ast.TextTest():
                return self._text(node, dialect)
        raise NotSql(type(node).__name__)

    def _text(self, node: ast.TextTest, dialect: Dialect) -> str:
        column, text = self._column(node.operand), str(node.pattern.value)
        if node.kind == "matches":
            return dialect.matches.format(
                column=column, pattern=dialect.literal(f"(?i){text}" if node.ignore_case else text)
            )
        around: dict[str, list[str | LikeWildcard]] = {
            "contains": [LikeWildcard.ANY, text, LikeWildcard.ANY],
            "startswith": [text, LikeWildcard.ANY],
            "endswith": [LikeWildcard.ANY, text],
        }
        parts = around.get(node.kind) or list(pieces(text))
        pattern = "".join(part.value if isinstance(part, LikeWildcard) else _escaped(part) for part in parts)
        word = "ILIKE" if node.ignore_case else "LIKE"
        return f"{column} {word} {dialect.literal(pattern)} ESCAPE '{_ESCAPE}'"

    def _column(self, operand: ast.Operand) -> str:
        if not isinstance(operand, ast.View) or operand.reading != "text":
            raise NotSql("a list")
        path = operand.attribute.path
        name = "c_" + re.sub(r"\W", "_", path)
        self.paths[name] = path
        return name


def _escaped(text: str) -> str:
    return re.sub(r"([%_!])", r"!\1", text)


def fields(queries: Iterable[Query]) -> list[str]:
    """The attributes that queries speak of, as columns of texts made of the events as they are: columns and a map."""
    paths = {name: path for query in queries for name, path in query.paths.items()}
    return [f"{_found(path)} AS {name}" for name, path in sorted(paths.items())]


def _found(path: str) -> str:
    head, _, key = path.partition(".")
    return f"{head}['{key}']" if key else f"CAST({head} AS VARCHAR(100))"


class Asked(NamedTuple):
    """What a peer took for its queries, one after another on one core."""

    prepare_s: float  # once, whatever the number of queries
    queries_s: float
    found: list[int]  # events, by query


def on_duckdb(
    events: pa.Table, fields: Sequence[str], queries: Sequence[Query], clock: Callable[[], float], *, flat: bool
) -> Asked:
    """Over events as they are, or over a table with a column for each field, which is made first."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("given", events)
        connection.execute("CREATE TABLE recorded AS SELECT * FROM given")
        begin = clock()
        kind = "TABLE" if flat else "VIEW"
        connection.execute(f"CREATE {kind} events AS SELECT {', '.join(fields)} FROM recorded")
        prepared = clock()
        texts = [f"SELECT count(*) FROM events WHERE {query.where(DUCKDB)}" for query in queries]
        asking = clock()
        found = [connection.execute(text).fetchall()[0][0] for text in texts]
        return Asked(prepared - begin, clock() - asking, found)


def on_spark(
    spark: Any, events: pa.Table, fields: Sequence[str], queries: Sequence[Query], clock: Callable[[], float]
) -> Asked:
    """The same on Spark SQL, over a table with a column for each field in its memory."""
    recorded = spark.createDataFrame(events).coalesce(1)
    begin = clock()
    frame = recorded.selectExpr(*fields).cache()
    frame.count()
    prepared = clock()
    texts = [query.where(SPARK) for query in queries]
    asking = clock()
    found = [frame.where(text).count() for text in texts]
    asked = Asked(prepared - begin, clock() - asking, found)
    frame.unpersist()
    return asked
