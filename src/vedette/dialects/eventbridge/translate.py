"""What does an event pattern say in Vedette's language?

Every field becomes tests of the leaves at its path. That is all, unless two fields stand under one key whose value has
a list of objects in it: then their leaves must not come from different elements, which `fits` decides. So

    <tests of leaves> and (nested(k) is null or nested(k) fits '<the pattern below k>')

is what the pattern says of every event. The tests of leaves must never be stricter than the pattern: a field that may
be missing is missing beside the elements that others have chosen, and so is taken to be so where nested(k) is not null.

ANDs of ORs multiply, a path does not lead through a key with a dot in it, and some names cannot be written. A pattern
that would become too much, or has such fields, is `text(*) fits '<the pattern>'`, after those tests of leaves that all
its alternatives have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vedette.dialects.eventbridge.fields import field_filter
from vedette.dialects.eventbridge.size import is_modest
from vedette.errors import DialectError
from vedette.language import ast
from vedette.language.documents import EventPattern, PatternError, parse, text_of
from vedette.language.documents.nodes import Alternative, Field
from vedette.language.documents.parsing import OR
from vedette.language.documents.reading import Node, Pairs, read, write

_WHOLE: Final = ast.EVERYTHING


def translate(rule: str | Mapping[str, Any]) -> ast.Filter:
    """The pattern as a filter; DialectError says what AWS would not take, and where in the rule."""
    try:
        pattern = parse(rule)
    except PatternError as problem:
        raise DialectError(problem.explained, hint=problem.hint) from None
    tree = read(rule)
    hidden, split = tuple(_dotted(tree, "")), frozenset(_split(tree))
    alternatives = [_Parts(alternative, hidden, split) for alternative in dict.fromkeys(pattern.alternatives)]
    said = [alternative.parts for alternative in alternatives]
    common = [part for part in said[0] if all(part in other for other in said[1:])]
    if all(alternative.complete for alternative in alternatives):
        made = _any_of(said, common)
        if is_modest(made):
            return made
    whole = ast.TextTest(ast.View("text", ast.Attribute(_WHOLE)), "fits", ast.Literal(write(tree)))
    return _all_of([*(part for part in common if not isinstance(part, ast.Or)), whole])


def _dotted(tree: Node, path: str) -> Iterator[str]:
    """Where objects stand below keys with dots in them."""
    for key, below in tree.pairs if isinstance(tree, Pairs) else ():
        if key == OR and isinstance(below, list):
            for each in below:
                yield from _dotted(each, path)
        elif isinstance(below, Pairs):
            if "." in key:
                yield f"{path}{key}."
            yield from _dotted(below, f"{path}{key}.")


def _split(tree: Node) -> Iterator[str]:
    """What stands before the first dot of keys at the top: they and what is below that are apart in an event."""
    for key, below in tree.pairs if isinstance(tree, Pairs) else ():
        if "." in key:
            yield key.partition(".")[0]
        for each in below if key == OR and isinstance(below, list) else ():
            yield from _split(each)


def _any_of(alternatives: Sequence[Sequence[ast.Filter]], common: Sequence[ast.Filter]) -> ast.Filter:
    """Some alternative; what is common to all is said once."""
    rest = [[part for part in alternative if part not in common] for alternative in alternatives]
    if not all(rest):  # one asks for nothing more
        return _all_of(common)
    return _all_of([*common, ast.Or(tuple(map(_all_of, rest)))])


def _all_of(parts: Sequence[ast.Filter]) -> ast.Filter:
    return parts[0] if len(parts) == 1 else ast.And(tuple(parts))


class _Group(NamedTuple):
    """Fields under one key: where lists of objects may be above two of them, and what is asked of them together."""

    place: str
    pattern: str

    @property
    def nested(self) -> ast.View:
        return ast.View("nested", ast.Attribute(self.place))

    @property
    def consistent(self) -> ast.Filter:
        """Leaves can be chosen that do not come from different elements of a list."""
        return ast.Or((ast.IsNull(self.nested), ast.TextTest(self.nested, "fits", ast.Literal(self.pattern))))


class _Parts:
    """An alternative as tests of leaves, and then of what is asked of several together."""

    def __init__(self, alternative: Alternative, hidden: tuple[str, ...], split: frozenset[str]) -> None:
        together: dict[str, list[Field]] = {}
        self.complete = True  # whether every field can be said
        for field in alternative.fields:
            key = field.path.partition(".")[0]
            if key in ("", _WHOLE) or field.path.startswith(hidden):
                self.complete = False
            else:
                together.setdefault(key, []).append(field)
        self.parts: list[ast.Filter] = []
        groups: dict[_Group, None] = {}
        for key, fields in together.items():
            group = _group(key, fields, key in split) if len(fields) > 1 else None
            self.parts += (field_filter(field, group and group.nested) for field in fields)
            if group is not None:
                groups[group] = None
        self.parts += (group.consistent for group in groups)


def _group(key: str, fields: Sequence[Field], split: bool) -> _Group:
    begin = f"{key}."
    if split or not all(field.path.startswith(begin) for field in fields):  # the key itself is one of them
        return _Group(_WHOLE, _text(fields))
    return _Group(key, _text([Field(field.path.removeprefix(begin), field.tests) for field in fields]))


def _text(fields: Sequence[Field]) -> str:
    return text_of(EventPattern((Alternative(tuple(fields)),)))
