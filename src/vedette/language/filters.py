"""Parses filters: comparisons and tests, joined with and, or, not, as in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from vedette.errors import FilterError
from vedette.language import ast, limits, literals
from vedette.language.ast import (
    And,
    Attribute,
    Comparator,
    Comparison,
    Literal,
    Not,
    Or,
    QuantifiedAttribute,
    Span,
    TruthLiteral,
    View,
)
from vedette.language.hints import CONNECTIVES, shortened
from vedette.language.lexer import END, NUMBER, STRING, TESTS
from vedette.language.operands import OPERANDS, OperandOrFilter, OperandParser, dual

_COMPARATORS: Final[Mapping[str, Comparator]] = {
    **{comparator.value: comparator for comparator in Comparator},
    "==": Comparator.EQ,
    "<>": Comparator.NE,
}
_EQ, _SAME = Comparator.EQ, Comparator.SAME

_TEXT_TESTS: Final[Mapping[str, tuple[ast.TextKind, bool]]] = {
    "like": ("like", False),
    "ilike": ("like", True),
    "contains": ("contains", False),
    "icontains": ("contains", True),
    "startswith": ("startswith", False),
    "istartswith": ("startswith", True),
    "endswith": ("endswith", False),
    "iendswith": ("endswith", True),
    "matches": ("matches", False),
    "rlike": ("matches", False),
    "imatches": ("matches", True),
    "fits": ("fits", False),
}
_OF_PAIRS: Final[Mapping[str, ast.PairKind]] = {kind: kind for kind in ast.PAIR_KINDS}


class FilterParser(OperandParser):
    """The part of the parser that reads filters."""

    regex_characters = regex_classes = regex_instructions = 0  # of all regular expressions so far
    pattern_fields = 0  # of all event patterns so far

    def whole(self) -> ast.Filter:
        """The text as one filter."""
        if self.tags[0] == END:
            raise self.error("the text is empty", 0, 1, "write a condition, such as price < 120; 'true' always matches")
        found = self.condition(self.disjunction())
        if self.tags[self.at] != END:
            raise self.wrong("'and', 'or' or the end", CONNECTIVES)
        return found

    # ------------------------------------------------------------ and, or, not

    def disjunction(self) -> OperandOrFilter:
        """`a or b or …`."""
        begin = self.at
        first = self.conjunction()
        if self.tags[self.at] != "or":
            return first
        parts = [self.condition(first)]
        while self.tags[self.at] == "or":
            self.at += 1
            parts.append(self.condition(self.conjunction()))
        self.nodes += 1
        return Or(tuple(parts), Span(self.starts[begin], self.ends[self.at - 1]))

    def conjunction(self) -> OperandOrFilter:
        """`a and b and …`."""
        begin = self.at  # the span includes a parenthesis before the first part
        first = self.predicate() if self.tags[self.at] != "not" else self.negation()
        if self.tags[self.at] != "and":
            return first
        parts = [self.condition(first)]
        while self.tags[self.at] == "and":
            self.at += 1
            part = self.predicate() if self.tags[self.at] != "not" else self.negation()
            parts.append(self.condition(part))
        self.nodes += 1
        return And(tuple(parts), Span(self.starts[begin], self.ends[self.at - 1]))

    def negation(self) -> Not:
        """`not a`, also repeated."""
        first = self.at
        while self.tags[self.at] == "not":
            self.deeper()
            self.at += 1
        nots = self.at - first
        found = self.condition(self.predicate())
        self.depth -= nots
        self.nodes += nots
        end = self.ends[self.at - 1]
        for at in reversed(range(first, first + nots)):
            found = Not(found, Span(self.starts[at], end))
        return cast("Not", found)

    def condition(self, term: OperandOrFilter) -> ast.Filter:
        """A term as a condition: a boolean attribute alone is `attribute = true`."""
        if self.nodes > limits.NODES:
            self.check_nodes()
        kind = type(term)
        if kind not in OPERANDS:
            return cast("ast.Filter", term)
        if kind is Attribute or kind is QuantifiedAttribute:
            if self.tags[self.at] not in _CONDITION_ENDS:
                raise self.wrong("a comparison such as = or 'in'", TESTS)
            self.nodes += 2
            return Comparison(cast("ast.Operand", term), _EQ, Literal(True, term.span), term.span)
        if kind is View and self.tags[self.at] in _CONDITION_ENDS:
            return self._call_of_that_name(cast("View", term))
        if isinstance(term, Literal) and (term.value is None or isinstance(term.value, bool)):
            return TruthLiteral(term.value, term.span)
        raise self._no_condition(term)

    def _call_of_that_name(self, view: View) -> ast.Call:
        """A view alone as a call: it is not a condition, so it must be an operator of the same name."""
        if view.attribute.path == ast.EVERYTHING:
            raise self._no_condition(view)
        name = self.text[view.span.start :][: len(view.reading)]
        return ast.Call(name, (view.attribute,), view.span)

    def _no_condition(self, term: OperandOrFilter) -> FilterError:
        if self.tags[self.at] not in _CONDITION_ENDS:
            return self.wrong("a comparison such as = or 'in'", TESTS)
        help = "compare it with something: x = 1"
        if isinstance(term, Literal):
            help = "each condition names its attribute: x = 'a' or x = 'b', shorter x in ('a', 'b')"
        return self.error("expected a condition, found a value", term.span.start, term.span.end, help)

    # ------------------------------------------------------------ predicates

    def predicate(self) -> OperandOrFilter:
        """`x`, `x op y`, `x in (…)`, …"""
        first = self.at
        left = self.term()
        test = _TESTS.get(self.tags[self.at])
        if test is None:
            return left
        if type(left) not in OPERANDS:
            raise self.no_operand(left, first)
        return test(self, cast("ast.Operand", left), self.starts[first])

    def comparison(self, left: ast.Operand, start: int) -> Comparison:
        """`left op right`."""
        comparator = _COMPARATORS[self.tags[self.at]]
        self.at += 1
        begin = self.at
        right = self.term()
        if type(right) not in OPERANDS:
            raise self.no_operand(right, begin)
        self.nodes += 1
        return Comparison(left, comparator, cast("ast.Operand", right), Span(start, self.ends[self.at - 1]))

    def negated(self, left: ast.Operand, start: int) -> Not:
        """`x not in (…)` and its like."""
        self.at += 1
        test = _NEGATABLE.get(self.tags[self.at])
        if test is None:
            raise self.wrong("'in', 'like', 'between' or another test after 'not'", _NEGATABLE)
        positive = test(self, dual(left), start)
        self.nodes += 1
        return Not(positive, positive.span)

    def between(self, operand: ast.Operand, start: int) -> ast.Range:
        """`x between low and high`."""
        self.at += 1
        low = self.operand()
        self.expect("and", "'and' of between", help="write x between 1 and 5" if self.tags[self.at] == "," else None)
        high = self.operand()
        self.nodes += 1
        return ast.Range(operand, low, high, span=self.span_from(start))

    def membership(self, operand: ast.Operand, start: int) -> ast.Filter:
        """`x in (a, b)`, `x in [a .. b)`, `x in cidr '…'`."""
        self.at += 1
        tag = self.tags[self.at]
        if tag == "(":
            self.at += 1
            first = self.operand_of_list()
            if self.tags[self.at] == "..":
                return self.range(operand, start, first, False)
            return self.items(operand, start, first)
        if tag == "[":
            self.at += 1
            return self.range(operand, start, self.operand(), True)
        if tag == "cidr":
            return self.network(operand, start)
        help = None
        if tag in (STRING, NUMBER):
            help = f"put it into parentheses: x in ({self.text[self.starts[self.at] : self.ends[self.at]]})"
        raise self.wrong("( … ), [ … ] or cidr after 'in'", help=help)

    def operand_of_list(self) -> ast.Operand:
        """The first operand after `in (`."""
        if self.tags[self.at] == ")":
            raise self.wrong("a constant", help="an empty list holds nothing: write 'false'")
        return self.operand()

    def items(self, operand: ast.Operand, start: int, first: ast.Operand) -> ast.In:
        """The rest of `x in (first, …)`."""
        items = [self.constant(first)]
        while self.tags[self.at] == ",":
            self.at += 1
            items.append(self.constant(self.operand()))
            if self.nodes > limits.NODES:
                self.check_nodes()
        self.expect(")", "',' or ')'")
        self.nodes += 1
        return ast.In(operand, tuple(items), self.span_from(start))

    def constant(self, found: ast.Operand) -> Literal:
        """An operand that must be a constant."""
        if isinstance(found, Literal):
            return found
        help = "write a comparison for each: x = a or x = b"
        if isinstance(found, Attribute):
            help = f"text goes into quotes: '{shortened(found.path)}'"
        raise self.error("expected a constant", found.span.start, found.span.end, help)

    def range(self, operand: ast.Operand, start: int, low: ast.Operand, low_closed: bool) -> ast.Range:
        """The rest of `x in [low .. high)`."""
        comma = "a range has two dots, a list has parentheses: x in [1 .. 5], x in (1, 5)"
        self.expect("..", help=comma if self.tags[self.at] in (",", "]") else None)
        high = self.operand()
        if self.tags[self.at] not in (")", "]"):
            raise self.wrong("')' or ']'")
        high_closed = self.tags[self.at] == "]"
        self.at += 1
        self.nodes += 1
        return ast.Range(operand, low, high, low_closed, high_closed, self.span_from(start))

    def network(self, operand: ast.Operand, start: int) -> ast.InNetwork:
        """`x in cidr '…'`, `x in cidr ('…', '…')`."""
        self.at += 1
        several = self.tags[self.at] == "("
        self.at += several
        networks = [self.one_network()]
        while several and self.tags[self.at] == ",":
            self.at += 1
            networks.append(self.one_network())
            self.check_nodes()
        if several:
            self.expect(")", "',' or ')'")
        self.nodes += 1
        return ast.InNetwork(operand, tuple(networks), self.span_from(start))

    def one_network(self) -> str:
        """A network in quotes."""
        at = self.at
        if self.tags[at] != STRING:
            raise self.wrong("a network in quotes", help="write x in cidr '10.0.0.0/8'")
        self.at = at + 1
        self.nodes += 1
        return self.checked(literals.read_network, at)

    def null_test(self, operand: ast.Operand, start: int) -> ast.Filter:
        """`x is [not] null`, `true`, `false`, `unknown`, `distinct from y`."""
        self.at += 1
        negative = self.tags[self.at] == "not"
        self.at += negative
        at = self.at
        tag = self.tags[at]
        found: ast.Filter
        if tag in ("null", "unknown"):
            self.at = at + 1
            found = ast.IsNull(dual(operand) if negative else operand, self.span_from(start))
        elif tag in ("true", "false", "distinct"):
            negative ^= tag == "distinct"
            other = self.distinct_from() if tag == "distinct" else self.named_constant()
            found = Comparison(dual(operand) if negative else operand, _SAME, other, self.span_from(start))
        else:
            known = ("null", "true", "false", "unknown", "distinct", *(() if negative else ("not",)))
            help = "write x = 1; 'is' asks for null, true or false" if tag in (NUMBER, STRING) else None
            raise self.wrong("null, true, false or distinct from after 'is'", known, help=help)
        self.nodes += 2
        return Not(found, found.span) if negative else found

    def distinct_from(self) -> ast.Operand:
        """The operand of `is distinct from y`."""
        self.at += 1
        self.expect("from")
        return self.operand()

    def text_test(self, operand: ast.Operand, start: int) -> ast.TextTest | ast.TextPair:
        """`x like '…'`, `contains`, `startswith`, `endswith`, `matches` and their case-insensitive forms."""
        word = self.tags[self.at]
        kind, ignore_case = _TEXT_TESTS[word]
        self.at += 1
        at = self.at
        escape = "\\"
        if kind in _OF_PAIRS and isinstance(operand, ast.View) and self.is_view():
            return ast.TextPair(operand, _OF_PAIRS[kind], self.view(), ignore_case, self.span_from(start))
        if kind == "contains" and not ignore_case and self.tags[at] != STRING:
            pattern = self.constant(self.operand())
            if pattern.value is None:
                raise self.wrong("a constant", at=at, help="write x is null")
        elif self.tags[at] != STRING:
            found = shortened(self.texts[at])
            raise self.wrong(f"a string after '{word}'", help=f"text goes into quotes: '{found}'" if found else None)
        else:
            pattern = self.literal(self.texts[at], at)
        if kind == "like":
            escape = self.escape(at)
        elif kind == "matches":
            self.check_regex(at, ignore_case)
        elif kind == "fits":
            self.check_event_pattern(at)
        self.nodes += 1
        return ast.TextTest(operand, kind, pattern, ignore_case, escape, self.span_from(start))

    def escape(self, at: int) -> str:
        """`escape 'c'` after the pattern of LIKE, which is then checked."""
        escape = "\\"
        if self.tags[self.at] == "escape":
            self.at += 1
            if self.tags[self.at] != STRING:
                raise self.wrong("a character in quotes", help="write escape '!'")
            escape = self.texts[self.at]
            self.checked(lambda _: literals.check_like("", escape), self.at)
            self.at += 1
        self.checked(lambda pattern: literals.check_like(pattern, escape), at)
        return escape

    def check_regex(self, at: int, ignore_case: bool) -> None:
        """Refuse an invalid regular expression, or one that would cost too much, alone or with the others."""
        pattern = self.texts[at]
        self.regex_characters += len(pattern)
        self.regex_classes += pattern.count("\\p") + pattern.count("\\P")
        help = "use several subscriptions, or simpler tests such as contains and like"
        if self.regex_characters > limits.REGEX_CHARACTERS:
            raise self.limit(f"regular expressions of more than {limits.REGEX_CHARACTERS:,} characters", at, help)
        if self.regex_classes > limits.REGEX_UNICODE_CLASSES:
            raise self.limit(f"more than {limits.REGEX_UNICODE_CLASSES} Unicode classes (\\p) in a text", at, help)
        self.regex_instructions += self.checked(lambda text: literals.regex_instructions(text, ignore_case), at)
        if self.regex_instructions > limits.REGEX_INSTRUCTIONS:
            raise self.limit("regular expressions that are too large together", at, help)

    def check_event_pattern(self, at: int) -> None:
        """Refuse an invalid event pattern, or one with too many fields, alone or with the others."""
        self.pattern_fields += self.checked(literals.event_pattern_fields, at)
        if self.pattern_fields > limits.EVENT_PATTERN_FIELDS:
            most = f"{limits.EVENT_PATTERN_FIELDS:,}"
            raise self.limit(
                f"event patterns of more than {most} fields", at, "use several subscriptions, or fewer $or"
            )

    def within(self, operand: ast.Operand, start: int) -> ast.Filter:
        """`x within region …`, `x within 5 km of point(…)`."""
        self.at += 1
        if self.tags[self.at] == "region":
            region = self.area()
            self.nodes += 1
            return ast.Within(operand, region, self.span_from(start))
        metres = self.distance()
        self.expect("of", "'of' and a point", help="write x within 5 km of point(-73.9, 40.7)")
        at = self.at
        centre = self.place()
        try:
            literals.check_place(centre.x, centre.y)
        except ValueError as problem:
            raise self.error(str(problem), self.starts[at], self.ends[self.at - 1]) from None
        self.nodes += 1
        return ast.Near(operand, centre, metres, self.span_from(start))

    def distance(self) -> float:
        """`500 m`, `5 km`, `3 mi` in metres."""
        at = self.at
        number = self.signed_number("region, or a distance such as 5 km")
        if number < 0:
            raise self.error("a distance below zero", self.starts[at], self.ends[self.at - 1])
        unit = self.plain_name("a unit: m, km or mi")
        if unit not in literals.METRES:
            raise self.wrong("a unit: m, km or mi", at=self.at - 1)
        metres = float(number) * literals.METRES[unit]
        if metres == float("inf"):
            raise self.error("a distance beyond every float", self.starts[at], self.ends[self.at - 1])
        return metres


_CONDITION_ENDS: Final = frozenset({"and", "or", ")", "]", END})
_Test = Callable[[FilterParser, ast.Operand, int], ast.Filter]
_NEGATABLE: Final[Mapping[str, _Test]] = {
    "in": FilterParser.membership,
    "between": FilterParser.between,
    "within": FilterParser.within,
    **dict.fromkeys(_TEXT_TESTS, FilterParser.text_test),
}
_TESTS: Final[Mapping[str, _Test]] = {
    **dict.fromkeys(_COMPARATORS, FilterParser.comparison),
    **_NEGATABLE,
    "is": FilterParser.null_test,
    "not": FilterParser.negated,
}
