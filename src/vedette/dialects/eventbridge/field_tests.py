"""Translates a field to tests of the leaves at its path: views, one for each kind of test, joined by `or`."""

from __future__ import annotations

from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Final

from vedette.language import ast
from vedette.language.documents.leaf_tests import networks_of
from vedette.language.documents.nodes import (
    EventPatternField,
    LeafAddress,
    LeafAnythingBut,
    LeafConstant,
    LeafEquals,
    LeafExists,
    LeafInNetwork,
    LeafRange,
    LeafTest,
    LeafTextTest,
    LeafWildcard,
)
from vedette.language.documents.text_case import expression, is_plain, quoted
from vedette.language.likes import LikeWildcard as Like
from vedette.language.likes import escaped

_KINDS: Final[dict[str, ast.TextKind]] = {"equals": "like", "prefix": "startswith", "suffix": "endswith"}
_ANY: Final = ".*"


def field_filter(field: EventPatternField, nested: ast.View | None) -> ast.Filter:
    """The filter of a field: some leaf passes a test, or there is none; `nested` is null if the path alone decides."""
    at = _PathTests(field.path)
    parts: list[ast.Filter] = []
    exact: list[LeafEquals | LeafConstant] = []
    networks: list[str] = []
    for test in field.leaf_tests:
        if isinstance(test, LeafWildcard) and len(test.pieces) == 1:
            test = LeafEquals(test.pieces[0])
        if isinstance(test, LeafEquals | LeafConstant):
            exact.append(test)
        elif isinstance(test, LeafInNetwork | LeafAddress):
            networks += networks_of(test)
        else:
            parts.append(at.passes(test))
    if networks:
        parts.insert(0, ast.InNetwork(at.some("strings"), tuple(dict.fromkeys(networks))))
    if exact:
        parts.insert(0, at.is_one_of(exact))
    if field.may_miss:
        parts.append(ast.IsNull(at.view("leaves")))
        if nested is not None:
            parts.append(ast.Not(ast.IsNull(nested)))
    return _either(parts)


def _either(parts: Sequence[ast.Filter]) -> ast.Filter:
    flat = dict.fromkeys(one for part in parts for one in (part.parts if isinstance(part, ast.Or) else (part,)))
    return ast.Or(tuple(flat)) if len(flat) > 1 else next(iter(flat))


class _PathTests:
    """Tests of the leaves at a path."""

    def __init__(self, path: str) -> None:
        self._attribute = ast.Attribute(path)

    def view(self, reading: ast.Reading) -> ast.View:
        return ast.View(reading, self._attribute)

    def some(self, reading: ast.Reading) -> ast.QuantifiedAttribute:
        return ast.QuantifiedAttribute("any", self.view(reading))

    def every(self, reading: ast.Reading) -> ast.QuantifiedAttribute:
        return ast.QuantifiedAttribute("all", self.view(reading))

    def is_one_of(self, values: Sequence[LeafEquals | LeafConstant]) -> ast.Filter:
        """Some leaf is one of the values; as strings, if all of them are."""
        texts = [value.text for value in values if isinstance(value, LeafEquals)]
        if len(texts) == len(values):
            return _among(self.some("strings"), texts)
        return _among(self.some("leaves"), list(map(_json, values)))

    def passes(self, test: LeafTest) -> ast.Filter:
        """Some leaf passes a test that is neither a plain value nor a network."""
        if isinstance(test, LeafRange):
            return self._numeric(test)
        if isinstance(test, LeafAnythingBut):
            return self._is_none_of(test)
        if isinstance(test, LeafExists):
            return ast.Not(ast.IsNull(self.view("leaves")))
        if isinstance(test, LeafTextTest | LeafWildcard):
            return _string_test(self.some("strings"), test)
        raise TypeError(f"not a test of this kind: {test!r}")

    def _numeric(self, test: LeafRange) -> ast.Filter:
        numbers = self.some("numbers")
        low, high = _number(test.low), _number(test.high)
        if test.low is not None and test.high is not None:
            if test.low == test.high:
                return ast.Comparison(numbers, ast.Comparator.EQ, low)
            return ast.Range(numbers, low, high, test.low_closed, test.high_closed)
        if test.low is not None:
            return ast.Comparison(numbers, ast.Comparator.GE if test.low_closed else ast.Comparator.GT, low)
        return ast.Comparison(numbers, ast.Comparator.LE if test.high_closed else ast.Comparator.LT, high)

    def _is_none_of(self, test: LeafAnythingBut) -> ast.Filter:
        """Some leaf passes none of the tests: not all pass one of them."""
        values = [one for one in test.excluded if isinstance(one, LeafEquals | LeafConstant)]
        if values:
            if len(values) == 1:
                return ast.Comparison(self.some("leaves"), ast.Comparator.NE, ast.Literal(_json(values[0])))
            return ast.Not(_among(self.every("leaves"), list(map(_json, values))))
        tests = [one for one in test.excluded if isinstance(one, LeafTextTest | LeafWildcard)]
        only = tests[0] if len(tests) == 1 else None
        # A prefix of a text is also one of its JSON form; not so its end and its middle: a line break is \n.
        if isinstance(only, LeafTextTest) and only.kind == "prefix":
            begin = ast.Literal(encode_basestring(only.text)[:-1])
            return ast.Not(ast.TextTest(self.every("leaves"), "startswith", begin))
        some_other = ast.Not(ast.TextTest(self.every("leaves"), "startswith", ast.Literal('"')))
        strings = self.every("strings")
        all_pass = _string_test(strings, only) if only is not None else _some_test(strings, tests)
        return ast.Or((ast.Not(all_pass), some_other))


def _number(value: float | None) -> ast.Literal:
    """A number literal; a whole number has no point, as it mostly was written."""
    return ast.Literal(int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else value)


def _among(operand: ast.Operand, texts: Sequence[str]) -> ast.Filter:
    texts = list(dict.fromkeys(texts))
    if len(texts) == 1:
        return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(texts[0]))
    return ast.In(operand, tuple(map(ast.Literal, texts)))


def _json(value: LeafEquals | LeafConstant) -> str:
    return encode_basestring(value.text) if isinstance(value, LeafEquals) else value.json


def _string_test(operand: ast.Operand, test: LeafTextTest | LeafWildcard) -> ast.Filter:
    if isinstance(test, LeafWildcard):
        if len(test.pieces) == 1:
            return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(test.pieces[0]))
        return ast.TextTest(operand, "like", ast.Literal(Like.ANY.value.join(map(escaped, test.pieces))))
    if test.ignore_case and not is_plain(test.text):
        return _some_test(operand, [test])
    text = escaped(test.text) if test.kind == "equals" else test.text
    return ast.TextTest(operand, _KINDS[test.kind], ast.Literal(text), test.ignore_case)


def _some_test(operand: ast.Operand, tests: Sequence[LeafTextTest | LeafWildcard]) -> ast.Filter:
    """One text passes one of several tests: a regular expression."""
    wholes = "|".join(dict.fromkeys(map(_whole, tests)))
    return ast.TextTest(operand, "matches", ast.Literal(rf"(?s)\A(?:{wholes})\z"))


def _whole(test: LeafTextTest | LeafWildcard) -> str:
    """A regular expression of all texts that pass."""
    if isinstance(test, LeafWildcard):
        return _ANY.join(map(quoted, test.pieces))
    text = expression(test.text) if test.ignore_case else quoted(test.text)
    return ("" if test.kind != "suffix" else _ANY) + text + ("" if test.kind != "prefix" else _ANY)
