"""Parses CloudEvents SQL: the grammar of its specification (2.1 to 2.4), with the precedence of 3.6.

Functions, then `NOT` and `-`, then LIKE, EXISTS and IN, then `* / %`, `+ -`, comparisons, and at last AND, OR and XOR,
which are equal. Operators of one kind associate from the left.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

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
    children,
)
from vedette.errors import DialectError, LimitError
from vedette.language.ast import Span
from vedette.language.hints import similar


class CesqlTokenKind(enum.Enum):
    """The kinds of tokens; a keyword or sign is identified by its text."""

    KEYWORD = "keyword"
    WORD = "word"  # an attribute or a function
    INTEGER = "integer"
    STRING = "string"
    SIGN = "sign"
    END = "end"


class CesqlToken(NamedTuple):
    """A token with its value: a keyword in upper case, a string without its quotes."""

    kind: CesqlTokenKind
    text: str
    start: int
    end: int

    def says(self, *texts: str) -> bool:
        """Whether the token is one of these keywords or signs."""
        return self.text in texts and self.kind in (CesqlTokenKind.KEYWORD, CesqlTokenKind.SIGN)


KEYWORDS: Final = frozenset({"AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"})

_TOKEN: Final = re.compile(
    r"""
      [A-Za-z0-9_]++
    | '(?:[^'\\]|\\.)*+'
    | "(?:[^"\\]|\\.)*+"
    | <= | >= | <> | != | [=<>+\-*/%(),]
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_HINTS: Final = {
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT, and != for 'is not equal to'",
    ".": "an expression reads context attributes, which have no parts; what is in `data` cannot be reached",
    ";": "an expression ends without a sign",
    "`": "names of attributes stand without quotes",
    **dict.fromkeys("‘’´“”„«»", "strings stand between straight quotes: 'text'"),
}


def scan(text: str) -> list[CesqlToken]:
    """All tokens of a text; the last one is the end. Linear in its length."""
    found: list[CesqlToken] = []
    place = _spaces(text, 0)
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _no_token(text, place)
        found.append(_token(match.group(), place, match.end()))
        place = _spaces(text, match.end())
    found.append(CesqlToken(CesqlTokenKind.END, "", len(text), len(text)))
    return found


def _spaces(text: str, place: int) -> int:
    spaces = _SPACE.match(text, place)
    return place if spaces is None else spaces.end()


def _token(found: str, start: int, end: int) -> CesqlToken:
    first = found[0]
    if first in "'\"":
        return CesqlToken(
            CesqlTokenKind.STRING, _ESCAPED.sub(lambda pair: _unescaped(pair, first), found[1:-1]), start, end
        )
    if not (first.isalnum() or first == "_"):
        return CesqlToken(CesqlTokenKind.SIGN, found, start, end)
    if found.upper() in KEYWORDS:
        return CesqlToken(CesqlTokenKind.KEYWORD, found.upper(), start, end)
    return CesqlToken(CesqlTokenKind.INTEGER if found.isdigit() else CesqlTokenKind.WORD, found, start, end)


def _unescaped(pair: re.Match[str], quote: str) -> str:
    """Resolve escapes: a backslash before a quote keeps it from ending the string; elsewhere it is a backslash."""
    return quote if pair.group(1) == quote else pair.group()


def _no_token(text: str, place: int) -> DialectError:
    found = text[place]
    if found in "'\"":
        return DialectError(
            "a string that is not closed",
            text=text,
            start=place,
            end=len(text),
            hint=f"close it with {found}, and write \\{found} for a quote inside it",
        )
    return DialectError(f"unexpected {found!r}", text=text, start=place, hint=_HINTS.get(found))


TEXT_CHARACTERS: Final = 128 * 1024
NESTING: Final = 64  # parentheses, `NOT`s, signs, arguments inside one another
HEIGHT: Final = 64  # depth of the syntax tree, which long chains of operators of several kinds reach, too
_WRAPPING: Final = 32
INTEGERS: Final = range(-(2**31), 2**31)

_FUNCTION: Final = re.compile(r"[A-Za-z][A-Za-z_]*\Z")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z0-9]+\Z")


