"""Resolve the types of attributes about which events disagree, if no schema was given.

One bad value among many makes an attribute a mixture in JSON, and a text in CSV. If subscriptions compare it with
numbers, say, and most events hold numbers there, it is a number, and the others are rejected with their reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vedette.errors import FilterError
from vedette.io.chunks import EventChunk
from vedette.io.subscription_rows import SubscriptionRecord
from vedette.language.ast import Expression
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.parser import parse
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import STRING, Type

_MOST = 0.5  # of the first events, at least, must hold what subscriptions expect


def doubtful_attributes(schema: Schema, *, of_texts: bool) -> frozenset[str]:
    """The attributes whose inferred type may result only from disagreeing values."""
    candidates = schema if of_texts else schema.mixed
    return frozenset(path for path in candidates if schema[path] == STRING)


def wanted_types(records: Iterable[SubscriptionRecord], schema: Schema, paths: frozenset[str]) -> dict[str, Type]:
    """Attribute -> type, from subscriptions that are valid only with it; empty if they contradict each other."""
    sure = {path: type_ for path, type_ in schema.items() if path not in paths}
    loose = Schema(sure, closed=False, mixed=schema.mixed - paths)
    wanted: dict[str, Type] = {}
    for record in records:
        try:
            expression = parse(record.when)
        except FilterError:
            continue
        if _checked(expression, schema, record.when) is not None:
            continue
        checked = _checked(expression, loose, record.when)
        for column in () if checked is None else checked.columns():
            plain = column.other is None and column.reading is None
            if column.path not in paths or not plain or column.type == STRING:
                continue
            if wanted.setdefault(column.path, column.type) != column.type:
                return {}
    return wanted


def held_by(before: EventChunk, after: EventChunk, wanted: Mapping[str, Type], schema: Schema) -> bool:
    """Whether most of the events that could be read `before` have the expected types: they are not rejected `after`."""
    encoded = encode(after.events, [Column(path, type_) for path, type_ in wanted.items()], schema)
    return len(after) - len(encoded.rejects) >= _MOST * len(before)


def _checked(expression: Expression, schema: Schema, text: str) -> CheckedExpression | None:
    try:
        return check(expression, schema, text)
    except FilterError:
        return None
