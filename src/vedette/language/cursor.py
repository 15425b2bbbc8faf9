"""The parser's cursor over the tokens: position, limits used so far, and errors at a position."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from vedette.errors import FilterError, LimitError
from vedette.language import limits
from vedette.language.hints import describe, hint, unclosed
from vedette.language.lexer import CONTEXTUAL, END, NAME, Tokens, is_plain_name, scan
from vedette.language.literals import LiteralTooLarge
from vedette.language.syntax import Span
from vedette.schema import paths

Value = TypeVar("Value")

# The tags of words that can be names.
WORDS: Final = CONTEXTUAL | {NAME}
_LONG_NAME: Final = 63  # characters; shorter ones are within all limits


class TokenCursor:
    """The tokens of a text and the index of the next one."""

    depth = 0
    nodes = 0

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Tokens = scan(text)
        self.tags, self.texts, self.starts, self.ends = self.tokens
        self.at = 0
        self._check_names()

    def _check_names(self) -> None:
        """Refuse names of too many or too long parts, anywhere in the text."""
        for at, text in enumerate(self.texts):
            if len(text) > _LONG_NAME and self.tags[at] in WORDS and (problem := paths.over_limit(text)):
                raise self.limit(problem, at, help=paths.SHORTER)

    # ------------------------------------------------------------ moving on

    def expect(self, tag: str, expected: str | None = None, *, help: str | None = None) -> None:
        """Step over a token that must be there."""
        if self.tags[self.at] != tag:
            raise self.wrong(expected or f"'{tag}'", (tag,) if tag.isalpha() else (), help=help)
        self.at += 1

    def close(self, opening: int, expected: str, *, help: str | None = None) -> None:
        """Step over the parenthesis that closes the one at a token."""
        if self.tags[self.at] == END:
            where = FilterError("", text=self.text, start=self.starts[opening])
            help = f"close the '(' of line {where.line}, column {where.column}"
            raise self.wrong(expected, help=help)
        self.expect(")", expected, help=help)

    def plain_name(self, expected: str) -> str:
        """Step over a name without dots and backticks: a label, a unit."""
        at = self.at
        found = self.texts[at]
        if self.tags[at] not in WORDS or not is_plain_name(found) or self.ends[at] - self.starts[at] != len(found):
            raise self.wrong(expected)
        self.at += 1
        return found

    def span_from(self, start: int) -> Span:
        """The span from a position to the end of the last token."""
        return Span(start, self.ends[self.at - 1])

    # ------------------------------------------------------------ saying no

    def wrong(
        self, expected: str, candidates: Iterable[str] = (), *, at: int | None = None, help: str | None = None
    ) -> FilterError:
        """The error that something other than the found token was expected."""
        at = self.at if at is None else at
        message = unclosed(self.tokens, at) or f"expected {expected}, found {describe(self.tokens, at)}"
        return self.error(message, self.starts[at], self.ends[at], help or hint(self.tokens, at, candidates))

    def error(self, message: str, start: int, end: int, help: str | None = None) -> FilterError:
        """An error at a position, with a hint."""
        return FilterError(message, text=self.text, start=start, end=end, hint=help)

    def limit(self, message: str, at: int | None = None, help: str | None = None) -> LimitError:
        """The error for a text that would cost too much."""
        at = min(self.at if at is None else at, len(self.tags) - 1)
        return LimitError(message, text=self.text, start=self.starts[at], end=self.ends[at], hint=help)

    def checked(self, read: Callable[[str], Value], at: int) -> Value:
        """The value of a token's text; an error at the token if it has none."""
        try:
            return read(self.texts[at])
        except LiteralTooLarge as problem:
            raise self.limit(str(problem), at) from None
        except ValueError as problem:
            raise self.error(str(problem), self.starts[at], self.ends[at]) from None

    # ------------------------------------------------------------ limits

    def deeper(self) -> None:
        """Enter one level of nesting; `self.depth -= 1` leaves it."""
        self.depth += 1
        if self.depth > limits.NESTING:
            raise self.too_deep()

    def too_deep(self) -> LimitError:
        """The error for a text that is nested beyond the limit."""
        return self.limit(f"nested more than {limits.NESTING} levels deep", help="write it with fewer levels")

    def check_nodes(self) -> None:
        """Refuse a text of too many parts."""
        if self.nodes > limits.NODES:
            raise self.limit(
                f"more than {limits.NODES:,} parts (conditions, attributes, constants)",
                help="split it into several subscriptions",
            )
