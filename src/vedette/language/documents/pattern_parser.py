"""Parses event patterns: objects, fields and `$or`, as event-ruler (which AWS runs) reads them.

Fields are identified by their whole path, keys joined by dots, so that {"a.b": …} and {"a": {"b": …}} are equal, and
the last of several with one path counts. `$or` is an operator only where it can be one everywhere: above a list of two
or more objects whose keys are not reserved by AWS. Else it is the name of a field, everywhere.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from vedette.language.documents.json_reader import Node, ObjectPairs, PatternError, read
from vedette.language.documents.nodes import EventPattern, EventPatternField, in_order
from vedette.language.documents.value_operators import OPERATORS, tests

OR: Final = "$or"
ALTERNATIVES: Final = 1_000  # combinations of the `$or`s of a pattern, as AWS documents
FIELDS: Final = 256  # of one alternative, as event-ruler has it

# Names that no field inside `$or` may have: AWS reserves them for operators, now or later.
RESERVED: Final = frozenset(
    {
        *OPERATORS,
        *("=", "<", "<=", ">", ">="),
        *("regex", "not-wildcard", "not-equals-ignore-case"),
        *("date-after", "date-on-or-after", "date-before", "date-on-or-before", "in-date-range"),
        *("ip-address-in-range", "ip-address-not-in-range"),
    }
)

_Fields: TypeAlias = dict[str, EventPatternField]


def parse(pattern: str | Mapping[str, Any]) -> EventPattern:
    """Parse a pattern; PatternError says what is wrong with it, and where."""
    return _parsed(pattern) if isinstance(pattern, str) else _compiled(read(pattern))


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> EventPattern:
    return _compiled(read(text))


def _compiled(tree: Node) -> EventPattern:
    if not isinstance(tree, ObjectPairs):
        raise PatternError(
            "an event pattern is an object", said="Filter is not an object", hint='write {"source": ["aws.ec2"]}'
        )
    try:
        found = _ObjectParser(or_is_operator=True).object([{}], "", "", tree)
    except PatternError as problem:
        if not _has_or(tree):
            raise
        try:
            found = _ObjectParser(or_is_operator=False).object([{}], "", "", tree)
        except PatternError:
            raise problem from None
    return EventPattern(tuple(in_order(fields) for fields in found))


def _has_or(tree: Node) -> bool:
    if isinstance(tree, ObjectPairs):
        return any(key == OR or _has_or(below) for key, below in tree.pairs)
    return isinstance(tree, list) and any(map(_has_or, tree))


class _ObjectParser:
    """Reads objects and adds their fields to the alternatives found so far."""

    def __init__(self, *, or_is_operator: bool) -> None:
        self.or_is_operator = or_is_operator

    def object(
        self, found: list[_Fields], path: str, where: str, tree: ObjectPairs, inside_or: bool = False
    ) -> list[_Fields]:
        """Every alternative extended with the fields of one object."""
        if not tree.pairs:
            raise PatternError(
                "an object of a pattern needs a field",
                where=where,
                said="Empty objects are not allowed",
                hint='to ask whether a field is there, write {"exists": true} in its list',
            )
        for key, below in tree.pairs:
            place = _below(where, key)
            if self.or_is_operator and key == OR:
                found = self.either(found, path, place, below)
                continue
            if inside_or and key in RESERVED:
                raise PatternError(
                    f"{key!r} cannot be the name of a field inside {OR}",
                    where=place,
                    said=f"{key} is Ruler reserved fieldName which cannot be used inside $or.",
                    hint=f'an operator belongs into the list of a field: {{"field": [{{"{key}": …}}]}}'
                    if key in OPERATORS
                    else None,
                )
            name = f"{path}.{key}" if path else key
            if isinstance(below, ObjectPairs):
                found = self.object(found, name, place, below, inside_or)
            elif isinstance(below, list):
                _add(found, EventPatternField(name, tests(below, place)), place)
            else:
                raise PatternError(
                    "a field needs a list of values",
                    where=place,
                    said=f'"{key}" must be an object or an array',
                    hint="put the value into a list: [ … ]",
                )
        return found

    def either(self, found: list[_Fields], path: str, where: str, below: Node) -> list[_Fields]:
        """Every alternative combined with every object of an `$or`."""
        if not isinstance(below, list):
            raise PatternError(f"{OR} needs a list", where=where, said="It must be an Array followed with $or.")
        made: list[_Fields] = []
        for index, one in enumerate(below):
            place = f"{where}[{index}]"
            if not isinstance(one, ObjectPairs):
                raise PatternError(
                    f"the list of {OR} holds objects only",
                    where=place,
                    said="Only JSON object is allowed in array of $or relationship.",
                )
            made += self.object([dict(fields) for fields in found], path, place, one, inside_or=True)
            if len(made) > ALTERNATIVES:
                raise PatternError(
                    f"the pattern has more than {ALTERNATIVES:,} combinations of what stands in its {OR}s",
                    where=where,
                    hint="use several rules",
                )
        if len(below) < 2:
            raise PatternError(
                f"{OR} needs two objects or more",
                where=where,
                said="There must have at least 2 Objects in $or relationship.",
            )
        return made


def _add(found: list[_Fields], field: EventPatternField, where: str) -> None:
    for fields in found:
        fields[field.path] = field
        if len(fields) > FIELDS:
            raise PatternError(
                f"the pattern has more than {FIELDS} fields",
                where=where,
                said=f"Size of rule exceeds max value of {FIELDS}",
            )


def _below(where: str, key: str) -> str:
    if not key or "." in key or "[" in key:
        return f'{where}["{key}"]'
    return f"{where}.{key}" if where else key
