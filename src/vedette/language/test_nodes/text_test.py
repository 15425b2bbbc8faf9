"""Tests of a text: `like`, `contains`, `startswith`, `endswith`, `matches`, `fits`, and the same in any case."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vedette.language.checked_tree import Atom, Part
from vedette.language.constant_errors import refusal
from vedette.language.distances import shown_literal
from vedette.language.likes import ESCAPE, LikeWildcard, escaped, pattern_of, pieces
from vedette.language.literals import check_like, event_pattern_fields, regex_instructions
from vedette.language.normalform import TextProbe
from vedette.language.render import constant, render, string
from vedette.language.subjects import Subject, SubjectNode
from vedette.language.syntax import (
    Comparator,
    Evidence,
    Literal,
    Operand,
    QuantifiedAttribute,
    Span,
    TextKind,
    ValueTest,
    span_field,
)
from vedette.language.test_nodes.comparison import Comparison
from vedette.language.three_valued import Truth
from vedette.language.type_families import example, named, not_text, shown
from vedette.language.value_bounds import Values, equal, prefixed
from vedette.language.valuesets import NOTHING, PRESENT, ValueSet, complement
from vedette.schema.types import Kind, Type

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker

_COSTS: Final = {"matches": 5.0, "contains": 2.0, "endswith": 2.0, "like": 2.0}


@dataclass(frozen=True, slots=True)
class TextTest(ValueTest):
    """A test of a string; `contains` on a list attribute looks for an equal element, `fits` tests an event pattern."""

    NAME = "text test"
    READ_AS: ClassVar[tuple[Kind, ...] | None] = (Kind.STRING,)

    operand: Operand
    kind: TextKind
    pattern: Literal
    ignore_case: bool = False
    escape: str = "\\"
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        word = ("i" if self.ignore_case else "") + self.kind
        escape = f" escape {string(self.escape)}" if self.kind == "like" and self.escape != "\\" else ""
        return render(self.operand), f"{word} {constant(self.pattern.value)}{escape}"

    @property
    def cost(self) -> float:
        """What looks into the whole text costs more."""
        return _COSTS.get(self.kind, 1.0)

    # ------------------------------------------------------------ types

    def evidence(self) -> Iterator[Evidence]:
        """The operand is a text; of `contains` perhaps a list."""
        yield Evidence(self.operand, None, Kind.STRING, self.kind == "contains" and not self.ignore_case)

    def check(self, checker: FilterChecker) -> Part:
        """An atom; the pattern is checked again, since trees are also made without the parser."""
        if not isinstance(self.operand, SubjectNode):
            return checker.residual(self, self.operand)
        subject = checker.subject(self.operand, list_is_fine=self.kind == "contains")
        pattern, declared = self.pattern.value, subject.type
        if declared is not None and declared.is_list and subject.quantifier is None:
            return self._check_list(checker, subject, declared)
        kind = Kind.STRING if declared is None else declared.kind
        if kind is not Kind.STRING:
            hint = f"write {subject.name} in cidr '10.0.0.0/8'" if kind is Kind.IP else None
            message = f"{subject.name} is {named(Type(kind))}, and {self.kind} is a test of text"
            checker.fail(message, self.operand.span, hint)
        if pattern is not None:
            if not isinstance(pattern, str):
                message = f"{self.kind} needs a text, not {shown(pattern)}"
                checker.fail(message, self.pattern.span, example(Kind.STRING))
            reason = self._refusal(pattern)
            if reason is not None:
                checker.fail(reason, self.pattern.span)
        return Atom(self, self, subject.elements(Kind.STRING), subject.quantifier)

    def _check_list(self, checker: FilterChecker, subject: Subject, declared: Type) -> Part:
        """Check `contains` on a list: some element equals the constant."""
        element = QuantifiedAttribute("any", subject.of, subject.of.span)
        if self.ignore_case and declared.kind is Kind.STRING and isinstance(self.pattern.value, str):
            same = replace(self.pattern, value=escaped(self.pattern.value))
            test = TextTest(element, "like", same, True, ESCAPE, self.span)
            return Atom(self, test, subject.column(Kind.STRING, True), "any")
        column, (literal,) = checker.fitted(subject, (self.pattern,))
        return Atom(self, Comparison(element, Comparator.EQ, literal, self.span), column, "any")

    def _refusal(self, pattern: str) -> str | None:
        """Why a text is not a pattern of the test; None if it is one."""
        reason = not_text(pattern)
        if reason is None and self.kind == "like":
            return refusal(check_like, pattern, self.escape)
        if reason is None and self.kind == "matches":
            return refusal(regex_instructions, pattern, self.ignore_case)
        if reason is None and self.kind == "fits":
            return refusal(event_pattern_fields, pattern)
        return reason

    # ------------------------------------------------------------ meaning

    def holds(self, value: Any) -> Truth:
        """By Python's own methods of texts."""
        pattern = self.pattern.value
        if value is None or not isinstance(pattern, str):
            return None
        return text_holds(self.kind, pattern, value, escape=self.escape, ignore_case=self.ignore_case)

    def values(self, kind: Kind, positive: bool) -> Values | TextProbe:
        """The texts, if they are an interval; else the test in its simplest form."""
        if self.pattern.value is None:
            return NOTHING
        found = self._values(str(self.pattern.value))
        return found if positive or not isinstance(found, ValueSet) else complement(found)

    def _values(self, pattern: str) -> Values | TextProbe:
        kind, ignore_case = self.kind, self.ignore_case
        if kind == "fits":
            return TextProbe("fits", pattern)
        if kind == "matches":
            return TextProbe("matches", f"(?i){pattern}" if ignore_case else pattern)
        found: TextProbe
        if kind == "like":
            found = _like_probe(pattern, self.escape, ignore_case)
        else:
            found = TextProbe(kind, pattern.lower() if ignore_case else pattern, ignore_case)
        if found.kind != "like" and not found.pattern:
            return PRESENT
        if not ignore_case:
            if found.kind == "startswith":
                return prefixed(found.pattern)
            if found.kind == "like":
                parts = pieces(found.pattern)
                if all(isinstance(part, str) for part in parts):
                    return equal(Kind.STRING, "".join(map(str, parts)))
        return found

    def phrase(self) -> str:
        """`like 'a%'`."""
        return f"{self.kind} {shown_literal(self.pattern)}{' in any case' if self.ignore_case else ''}"


