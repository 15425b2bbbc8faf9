"""Translates event patterns into Vedette's language.

Every field becomes tests of the leaves at its path. That is all, unless two fields are below one key whose value has
a list of objects in it: then their leaves must not come from different elements, which `fits` decides. So

    <tests of leaves> and (nested(k) is null or nested(k) fits '<the pattern below k>')

is equivalent to the pattern. The tests of leaves must never be stricter than the pattern: a field that may be missing
is missing relative to the elements that others have chosen, and so is assumed to be missing if nested(k) is not null.

ANDs of ORs multiply, a path does not lead through a key with a dot in it, and some names cannot be written. A pattern
that would become too large, or has such fields, is `text(*) fits '<the pattern>'`, after those tests of leaves that all
its alternatives have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vedette.dialects.eventbridge.field_tests import field_filter
from vedette.errors import DialectError
from vedette.language import ast, limits
from vedette.language.documents import EventPattern, PatternError, parse, text_of
from vedette.language.documents.json_reader import Node, ObjectPairs, read, write
from vedette.language.documents.nodes import EventPatternAlternative, EventPatternField
from vedette.language.documents.pattern_parser import OR

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


_WHOLE: Final = ast.EVERYTHING


def translate(rule: str | Mapping[str, Any]) -> ast.Filter:
    """Translate a pattern; DialectError says what AWS would refuse, and where in the rule."""
    try:
        pattern = parse(rule)
    except PatternError as problem:
        raise DialectError(problem.explained, hint=problem.hint) from None
    tree = read(rule)
    hidden, split = tuple(_dotted(tree, "")), frozenset(_split(tree))
    alternatives = [_LeafConjuncts(alternative, hidden, split) for alternative in dict.fromkeys(pattern.alternatives)]
    said = [alternative.parts for alternative in alternatives]
    common = [part for part in said[0] if all(part in other for other in said[1:])]
    if all(alternative.complete for alternative in alternatives):
        made = _any_of(said, common)
        if is_modest(made):
            return made
    whole = ast.TextTest(ast.View("text", ast.Attribute(_WHOLE)), "fits", ast.Literal(write(tree)))
    return _all_of([*(part for part in common if not isinstance(part, ast.Or)), whole])


def _dotted(tree: Node, path: str) -> Iterator[str]:
    """The paths of objects below keys with dots in them."""
    for key, below in tree.pairs if isinstance(tree, ObjectPairs) else ():
        if key == OR and isinstance(below, list):
            for each in below:
                yield from _dotted(each, path)
        elif isinstance(below, ObjectPairs):
            if "." in key:
                yield f"{path}{key}."
            yield from _dotted(below, f"{path}{key}.")


def _split(tree: Node) -> Iterator[str]:
    """The first parts of dotted keys at the top; in an event, such a key and the object at its first part are apart."""
    for key, below in tree.pairs if isinstance(tree, ObjectPairs) else ():
        if "." in key:
            yield key.partition(".")[0]
        for each in below if key == OR and isinstance(below, list) else ():
            yield from _split(each)


def _any_of(alternatives: Sequence[Sequence[ast.Filter]], common: Sequence[ast.Filter]) -> ast.Filter:
    """The OR of alternatives; conditions common to all are written once."""
    rest = [[part for part in alternative if part not in common] for alternative in alternatives]
    if not all(rest):  # one has no other conditions
        return _all_of(common)
    return _all_of([*common, ast.Or(tuple(map(_all_of, rest)))])


def _all_of(parts: Sequence[ast.Filter]) -> ast.Filter:
    return parts[0] if len(parts) == 1 else ast.And(tuple(parts))


class _FieldGroup(NamedTuple):
    """Fields below one key: where two of them may share lists of objects, and their joint condition."""

    place: str
    pattern: str

    @property
    def nested(self) -> ast.View:
        return ast.View("nested", ast.Attribute(self.place))

    @property
    def consistent(self) -> ast.Filter:
        """Leaves can be chosen that do not come from different elements of a list."""
        return ast.Or((ast.IsNull(self.nested), ast.TextTest(self.nested, "fits", ast.Literal(self.pattern))))


class _LeafConjuncts:
    """An alternative as tests of leaves, and the joint conditions of several fields."""

    def __init__(self, alternative: EventPatternAlternative, hidden: tuple[str, ...], split: frozenset[str]) -> None:
        together: dict[str, list[EventPatternField]] = {}
        self.complete = True  # whether every field can be expressed
        for field in alternative.fields:
            key = field.path.partition(".")[0]
            if key in ("", _WHOLE) or field.path.startswith(hidden):
                self.complete = False
            else:
                together.setdefault(key, []).append(field)
        self.parts: list[ast.Filter] = []
        groups: dict[_FieldGroup, None] = {}
        for key, fields in together.items():
            group = _group(key, fields, key in split) if len(fields) > 1 else None
            self.parts += (field_filter(field, group and group.nested) for field in fields)
            if group is not None:
                groups[group] = None
        self.parts += (group.consistent for group in groups)


def _group(key: str, fields: Sequence[EventPatternField], split: bool) -> _FieldGroup:
    begin = f"{key}."
    if split or not all(field.path.startswith(begin) for field in fields):  # the key itself is one of them
        return _FieldGroup(_WHOLE, _text(fields))
    return _FieldGroup(key, _text([EventPatternField(field.path.removeprefix(begin), field.tests) for field in fields]))


def _text(fields: Sequence[EventPatternField]) -> str:
    return text_of(EventPattern((EventPatternAlternative(tuple(fields)),)))
