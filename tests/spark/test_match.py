"""Matches of DataFrames are those of the local engine on the same rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.spark.random_tables import RandomTable
from vedette.errors import VedetteError
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema
from vedette.spark.columns import sent_columns
from vedette.spark.match import match
from vedette.spark.types import schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def outcomes(frame: DataFrame) -> list[tuple[int, str]]:
    """Row and subscription of every match, row and reason of every reject."""
    return sorted((row["row"], row["subscription"] or row["reason"]) for row in frame.collect())


def expected(matcher: Matcher, table: pa.Table) -> list[tuple[int, str]]:
    """The same by the local engine."""
    rejects: list[Reject] = []
    pairs = matcher.match_batch(table, rejects=rejects).to_pylist()
    rows = table.column("row").to_pylist()
    told = [(rows[pair["event"]], pair["subscription"]) for pair in pairs]
    return sorted(told + [(rows[one.row], f"attribute {one.attribute!r}: {one.reason}") for one in rejects])


@pytest.mark.filterwarnings("ignore:the events have no")  # some paths lead nowhere
@pytest.mark.parametrize("seed", range(8))
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
    assert len(wanted) > 500
    assert outcomes(match(frame, matcher, keep="row", rejects="keep")) == wanted
