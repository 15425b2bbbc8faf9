"""Chooses the columns that cross to Python: those that the attributes of subscriptions lead to, and no others.

Mostly an attribute leads to one place, through structs, into a map, or through one array of structs. Then its value
crosses as a column that has the whole path for its name, which is where a path is looked for first. All others - a path
that leads to two places, arrays in arrays, maps of structs - cross as they are nested, without the fields that no
subscription reads, and are searched in the worker as in any Arrow table (`vedette.schema.table_paths`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StringType, StructField, StructType

from vedette.errors import SchemaError
from vedette.schema.columns import Column
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema
from vedette.schema.table_paths import check_stored
from vedette.spark.types import arrow_type, plain_type, spark_type
from vedette.spark.versions import VariantType, to_arrow_type

_MOST_KEYS = 6  # of one map are looked up in the JVM, key by key; where more are asked for, the whole map costs less

Fields: TypeAlias = Callable[[int], SparkColumn]  # the n-th field of something


@dataclass(frozen=True, slots=True)
class WorkerColumn:
    """A column that crosses to Python, and its name there."""

    name: str
    column: SparkColumn


@dataclass(frozen=True, slots=True)
class _PathColumn:
    """The column that a path leads to."""

    column: SparkColumn
    type: DataType
    in_list: bool = False
    map: str | None = None  # the path of the map that it is an entry of


class _NestedPath(Exception):
    """The path leads through something that only Python can walk."""


def sent_columns(
    columns: Sequence[Column], schema: Schema, stored: StructType, field: Fields
) -> tuple[list[WorkerColumn], list[str]]:
    """The columns that cross so that these can be read by the schema, and the paths that lead nowhere.

    `field` gives the DataFrame's n-th column. SchemaError where an attribute leads to what cannot be matched.
    """
    plan = _Plan([column for column in columns if EVERYTHING not in column.paths], schema, stored, field)
    sent = plan.sent()
    if any(EVERYTHING in column.paths for column in columns):  # which holds all the others
        sent = whole_columns(set(stored.names), stored, field)
    return sent, plan.nowhere


def whole_columns(names: Collection[str], stored: StructType, field: Fields) -> list[WorkerColumn]:
    """The columns of these names as they are, in their order, apart from what Spark cannot send."""
    mended = _without_void(field, stored)
    return [
        WorkerColumn(each.name, mended(number))
        for number, each in enumerate(stored)
        if each.name in names and _position(stored, each.name) == number and _can_cross(plain_type(each.dataType))
    ]


class _Plan:
    def __init__(self, columns: Sequence[Column], schema: Schema, stored: StructType, field: Fields) -> None:
        self._schema, self._stored = schema, stored
        self._field = _without_void(field, stored)
        self.nowhere: list[str] = []
        self._types: dict[str, list[Column]] = {}
        for column in columns:
            for path in column.paths:
                self._types.setdefault(path, []).append(column)

    def sent(self) -> list[WorkerColumn]:
        """The columns, each name once."""
        alone: dict[str, _PathColumn] = {}
        nested: set[str] = set()
        for path in self._types:
            try:
                places = list(_reach(self._stored, self._field, path, ""))
            except _NestedPath:
                nested.add(path)
                continue
            if len(places) > 1 or (places and places[0].in_list and not self._only_lists(path)):
                nested.add(path)
            elif not places:
                self.nowhere.append(path)
            elif not isinstance(places[0].type, NullType) and (self._is_typed(path) or _can_cross(places[0].type)):
                alone[path] = self._checked(path, places[0])
        maps = Counter(place.map for place in alone.values() if place.map is not None)
        nested |= {path for path, place in alone.items() if place.map is not None and maps[place.map] > _MOST_KEYS}
        return self._arranged(alone, nested)

    def _arranged(self, alone: dict[str, _PathColumn], nested: set[str]) -> list[WorkerColumn]:
        """Whole columns for nested paths, with everything below their names: a value must not cross twice."""
        heads = {path.partition(".")[0] for path in nested if "." in path}
        heads |= {path for path, place in alone.items() if "." not in path and _has_parts(place.type)}
        wanted: dict[int, set[str | None]] = {}
        for path in self._types:
            head, dot, rest = path.partition(".")
            if path not in nested and (path not in alone or head not in heads):
                continue
            whole, below = _position(self._stored, path), _position(self._stored, head) if dot else None
            if whole is not None:
                wanted.setdefault(whole, set()).add(None)
            if below is not None:
                wanted.setdefault(below, set()).add(rest)
            alone.pop(path, None)
        sent = {path: place.column for path, place in alone.items()}
        for number, rests in wanted.items():
            column = self._pruned(number, rests)
            if column is not None:
                sent[self._stored[number].name] = column
        return [WorkerColumn(name, column) for name, column in sent.items()]

    def _pruned(self, number: int, rests: set[str | None]) -> SparkColumn | None:
        return _pruned(self._field(number), plain_type(self._stored[number].dataType), rests)

    def _is_typed(self, path: str) -> bool:
        """Whether some column reads the path as a type, and not only leniently, by a view."""
        return any(column.reading is None for column in self._types[path])

    def _only_lists(self, path: str) -> bool:
        """Whether all that read the path expect a list."""
        if any(column.reading is not None for column in self._types[path]):  # to which a null is nothing there
            return False
        declared = self._schema.type_of(path)
        if declared is not None:
            return declared.is_list
        return all(column.other is None and column.type.is_list for column in self._types[path])

    def _checked(self, path: str, place: _PathColumn) -> _PathColumn:
        """Check the type now, so that an error does not come in the middle of a job."""
        if self._schema.takes_all(path) or not self._is_typed(path):  # as a text, if need be
            return place
        declared = self._schema.type_of(path)
        read_as = declared or next(column.type for column in self._types[path] if column.reading is None)
        check_stored(arrow_type(place.type), path, read_as, declared is not None)
        if place.type == ArrayType(NullType()) and read_as.is_list:
            return replace(place, column=place.column.cast(spark_type(read_as)))
        return place


def _reach(stored: StructType, field: Fields, path: str, above: str, in_list: bool = False) -> Iterator[_PathColumn]:
    """All places that the path leads to, the first one first, as `TableEvents` does in an Arrow table."""
    whole = _position(stored, path)
    if whole is not None:
        yield _PathColumn(field(whole), plain_type(stored[whole].dataType), in_list)
    head, dot, rest = path.partition(".")
    number = _position(stored, head) if dot else None
    if number is None:
        return
    place, below, column = above + head, plain_type(stored[number].dataType), field(number)
    if isinstance(below, StructType):
        yield from _reach(below, _struct_fields(column, below), rest, f"{place}.", in_list)
    elif isinstance(below, MapType):
        if not isinstance(below.keyType, StringType):
            return  # a path is a text, and no key is
        if in_list or _has_parts(below.valueType):
            raise _NestedPath
        yield _PathColumn(column.getItem(rest), plain_type(below.valueType), map=place)
    elif isinstance(below, ArrayType) and _has_parts(below.elementType):
        elements = plain_type(below.elementType)
        if not isinstance(elements, StructType) or in_list:
            raise _NestedPath
        for found in _reach(elements, _struct_fields(column, elements, in_list=True), rest, f"{place}[].", True):
            if isinstance(found.type, ArrayType):
                raise _NestedPath
            yield _PathColumn(found.column, ArrayType(found.type), in_list=True)
    elif isinstance(below, VariantType):
        raise SchemaError(
            f"attribute {above + path!r} leads into a variant, which cannot be matched\n"
            f"Hint: take out what is asked for before, with variant_get or a cast"
        )


def _position(stored: StructType, name: str) -> int | None:
    """The number of the field of this name, case-sensitive, whatever Spark's own setting."""
    found = [number for number, field in enumerate(stored) if field.name == name]
    if len(found) > 1:
        raise SchemaError(f"the events have {len(found)} columns named {name!r}\nHint: rename all but one")
    return found[0] if found else None


