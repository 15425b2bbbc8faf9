"""Is a filter small enough to be read and brought into a normal form?"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Final

from vedette.language import ast, limits

CONJUNCTIONS: Final = 1_000  # of one pattern: far fewer than the language takes, as the index keeps each of them
_NODES: Final = limits.NODES // 2  # what is counted here is not quite what the parser counts
_CHARACTERS: Final = limits.TEXT_BYTES // 8


def is_modest(filter_: ast.Filter) -> bool:
    """Whether its normal form, its parts and its texts are far from the limits."""
    return (
        _conjunctions(filter_) <= CONJUNCTIONS
        and _nodes(filter_) <= _NODES
        and sum(map(len, _texts(filter_))) <= _CHARACTERS
        and sum(map(len, _texts(filter_, regular=True))) <= limits.REGEX_CHARACTERS
    )


def _conjunctions(filter_: ast.Filter) -> int:
    if isinstance(filter_, ast.Or):
        return sum(map(_conjunctions, filter_.parts))
    found = 1
    for part in filter_.parts if isinstance(filter_, ast.And) else ():
        found *= _conjunctions(part)
    return found


def _nodes(node: Any) -> int:
    if isinstance(node, tuple):
        return sum(map(_nodes, node))
    return 1 + sum(_nodes(getattr(node, each.name)) for each in fields(node)) if is_dataclass(node) else 0


def _texts(node: Any, *, regular: bool = False) -> list[str]:
    """All texts of a filter, or only its regular expressions."""
    if isinstance(node, tuple):
        return [text for one in node for text in _texts(one, regular=regular)]
    if isinstance(node, ast.TextTest) and regular and node.kind != "matches":
        return []
    if isinstance(node, ast.Literal):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Attribute):
        return [] if regular else [node.path]
    if regular and isinstance(node, ast.Comparison | ast.In):
        return []
    if not is_dataclass(node):
        return []
    return [text for each in fields(node) for text in _texts(getattr(node, each.name), regular=regular)]
