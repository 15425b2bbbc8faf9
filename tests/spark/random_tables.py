"""Random schemas of Spark, nested and awkward, with rows and with filters that speak of them."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from random import Random
from typing import Any

from pyspark.sql import types as t

from vedette.language.ast import (
    And,
    Attribute,
    Comparator,
    Comparison,
    Filter,
    In,
    IsNull,
    Literal,
    Near,
    Not,
    Or,
    Point,
    QuantifiedAttribute,
    Range,
    TextKind,
    TextTest,
)
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.spark.types import schema_of

NAMES = ["a", "b", "c", "A", "total", "a.b", "b.c", "x y", "sku`s", "é", "lon", "lat", "select", "1st"]
KEYS = ["a", "b", "a.b", "", "colour", "é"]
TEXTS = ["", "a", "A", "ab", "b", "é", "10.0.0.1", "2024-05-01", "7", "x\x1fy", "\x00", "😀"]
INTS = [0, 1, 2, 3, 7, -1, 100]
FLOATS = [0.0, -0.0, 1.0, 2.5, -1.5, math.inf, -math.inf, math.nan, 1e300]
DECIMALS = [decimal.Decimal(text) for text in ("0", "1.50", "2.25", "-7.00", "99999.99")]
DATES = [dt.date(1970, 1, 1), dt.date(2024, 5, 1), dt.date(1, 1, 1), dt.date(2024, 5, 2)]
TIMES = [
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 5, 1, 12, 30, 0, 1),
    dt.datetime(2024, 5, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
]
SCALARS: list[tuple[t.DataType, list[Any]]] = [
    (t.BooleanType(), [True, False]),
    (t.ByteType(), INTS),
    (t.ShortType(), INTS),
    (t.IntegerType(), INTS),
    (t.LongType(), [*INTS, 2**53 + 1, 2**63 - 1, -(2**63)]),
    (t.FloatType(), FLOATS[:-1]),
    (t.DoubleType(), FLOATS),
    (t.DecimalType(9, 2), DECIMALS),
    (t.DecimalType(38, 18), DECIMALS),
    (t.StringType(), TEXTS),
    (t.DateType(), DATES),
    (t.TimestampType(), [each.replace(tzinfo=dt.UTC) for each in TIMES]),
    (t.TimestampNTZType(), TIMES),
    (t.BinaryType(), [b"", b"a"]),
    (t.DayTimeIntervalType(), [dt.timedelta(seconds=3)]),
]
POINT = t.StructType([t.StructField("lon", t.DoubleType()), t.StructField("lat", t.DoubleType())])
CONSTANTS: dict[Kind, list[Any]] = {
    Kind.BOOL: [True, False],
    Kind.INT: [*INTS, 2.5, 2**53 + 1],
    Kind.FLOAT: [*FLOATS, *INTS],
    Kind.STRING: TEXTS,
    Kind.DATE: DATES,
    Kind.TIMESTAMP: [each.replace(tzinfo=dt.UTC) for each in TIMES],
}


class RandomTable:
    """A schema, rows of it, and texts of filters."""

    def __init__(self, seed: int, *, columns: int = 14, rows: int = 40) -> None:
        self.random = Random(seed)
        names = [*self.random.sample(NAMES, 8), *(f"f{number}" for number in range(columns - 8))]
        fields = [t.StructField(name, self._type(3)) for name in names]
        self.schema = t.StructType([t.StructField("row", t.IntegerType(), False), *fields])
        self.rows = [(row, *(self._value(field.dataType) for field in fields)) for row in range(rows)]

    def _type(self, depth: int) -> t.DataType:
        shape = self.random.random()
        if depth and shape < 0.25:
            names = self.random.sample(NAMES, self.random.randint(1, 4))
            return t.StructType([t.StructField(name, self._type(depth - 1)) for name in names])
        if depth and shape < 0.45:
            return t.ArrayType(self._type(depth - 1))
        if depth and shape < 0.55:
            key = t.StringType() if self.random.random() < 0.85 else t.IntegerType()
            return t.MapType(key, self._type(depth - 1))
        if depth and shape < 0.62:
            return POINT
        return self.random.choice(SCALARS)[0]

    def _value(self, type_: t.DataType) -> Any:
        random = self.random
        if random.random() < 0.12:
            return None
        if type_ == POINT:
            return (random.choice([0.0, 1.0, -73.9]), random.choice([0.0, 1.0, 40.7]))
        if isinstance(type_, t.StructType):
            return tuple(self._value(field.dataType) for field in type_)
        if isinstance(type_, t.ArrayType):
            return [self._value(type_.elementType) for _ in range(random.randrange(4))]
        if isinstance(type_, t.MapType):
            keys = random.sample(KEYS if isinstance(type_.keyType, t.StringType) else INTS, random.randrange(4))
            return {key: self._value(type_.valueType) for key in keys}
        return random.choice(next(values for scalar, values in SCALARS if scalar == type_))

    # ------------------------------------------------------------ filters

    def filters(self, count: int) -> list[Filter]:
        """Filters over the attributes of the schema, and over some that it may not have."""
        schema = schema_of(self.schema)
        known = [path for path in schema if path != "row"]
        return [self._filter(known, schema, 2) for _ in range(count)]

    def _filter(self, known: list[str], schema: Schema, depth: int) -> Filter:
        random, shape = self.random, self.random.random()
        if depth and shape < 0.3:
            parts = tuple(self._filter(known, schema, depth - 1) for _ in range(random.randint(2, 3)))
            return And(parts) if random.random() < 0.5 else Or(parts)
        if depth and shape < 0.4:
            return Not(self._filter(known, schema, depth - 1))
        path = random.choice(known) if random.random() < 0.92 else self._unknown()
        path = ".".join(random.choice(KEYS) if step == "*" else step for step in path.split("."))
        return self._test(path, schema, known)

    def _unknown(self) -> str:
        """Some path that leads anywhere: deeper, through what no schema knows, or nowhere."""
        fields = [field for field in self.schema if isinstance(field.dataType, t.StructType | t.MapType | t.ArrayType)]
        head = self.random.choice(fields).name if fields else "nowhere"
        return ".".join([head, *self.random.choices([*NAMES, *KEYS[:2]], k=self.random.randint(0, 3))])

    def _test(self, path: str, schema: Schema, known: list[str]) -> Filter:
        random = self.random
        type_ = schema.type_of(path)
        if type_ is None:
            type_ = Type(random.choice(list(CONSTANTS)), random.random() < 0.3)
            if random.random() < 0.3:
                return IsNull(Attribute(path))
        operand: Any = Attribute(path)
        if type_.is_list:
            if random.random() < 0.2:
                return IsNull(operand)
            operand = QuantifiedAttribute(random.choice(["any", "all"]), operand)
        elif random.random() < 0.15:
            return IsNull(operand)
        elif random.random() < 0.15:
            same = [each for each in known if schema.type_of(each) == type_ and "*" not in each]
            if same and type_.kind.ordered:
                return Comparison(operand, random.choice(list(Comparator)), Attribute(random.choice([*same, path])))
        if type_.kind is Kind.POINT:
            return Near(operand, Point(0.0, 0.0), random.choice([1.0, 200_000.0, 2e7]))
        constants = [Literal(value) for value in CONSTANTS[type_.kind]]
        shape = random.random()
        if type_.kind is Kind.STRING and shape < 0.3:
            kinds: list[TextKind] = ["contains", "startswith", "endswith"]
            kind = random.choice(kinds)
            return TextTest(operand, kind, random.choice(constants), random.random() < 0.3)
        if shape < 0.5:
            return In(operand, tuple(random.sample(constants, 2)))
        if shape < 0.6 and type_.kind is not Kind.BOOL:
            return Range(operand, random.choice(constants), random.choice(constants), True, False)
        return Comparison(operand, random.choice(list(Comparator)), random.choice(constants))
