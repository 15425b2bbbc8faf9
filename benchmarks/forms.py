"""A workload in the forms people use: texts of the language, dicts, and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.constants import Attribute, Constraints, Events, Op

ARROW_TYPES = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}


def texts(constraints: Constraints) -> Iterator[str]:
    """Every subscription as a filter; one that asks for nothing is `true`."""
    parts = [
        _test(constraints.attributes[attribute], op, low, high)
        for attribute, op, low, high in zip(
            constraints.attribute.tolist(),
            constraints.op.tolist(),
            constraints.low.tolist(),
            constraints.high.tolist(),
            strict=True,
        )
    ]
    for begin, end in pairwise(constraints.start.tolist()):
        yield " and ".join(parts[begin:end]) or "true"


def _test(attribute: Attribute, op: int, low: float, high: float) -> str:
    if op == Op.EQUAL:
        return f"{attribute.name} = {_literal(attribute, low)}"
    if op == Op.BELOW:
        return f"{attribute.name} < {_literal(attribute, high)}"
    if op == Op.ABOVE:
        return f"{attribute.name} > {_literal(attribute, low)}"
    return f"{attribute.name} between {_literal(attribute, low)} and {_literal(attribute, high)}"


def _literal(attribute: Attribute, value: float) -> str:
    if attribute.kind == "string":
        return f"'{attribute.vocabulary[int(value)]}'"
    return repr(int(value)) if attribute.kind == "int" else f"{value!r}"


def schema(attributes: tuple[Attribute, ...]) -> dict[str, str]:
    """Attribute name -> type name."""
    return {attribute.name: attribute.kind for attribute in attributes}


def arrow(events: Events) -> pa.Table:
    """One column per attribute, null where missing; strings as plain strings."""
    columns = {}
    for attribute, column in zip(events.attributes, events.columns, strict=True):
        values: pa.Array
        if attribute.kind == "string":
            words = pa.array(attribute.vocabulary, pa.string())
            values = words.take(pa.array(column.values, mask=~column.present))
        else:
            values = pa.array(column.values, ARROW_TYPES[attribute.kind], mask=~column.present)
        columns[attribute.name] = values
    return pa.table(columns)


def dicts(events: Events) -> list[dict[str, Any]]:
    """One dict per event, without the attributes that are missing."""
    made: list[dict[str, Any]] = [{} for _ in range(len(events))]
    for attribute, column in zip(events.attributes, events.columns, strict=True):
        values = column.values.tolist()
        if attribute.kind == "string":
            values = [attribute.vocabulary[value] for value in values]
        for event in np.nonzero(column.present)[0].tolist():
            made[event][attribute.name] = values[event]
    return made
