"""Estimates whether a filter is small enough to be parsed and normalised."""

from __future__ import annotations

from typing import Final, NamedTuple

from vedette.language import ast, limits

CONJUNCTIONS: Final = 1_000  # of one pattern: far fewer than the language allows, as the index stores each of them
_NODES: Final = limits.NODES // 2  # a margin, since the parser counts slightly differently
_CHARACTERS: Final = limits.TEXT_BYTES // 8
_OF_A_TEST: Final = 6  # the most nodes of a test without its constants


class _PatternSize(NamedTuple):
    """The size of a filter."""

    conjunctions: int = 1
    nodes: int = _OF_A_TEST
    characters: int = 0
    regular: int = 0  # characters of its regular expressions


def is_modest(filter_: ast.Filter) -> bool:
    """Whether its normal form, its parts and its texts are far from the limits."""
    size = _size(filter_)
    return (
        size.conjunctions <= CONJUNCTIONS
        and size.nodes <= _NODES
        and size.characters <= _CHARACTERS
        and size.regular <= limits.REGEX_CHARACTERS
    )


def _size(filter_: ast.Filter) -> _PatternSize:
    if isinstance(filter_, ast.Not):
        return _size(filter_.part)
    if isinstance(filter_, ast.And | ast.Or):
        parts = list(map(_size, filter_.parts))
        conjunctions = sum(part.conjunctions for part in parts)
        if isinstance(filter_, ast.And):
            conjunctions = 1
            for part in parts:
                conjunctions *= part.conjunctions
        _, nodes, characters, regular = map(sum, zip(*parts, strict=True))
        return _PatternSize(conjunctions, nodes + 1, characters, regular)
    if isinstance(filter_, ast.In):
        return _PatternSize(
            nodes=_OF_A_TEST + len(filter_.items), characters=sum(len(str(one.value)) for one in filter_.items)
        )
    if isinstance(filter_, ast.InNetwork):
        return _PatternSize(nodes=_OF_A_TEST + len(filter_.networks), characters=sum(map(len, filter_.networks)))
    if isinstance(filter_, ast.TextTest):
        length = len(str(filter_.pattern.value))
        return _PatternSize(characters=length, regular=length if filter_.kind == "matches" else 0)
    if isinstance(filter_, ast.Comparison) and isinstance(filter_.right, ast.Literal):
        return _PatternSize(characters=len(str(filter_.right.value)))
    return _PatternSize()
