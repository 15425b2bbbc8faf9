"""Text -> nodes of CloudEvents SQL: the grammar of its specification (2.1 to 2.4), with the precedence of 3.6.

Functions, then `NOT` and `-`, then LIKE, EXISTS and IN, then `* / %`, `+ -`, comparisons, and at last AND, OR and XOR,
which are equal. Operators of one kind are taken from left to right.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from vedette.dialects.cesql.lexer import Kind, Token, scan
from vedette.dialects.cesql.nodes import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Exists,
    Expression,
    In,
    Like,
    Literal,
    Logic,
    Negate,
    Not,
    children,
)
from vedette.errors import DialectError, LimitError
from vedette.language.ast import Span
from vedette.language.hints import similar

TEXT_CHARACTERS: Final = 128 * 1024
NESTING: Final = 64  # parentheses, `NOT`s, signs, arguments inside one another
HEIGHT: Final = 64  # of what a text says, as a tree: also long chains of operators of several kinds
_WRAPPING: Final = 32
INTEGERS: Final = range(-(2**31), 2**31)

_FUNCTION: Final = re.compile(r"[A-Za-z][A-Za-z_]*\Z")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z0-9]+\Z")


@functools.lru_cache(maxsize=16_384)
def parse(text: str, *, wrapped: bool = False) -> Expression:
    """What an expression says; DialectError shows what is wrong and where, LimitError refuses what costs too much.

    `wrapped`: what is needed to leave a part of another expression to an operator may stand around it.
    """
    room = _WRAPPING if wrapped else 0
    if len(text) > TEXT_CHARACTERS + room:
        raise LimitError(f"an expression of {len(text):,} characters: the limit is {TEXT_CHARACTERS:,}")
    root = _Parser(text, NESTING + room).whole()
    if _height(root) > HEIGHT + room:
        raise LimitError(
            f"more than {HEIGHT} operators inside one another", text=text, hint="split it into several subscriptions"
        )
    return root


class _Parser:
    """A cursor over tokens; every method reads one rule of the grammar."""

    def __init__(self, text: str, nesting: int) -> None:
        self.text = text
        self.nesting = nesting
        self.tokens = scan(text)
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def whole(self) -> Expression:
        if self.token.kind is Kind.END:
            raise self.error("there is no expression", self.token, "such as type = 'com.example.created'")
        found = self.logic()
        self.take(Kind.END, "an operator such as AND, = or LIKE")
        return found

    def logic(self) -> Expression:
        left = self.comparison()
        while self.token.says("AND", "OR", "XOR"):
            op = self.take().text
            right = self.comparison()
            # What is taken together from the left is one node as long as the operator is the same.
            parts = left.parts if isinstance(left, Logic) and left.op == op else (left,)
            left = Logic(cast("Any", op), (*parts, right), _over(left, right))
        return left

    def comparison(self) -> Expression:
        return self._chain(self.additive, ("=", "!=", "<>", "<", "<=", ">", ">="), Comparison)

    def additive(self) -> Expression:
        return self._chain(self.multiplicative, ("+", "-"), Arithmetic)

    def multiplicative(self) -> Expression:
        return self._chain(self.tested, ("*", "/", "%"), Arithmetic)

    def _chain(self, operand: Callable[[], Expression], signs: tuple[str, ...], node: Any) -> Expression:
        left = operand()
        while self.token.says(*signs):
            sign = self.take().text
            right = operand()
            left = node("!=" if sign == "<>" else sign, left, right, _over(left, right))
        return left

    def tested(self) -> Expression:
        """An operand, with any number of LIKE and IN behind it."""
        found = self.unary()
        while self.token.says("NOT", "LIKE", "IN"):
            negated = self.token.says("NOT")
            if negated:
                self.take()
            if self.token.says("LIKE"):
                self.take()
                pattern = self.take(Kind.STRING, "a pattern", "the pattern of LIKE is a string: LIKE 'com.example.%'")
                found = Like(found, pattern.text, negated, Span(found.span.start, pattern.end))
            elif self.token.says("IN"):
                self.take()
                items = self.listed("a set", least=1)
                found = In(found, items, negated, Span(found.span.start, self.tokens[self.at - 1].end))
            else:
                raise self.unexpected("LIKE or IN")
        return found

    def unary(self) -> Expression:
        token = self.token
        if token.says("NOT"):
            self.take()
            operand = self.deeper(self.unary)
            return Not(operand, Span(token.start, operand.span.end))
        if token.says("+", "-"):
            behind = self.tokens[self.at + 1]
            if behind.kind is Kind.INTEGER and behind.start == token.end:
                self.take()
                return self.integer(token)
            if token.says("-"):
                self.take()
                operand = self.deeper(self.unary)
                return Negate(operand, Span(token.start, operand.span.end))
        return self.primary()

    def primary(self) -> Expression:
        token = self.token
        span = Span(token.start, token.end)
        if token.says("("):
            self.take()
            inside = self.deeper(self.logic)
            return replace(inside, span=Span(token.start, self.take(")", "')'").end))
        if token.says("EXISTS"):
            self.take()
            name = self.name("EXISTS is followed by the name of an attribute: EXISTS subject")
            return Exists(name.text.lower(), Span(token.start, name.end))
        if token.says("TRUE", "FALSE"):
            return Literal(self.take().text == "TRUE", span)
        if token.kind is Kind.STRING:
            self.take()
            if self.token.kind is Kind.STRING and self.token.start == token.end:
                hint = "a quote inside a string is written with a backslash: 'it\\'s'"
                raise self.error("a second string right behind the first", self.token, hint)
            return Literal(token.text, span)
        if token.kind is Kind.INTEGER:
            return self.integer()
        if token.kind is Kind.WORD and self.tokens[self.at + 1].says("("):
            return self.call()
        return Attribute(self.name().text.lower(), span)

    def integer(self, sign: Token | None = None) -> Literal:
        token = self.take()
        span = Span(token.start if sign is None else sign.start, token.end)
        digits = token.text.lstrip("0") or "0"
        if len(digits) <= 10:
            value = -int(digits) if sign is not None and sign.text == "-" else int(digits)
            if value in INTEGERS:
                return Literal(value, span)
        hint = f"from {INTEGERS[0]} to {INTEGERS[-1]}"
        raise DialectError(
            "an Integer has 32 bits, and this one is too large",
            text=self.text,
            start=span.start,
            end=span.end,
            hint=hint,
        )

    def call(self) -> Expression:
        token = self.take()
        if not _FUNCTION.match(token.text):
            raise self.error(f"{token.text!r} cannot be a function", token, "their names have letters and _ only")
        arguments = self.listed("the arguments", least=0)
        return Call(token.text.upper(), arguments, Span(token.start, self.tokens[self.at - 1].end))

    def listed(self, what: str, *, least: int) -> tuple[Expression, ...]:
        """Expressions in parentheses, between commas."""
        self.take("(", f"'(' before {what}")
        found: list[Expression] = []
        if least or not self.token.says(")"):
            found.append(self.deeper(self.logic))
            while self.token.says(","):
                self.take()
                found.append(self.deeper(self.logic))
        self.take(")", "',' or ')'")
        return tuple(found)

    def name(self, hint: str | None = None) -> Token:
        token = self.token
        if token.kind not in (Kind.WORD, Kind.INTEGER):
            wanted = "an attribute" if hint else "an attribute, a constant, a function or '('"
            raise self.unexpected(wanted, hint)
        if not _ATTRIBUTE.match(token.text):
            raise self.error(f"{token.text!r} cannot be an attribute", token, "names have letters and digits only")
        return self.take()

    def take(self, wanted: Kind | str | None = None, called: str = "", hint: str | None = None) -> Token:
        """The token, which has to be of this kind or this sign, and on to the next."""
        token = self.token
        fits = wanted is None or (token.kind is wanted if isinstance(wanted, Kind) else token.says(wanted))
        if not fits:
            raise self.unexpected(called, hint)
        self.at += 1
        return token

    def deeper(self, rule: Callable[[], Expression]) -> Expression:
        self.depth += 1
        if self.depth > self.nesting:
            raise LimitError(
                f"more than {self.nesting} levels inside one another",
                text=self.text,
                start=self.token.start,
                hint="split it into several subscriptions",
            )
        found = rule()
        self.depth -= 1
        return found

    def unexpected(self, wanted: str, hint: str | None = None) -> DialectError:
        token = self.token
        found = "the end" if token.kind is Kind.END else repr(self.text[token.start : token.end])
        return self.error(f"expected {wanted}, found {found}", token, hint or self._hint())

    def error(self, message: str, token: Token, hint: str | None = None) -> DialectError:
        return DialectError(message, text=self.text, start=token.start, end=token.end, hint=hint)

    def _hint(self) -> str | None:
        """What the writer may have meant."""
        token = self.token
        before = self.tokens[self.at - 1] if self.at else None
        if token.says("=") and before is not None and before.says("="):
            return "equality is written ="
        if token.says(")") and before is not None and before.says("("):
            return "there has to be something between the parentheses"
        if token.kind is not Kind.WORD:
            return None
        word = token.text.upper()
        if word == "IS":
            return "write EXISTS x, or NOT EXISTS x"
        if word == "BETWEEN":
            return "write x >= 1 AND x <= 5"
        near = similar(word, ("AND", "OR", "XOR", "LIKE", "IN", "NOT"))
        return f"did you mean {near}?" if near else None


def _over(left: Expression, right: Expression) -> Span:
    return Span(left.span.start, right.span.end)


def _height(root: Expression) -> int:
    level, height = [root], 0
    while level and height <= HEIGHT + _WRAPPING:
        level, height = [child for node in level for child in children(node)], height + 1
    return height
