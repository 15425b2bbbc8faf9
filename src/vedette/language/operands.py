"""Parses operands: attributes, constants, variables, arithmetic over them, and whatever may occur in their place."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast, get_args
from typing import Literal as OneOf

from vedette.errors import FilterError
from vedette.language import ast, limits, literals
from vedette.language.ast import EVERYTHING, Arithmetic, Attribute, Literal, Reading, Span
from vedette.language.cursor import WORDS, TokenCursor
from vedette.language.lexer import JOIN, NAME, NUMBER, STRING, VARIABLE, backticked

# The content of parentheses: only what follows them shows whether `(x)` is an operand or a condition.
OperandOrFilter: TypeAlias = ast.Filter | ast.Operand

OPERANDS: Final[frozenset[type]] = frozenset(get_args(ast.Operand))
_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_OPERATORS: Final[Mapping[str, OneOf["+", "-", "*", "/", "%"]]] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_NAMED_CONSTANTS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_READINGS: Final[Mapping[str, Reading]] = {reading: reading for reading in ast.READINGS}
_BEFORE_CONDITIONS: Final = frozenset({"", "and", "or", "not", "(", "["})


def dual(operand: ast.Operand) -> ast.Operand:
    """The operand of a test that is negated after it: `any(x) not in s` is `not all(x) in s`."""
    if isinstance(operand, ast.QuantifiedAttribute):
        return ast.QuantifiedAttribute("all" if operand.quantifier == "any" else "any", operand.attribute, operand.span)
    return operand


class OperandParser(TokenCursor, abc.ABC):
    """The part of the parser that reads operands; what follows may show that one is a condition."""

    height = 0  # of the arithmetic that was parsed last
    in_step = False  # whether join variables are allowed

    @abc.abstractmethod
    def disjunction(self) -> OperandOrFilter:
        """The content of parentheses."""

    # ------------------------------------------------------------ with arithmetic

    def operand(self) -> ast.Operand:
        """An operand with its arithmetic."""
        at = self.at
        return self.as_operand(self.term(), at)

    def as_operand(self, term: OperandOrFilter, at: int) -> ast.Operand:
        """The term that began at a token, which must be an operand."""
        if type(term) not in OPERANDS:
            raise self.no_operand(term, at)
        return cast("ast.Operand", term)

    def no_operand(self, term: OperandOrFilter, at: int) -> FilterError:
        """The error for a condition where a value is expected."""
        help = "a condition is true or false by itself: join it with 'and' or 'or'"
        if isinstance(term, ast.Call):
            help = f"an operator is true or false; let it bind a variable: {term.name}(…, ?v) and ?v > 1"
        return self.error("expected a value, found a condition", self.starts[at], self.ends[self.at - 1], help)

    def term(self, least: int = 0) -> OperandOrFilter:
        """An atom and the operators after it that bind more tightly than `least`."""
        left = self.atom()
        if _PRECEDENCE.get(self.tags[self.at], 0) > least:
            return self.arithmetic(left, least)
        return left

    def arithmetic(self, term: OperandOrFilter, least: int) -> ast.Operand:
        """`left op right op …`, from left to right."""
        first = self.at - 1
        left = self.as_operand(term, first)
        height = self.height if type(left) is Arithmetic else 0
        while (precedence := _PRECEDENCE.get(op := self.tags[self.at], 0)) > least:
            self.at += 1
            begin = self.at
            right = self.as_operand(self.term(precedence), begin)
            height = 1 + max(height, self.height if type(right) is Arithmetic else 0)
            left = self._arithmetic_node(op, left, right, height)
        self._refuse_unquoted_date(first)
        return left

    def _arithmetic_node(self, op: str, left: ast.Operand, right: ast.Operand, height: int) -> Arithmetic:
        if self.depth + height > limits.NESTING:
            raise self.too_deep()
        self.height = height
        self.nodes += 1
        return Arithmetic(_OPERATORS[op], left, right, self.span_from(left.span.start))

    def _refuse_unquoted_date(self, first: int) -> None:
        """Refuse 2024-05-01, which is arithmetic but surely meant as a date."""
        if self.tags[first : first + 5] == [NUMBER, "-", NUMBER, "-", NUMBER]:
            start, end = self.starts[first], self.ends[first + 4]
            year, _, month, _, day = (len(text) for text in self.texts[first : first + 5])
            if (year, month, day) == (4, 2, 2) and end - start == 10:
                found = self.text[start:end]
                raise self.error(f"{found} is not in quotes", start, end, f"write date '{found}'")

    # ------------------------------------------------------------ atoms

    def atom(self) -> OperandOrFilter:
        """One operand without arithmetic, a call, `exists x`, or a parenthesised expression."""
        at = self.at
        tag = self.tags[at]
        if tag == NAME:
            if self.tags[at + 1] == "(":
                return self.view() if self.is_view() else self.call()
            self.at = at + 1
            self.nodes += 1
            return Attribute(self.texts[at], Span(self.starts[at], self.ends[at]))
        if tag == NUMBER:
            return self.number()
        if tag == STRING:
            return self.literal(self.texts[at], at)
        read = _ATOMS.get(tag)
        if read is not None:
            return read(self)
        if tag in WORDS:
            return self.word_or_call()
        before = self.tags[at - 1] if at else ""
        raise self.wrong("a condition" if before in _BEFORE_CONDITIONS else "a value")

    def literal(self, value: ast.Constant, first: int) -> Literal:
        """A constant whose text is the tokens from `first` to this one."""
        self.at += 1
        self.nodes += 1
        return Literal(value, Span(self.starts[first], self.ends[self.at - 1]))

    def number(self) -> Literal:
        """A number without a sign."""
        at = self.at
        text = self.texts[at]
        short = len(text) < 19 and text.isdigit()
        return self.literal(int(text) if short else self.checked(literals.read_number, at), at)

    def attribute(self) -> Attribute:
        """A path; contextual keywords are names here."""
        at = self.at
        if self.tags[at] not in WORDS:
            help = f"a name stands in backticks: {backticked(self.texts[at])}" if self.tags[at] == STRING else None
            raise self.wrong("the name of an attribute", help=help)
        self.at = at + 1
        self.nodes += 1
        return Attribute(self.texts[at], Span(self.starts[at], self.ends[at]))

    def word_or_call(self) -> OperandOrFilter:
        """A name or call that may be a contextual keyword."""
        return self.call() if self.tags[self.at + 1] == "(" else self.attribute()

    def call(self) -> ast.Call:
        """`name(argument, …)`."""
        at = self.at
        self.at = at + 2
        arguments: list[ast.Operand] = []
        if self.tags[self.at] != ")":
            self.deeper()
            arguments.append(self.operand())
            while self.tags[self.at] == ",":
                self.at += 1
                arguments.append(self.operand())
                self.check_nodes()
            self.depth -= 1
        self.close(at + 1, "',' or ')'")
        self.nodes += 1
        return ast.Call(self.texts[at], tuple(arguments), self.span_from(self.starts[at]))

    def is_view(self) -> bool:
        """Whether the next tokens are a view: its name, not in backticks, and in parentheses one path or `*`.

        An operator may have the name of a view: where no value is compared, it is a call of the operator.
        """
        at = self.at
        if self.texts[at].lower() not in _READINGS or self.text[self.starts[at]] == "`":
            return False
        if self.tags[at + 1] != "(" or self.tags[at + 3 : at + 4] != [")"]:
            return False
        inside = self.tags[at + 2]
        return inside == EVERYTHING or (inside in WORDS and self.texts[at + 2] != EVERYTHING)

    def view(self) -> ast.View:
        """`text(p)`, `strings(*)`: an attribute, or the whole event, read leniently."""
        at = self.at
        inside = at + 2
        self.at = at + 4
        self.nodes += 2
        attribute = Attribute(self.texts[inside], Span(self.starts[inside], self.ends[inside]))
        return ast.View(_READINGS[self.texts[at].lower()], attribute, Span(self.starts[at], self.ends[at + 3]))

    def group(self) -> OperandOrFilter:
        """`( … )`, an operand or a condition."""
        at = self.at
        self.deeper()
        self.at = at + 1
        term = self.disjunction()
        self.close(at, "')', 'and' or 'or'" if type(term) not in OPERANDS else "')' or a comparison")
        self.depth -= 1
        return term

    def exists(self) -> OperandOrFilter:
        """`exists x`, `exists(x)`; an attribute of that name if none follows."""
        at = self.at
        following = self.tags[at + 1]
        if following == STRING:
            self.at = at + 1
            return self.attribute()  # which is refused
        if following not in WORDS and following not in ("(", VARIABLE, JOIN):
            return self.attribute()
        self.at = at + 1
        self.deeper()
        operand = self.as_operand(self.atom(), at + 1)
        self.depth -= 1
        self.nodes += 2
        span = self.span_from(self.starts[at])
        return ast.Not(ast.IsNull(dual(operand), span), span)

    def quantified(self) -> OperandOrFilter:
        """`any(tags)`, `all(tags)`."""
        at = self.at
        if self.tags[at + 1] != "(":
            return self.attribute()
        self.at = at + 2
        attribute = self.view() if self.is_view() else self.attribute()
        self.expect(")", help=f"{self.tags[at]}(…) holds the name of one list: {self.tags[at]}(tags) = 'x'")
        self.nodes += 1
        quantifier: OneOf["any", "all"] = "any" if self.tags[at] == "any" else "all"
        return ast.QuantifiedAttribute(quantifier, attribute, self.span_from(self.starts[at]))

    def named_constant(self) -> Literal:
        """`true`, `false`, `null`."""
        return self.literal(_NAMED_CONSTANTS[self.tags[self.at]], self.at)

    def signed(self) -> OperandOrFilter:
        """`-5`, `+5`; `-x` is `0 - x`."""
        at = self.at
        self.deeper()
        self.at = at + 1
        operand = self.as_operand(self.atom(), at + 1)
        self.depth -= 1
        negative = self.tags[at] == "-"
        if isinstance(operand, Literal) and isinstance(operand.value, int | float) and type(operand.value) is not bool:
            return Literal(-operand.value if negative else operand.value, self.span_from(self.starts[at]))
        if not negative:
            return operand
        height = 1 + (self.height if type(operand) is Arithmetic else 0)
        self.nodes += 1
        zero = Literal(0, Span(self.starts[at], self.ends[at]))
        return self._arithmetic_node("-", zero, operand, height)

    def variable(self) -> ast.Variable:
        """`?people`."""
        at = self.at
        self.at = at + 1
        self.nodes += 1
        return ast.Variable(self.texts[at][1:], Span(self.starts[at], self.ends[at]))

    def join_variable(self) -> ast.JoinVariable:
        """`$x`, in a step only."""
        at = self.at
        name, start, end = self.texts[at][1:], self.starts[at], self.ends[at]
        if not self.in_step:
            help = f"a filter sees one event; a variable that an operator binds is ?{name}"
            raise self.error(f"${name} outside a pattern's step", start, end, help)
        self.at = at + 1
        self.nodes += 1
        return ast.JoinVariable(name, Span(start, end))

    # ------------------------------------------------------------ constants with a type

    def typed(self) -> OperandOrFilter:
        """`timestamp '…'` and similar constants; a name if no string follows."""
        at = self.at
        if self.tags[at + 1] != STRING:
            return self.word_or_call()
        self.at = at + 1
        return self.literal(self.checked(literals.TYPED[self.tags[at]], at + 1), at)

    def region(self) -> OperandOrFilter:
        """`region '…'`, `region box(…)`; a name if neither follows."""
        at = self.at
        if self.tags[at + 1] == "box" and self.tags[at + 2] == "(":
            region = self.area()
            self.nodes += 1
            return Literal(region, self.span_from(self.starts[at]))
        return self.typed()

    def area(self) -> ast.Region:
        """`region '…'` or `region box(x1, y1, x2, y2)`."""
        at = self.at + 1
        self.at = at
        if self.tags[at] == STRING:
            self.at = at + 1
            return self.checked(literals.read_region, at)
        if self.tags[at] != "box":
            raise self.wrong(
                "'…' or box(x1, y1, x2, y2)", help="a region is WKT in quotes: 'POLYGON((0 0, 1 0, 1 1, 0 0))'"
            )
        self.at = at + 1
        corners = self.coordinates(4, "box(x1, y1, x2, y2)")
        try:
            return literals.box(*corners)
        except ValueError as problem:
            raise self.error(str(problem), self.starts[at], self.ends[self.at - 1]) from None

    def point(self) -> OperandOrFilter:
        """`point(x, y)`; a name if no parenthesis follows."""
        at = self.at
        if self.tags[at + 1] != "(":
            return self.attribute()
        place = self.place()
        self.nodes += 1
        return Literal(place, self.span_from(self.starts[at]))

    def place(self) -> ast.Point:
        """`point(x, y)`."""
        self.expect("point", "point(longitude, latitude)")
        x, y = self.coordinates(2, "point(longitude, latitude)")
        return ast.Point(x, y)

    def coordinates(self, count: int, form: str) -> list[float]:
        """`(number, …)`."""
        found: list[float] = []
        self.expect("(", form)
        for number in range(count):
            if number:
                self.expect(",", f"',' of {form}")
            found.append(float(self.signed_number(f"a number of {form}")))
        self.expect(")", f"')' of {form}")
        return found

    def signed_number(self, expected: str) -> int | float:
        """A number with or without a sign, as a value."""
        sign = self.tags[self.at]
        self.at += sign in ("-", "+")
        at = self.at
        if self.tags[at] != NUMBER:
            raise self.wrong(expected)
        self.at = at + 1
        number = self.checked(literals.read_number, at)
        try:
            float(number)
        except OverflowError:
            raise self.error("a number beyond every float", self.starts[at], self.ends[at]) from None
        return -number if sign == "-" else number


_ATOMS: Final[Mapping[str, Callable[[OperandParser], OperandOrFilter]]] = {
    "(": OperandParser.group,
    "-": OperandParser.signed,
    "+": OperandParser.signed,
    VARIABLE: OperandParser.variable,
    JOIN: OperandParser.join_variable,
    "exists": OperandParser.exists,
    "any": OperandParser.quantified,
    "all": OperandParser.quantified,
    "point": OperandParser.point,
    "region": OperandParser.region,
    **dict.fromkeys(literals.TYPED.keys() - {"region"}, OperandParser.typed),
    **dict.fromkeys(_NAMED_CONSTANTS, OperandParser.named_constant),
}
