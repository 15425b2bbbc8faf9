"""What does an event pattern say in Vedette's language?

Every field becomes tests of the leaves at its path. That is all, unless two fields stand under one key whose value has
a list of objects in it: then their leaves must not come from different elements, which `fits` decides. So

    <tests of leaves> and (nested(k) is null or nested(k) fits '<the pattern below k>')

is what the pattern says of every event. The tests of leaves must never be stricter than the pattern: a field that may
be missing is missing beside the elements that others have chosen, and so is taken to be so where nested(k) is not null.

ANDs of ORs multiply. A pattern that would become too much is `text(*) fits '<the pattern>'`, after those tests of
leaves that all its alternatives have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from vedette.dialects.eventbridge.fields import field_filter
from vedette.dialects.eventbridge.size import is_modest
from vedette.errors import DialectError, NotSupported
from vedette.language import ast
from vedette.language.documents import EventPattern, PatternError, parse, text_of
from vedette.language.documents.nodes import Alternative, Field
from vedette.language.documents.reading import read, write

_WHOLE: Final = ast.EVERYTHING


def translate(rule: str | Mapping[str, Any]) -> ast.Filter:
    """The pattern as a filter; DialectError says what AWS would not take, NotSupported what the language cannot say."""
    try:
        pattern = parse(rule)
    except PatternError as problem:
        raise DialectError(problem.explained, hint=problem.hint) from None
    alternatives = [_parts(alternative) for alternative in dict.fromkeys(pattern.alternatives)]
    common = [part for part in alternatives[0] if all(part in other for other in alternatives[1:])]
    made = _any_of(alternatives, common)
    return made if is_modest(made) else _as_document(rule, common)


def _any_of(alternatives: Sequence[Sequence[ast.Filter]], common: Sequence[ast.Filter]) -> ast.Filter:
    """Some alternative; what is common to all is said once."""
    rest = [[part for part in alternative if part not in common] for alternative in alternatives]
    if not all(rest):  # one asks for nothing more
        return _all_of(common)
    return _all_of([*common, ast.Or(tuple(map(_all_of, rest)))])


def _as_document(rule: str | Mapping[str, Any], common: Sequence[ast.Filter]) -> ast.Filter:
    """The whole event as JSON fits the pattern; tests that every such event passes come first."""
    whole = ast.TextTest(ast.View("text", ast.Attribute(_WHOLE)), "fits", ast.Literal(write(read(rule))))
    return _all_of([*(part for part in common if not isinstance(part, ast.Or)), whole])


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


def _parts(alternative: Alternative) -> list[ast.Filter]:
    """The tests of leaves, and then what is asked of several together."""
    together: dict[str, list[Field]] = {}
    for field in alternative.fields:
        _check_name(field.path)
        together.setdefault(_first_key(field.path), []).append(field)
    parts: list[ast.Filter] = []
    groups: dict[_Group, None] = {}
    for key, fields in together.items():
        group = _group(key, fields) if len(fields) > 1 else None
        parts += (field_filter(field, group and group.nested) for field in fields)
        if group is not None:
            groups[group] = None
    return [*parts, *(group.consistent for group in groups)]


def _group(key: str, fields: Sequence[Field]) -> _Group:
    begin = f"{key}."
    if not all(field.path.startswith(begin) for field in fields):  # the key itself is one of them
        return _Group(_WHOLE, _text(fields))
    return _Group(key, _text([Field(field.path.removeprefix(begin), field.tests) for field in fields]))


def _text(fields: Sequence[Field]) -> str:
    return text_of(EventPattern((Alternative(tuple(fields)),)))


def _first_key(path: str) -> str:
    return path.partition(".")[0]


def _check_name(path: str) -> None:
    if path in ("", _WHOLE) or not _first_key(path):
        raise NotSupported(f"a field with the name {path!r} has no name in Vedette's language")
