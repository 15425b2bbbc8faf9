"""A normal form's truth for one event, by the definitions in `vedette.language.normalform` and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import re2
import shapely

from vedette.language.ast import Comparator
from vedette.language.evaluate import value_of
from vedette.language.great_circle import distance
from vedette.language.normalform import Conjunction, Elementary, ElementProbe, NormalForm, Probe, TextProbe
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.language.three_valued import compared
from vedette.language.valuesets import ValueSet
from vedette.schema.columns import Column
from vedette.schema.keys import key
from vedette.schema.schema import Schema
from vedette.schema.types import Kind


def holds(form: NormalForm, event: Mapping[str, Any], schema: Schema | None) -> bool:
    if any(_conjunction(one, event, schema) for one in form.vetoes):
        return False
    return any(_conjunction(one, event, schema) for one in form.conjunctions)


def _conjunction(one: Conjunction, event: Mapping[str, Any], schema: Schema | None) -> bool:
    return all(_in_set(values, column, event, schema) for column, values in one.values) and all(
        _probe(probe, column, event, schema) for column, probe in one.probes
    )


def _in_set(values: ValueSet[Any], column: Column, event: Mapping[str, Any], schema: Schema | None) -> bool:
    if column.other is not None:
        left, right = value_of(column.path, None, event, schema), value_of(column.other, None, event, schema)
        if left is None or right is None:
            return values.contains(None)
        sign = 0 if compared(left, Comparator.LT, right) else 1 if compared(left, Comparator.EQ, right) else 2
        return values.contains(sign)
    value = value_of(column.path, column.type, event, schema)
    if value is None:
        return values.contains(None)
    if column.type.is_list or not column.type.kind.ordered:
        assert values.is_all_values or not values.intervals
        return values.is_all_values
    return values.contains(key(column.type.kind, value))


def _probe(probe: Probe, column: Column, event: Mapping[str, Any], schema: Schema | None) -> bool:
    value = value_of(column.path, column.type, event, schema)
    if value is None:
        return False
    truths = [elementary(test, value, column.type.kind) for test in probe.tests]
    return True in truths if probe.positive else all(one is False for one in truths)


def elementary(test: Elementary, value: Any, kind: Kind) -> bool | None:
    if isinstance(test, ElementProbe):
        truths = [_element(test, element, kind) for element in value]
        if test.quantifier == "any":
            return True if True in truths else None if None in truths else False
        return False if False in truths else None if None in truths else True
    if isinstance(test, RegionProbe):
        shape = shapely.Point(value) if isinstance(value, tuple) else value
        return bool(shapely.from_wkt(test.region.wkt).intersects(shape))
    if isinstance(test, NearProbe):
        return distance(value, (test.centre.x, test.centre.y)) <= test.metres
    assert isinstance(test, TextProbe)
    return _text(test, value)


def _element(test: ElementProbe, element: Any, kind: Kind) -> bool | None:
    if isinstance(test.test, ValueSet):
        if element is None:
            return True if test.test.null else None
        elements: ValueSet[Any] = test.test  # keys of the kind of its elements
        return elements.contains(key(kind, element))
    return None if element is None else elementary(test.test, element, kind)


def _text(test: TextProbe, value: str) -> bool:
    if test.ignore_case:
        assert test.pattern == test.pattern.lower()
        value = value.lower()
    if test.kind == "matches":
        return re2.search(test.pattern, value) is not None
    if test.kind == "like":
        tokens = re.findall(r"\\.|.", test.pattern, re.DOTALL)
        made = [".*" if t == "%" else "." if t == "_" else re.escape(t[-1]) for t in tokens]
        return re.fullmatch("".join(made), value, re.DOTALL) is not None
    if test.kind == "contains":
        return test.pattern in value
    return value.startswith(test.pattern) if test.kind == "startswith" else value.endswith(test.pattern)
