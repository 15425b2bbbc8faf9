"""And, or, not as Sigma means them: a test of an attribute that is missing is false, and its negation true.

What the language calls unknown counts as false wherever a filter is asked for, so only negation needs care: it is
pushed down to the tests, and there it says `a is null or not (…)`, once for all tests of an attribute that are joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from vedette.language import ast

_Subjects: TypeAlias = tuple[ast.Operand, ...]


def every(parts: Iterable[ast.Filter]) -> ast.Filter:
    """All of them hold."""
    return _joined(ast.And, parts)


def some(parts: Iterable[ast.Filter]) -> ast.Filter:
    """Some of them holds."""
    return _joined(ast.Or, parts)


def none(part: ast.Filter) -> ast.Filter:
    """It does not hold, whether it is false or unknown."""
    match part:
        case ast.Truth():
            return ast.Truth(part.value is not True)
        case ast.IsNull():
            return ast.Not(part)
        case ast.Not(ast.IsNull() as missing):
            return missing
        case ast.Or((ast.IsNull(subject), ast.Not(inner))) if _subjects(inner) == (subject,):
            return inner  # what this function has made
        case ast.And():
            return some(_apart(part.parts, ast.And))
        case ast.Or():
            return every(_apart(part.parts, ast.Or))
        case ast.Not():
            return some((*map(ast.IsNull, _subjects(part.part) or ()), part.part))
    return _missing_or_not(_subjects(part) or (), part)


def _apart(parts: Sequence[ast.Filter], kind: type[ast.And | ast.Or]) -> list[ast.Filter]:
    """The negations of what is joined; tests of one attribute stay together, as one part."""
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
    """What tests speak of that are false where it is missing; None where they do not all speak of the same."""
    match part:
        case ast.And() | ast.Or():
            found = {_subjects(one) for one in part.parts}
            return found.pop() if len(found) == 1 else None
        case ast.Comparison(op=ast.Comparator.SAME):
            return None
        case ast.Comparison() | ast.TextPair():
            sides = (_subject(part.left), _subject(part.right))
            return tuple(dict.fromkeys(side for side in sides if side is not None)) or None
        case ast.TextTest() | ast.In() | ast.InNetwork() | ast.Range() | ast.Within() | ast.Near():
            subject = _subject(part.operand)
            return None if subject is None else (subject,)
    return None


def _subject(operand: ast.Operand) -> ast.Operand | None:
    """What is null where nothing is there: of `any(texts(a))` that is `texts(a)`."""
    match operand:
        case ast.Quantified():
            return operand.attribute
        case ast.Attribute() | ast.View():
            return operand
    return None


def _joined(kind: type[ast.And | ast.Or], parts: Iterable[ast.Filter]) -> ast.Filter:
    flat: dict[ast.Filter, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, kind) else (part,))
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))
