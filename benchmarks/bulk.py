"""Columns of constants straight into the engine, without texts: how millions of subscriptions get in quickly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks import forms
from benchmarks.coding import keys
from benchmarks.constants import Attribute, Constraints, Events, Op
from vedette.filters.clauses import ArcRows, Clauses, equals, intervals
from vedette.filters.matcher import Matcher
from vedette.filters.segment import Segment, SegmentContent
from vedette.filters.subscription_table import SubscriptionTable
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import parse_type


def clauses(constraints: Constraints) -> Clauses:
    """What the subscriptions ask of every column."""
    arcs = {
        Column(attribute.name, parse_type(attribute.kind)): _arcs(constraints, attribute, place)
        for place, attribute in enumerate(constraints.attributes)
        if len(constraints.by_attribute[place])
    }
    return Clauses(len(constraints), arcs)


def _arcs(constraints: Constraints, attribute: Attribute, place: int) -> ArcRows:
    places = constraints.by_attribute[place]
    row, op, low = constraints.owner[places], constraints.op[places], constraints.low[places]
    if attribute.kind == "string":
        words = pa.array(attribute.vocabulary, pa.string())
        return equals(row, pa.DictionaryArray.from_arrays(pa.array(low.astype(np.int32)), words))
    high = np.where(op == Op.EQUAL, low, constraints.high[places])
    return intervals(
        row,
        keys(attribute, low) + (op == Op.ABOVE),
        keys(attribute, high) + (op != Op.BELOW),
        bounded_below=op != Op.BELOW,
        bounded_above=op != Op.ABOVE,
    )


def matcher(constraints: Constraints, sample: Events, index: str = "clusters") -> Matcher:
    """A compiled matcher whose ids are s0, s1, …; `sample` steers the layout of its index."""
    asked = clauses(constraints)
    count = len(constraints)
    ids = pa.array(np.char.add("s", np.arange(count).astype(np.str_))) if count else pa.array([], pa.string())
    drawn = SegmentContent(
        asked, np.arange(count, dtype=np.int32), np.zeros(count, np.bool_), SubscriptionTable.of(ids)
    )
    schema = Schema.of(forms.schema(constraints.attributes))
    columns = encode(forms.arrow(sample), asked.columns, schema).data
    return Matcher.of(Segment.build(drawn, index=index, sample=columns), schema)
