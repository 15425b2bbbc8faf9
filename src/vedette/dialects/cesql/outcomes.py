"""Where is an expression true, where false, and where does it go wrong? In tests of attributes, wherever they can say.

What an operand may be is decided by the type that it is cast to: the type of a constant or of an operator is known
from the text, that of an attribute only when an event comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from vedette.dialects.cesql import attributes
from vedette.dialects.cesql.conditions import (
    ALWAYS,
    FALSE,
    NEVER,
    TRUE,
    Outcome,
    Part,
    absent,
    all_of,
    any_of,
    both,
    differing,
    either,
    is_text,
    present,
)
from vedette.dialects.cesql.demands import left_to_operator
from vedette.dialects.cesql.evaluate import Result, evaluate
from vedette.dialects.cesql.functions import find
from vedette.dialects.cesql.integers import CANONICAL, Intervals, has, mirrored, moved, others, united
from vedette.dialects.cesql.likes import own_pattern, parts_of
from vedette.dialects.cesql.nodes import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Call,
    Comparator,
    Comparison,
    Exists,
    Expression,
    In,
    Like,
    Literal,
    Logic,
    Negate,
    Not,
    Value,
    children,
)
from vedette.dialects.cesql.parser import INTEGERS
from vedette.dialects.cesql.values import NO_ATTRIBUTES, REQUIRED, STRINGS, Kind, cast, kind_of
from vedette.language.ast import Filter
from vedette.language.likes import Wildcard


def known(node: Expression) -> Result | None:
    """The value of an expression that no attribute has a part in."""
    return None if _reads(node) else evaluate(node, {})


def _reads(node: Expression) -> bool:
    match node:
        case Attribute(name):
            return name not in NO_ATTRIBUTES
        case Exists(name):
            return name not in NO_ATTRIBUTES and name not in REQUIRED
    return any(map(_reads, children(node)))


def type_of(node: Expression) -> Kind | None:
    """The type of an expression, whatever the event; None: the event says it."""
    match node:
        case Attribute():
            return None
        case Literal(value):
            return kind_of(value)
        case Negate() | Arithmetic():
            return Kind.INTEGER
        case Call(name, arguments):
            function = find(name, len(arguments))
            return Kind.BOOLEAN if function is None else function.gives
    return Kind.BOOLEAN


class Outcomes:
    """Of the expressions of one text."""

    def __init__(self, source: str) -> None:
        self.source = source

    def of(self, node: Expression) -> Outcome:
        """Of a Boolean expression."""
        result = known(node)
        if result is not None:
            value = result.value
            return NEVER if result.problems else ALWAYS if value is True else ALWAYS.inverse
        found, left = self._said(node), left_to_operator(node, self.source, type_of(node))
        return left if found is None else found.otherwise(left)

    def _said(self, node: Expression) -> Outcome | None:
        match node:
            case Logic("XOR", parts):
                return reduce(differing, map(self.as_boolean, parts))
            case Logic(op, parts):
                outcomes = [self.as_boolean(part) for part in parts]
                return both(outcomes) if op == "AND" else either(outcomes)
            case Not(operand):
                return self._inverse(operand)
            case Exists(name):
                return Outcome(present(name), absent(name), TRUE)
            case Comparison(op, left, right):
                return self._compared(op, left, right)
            case Like(operand, pattern, negated):
                found = self._like(operand, pattern)
                return found.inverse if found is not None and negated else found
            case In(operand, items, negated):
                found = self._among(operand, items)
                return found.inverse if found is not None and negated else found
            case Call(name, arguments):
                return self._called(name, arguments)
        return None

    # ------------------------------------------------------------ operators

    def _inverse(self, operand: Expression) -> Outcome | None:
        match type_of(operand), operand:
            case Kind.BOOLEAN, _:
                return self.of(operand).inverse
            case Kind.INTEGER, _:
                return NEVER
            case _, (Attribute(name) | Call("STRING", (Attribute(name),))):
                return attributes.truth_text(name).inverse
        return None

    def _compared(self, op: Comparator, left: Expression, right: Expression) -> Outcome | None:
        if known(left) is not None and known(right) is None:
            constant, other = known(left), right
        else:
            constant, other = known(right), left
        if constant is not None and constant.problems:
            return NEVER
        if op in ("=", "!="):
            found = self._equal(left, right)
            return found.inverse if found is not None and op == "!=" else found
        if constant is None:
            return None
        bound = cast(constant.value, Kind.INTEGER)
        if bound.wrong is not None:
            return NEVER
        return self.as_integer(other, _range(MIRRORED[op] if other is right else op, int(bound.value)))

    def _equal(self, left: Expression, right: Expression) -> Outcome | None:
        """`left` is cast to the type of `right`."""
        x, y, kind = known(left), known(right), type_of(right)
        if y is not None:
            return self._is(left, kind_of(y.value), y.value)
        if x is not None and kind is None:
            return attributes.one_of(right.name, [x.value]) if isinstance(right, Attribute) else None
        if x is not None and kind is not None:
            made = cast(x.value, kind)
            return NEVER if made.wrong is not None else self._is(right, kind, made.value)
        if kind is Kind.BOOLEAN:
            return differing(self.as_boolean(left), self.of(right)).inverse
        match left, right:
            case Attribute(one), Attribute(other) if other in STRINGS:
                return attributes.same_text(one, other)
        return None

    def _is(self, node: Expression, kind: Kind, value: Value) -> Outcome | None:
        """As a value of this type, it is this one."""
        if kind is Kind.STRING:
            return self.as_string(node, str(value))
        if kind is Kind.INTEGER:
            return self.as_integer(node, ((int(value), int(value)),))
        found = self.as_boolean(node)
        return found if value else found.inverse

    def _among(self, operand: Expression, items: Sequence[Expression]) -> Outcome | None:
        sought, results = known(operand), [known(item) for item in items]
        if any(result is not None and result.problems for result in (sought, *results)):
            return NEVER
        if sought is not None:  # each item is cast to its type
            asked = [self._is(item, kind_of(sought.value), sought.value) for item in items]
            return _any_fine([each for each in asked if each is not None]) if None not in asked else None
        constants = [result.value for result in results if result is not None]
        kind = type_of(operand)
        if len(constants) < len(results):
            return None
        if kind is None:
            return attributes.one_of(operand.name, constants) if isinstance(operand, Attribute) else None
        made = [cast(constant, kind) for constant in constants]
        if any(each.wrong is not None for each in made):
            return NEVER
        if kind is Kind.INTEGER:
            return self.as_integer(operand, united((int(each.value), int(each.value)) for each in made))
        asked = [self._is(operand, kind, each.value) for each in made]
        return _any_fine([each for each in asked if each is not None]) if None not in asked else None

    def _like(self, operand: Expression, pattern: str) -> Outcome | None:
        parts = parts_of(pattern)
        literal = "".join(part for part in parts if isinstance(part, str))
        match operand:
            case Call("LOWER", (Attribute(name) | Call("STRING", (Attribute(name),)),)):
                if literal != literal.lower():
                    return _only_fails(present(name))
                return attributes.tested(is_text("like", name, own_pattern(pattern), ignore_case=True), name)
            case Attribute(name) | Call("STRING", (Attribute(name),)):
                if not any(isinstance(part, Wildcard) for part in parts):
                    return attributes.equals(name, literal)
                return attributes.tested(is_text("like", name, own_pattern(pattern)), name)
        return None

    def _called(self, name: str, arguments: Sequence[Expression]) -> Outcome | None:
        """A function that gives a Boolean."""
        if find(name, len(arguments)) is None:
            return NEVER
        match name, arguments[0]:
            case "BOOL", argument:
                return self.as_boolean(argument)
            case "IS_INT", Attribute(attribute):
                return attributes.looks_integral(attribute)
            case "IS_BOOL", Attribute(attribute):
                return attributes.looks_boolean(attribute)
        return None

    # ------------------------------------------------------------ operands

    def as_boolean(self, node: Expression) -> Outcome:
        """An operand that is cast to Boolean."""
        result = known(node)
        if result is not None:
            made = cast(result.value, Kind.BOOLEAN)
            wrong = result.problems or made.wrong is not None
            return NEVER if wrong else ALWAYS if made.value else ALWAYS.inverse
        kind = type_of(node)
        if kind is Kind.BOOLEAN:
            return self.of(node)
        found: Outcome | None = None
        match node:
            case Attribute(name):
                found = attributes.boolean(name)
            case Call("STRING", (Attribute(name),)):
                found = attributes.boolean(name, as_string=True)
        if kind is Kind.INTEGER:
            found = self.as_integer(node, others(((0, 0),)))
        return left_to_operator(node, self.source, kind) if found is None else found

    def as_string(self, node: Expression, value: str) -> Outcome | None:
        """An operand that is cast to String, and whether it is this one."""
        kind = type_of(node)
        if kind is Kind.BOOLEAN:
            found = self.of(node)
            if value in ("true", "false"):
                return found if value == "true" else found.inverse
            return _only_fails(lambda: found.fine)
        if kind is Kind.INTEGER:
            whole = CANONICAL.match(value) and len(value) <= 11 and int(value) in INTEGERS
            return self.as_integer(node, ((int(value), int(value)),) if whole else ())
        match node:
            case Attribute(name) | Call("STRING", (Attribute(name),)):
                return attributes.equals(name, value)
            case Call("STRING", (operand,)):
                return self.as_string(operand, value)
            case Call("LOWER", (Attribute(name) | Call("STRING", (Attribute(name),)),)):
                if value != value.lower():
                    return _only_fails(present(name))
                return attributes.in_lower_case(name, value)
            case Call("LEFT" | "RIGHT" as side, (Attribute(name), count)):
                number = _integer(known(count))
                if number is None:
                    return None
                return NEVER if number < 0 else attributes.at_edge(name, value, number, left=side == "LEFT")
        return None

    def as_integer(self, node: Expression, yes: Intervals, no: Intervals | None = None) -> Outcome | None:
        """An operand that is cast to Integer, and whether it is one of `yes` or one of `no`; all else is an error."""
        no = others(yes) if no is None else no
        match node:
            case Attribute(name):
                return attributes.as_integer(name, yes, no)
            case Call("STRING", (Attribute(name),)):
                return attributes.as_integer(name, yes, no, as_string=True)
            case Call("INT", (operand,)):
                return self.as_integer(operand, yes, no)
            case Call("LENGTH", (Attribute(name),)):
                return attributes.length(name, yes, no)
            case Negate(operand):
                return self.as_integer(operand, mirrored(yes), mirrored(no))
            case Arithmetic("+" | "-" as sign, left, right):
                return self._shifted(sign, left, right, yes, no)
        if type_of(node) is Kind.BOOLEAN:
            return _as_number(self.of(node), yes, no)
        return None

    def _shifted(self, sign: str, left: Expression, right: Expression, yes: Intervals, no: Intervals) -> Outcome | None:
        """A sum or difference with a constant."""
        first, second = _integer(known(left)), _integer(known(right))
        if second is not None:
            by = -second if sign == "+" else second
            return self.as_integer(left, moved(yes, by), moved(no, by))
        if first is not None and sign == "+":
            return self.as_integer(right, moved(yes, -first), moved(no, -first))
        if first is not None:
            return self.as_integer(right, mirrored(yes, first), mirrored(no, first))
        return None


def _integer(result: Result | None) -> int | None:
    """A constant as an Integer, if nothing is wrong with it."""
    if result is None or result.problems:
        return None
    made = cast(result.value, Kind.INTEGER)
    return int(made.value) if made.wrong is None else None


def _range(op: Comparator, bound: int) -> Intervals:
    low, high = INTEGERS[0], INTEGERS[-1]
    found = {"<": (low, bound - 1), "<=": (low, bound), ">": (bound + 1, high), ">=": (bound, high)}
    return united([found[op]])


def _only_fails(fine: Part) -> Outcome:
    """Never true, and false wherever nothing goes wrong."""
    return Outcome(FALSE, fine, fine)


def _as_number(truth: Outcome, yes: Intervals, no: Intervals) -> Outcome:
    """A Boolean that is cast to Integer: 1 or 0."""

    def where(numbers: Intervals) -> Filter:
        parts = [truth.holds] if has(numbers, 1) else []
        return any_of(*parts, *([truth.fails] if has(numbers, 0) else []))

    both_known = has((*yes, *no), 0) and has((*yes, *no), 1)
    return Outcome(
        lambda: where(yes), lambda: where(no), lambda: truth.fine if both_known else any_of(where(yes), where(no))
    )


def _any_fine(outcomes: Sequence[Outcome]) -> Outcome:
    """Some are true, but nothing may go wrong in any of them."""

    def fine() -> Filter:
        return all_of(*(each.fine for each in outcomes))

    return Outcome(
        lambda: all_of(any_of(*(each.holds for each in outcomes)), fine()),
        lambda: all_of(*(each.fails for each in outcomes)),
        fine,
    )
