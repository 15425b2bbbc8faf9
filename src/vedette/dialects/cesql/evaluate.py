"""Evaluates an expression on one event: its value and its errors (3.1 to 3.7 of the specification).

Before anything else a backslash is a backslash, which Vedette's own patterns do not allow.

Every expression has a value, also after an error. An operator or function with an error in an operand has the zero
value of its type; one that cannot cast an operand continues with the value that the failed cast gives.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from vedette.dialects.cesql.nodes import (
    CesqlArithmetic,
    CesqlAttribute,
    CesqlCall,
    CesqlComparison,
    CesqlExists,
    CesqlExpression,
    CesqlIn,
    CesqlLike,
    CesqlLiteral,
    CesqlLogic,
    CesqlNegate,
    CesqlNot,
    Value,
)
from vedette.dialects.cesql.parser import INTEGERS, parse
from vedette.dialects.cesql.values import (
    NO_ATTRIBUTES,
    REQUIRED,
    ZERO,
    CesqlType,
    ErrorKind,
    attribute,
    cast,
    find,
    kind_of,
    to_string,
)
from vedette.language.likes import LikePiece, LikeWildcard, pieces

_BACKSLASH: Final = re.compile(r"\\([%_]?)")


def own_pattern(pattern: str) -> str:
    """The equivalent pattern of Vedette's language."""
    return _BACKSLASH.sub(lambda found: found.group() if found.group(1) else r"\\", pattern)


def parts_of(pattern: str) -> list[LikePiece]:
    """Split a pattern into plain texts and wildcards."""
    return pieces(own_pattern(pattern))


def is_like(text: str, pattern: str) -> bool:
    """Whether the whole text matches the pattern."""
    segments = _segments(pattern)
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return len(text) == first.length and first.at(text, 0)
    place, end = first.length, len(text) - last.length
    if place > end or not first.at(text, 0) or not last.at(text, end):
        return False
    for segment in segments[1:-1]:  # each at its first occurrence, which leaves the most text for those after it
        found = segment.search(text, place, end)
        if found is None:
            return False
        place = found.end()
    return True


class _LikeSegment:
    """The part of a pattern between two `%`; its length is fixed, so the search never backtracks."""

    def __init__(self, parts: list[LikePiece]) -> None:
        self.length = sum(1 if isinstance(part, LikeWildcard) else len(part) for part in parts)
        written = ("." if isinstance(part, LikeWildcard) else re.escape(part) for part in parts)
        compiled = re.compile("".join(written), re.DOTALL)
        self.search, self._match = compiled.search, compiled.match

    def at(self, text: str, place: int) -> bool:
        return self._match(text, place) is not None


@functools.lru_cache(maxsize=4_096)
def _segments(pattern: str) -> list[_LikeSegment]:
    found: list[list[LikePiece]] = [[]]
    for part in parts_of(pattern):
        if part is LikeWildcard.ANY:
            found.append([])
        else:
            found[-1].append(part)
    return [_LikeSegment(parts) for parts in found]


class CesqlProblem(NamedTuple):
    """One error of an evaluation."""

    kind: ErrorKind
    message: str


