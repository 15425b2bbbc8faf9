"""AND, OR and NOT with Sigma's meaning: a test of an attribute that is missing is false, and its negation true.

What is unknown in the language counts as false at the top of a filter, so only negation needs care: it is pushed down
to the tests, and becomes `a is null or not (…)` there, once for all joined tests of an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from vedette.language import ast

_Subjects: TypeAlias = tuple[ast.Operand, ...]


def every(parts: Iterable[ast.Filter]) -> ast.Filter:
    """The AND of parts."""
    return _joined(ast.And, parts)


def some(parts: Iterable[ast.Filter]) -> ast.Filter:
    """The OR of parts."""
    return _joined(ast.Or, parts)


def none(part: ast.Filter) -> ast.Filter:
    """The negation of a part: it is false or unknown."""
    match part:
        case ast.TruthLiteral():
            return ast.TruthLiteral(part.value is not True)
        case ast.IsNull():
            return ast.Not(part)
        case ast.Not(ast.IsNull() as missing):
            return missing
        case ast.Or((ast.IsNull(subject), ast.Not(inner))) if _subjects(inner) == (subject,):
            return inner  # already made by this function
        case ast.And():
            return some(_apart(part.parts, ast.And))
        case ast.Or():
            return every(_apart(part.parts, ast.Or))
        case ast.Not():
            return some((*map(ast.IsNull, _subjects(part.part) or ()), part.part))
    return _missing_or_not(_subjects(part) or (), part)


def _apart(parts: Sequence[ast.Filter], kind: type[ast.And | ast.Or]) -> list[ast.Filter]:
    """The negations of joined parts; tests of one attribute stay together, as one part."""
    together: dict[_Subjects | int, list[ast.Filter]] = {}
    for number, part in enumerate(parts):
        together.setdefault(_subjects(part) or number, []).append(part)
    return [
        none(tests[0]) if isinstance(whose, int) else _missing_or_not(whose, _joined(kind, tests))
        for whose, tests in together.items()
    ]


def _missing_or_not(subjects: _Subjects, test: ast.Filter) -> ast.Filter:
    return some((*map(ast.IsNull, subjects), ast.Not(test)))


def _subjects(part: ast.Filter) -> _Subjects | None:
    """The operands of tests that are false if these are missing; None if the tests do not share them."""
    match part:
        case ast.And() | ast.Or():
            found = {_subjects(one) for one in part.parts}
            return found.pop() if len(found) == 1 else None
        case ast.Test() if part.needs_values:
            subjects = map(_subject, part.operands())
            return tuple(dict.fromkeys(each for each in subjects if each is not None)) or None
    return None


def _subject(operand: ast.Operand) -> ast.Operand | None:
    """The operand that is null if the attribute is missing: for `any(texts(a))` it is `texts(a)`."""
    match operand:
        case ast.QuantifiedAttribute():
            return operand.attribute
        case ast.Attribute() | ast.View():
            return operand
    return None


def _joined(kind: type[ast.And | ast.Or], parts: Iterable[ast.Filter]) -> ast.Filter:
    flat: dict[ast.Filter, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, kind) else (part,))
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))