@functools.lru_cache(maxsize=16_384)
def parse(text: str, *, wrapped: bool = False) -> CesqlExpression:
    """Parse an expression; DialectError shows what is wrong and where, LimitError refuses what costs too much.

    `wrapped` allows for what is added around a part of another expression that is left to an operator.
    """
    room = _WRAPPING if wrapped else 0
    if len(text) > TEXT_CHARACTERS + room:
        raise LimitError(f"an expression of {len(text):,} characters: the limit is {TEXT_CHARACTERS:,}")
    root = _CesqlParser(text, NESTING + room).whole()
    if _height(root) > HEIGHT + room:
        raise LimitError(
            f"more than {HEIGHT} operators inside one another", text=text, hint="split it into several subscriptions"
        )
    return root


class _CesqlParser:
    """A cursor over tokens; every method reads one rule of the grammar."""

    def __init__(self, text: str, nesting: int) -> None:
        self.text = text
        self.nesting = nesting
        self.tokens = scan(text)
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> CesqlToken:
        return self.tokens[self.at]

    def whole(self) -> CesqlExpression:
        if self.token.kind is CesqlTokenKind.END:
            raise self.error("there is no expression", self.token, "such as type = 'com.example.created'")
        found = self.logic()
        self.take(CesqlTokenKind.END, "an operator such as AND, = or LIKE")
        return found

    def logic(self) -> CesqlExpression:
        left = self.comparison()
        while self.token.says("AND", "OR", "XOR"):
            op = self.take().text
            right = self.comparison()
            # Operands are collected in one node as long as the operator is the same.
            parts = left.parts if isinstance(left, CesqlLogic) and left.op == op else (left,)
            left = CesqlLogic(cast("Any", op), (*parts, right), _over(left, right))
        return left

    def comparison(self) -> CesqlExpression:
        return self._chain(self.additive, ("=", "!=", "<>", "<", "<=", ">", ">="), CesqlComparison)

    def additive(self) -> CesqlExpression:
        return self._chain(self.multiplicative, ("+", "-"), CesqlArithmetic)

    def multiplicative(self) -> CesqlExpression:
        return self._chain(self.tested, ("*", "/", "%"), CesqlArithmetic)

    def _chain(self, operand: Callable[[], CesqlExpression], signs: tuple[str, ...], node: Any) -> CesqlExpression:
        left = operand()
        while self.token.says(*signs):
            sign = self.take().text
            right = operand()
            left = node("!=" if sign == "<>" else sign, left, right, _over(left, right))
        return left

    def tested(self) -> CesqlExpression:
        """An operand, with any number of LIKE and IN after it."""
        found = self.unary()
        while self.token.says("NOT", "LIKE", "IN"):
            negated = self.token.says("NOT")
            if negated:
                self.take()
            if self.token.says("LIKE"):
                self.take()
                pattern = self.take(
                    CesqlTokenKind.STRING, "a pattern", "the pattern of LIKE is a string: LIKE 'com.example.%'"
                )
                found = CesqlLike(found, pattern.text, negated, Span(found.span.start, pattern.end))
            elif self.token.says("IN"):
                self.take()
                items = self.listed("a set", least=1)
                found = CesqlIn(found, items, negated, Span(found.span.start, self.tokens[self.at - 1].end))
            else:
                raise self.unexpected("LIKE or IN")
        return found

    def unary(self) -> CesqlExpression:
        token = self.token
        if token.says("NOT"):
            self.take()
            operand = self.deeper(self.unary)
            return CesqlNot(operand, Span(token.start, operand.span.end))
        if token.says("+", "-"):
            behind = self.tokens[self.at + 1]
            if behind.kind is CesqlTokenKind.INTEGER and behind.start == token.end:
                self.take()
                return self.integer(token)
            if token.says("-"):
                self.take()
                operand = self.deeper(self.unary)
                return CesqlNegate(operand, Span(token.start, operand.span.end))
        return self.primary()

    def primary(self) -> CesqlExpression:
        token = self.token
        span = Span(token.start, token.end)
        if token.says("("):
            self.take()
            inside = self.deeper(self.logic)
            return replace(inside, span=Span(token.start, self.take(")", "')'").end))
        if token.says("EXISTS"):
            self.take()
            name = self.name("EXISTS is followed by the name of an attribute: EXISTS subject")
            return CesqlExists(name.text.lower(), Span(token.start, name.end))
        if token.says("TRUE", "FALSE"):
            return CesqlLiteral(self.take().text == "TRUE", span)
        if token.kind is CesqlTokenKind.STRING:
            self.take()
            if self.token.kind is CesqlTokenKind.STRING and self.token.start == token.end:
                hint = "a quote inside a string is written with a backslash: 'it\\'s'"
                raise self.error("a second string right behind the first", self.token, hint)
            return CesqlLiteral(token.text, span)
        if token.kind is CesqlTokenKind.INTEGER:
            return self.integer()
        if token.kind is CesqlTokenKind.WORD and self.tokens[self.at + 1].says("("):
            return self.call()
        return CesqlAttribute(self.name().text.lower(), span)

    def integer(self, sign: CesqlToken | None = None) -> CesqlLiteral:
        token = self.take()
        span = Span(token.start if sign is None else sign.start, token.end)
        digits = token.text.lstrip("0") or "0"
        if len(digits) <= 10:
            value = -int(digits) if sign is not None and sign.text == "-" else int(digits)
            if value in INTEGERS:
                return CesqlLiteral(value, span)
        hint = f"from {INTEGERS[0]} to {INTEGERS[-1]}"
        raise DialectError(
            "an Integer has 32 bits, and this one is too large",
            text=self.text,
            start=span.start,
            end=span.end,
            hint=hint,
        )

    def call(self) -> CesqlExpression:
        token = self.take()
        if not _FUNCTION.match(token.text):
            raise self.error(f"{token.text!r} cannot be a function", token, "their names have letters and _ only")
        arguments = self.listed("the arguments", least=0)
        return CesqlCall(token.text.upper(), arguments, Span(token.start, self.tokens[self.at - 1].end))

    def listed(self, what: str, *, least: int) -> tuple[CesqlExpression, ...]:
        """Expressions in parentheses, between commas."""
        self.take("(", f"'(' before {what}")
        found: list[CesqlExpression] = []
        if least or not self.token.says(")"):
            found.append(self.deeper(self.logic))
            while self.token.says(","):
                self.take()
                found.append(self.deeper(self.logic))
        self.take(")", "',' or ')'")
        return tuple(found)

    def name(self, hint: str | None = None) -> CesqlToken:
        token = self.token
        if token.kind not in (CesqlTokenKind.WORD, CesqlTokenKind.INTEGER):
            wanted = "an attribute" if hint else "an attribute, a constant, a function or '('"
            raise self.unexpected(wanted, hint)
        if not _ATTRIBUTE.match(token.text):
            raise self.error(f"{token.text!r} cannot be an attribute", token, "names have letters and digits only")
        return self.take()

    def take(self, wanted: CesqlTokenKind | str | None = None, called: str = "", hint: str | None = None) -> CesqlToken:
        """Step over a token, which must be of this kind or this sign, and return it."""
        token = self.token
        fits = wanted is None or (token.kind is wanted if isinstance(wanted, CesqlTokenKind) else token.says(wanted))
        if not fits:
            raise self.unexpected(called, hint)
        self.at += 1
        return token

    def deeper(self, rule: Callable[[], CesqlExpression]) -> CesqlExpression:
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
        found = "the end" if token.kind is CesqlTokenKind.END else repr(self.text[token.start : token.end])
        return self.error(f"expected {wanted}, found {found}", token, hint or self._hint())

    def error(self, message: str, token: CesqlToken, hint: str | None = None) -> DialectError:
        return DialectError(message, text=self.text, start=token.start, end=token.end, hint=hint)

    def _hint(self) -> str | None:
        """A hint at what the writer may have meant."""
        token = self.token
        before = self.tokens[self.at - 1] if self.at else None
        if token.says("=") and before is not None and before.says("="):
            return "equality is written ="
        if token.says(")") and before is not None and before.says("("):
            return "there has to be something between the parentheses"
        if token.kind is not CesqlTokenKind.WORD:
            return None
        word = token.text.upper()
        if word == "IS":
            return "write EXISTS x, or NOT EXISTS x"
        if word == "BETWEEN":
            return "write x >= 1 AND x <= 5"
        near = similar(word, ("AND", "OR", "XOR", "LIKE", "IN", "NOT"))
        return f"did you mean {near}?" if near else None


def _over(left: CesqlExpression, right: CesqlExpression) -> Span:
    return Span(left.span.start, right.span.end)


def _height(root: CesqlExpression) -> int:
    level, height = [root], 0
    while level and height <= HEIGHT + _WRAPPING:
        level, height = [child for node in level for child in children(node)], height + 1
    return height
