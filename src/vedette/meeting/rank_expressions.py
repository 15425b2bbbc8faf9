"""Parse ranking expressions: `price`, `-price`, `price * lot desc`, `overlap - 0.1 * high(distance)`.

They have the arithmetic of filters (without %) over numbers, times, attributes, `overlap`, and `low(x)` and `high(x)`,
the ends of what both sides allow x to be. `asc` (lowest first, the default) or `desc` may follow.
`-price` is `price desc`, and `overlap` alone is `overlap desc`. An attribute called overlap is written in backticks.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn, cast

from vedette.errors import FilterError, LimitError
from vedette.language import ast, limits
from vedette.language.lexer import END, NAME
from vedette.language.operands import OperandOrFilter, OperandParser
from vedette.language.type_families import similar
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

OVERLAP = "overlap"
_ENDS = ("low", "high")
_ORDERS = {"asc": False, "desc": True}
_KINDS = (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DATE)
_FORMS = "rank by overlap, by an attribute (price, price desc), or by arithmetic (price * lot)"


@dataclass(frozen=True, slots=True)
class RankExpression:
    """A parsed expression: its arithmetic, which end of it counts, and which pairs come first."""

    text: str
    root: ast.Operand | ast.Call
    descending: bool

    def is_overlap(self, node: object) -> bool:
        """Whether a node is the overlap, not an attribute of that name."""
        return isinstance(node, ast.Attribute) and node.path == OVERLAP and self.text[node.span.start] != "`"

    def nodes(self) -> Iterator[ast.Operand | ast.Call]:
        """All nodes of the expression."""
        return _walk(self.root)

    def attributes(self) -> Iterator[ast.Attribute]:
        """The attributes in the expression, with their places."""
        for node in self.nodes():
            if isinstance(node, ast.Attribute) and not self.is_overlap(node):
                yield node

    def fail(self, message: str, node: ast.Operand | ast.Call, hint: str | None) -> NoReturn:
        """A FilterError at a node."""
        raise FilterError(message, text=self.text, start=node.span.start, end=node.span.end, hint=hint)

    def check_type(self, node: ast.Attribute, type_: Type) -> None:
        """FilterError if the expression is not a number."""
        if type_.is_list or type_.kind not in _KINDS:
            self.fail(f"{node.path} is {type_}, and only numbers and times can be ranked by", node, _FORMS)


def read_expression(text: str, schema: Schema) -> RankExpression:
    """Parse an expression; FilterError, with the place, if it is invalid."""
    if len(text) > limits.TEXT_BYTES:
        raise LimitError(f"a text of {len(text):,} characters to rank by: the limit is {limits.TEXT_BYTES:,}")
    parser = _ExpressionParser(text.encode(errors="replace").decode())
    if parser.tags[0] == END:
        raise FilterError("there is nothing to rank by", hint=_FORMS)
    made = parser.expression()
    for node in made.nodes():
        _check(made, node)
    for attribute in made.attributes():
        known = schema.type_of(attribute.path)
        if known is not None:
            made.check_type(attribute, known)
        elif schema.closed:
            hint = similar(attribute.path, [*schema, OVERLAP])
            made.fail(f"unknown attribute {attribute.path} to rank by", attribute, hint)
    return made


class _ExpressionParser(OperandParser):
    """Parses an operand and the order after it."""

    def expression(self) -> RankExpression:
        root = cast("ast.Operand | ast.Call", self.operand())
        descending = _ORDERS.get(self.texts[self.at].lower()) if self.tags[self.at] == NAME else None
        if descending is not None:
            self.at += 1
        if self.tags[self.at] != END:
            raise self.wrong("+, -, *, /, asc, desc or the end", tuple(_ORDERS), help=_FORMS)
        self.check_nodes()
        made = RankExpression(self.text, root, bool(descending))
        if descending is not None:
            return made
        if made.is_overlap(root):
            return RankExpression(self.text, root, True)
        if isinstance(root, ast.Arithmetic) and isinstance(root.right, ast.Attribute) and self._is_sign(root.left):
            return RankExpression(self.text, root.right, True)
        return made

    def disjunction(self) -> OperandOrFilter:
        """The contents of parentheses, where conditions are not allowed."""
        return self.operand()

    def wrong(
        self, expected: str, candidates: Iterable[str] = (), *, at: int | None = None, help: str | None = None
    ) -> FilterError:
        """The same error, without mentioning conditions, which are not allowed here."""
        said = {"a condition": "a value", "')' or a comparison": "')'"}.get(expected, expected)
        return super().wrong(said, candidates, at=at, help=help)

    def as_operand(self, term: OperandOrFilter, at: int) -> ast.Operand:
        """`low(x)` is a number here; other calls and conditions are not."""
        if isinstance(term, ast.Call) and term.name in _ENDS:
            return cast("ast.Operand", term)
        if isinstance(term, ast.Call):
            message = f"{term.name}(…) cannot be ranked by"
            raise self.error(message, term.span.start, term.span.end, "there are low(x) and high(x)")
        return super().as_operand(term, at)

    def no_operand(self, term: OperandOrFilter, at: int) -> FilterError:
        """The error for a condition in the place of a value."""
        return self.error("a condition cannot be ranked by", self.starts[at], self.ends[self.at - 1], _FORMS)

    def _is_sign(self, node: ast.Operand) -> bool:
        return isinstance(node, ast.Literal) and self.text[node.span.start : node.span.end] == "-"


def _walk(node: ast.Operand | ast.Call) -> Iterator[ast.Operand | ast.Call]:
    yield node
    if isinstance(node, ast.Arithmetic):
        yield from _walk(node.left)
        yield from _walk(node.right)
    elif isinstance(node, ast.Call):
        for argument in node.arguments:
            yield from _walk(argument)


def _check(made: RankExpression, node: ast.Operand | ast.Call) -> None:
    if isinstance(node, ast.Arithmetic):
        if node.op == "%":
            made.fail("a remainder cannot be ranked by", node, "there are +, -, * and /")
    elif isinstance(node, ast.Call):
        if [type(one) for one in node.arguments] != [ast.Attribute] or made.is_overlap(node.arguments[0]):
            made.fail(f"{node.name}(…) is of one attribute", node, f"write {node.name}(price)")
    elif isinstance(node, ast.Literal):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if not number and not isinstance(node.value, dt.date):
            made.fail("only numbers and times can be reckoned with", node, _FORMS)
        if isinstance(node.value, int):
            try:
                float(node.value)
            except OverflowError:
                made.fail("a number beyond every float", node, None)
    elif not isinstance(node, ast.Attribute):
        made.fail("this cannot be ranked by", node, _FORMS)
