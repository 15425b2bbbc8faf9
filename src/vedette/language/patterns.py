"""Parses patterns over several events: steps in brackets, sequences, and / or, repetition, absence, time conditions."""

from __future__ import annotations

import datetime as dt
from typing import Final, NamedTuple, cast
from typing import Literal as OneOf

from vedette.language import ast, limits, literals
from vedette.language.ast import Comparator, Span
from vedette.language.cursor import WORDS
from vedette.language.filters import FilterParser
from vedette.language.hints import after_step, similar
from vedette.language.lexer import END, NUMBER
from vedette.language.time_units import MICROSECONDS

_COMPARATORS: Final = {c.value: c for c in Comparator if c is not Comparator.SAME} | {
    "==": Comparator.EQ,
    "<>": Comparator.NE,
}


class SizedPattern(NamedTuple):
    """A sub-pattern with its size, for the limits: its height, and its steps with repetitions expanded."""

    pattern: ast.Pattern
    height: int
    steps: int


class PatternParser(FilterParser):
    """The parser of whole patterns and of the filters in their steps."""

    labels: dict[str, int]  # label -> its token
    absent: set[str]
    used: list[tuple[str, int]]  # labels in time conditions, and their tokens

    def is_pattern(self) -> bool:
        """Whether the text is a pattern: its first token that is neither a parenthesis nor `not` begins a step."""
        at = 0
        while self.tags[at] in ("(", "not"):
            at += 1
        return self.tags[at] == "[" or (self.tags[at + 1 : at + 3] == [":", "["] and self.tags[at] != END)

    def composite(self) -> ast.Composite:
        """The text as one pattern, with its partition and its window."""
        self.labels, self.absent, self.used = {}, set(), []
        part = self.either()
        by: dict[str, Span] = {}
        within: int | None = None
        while self.tags[self.at] in ("by", "within"):
            if self.tags[self.at] == "by":
                by = self.partition(by)
            else:
                within = self.window(within)
        if self.tags[self.at] != END:
            expected = "',', ';', 'and', 'or', '@', 'by', 'within' or the end"
            help = after_step(self.tokens, self.at)
            raise self.wrong(expected, ("and", "or", "by", "within"), help=help)
        self.check_nodes()
        self.check_labels()
        span = Span(self.starts[0], self.ends[self.at - 1])
        return ast.Composite(part.pattern, tuple(by), within, span, tuple(by.values()))

    def check_labels(self) -> None:
        """Check that every label in a time condition names a step that takes an event."""
        for label, at in self.used:
            if label in self.absent:
                message = f"the step '{label}' must not happen, so it has no time"
                raise self.error(message, self.starts[at], self.ends[at])
            if label not in self.labels:
                meant = similar(label, self.labels)
                known = ", ".join(self.labels) or "none: write a:[ … ]"
                help = f"did you mean '{meant}'?" if meant else f"the labels are {known}"
                raise self.error(f"no step is labelled '{label}'", self.starts[at], self.ends[at], help)

    # ------------------------------------------------------------ sub-patterns

    def either(self) -> SizedPattern:
        """`p or q or …`."""
        start = self.starts[self.at]
        parts = [self.every()]
        while self.tags[self.at] == "or":
            self.at += 1
            parts.append(self.every())
        return self.joined(parts, start, ast.PatternOr)

    def every(self) -> SizedPattern:
        """`p and q and …`."""
        start = self.starts[self.at]
        parts = [self.sequence()]
        while self.tags[self.at] == "and":
            self.at += 1
            parts.append(self.sequence())
        return self.joined(parts, start, ast.PatternAnd)

    def joined(
        self, parts: list[SizedPattern], start: int, kind: type[ast.PatternOr] | type[ast.PatternAnd]
    ) -> SizedPattern:
        """Several parts as one node; one part as itself."""
        if len(parts) == 1:
            return parts[0]
        node = kind(tuple(part.pattern for part in parts), self.span_from(start))
        return self.part(node, 1 + max(part.height for part in parts), sum(part.steps for part in parts))

    def part(self, pattern: ast.Pattern, height: int, steps: int) -> SizedPattern:
        """A node whose size was checked against the limits."""
        self.nodes += 1
        self.check_nodes()
        if self.depth + height > limits.NESTING:
            raise self.too_deep()
        if steps > limits.PATTERN_STEPS:
            raise self.limit(
                f"a pattern of more than {limits.PATTERN_STEPS:,} steps, with its repetitions written out",
                self.at - 1,
            )
        return SizedPattern(pattern, height, steps)

    def sequence(self) -> SizedPattern:
        """`p , q ; r`."""
        first = self.at
        parts = [self.element()]
        links: list[OneOf[",", ";"]] = []
        while self.tags[self.at] in (",", ";"):
            links.append("," if self.tags[self.at] == "," else ";")
            self.at += 1
            parts.append(self.element())
        for number, part in enumerate(parts):
            if isinstance(part.pattern, ast.Absence):
                self.check_absence(part.pattern.span, links[max(number - 1, 0) : number + 1], 0 < number < len(links))
        if len(parts) == 1:
            return parts[0]
        node = ast.Sequence(tuple(part.pattern for part in parts), tuple(links), self.span_from(self.starts[first]))
        return self.part(node, 1 + max(part.height for part in parts), sum(part.steps for part in parts))

    def check_absence(self, span: Span, links: list[OneOf[",", ";"]], inside: bool) -> None:
        """Check that every absence is between two other parts."""
        if not inside:
            raise self.error("'not [ … ]' stands between two steps", span.start, span.end, "write [a] ; not [b] ; [c]")
        if "," in links:
            help = "between steps joined with ',' nothing can happen anyway: write [a] ; not [b] ; [c]"
            raise self.error("'not [ … ]' stands between two ';'", span.start, span.end, help)

    def element(self) -> SizedPattern:
        """A part of a sequence: `not [ … ]`, or a part that takes events."""
        at = self.at
        if self.tags[at] != "not":
            return self.repeated()
        self.at = at + 1
        if self.tags[self.at] == "(":
            raise self.wrong("a step after 'not'", help="only a single step can be absent: not [ … ]")
        step = self.step()
        if step.label is not None:
            self.absent.add(step.label)
        return self.part(ast.Absence(step, self.span_from(self.starts[at])), 1, 0)

    def repeated(self) -> SizedPattern:
        """A step or group with its suffixes: `{n}`, `{n,m}`, `@ ( … )`."""
        start = self.starts[self.at]
        part = self.primary()
        while True:
            if self.tags[self.at] == "{":
                least, most = self.repetition()
                node: ast.Pattern = ast.Repeat(part.pattern, least, most, self.span_from(start))
                part = self.part(node, part.height + 1, part.steps * most)
            elif self.tags[self.at] == "@":
                conditions = self.conditions()
                node = ast.TimedPattern(part.pattern, conditions, self.span_from(start))
                part = self.part(node, part.height + 1, part.steps)
            else:
                return part

    def primary(self) -> SizedPattern:
        """A step, or a sub-pattern in parentheses."""
        if self.tags[self.at] != "(":
            return self.part(self.step(), 0, 1)
        at = self.at
        self.deeper()
        self.at = at + 1
        part = self.either()
        self.close(at, "',', ';', 'and', 'or', '@' or ')'", help=after_step(self.tokens, self.at))
        self.depth -= 1
        return part

    def step(self) -> ast.Step:
        """`label:[ condition ]`."""
        start = self.starts[self.at]
        label: str | None = None
        if self.tags[self.at + 1 : self.at + 2] == [":"]:
            at = self.at
            label = self.plain_name("a label: a name without dots that is no keyword")
            if label in self.labels:
                raise self.error(f"two steps are labelled '{label}'", self.starts[at], self.ends[at])
            self.labels[label] = at
            self.at += 1
        help = "each step stands in brackets: [status = 'denied']" if self.tags[self.at] in WORDS else None
        self.expect("[", "a step: [ condition ]", help=help)
        if self.tags[self.at] == "]":
            raise self.wrong("a condition", help="[true] is satisfied by every event")
        self.in_step = True
        self.deeper()
        condition = self.condition(self.disjunction())
        self.depth -= 1
        self.in_step = False
        self.expect("]", "'and', 'or' or ']'")
        return ast.Step(condition, label, self.span_from(start))

    # ------------------------------------------------------------ {n,m}, by, within

    def repetition(self) -> tuple[int, int]:
        """`{n}` or `{n,m}`."""
        start = self.starts[self.at]
        self.at += 1
        least = most = self.count()
        if self.tags[self.at] == ",":
            self.at += 1
            if self.tags[self.at] == "}":
                raise self.wrong("a number", help="a repetition has an end: {2,5}")
            most = self.count()
        self.expect("}", "',' or '}'")
        if least < 1 or least > most:
            end = self.ends[self.at - 1]
            message = f"{self.text[start:end]} repeats " + ("less than once" if least < 1 else "from more to less")
            raise self.error(message, start, end, "write {n} or {n,m} with 1 <= n <= m")
        return least, most

    def count(self) -> int:
        """The number of repetitions."""
        at = self.at
        if self.tags[at] != NUMBER or not self.texts[at].isdigit():
            raise self.wrong("a whole number")
        self.at = at + 1
        count = self.checked(literals.read_number, at)
        if count > limits.PATTERN_STEPS:
            raise self.limit(f"a repetition of more than {limits.PATTERN_STEPS:,} times", at)
        return int(count)

    def partition(self, known: dict[str, Span]) -> dict[str, Span]:
        """`by a, b`."""
        if known:
            raise self.wrong("the end", help="write all attributes behind one 'by': by user, host")
        paths: dict[str, Span] = {}
        while not paths or self.tags[self.at] == ",":
            self.at += 1
            at = self.at
            attribute = self.attribute()
            self.check_nodes()
            if attribute.path in paths:
                raise self.error(f"'{attribute.path}' is named twice", self.starts[at], self.ends[at])
            paths[attribute.path] = attribute.span
        return paths

    def window(self, known: int | None) -> int:
        """`within 10 min`."""
        if known is not None:
            raise self.wrong("the end", help="a pattern has one window")
        self.at += 1
        at = self.at
        length = self.duration()
        if length <= 0:
            raise self.error("a window has a length above zero", self.starts[at], self.ends[self.at - 1])
        return length

    def duration(self) -> int:
        """`5 min` in microseconds."""
        at = self.at
        number = self.signed_number("a length of time such as 5 min")
        unit_at = self.at
        unit = self.plain_name("a unit of time: us, ms, s, min, h or d")
        if unit not in MICROSECONDS:
            help = "minutes are written as min" if unit == "m" else None
            raise self.wrong("a unit of time: us, ms, s, min, h or d", MICROSECONDS, at=unit_at, help=help)
        return self.checked(lambda _: literals.duration(number, unit), at)

    # ------------------------------------------------------------ time conditions

    def conditions(self) -> tuple[ast.TimeCondition, ...]:
        """`@ (t(b) - t(a) < 5 min and …)`."""
        self.at += 1
        self.expect("(", "'(' after '@'", help="write @ (t(b) - t(a) < 5 min)")
        found = [self.time_condition()]
        while self.tags[self.at] == "and":
            self.at += 1
            found.append(self.time_condition())
        alternative = "time conditions are joined with 'and' only; 'or' stands between patterns"
        self.expect(")", "'and' or ')'", help=alternative if self.tags[self.at] == "or" else None)
        return tuple(found)

    def time_condition(self) -> ast.TimeCondition:
        """`t(b) - t(a) op 5 min`, `t(b) op t(a)`, or `t(a) op timestamp '…'`."""
        start = self.starts[self.at]
        later = self.time_of()
        earlier: str | None = None
        if self.tags[self.at] == "-":
            self.at += 1
            earlier = self.time_of()
        comparator = _COMPARATORS.get(self.tags[self.at])
        if comparator is None:
            raise self.wrong("a comparison such as <", help=None)
        self.at += 1
        at = self.at
        microseconds = 0
        if self.tags[at] == "timestamp" and earlier is None:
            microseconds = self.moment()
        elif self.tags[at] == "t" and earlier is None:
            earlier = self.time_of()
        elif earlier is None:
            help = "the time between two steps is t(b) - t(a) < 5 min"
            raise self.wrong("timestamp '…' or another step's time", help=help)
        else:
            microseconds = self.duration()
        self.nodes += 1
        self.check_nodes()
        return ast.TimeCondition(later, earlier, comparator, microseconds, self.span_from(start))

    def time_of(self) -> str:
        """`t(label)`."""
        self.expect("t", "the time of a step: t(label)", help="write t(b) - t(a) < 5 min")
        self.expect("(", "'(' and a label")
        self.used.append((self.texts[self.at], self.at))
        label = self.plain_name("a label")
        self.expect(")")
        return label

    def moment(self) -> int:
        """`timestamp '…'` in microseconds since the epoch."""
        found = self.typed()
        if not isinstance(found, ast.Literal):
            raise self.wrong("a time in quotes", help="write t(a) < timestamp '2024-05-01T12:00:00Z'")
        return literals.microseconds_since_epoch(cast("dt.datetime", found.value))
