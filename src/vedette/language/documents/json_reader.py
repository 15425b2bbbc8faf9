"""Parses the text of a pattern as JSON, with keys in order and duplicate keys kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

TEXT_CHARACTERS: Final = 1_000_000  # of a pattern; AWS takes 2,048, or more where a quota is raised
NESTING: Final = 64  # objects and lists inside one another


class PatternError(ValueError):
    """The error for a pattern that AWS would refuse: what is wrong, where, AWS's own words, how to mend it."""

    def __init__(self, message: str, *, where: str = "", said: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.said = said  # event-ruler's message
        self.hint = hint
        super().__init__(self.explained if hint is None else f"{self.explained}\nHint: {hint}")

    @property
    def explained(self) -> str:
        """The place and the mistake, with AWS's message."""
        place = f"{self.where}: " if self.where else ""
        beside = f" (AWS: {self.said})" if self.said else ""
        return f"{place}{self.message}{beside}"


class NumberText(str):
    """A number, as it was written."""

    __slots__ = ()


class ObjectPairs(NamedTuple):
    """An object: its keys and values in order."""

    pairs: tuple[tuple[str, Node], ...]


Node: TypeAlias = "ObjectPairs | list[Node] | str | NumberText | bool | None"


def read(pattern: str | Mapping[str, Any]) -> Node:
    """Parse a pattern into a tree; PatternError if it is not JSON."""
    if not isinstance(pattern, str):
        return _tree(pattern, 0)
    if len(pattern) > TEXT_CHARACTERS:
        raise PatternError(f"the pattern has more than {TEXT_CHARACTERS:,} characters")
    try:
        found = json.loads(
            pattern,
            object_pairs_hook=lambda pairs: ObjectPairs(tuple(pairs)),
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as problem:
        raise PatternError(
            f"the pattern is no JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}",
            hint='an event pattern is a JSON object, such as {"source": ["aws.ec2"]}',
        ) from None
    except RecursionError:
        raise _too_deep() from None
    return _checked(found, 0)


def _no_constant(name: str) -> NoReturn:
    raise PatternError(f"the pattern is no JSON: {name} is no number of JSON")


def _too_deep() -> PatternError:
    return PatternError(f"the pattern has more than {NESTING} objects and lists inside one another")


def _checked(node: Any, depth: int) -> Node:
    """Check that a node is not too deep and its texts have no broken characters; returns the node."""
    if depth > NESTING:
        raise _too_deep()
    if isinstance(node, ObjectPairs):
        for key, value in node.pairs:
            _whole(key)
            _checked(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            _checked(value, depth + 1)
    elif isinstance(node, str):
        _whole(node)
    return node  # type: ignore[no-any-return]


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PatternError(f"{text!r} has half of a surrogate pair, which no text can have") from None
    return text


def _tree(value: Any, depth: int) -> Node:
    """The tree of a value that was parsed from JSON (or YAML)."""
    if depth > NESTING:
        raise _too_deep()
    if isinstance(value, Mapping):
        return ObjectPairs(tuple((_key(key), _tree(below, depth + 1)) for key, below in value.items()))
    if isinstance(value, list | tuple):
        return [_tree(below, depth + 1) for below in value]
    if isinstance(value, str):
        return _whole(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return NumberText(repr(value) if isinstance(value, float) else str(value))
    raise PatternError(f"the pattern has {value!r}, which is nothing that JSON knows")


def _key(key: object) -> str:
    if isinstance(key, str):
        return _whole(key)
    raise PatternError(f"the key {key!r} is no text", hint="put it into quotes")


def write(node: Node) -> str:
    """The tree as JSON on one line."""
    if isinstance(node, ObjectPairs):
        return (
            "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {write(below)}" for key, below in node.pairs) + "}"
        )
    if isinstance(node, list):
        return "[" + ", ".join(map(write, node)) + "]"
    return str(node) if isinstance(node, NumberText) else json.dumps(node, ensure_ascii=False)