class CesqlResult(NamedTuple):
    """The value and the errors of an evaluation."""

    value: Value
    problems: tuple[CesqlProblem, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the event passes, if the expression is a filter: it is the Boolean true, without errors."""
        return self.value is True and not self.problems


def evaluate(expression: str | CesqlExpression, event: Mapping[str, Any]) -> CesqlResult:
    """Evaluate an expression for a CloudEvent, whose attributes are the event's; DialectError if it is not one."""
    node = parse(expression) if isinstance(expression, str) else expression
    evaluation = _CesqlEvaluation(event)
    value = evaluation.value(node)
    return CesqlResult(value, tuple(evaluation.problems))


class _CesqlEvaluation:
    """The evaluation of one event, with the errors so far."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = event
        self.problems: list[CesqlProblem] = []

    def value(self, node: CesqlExpression) -> Value:
        return _VALUES[type(node)](self, node)

    def literal(self, node: CesqlLiteral) -> Value:
        return node.value

    def attribute(self, node: CesqlAttribute) -> Value:
        found = attribute(self.event, node.name)
        if found is None:
            self.wrong(ErrorKind.MISSING_ATTRIBUTE, f"the event has no attribute {node.name!r}")
            return False  # an unknown type is Boolean
        return found

    def operands(self, *nodes: CesqlExpression) -> list[Value] | None:
        """The values of operands, or None if one of them has an error."""
        before = len(self.problems)
        values = [self.value(node) for node in nodes]
        return values if len(self.problems) == before else None

    def cast(self, value: Value, kind: CesqlType) -> Any:
        if kind_of(value) is kind:
            return value
        made = cast(value, kind)
        if made.wrong is not None:
            self.wrong(ErrorKind.CAST, made.wrong)
        return made.value

    def wrong(self, kind: ErrorKind, message: str) -> None:
        self.problems.append(CesqlProblem(kind, message))

    # ------------------------------------------------------------ Boolean

    def exists(self, node: CesqlExists) -> bool:
        return node.name in REQUIRED or (node.name not in NO_ATTRIBUTES and self.event.get(node.name) is not None)

    def logic(self, node: CesqlLogic) -> bool:
        """AND, or OR: the value that decides ends it. The parts so far are the left operand of the next one."""
        if node.op == "XOR":
            return self.exclusive(node.parts)
        decides, parts = node.op == "OR", node.parts
        before, value = len(self.problems), not decides
        for number, part in enumerate(parts):
            if number > 1 and len(self.problems) > before:
                return False
            found = self.operands(part)
            if found is None:
                return False
            value = self.cast(found[0], CesqlType.BOOLEAN)
            if value is decides:
                return value if len(parts) == 2 or len(self.problems) == before else False
        return value

    def exclusive(self, parts: tuple[CesqlExpression, ...]) -> bool:
        values = self.operands(*parts)
        return values is not None and sum(self.cast(value, CesqlType.BOOLEAN) for value in values) % 2 == 1

    def inverse(self, node: CesqlNot) -> bool:
        values = self.operands(node.operand)
        if values is None:
            return False
        if kind_of(values[0]) is CesqlType.INTEGER:  # as the conformance cases have it
            self.wrong(ErrorKind.CAST, f"NOT takes a Boolean, and {values[0]} is an Integer")
            return True
        return not self.cast(values[0], CesqlType.BOOLEAN)

    def comparison(self, node: CesqlComparison) -> bool:
        values = self.operands(node.left, node.right)
        if values is None:
            return False
        left, right = values
        if node.op in ("=", "!="):
            return (self.cast(left, kind_of(right)) == right) is (node.op == "=")
        x, y = self.cast(left, CesqlType.INTEGER), self.cast(right, CesqlType.INTEGER)
        if node.op in ("<", "<="):
            return bool(x < y or (node.op == "<=" and x == y))
        return bool(x > y or (node.op == ">=" and x == y))

    def like(self, node: CesqlLike) -> bool:
        values = self.operands(node.operand)
        return values is not None and is_like(to_string(values[0]), node.pattern) is not node.negated

    def among(self, node: CesqlIn) -> bool:
        values = self.operands(node.operand, *node.items)
        if values is None:
            return False
        sought, *items = values
        found = [self.cast(item, kind_of(sought)) == sought for item in items]
        return any(found) is not node.negated

    # ------------------------------------------------------------ Integer

    def negative(self, node: CesqlNegate) -> int:
        values = self.operands(node.operand)
        return 0 if values is None else self.fitting(-self.cast(values[0], CesqlType.INTEGER))

    def arithmetic(self, node: CesqlArithmetic) -> int:
        values = self.operands(node.left, node.right)
        if values is None:
            return 0
        x, y = (self.cast(value, CesqlType.INTEGER) for value in values)
        match node.op:
            case "+":
                return self.fitting(x + y)
            case "-":
                return self.fitting(x - y)
            case "*":
                return self.fitting(x * y)
        if y == 0:
            self.wrong(ErrorKind.MATH, "a division by zero")
            return 0
        quotient = abs(x) // abs(y) if (x < 0) is (y < 0) else -(abs(x) // abs(y))
        return self.fitting(quotient) if node.op == "/" else x - quotient * y

    def fitting(self, number: int) -> int:
        if number in INTEGERS:
            return number
        self.wrong(ErrorKind.MATH, f"{number} is too large for an Integer")
        return 0

    # ------------------------------------------------------------ functions

    def call(self, node: CesqlCall) -> Value:
        function = find(node.name, len(node.arguments))
        if function is None:
            count = len(node.arguments)
            self.wrong(ErrorKind.MISSING_FUNCTION, f"there is no function {node.name} of {count} arguments")
            return False
        values = self.operands(*node.arguments)
        if values is None:
            return ZERO[function.gives]
        kinds = [function.kind_of(place) for place in range(len(values))]
        given = [value if kind is None else self.cast(value, kind) for value, kind in zip(values, kinds, strict=True)]
        found = function.run(*given)
        if found.kind is not None:
            self.wrong(found.kind, found.wrong)
        return found.value


_VALUES: Final[Mapping[type, Callable[[_CesqlEvaluation, Any], Value]]] = {
    CesqlLiteral: _CesqlEvaluation.literal,
    CesqlAttribute: _CesqlEvaluation.attribute,
    CesqlExists: _CesqlEvaluation.exists,
    CesqlLogic: _CesqlEvaluation.logic,
    CesqlNot: _CesqlEvaluation.inverse,
    CesqlComparison: _CesqlEvaluation.comparison,
    CesqlLike: _CesqlEvaluation.like,
    CesqlIn: _CesqlEvaluation.among,
    CesqlNegate: _CesqlEvaluation.negative,
    CesqlArithmetic: _CesqlEvaluation.arithmetic,
    CesqlCall: _CesqlEvaluation.call,
}
