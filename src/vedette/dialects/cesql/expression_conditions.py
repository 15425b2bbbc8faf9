"""Translates expressions to conditions: when they are true, false, or an error, as tests of attributes if possible.

The valid values of an operand depend on the type that it is cast to: the type of a constant or of an operator is known
from the text, that of an attribute only for each event.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from vedette.dialects.cesql import attribute_tests
from vedette.dialects.cesql.attribute_tests import CANONICAL, IntegerIntervals, has, mirrored, moved, others, united
from vedette.dialects.cesql.conditions import (
    ALWAYS,
    FALSE,
    NEVER,
    TRUE,
    LazyFilter,
    TruthConditions,
    absent,
    all_of,
    any_of,
    both,
    differing,
    either,
    is_text,
    present,
)
from vedette.dialects.cesql.evaluate import CesqlResult, evaluate, own_pattern, parts_of
from vedette.dialects.cesql.nodes import (
    MIRRORED,
    CesqlArithmetic,
    CesqlAttribute,
    CesqlCall,
    CesqlComparator,
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
    children,
)
from vedette.dialects.cesql.parser import INTEGERS
from vedette.dialects.cesql.preconditions import left_to_operator
from vedette.dialects.cesql.values import NO_ATTRIBUTES, REQUIRED, STRINGS, CesqlType, cast, find, kind_of
from vedette.language.ast import Filter
from vedette.language.likes import LikeWildcard


def constant_value(node: CesqlExpression) -> CesqlResult | None:
    """The value of an expression without attributes; None if it has some."""
    return None if _reads(node) else evaluate(node, {})


def _reads(node: CesqlExpression) -> bool:
    match node:
        case CesqlAttribute(name):
            return name not in NO_ATTRIBUTES
        case CesqlExists(name):
            return name not in NO_ATTRIBUTES and name not in REQUIRED
    return any(map(_reads, children(node)))


def type_of(node: CesqlExpression) -> CesqlType | None:
    """The type of an expression for all events; None: it depends on the event."""
    match node:
        case CesqlAttribute():
            return None
        case CesqlLiteral(value):
            return kind_of(value)
        case CesqlNegate() | CesqlArithmetic():
            return CesqlType.INTEGER
        case CesqlCall(name, arguments):
            function = find(name, len(arguments))
            return CesqlType.BOOLEAN if function is None else function.gives
    return CesqlType.BOOLEAN


class ExpressionConditions:
    """Makes the conditions of the expressions of one text."""

    def __init__(self, source: str) -> None:
        self.source = source

    def of(self, node: CesqlExpression) -> TruthConditions:
        """The conditions of a Boolean expression."""
        result = constant_value(node)
        if result is not None:
            value = result.value
            return NEVER if result.problems else ALWAYS if value is True else ALWAYS.inverse
        found, left = self._said(node), left_to_operator(node, self.source, type_of(node))
        return left if found is None else found.otherwise(left)

    def _said(self, node: CesqlExpression) -> TruthConditions | None:
        match node:
            case CesqlLogic("XOR", parts):
                return reduce(differing, map(self.as_boolean, parts))
            case CesqlLogic(op, parts):
                outcomes = [self.as_boolean(part) for part in parts]
                return both(outcomes) if op == "AND" else either(outcomes)
            case CesqlNot(operand):
                return self._inverse(operand)
            case CesqlExists(name):
                return TruthConditions(present(name), absent(name), TRUE)
            case CesqlComparison(op, left, right):
                return self._compared(op, left, right)
            case CesqlLike(operand, pattern, negated):
                found = self._like(operand, pattern)
                return found.inverse if found is not None and negated else found
            case CesqlIn(operand, items, negated):
                found = self._among(operand, items)
                return found.inverse if found is not None and negated else found
            case CesqlCall(name, arguments):
                return self._called(name, arguments)
        return None

    # ------------------------------------------------------------ operators

    def _inverse(self, operand: CesqlExpression) -> TruthConditions | None:
        match type_of(operand), operand:
            case CesqlType.BOOLEAN, _:
                return self.of(operand).inverse
            case CesqlType.INTEGER, _:
                return NEVER
            case _, (CesqlAttribute(name) | CesqlCall("STRING", (CesqlAttribute(name),))):
                return attribute_tests.truth_text(name).inverse
        return None

    def _compared(self, op: CesqlComparator, left: CesqlExpression, right: CesqlExpression) -> TruthConditions | None:
        if constant_value(left) is not None and constant_value(right) is None:
            constant, other = constant_value(left), right
        else:
            constant, other = constant_value(right), left
        if constant is not None and constant.problems:
            return NEVER
        if op in ("=", "!="):
            found = self._equal(left, right)
            return found.inverse if found is not None and op == "!=" else found
        if constant is None:
            return None
        bound = cast(constant.value, CesqlType.INTEGER)
        if bound.wrong is not None:
            return NEVER
        return self.as_integer(other, _range(MIRRORED[op] if other is right else op, int(bound.value)))

    def _equal(self, left: CesqlExpression, right: CesqlExpression) -> TruthConditions | None:
        """`left = right`, where `left` is cast to the type of `right`."""
        x, y, kind = constant_value(left), constant_value(right), type_of(right)
        if y is not None:
            return self._is(left, kind_of(y.value), y.value)
        if x is not None and kind is None:
            return attribute_tests.one_of(right.name, [x.value]) if isinstance(right, CesqlAttribute) else None
        if x is not None and kind is not None:
            made = cast(x.value, kind)
            return NEVER if made.wrong is not None else self._is(right, kind, made.value)
        if kind is CesqlType.BOOLEAN:
            return differing(self.as_boolean(left), self.of(right)).inverse
        match left, right:
            case CesqlAttribute(one), CesqlAttribute(other) if other in STRINGS:
                return attribute_tests.same_text(one, other)
        return None

    def _is(self, node: CesqlExpression, kind: CesqlType, value: Value) -> TruthConditions | None:
        """The expression, cast to this type, equals this value."""
        if kind is CesqlType.STRING:
            return self.as_string(node, str(value))
        if kind is CesqlType.INTEGER:
            return self.as_integer(node, ((int(value), int(value)),))
        found = self.as_boolean(node)
        return found if value else found.inverse

    def _among(self, operand: CesqlExpression, items: Sequence[CesqlExpression]) -> TruthConditions | None:
        sought, results = constant_value(operand), [constant_value(item) for item in items]
        if any(result is not None and result.problems for result in (sought, *results)):
            return NEVER
        if sought is not None:  # each item is cast to its type
            asked = [self._is(item, kind_of(sought.value), sought.value) for item in items]
            return _any_fine([each for each in asked if each is not None]) if None not in asked else None
        constants = [result.value for result in results if result is not None]
        return self._one_of(operand, constants) if len(constants) == len(results) else None

    def _one_of(self, operand: CesqlExpression, constants: Sequence[Value]) -> TruthConditions | None:
        """Whether an expression is one of some constants."""
        kind = type_of(operand)
        if kind is None:
            return attribute_tests.one_of(operand.name, constants) if isinstance(operand, CesqlAttribute) else None
        made = [cast(constant, kind) for constant in constants]
        if any(each.wrong is not None for each in made):
            return NEVER
        if kind is CesqlType.INTEGER:
            return self.as_integer(operand, united((int(each.value), int(each.value)) for each in made))
        asked = [self._is(operand, kind, each.value) for each in made]
        return _any_fine([each for each in asked if each is not None]) if None not in asked else None

    def _like(self, operand: CesqlExpression, pattern: str) -> TruthConditions | None:
        parts = parts_of(pattern)
        literal = "".join(part for part in parts if isinstance(part, str))
        match operand:
            case CesqlCall("LOWER", (CesqlAttribute(name) | CesqlCall("STRING", (CesqlAttribute(name),)),)):
                if literal != literal.lower():
                    return _only_fails(present(name))
                return attribute_tests.tested(is_text("like", name, own_pattern(pattern), ignore_case=True), name)
            case CesqlAttribute(name) | CesqlCall("STRING", (CesqlAttribute(name),)):
                if not any(isinstance(part, LikeWildcard) for part in parts):
                    return attribute_tests.equals(name, literal)
                return attribute_tests.tested(is_text("like", name, own_pattern(pattern)), name)
        return None

    def _called(self, name: str, arguments: Sequence[CesqlExpression]) -> TruthConditions | None:
        """A call of a function whose result is a Boolean."""
        if find(name, len(arguments)) is None:
            return NEVER
        match name, arguments[0]:
            case "BOOL", argument:
                return self.as_boolean(argument)
            case "IS_INT", CesqlAttribute(attribute):
                return attribute_tests.looks_integral(attribute)
            case "IS_BOOL", CesqlAttribute(attribute):
                return attribute_tests.looks_boolean(attribute)
        return None

    # ------------------------------------------------------------ operands

    def as_boolean(self, node: CesqlExpression) -> TruthConditions:
        """An operand that is cast to Boolean."""
        result = constant_value(node)
        if result is not None:
            made = cast(result.value, CesqlType.BOOLEAN)
            wrong = result.problems or made.wrong is not None
            return NEVER if wrong else ALWAYS if made.value else ALWAYS.inverse
        kind = type_of(node)
        if kind is CesqlType.BOOLEAN:
            return self.of(node)
        found: TruthConditions | None = None
        match node:
            case CesqlAttribute(name):
                found = attribute_tests.boolean(name)
            case CesqlCall("STRING", (CesqlAttribute(name),)):
                found = attribute_tests.boolean(name, as_string=True)
        if kind is CesqlType.INTEGER:
            found = self.as_integer(node, others(((0, 0),)))
        return left_to_operator(node, self.source, kind) if found is None else found

    def as_string(self, node: CesqlExpression, value: str) -> TruthConditions | None:
        """An operand that is cast to String, and compared with this one."""
        kind = type_of(node)
        if kind is CesqlType.BOOLEAN:
            found = self.of(node)
            if value in ("true", "false"):
                return found if value == "true" else found.inverse
            return _only_fails(lambda: found.fine)
        if kind is CesqlType.INTEGER:
            whole = CANONICAL.match(value) and len(value) <= 11 and int(value) in INTEGERS
            return self.as_integer(node, ((int(value), int(value)),) if whole else ())
        match node:
            case CesqlAttribute(name) | CesqlCall("STRING", (CesqlAttribute(name),)):
                return attribute_tests.equals(name, value)
            case CesqlCall("STRING", (operand,)):
                return self.as_string(operand, value)
            case CesqlCall("LOWER", (CesqlAttribute(name) | CesqlCall("STRING", (CesqlAttribute(name),)),)):
                if value != value.lower():
                    return _only_fails(present(name))
                return attribute_tests.in_lower_case(name, value)
            case CesqlCall("LEFT" | "RIGHT" as side, (CesqlAttribute(name), count)):
                number = _integer(constant_value(count))
                if number is None:
                    return None
                return NEVER if number < 0 else attribute_tests.at_edge(name, value, number, left=side == "LEFT")
        return None

    def as_integer(
        self, node: CesqlExpression, yes: IntegerIntervals, no: IntegerIntervals | None = None
    ) -> TruthConditions | None:
        """An operand that is cast to Integer: true for `yes`, false for `no`; all else is an error."""
        no = others(yes) if no is None else no
        match node:
            case CesqlAttribute(name):
                return attribute_tests.as_integer(name, yes, no)
            case CesqlCall("STRING", (CesqlAttribute(name),)):
                return attribute_tests.as_integer(name, yes, no, as_string=True)
            case CesqlCall("INT", (operand,)):
                return self.as_integer(operand, yes, no)
            case CesqlCall("LENGTH", (CesqlAttribute(name),)):
                return attribute_tests.length(name, yes, no)
            case CesqlNegate(operand):
                return self.as_integer(operand, mirrored(yes), mirrored(no))
            case CesqlArithmetic("+" | "-" as sign, left, right):
                return self._shifted(sign, left, right, yes, no)
        if type_of(node) is CesqlType.BOOLEAN:
            return _as_number(self.of(node), yes, no)
        return None

    def _shifted(
        self, sign: str, left: CesqlExpression, right: CesqlExpression, yes: IntegerIntervals, no: IntegerIntervals
    ) -> TruthConditions | None:
        """A sum or difference with a constant."""
        first, second = _integer(constant_value(left)), _integer(constant_value(right))
        if second is not None:
            by = -second if sign == "+" else second
            return self.as_integer(left, moved(yes, by), moved(no, by))
        if first is not None and sign == "+":
            return self.as_integer(right, moved(yes, -first), moved(no, -first))
        if first is not None:
            return self.as_integer(right, mirrored(yes, first), mirrored(no, first))
        return None


def _integer(result: CesqlResult | None) -> int | None:
    """A constant as an Integer; None if it has an error."""
    if result is None or result.problems:
        return None
    made = cast(result.value, CesqlType.INTEGER)
    return int(made.value) if made.wrong is None else None


def _range(op: CesqlComparator, bound: int) -> IntegerIntervals:
    low, high = INTEGERS[0], INTEGERS[-1]
    found = {"<": (low, bound - 1), "<=": (low, bound), ">": (bound + 1, high), ">=": (bound, high)}
    return united([found[op]])


def _only_fails(fine: LazyFilter) -> TruthConditions:
    """Conditions that are never true, and false whenever there is no error."""
    return TruthConditions(FALSE, fine, fine)


def _as_number(truth: TruthConditions, yes: IntegerIntervals, no: IntegerIntervals) -> TruthConditions:
    """A Boolean that is cast to Integer: 1 or 0."""

    def where(numbers: IntegerIntervals) -> Filter:
        parts = [truth.holds] if has(numbers, 1) else []
        return any_of(*parts, *([truth.fails] if has(numbers, 0) else []))

    both_known = has((*yes, *no), 0) and has((*yes, *no), 1)
    return TruthConditions(
        lambda: where(yes), lambda: where(no), lambda: truth.fine if both_known else any_of(where(yes), where(no))
    )


def _any_fine(outcomes: Sequence[TruthConditions]) -> TruthConditions:
    """Some are true, and none has an error."""

    def fine() -> Filter:
        return all_of(*(each.fine for each in outcomes))

    return TruthConditions(
        lambda: all_of(any_of(*(each.holds for each in outcomes)), fine()),
        lambda: all_of(*(each.fails for each in outcomes)),
        fine,
    )