def _like_probe(pattern: str, escape: str, ignore_case: bool) -> TextProbe:
    parts = [part.lower() if ignore_case and isinstance(part, str) else part for part in pieces(pattern, escape)]
    match parts:
        case [LikeWildcard.ANY]:
            return TextProbe("contains", "", ignore_case)
        case [str(text), LikeWildcard.ANY]:
            return TextProbe("startswith", text, ignore_case)
        case [LikeWildcard.ANY, str(text)]:
            return TextProbe("endswith", text, ignore_case)
        case [LikeWildcard.ANY, str(text), LikeWildcard.ANY]:
            return TextProbe("contains", text, ignore_case)
    return TextProbe("like", pattern_of(parts), ignore_case)


def text_holds(kind: str, pattern: str, value: str, *, escape: str, ignore_case: bool) -> bool:
    """Whether an elementary test of a text holds."""
    if kind == "fits":
        return _event_pattern(pattern, value)
    if kind == "matches":
        return _regex(f"(?i){pattern}" if ignore_case else pattern).search(value) is not None
    if kind == "like":
        return like(value, pattern, escape, ignore_case)
    if ignore_case:
        value, pattern = value.lower(), pattern.lower()
    if kind == "contains":
        return pattern in value
    return value.startswith(pattern) if kind == "startswith" else value.endswith(pattern)


def _event_pattern(pattern: str, text: str) -> bool:
    from vedette.language.documents.document_match import fits_text

    return fits_text(pattern, text)


@functools.lru_cache(maxsize=1024)
def _regex(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def like(value: str, pattern: str, escape: str, ignore_case: bool) -> bool:
    """SQL's LIKE, as a regular expression over whole characters."""
    made = ""
    for piece in pieces(pattern, escape):
        if isinstance(piece, LikeWildcard):
            made += ".*" if piece is LikeWildcard.ANY else "."
        else:
            made += re.escape(piece.lower() if ignore_case else piece)
    return re.fullmatch(made, value.lower() if ignore_case else value, re.DOTALL) is not None
