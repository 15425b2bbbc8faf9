"""Chooses the columns that operators need in Python, beside those that the index reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyspark.sql.types import StructType

from vedette.operators.matcher import OperatorMatcher
from vedette.schema.columns import Column
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema
from vedette.spark.worker_columns import Fields, WorkerColumn, sent_columns, whole_columns


class Looked(NamedTuple):
    """The columns to be sent, and the paths that lead nowhere."""

    sent: list[WorkerColumn]
    nowhere: list[str]


def sent_for(
    matchers: Sequence[OperatorMatcher], columns: Iterable[Column], schema: Schema, stored: StructType, field: Fields
) -> Looked:
    """The columns for the index (`columns`), and for the operators of all matchers; `field` gives the n-th column.

    An attribute whose type the schema knows is sent alone. One that it does not know, such as a picture, is sent with
    the whole column that it is in, as it is; and where an operator sees whole events, all columns are sent.
    """
    wanted = dict.fromkeys(columns)
    whole: set[str] = set()
    for matcher in matchers:
        wanted |= dict.fromkeys(matcher.columns)
        for path in sorted(matcher.named):
            type_ = schema.type_of(path)
            if type_ is not None:
                wanted[Column(path, type_)] = None
            else:
                whole |= {path, path.partition(".")[0]}
        if matcher.paths is None:
            whole |= set(stored.names)
    if any(EVERYTHING in column.paths for column in wanted):
        whole |= set(stored.names)
    there = _whole(wanted, whole, stored)
    alone = [
        column
        for column in wanted
        if EVERYTHING not in column.paths and not any(_leads(path, there) for path in column.paths)
    ]
    sent, nowhere = sent_columns(alone, schema, stored, field)
    nowhere += sorted(path for path in whole if "." not in path and path not in there)
    return Looked([*sent, *whole_columns(there, stored, field)], nowhere)


def _whole(wanted: Iterable[Column], whole: set[str], stored: StructType) -> set[str]:
    """Names of columns that are sent whole; if one of two compared attributes is, so is the other."""
    there = whole & set(stored.names)
    pairs = [column.paths for column in wanted if column.other is not None]
    while True:
        more = {each for pair in pairs if any(_leads(path, there) for path in pair) for each in pair}
        more = ({*more, *(path.partition(".")[0] for path in more)} & set(stored.names)) - there
        if not more:
            return there
        there |= more


def _leads(path: str, whole: set[str]) -> bool:
    return path in whole or path.partition(".")[0] in whole