def _struct_fields(column: SparkColumn, stored: StructType, *, in_list: bool = False) -> Fields:
    names = [name.lower() for name in stored.names]

    def field(number: int) -> SparkColumn:
        if names.count(names[number]) == 1:
            return column.getField(stored.names[number])
        # Spark may take names that differ only in case for the same: the fields get other names, by position.
        renamed: DataType = StructType(
            [StructField(f"_{n}", _not_void(each.dataType)) for n, each in enumerate(stored)]
        )
        return column.cast(ArrayType(renamed) if in_list else renamed).getField(f"_{number}")

    return field


def _without_void(field: Fields, stored: StructType) -> Fields:
    """Fields without parts of Spark's type `void`: in lists Spark sends too few nulls of them."""

    def mended(number: int) -> SparkColumn:
        type_ = stored[number].dataType
        better = _not_void(type_) if _has_parts(type_) else type_
        return field(number) if better == type_ else field(number).cast(better)

    return mended


def _not_void(stored: DataType) -> DataType:
    if isinstance(stored, StructType):
        return StructType([StructField(each.name, _not_void(each.dataType), each.nullable) for each in stored])
    if isinstance(stored, ArrayType):
        return ArrayType(_not_void(stored.elementType), stored.containsNull)
    if isinstance(stored, MapType):
        return MapType(_not_void(stored.keyType), _not_void(stored.valueType), stored.valueContainsNull)
    return StringType() if isinstance(stored, NullType) else stored


def _has_parts(stored: DataType) -> bool:
    return isinstance(plain_type(stored), StructType | MapType | ArrayType)


def _can_cross(stored: DataType) -> bool:
    try:
        to_arrow_type(stored)
    except PySparkException:
        return False
    return True


def _pruned(column: SparkColumn, stored: DataType, rests: set[str | None]) -> SparkColumn | None:
    """The value with only the parts that paths lead to (None: all of it); None where there are no such parts."""
    if None in rests:
        return column
    if isinstance(stored, StructType):
        field = _struct_fields(column, stored)
        steps = [rest.partition(".") for rest in rests if rest is not None]
        parts = []
        for number, each in enumerate(stored):
            below: set[str | None] = {None} if each.name in rests else set()
            below |= {rest for head, dot, rest in steps if dot and head == each.name}
            part = _pruned(field(number), plain_type(each.dataType), below) if below else None
            if part is not None and _position(stored, each.name) is not None:
                parts.append(part.alias(each.name))
        return F.when(column.isNotNull(), F.struct(*parts)) if parts else None
    if isinstance(stored, ArrayType) and _has_parts(stored.elementType):
        elements = plain_type(stored.elementType)
        if _pruned(column, elements, rests) is None:  # only to see whether there is anything
            return column if _can_cross(stored) else None  # even so there may be a list, if one of nulls
        return F.transform(column, lambda each: _pruned(each, elements, rests))  # type: ignore[arg-type, return-value]
    return column if isinstance(stored, MapType) else None
