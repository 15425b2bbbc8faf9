"""Random constraints: small domains, so that much meets and much just does not.

A constraint is drawn as a tree in which the parts of an AND speak of different attributes (or are the two ends of a
range), so that a disjunct asks about each of them once, however the tree is written: with NOTs, mirrored, nested.
A few of them have disjuncts that are never true; `case` leaves those out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeAlias

from tests.meeting.oracle import Oracle, Pairs
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

SCHEMA = Schema.of(
    {
        "i": "int",
        "größe": "int",
        "f": "float",
        "order": {"total": "float"},
        "s": "string",
        "r": "string",
        "b": "bool",
        "t": "timestamp",
        "d": "date",
        "a": "ip",
        "p": "point",
        "z": "region",
        "ns": "list of int",
        "fs": "list of float",
        "ss": "list of string",
        "as": "list of ip",
        "bs": "list of bool",
    }
)

_CONSTANTS: dict[Kind, Sequence[str]] = {
    Kind.INT: (*map(str, range(-2, 7)), "2.5", "3.0", "9223372036854775807", "-9223372036854775808"),
    Kind.FLOAT: (
        *("-1", "0", "-0.0", "1", "1.5", "2", "3", "2.5e0", "-5e-324", "9007199254740993", "9007199254740992"),
        *(repr(math.nextafter(1, side)) for side in (0, 2)),
        *("float 'inf'", "float '-inf'", "float 'nan'"),
    ),
    Kind.STRING: ("''", "'a'", "'aa'", "'ab'", "'abc'", "'b'", "'it''s'", "'é'", "'ê'", "'😀'", "'a\U0010ffff'"),
    Kind.BOOL: ("true", "false"),
    Kind.TIMESTAMP: (
        *("'2024-05-01'", "date '2024-05-02'", "timestamp '2024-05-01T12:00:00'", "'2024-05-01T14:00:00+02:00'"),
        *("'2024-05-01T12:00:00.000001'", "'2024-05-03'", "'1969-12-31T23:59:59Z'"),
    ),
    Kind.DATE: (
        *(f"'2024-05-0{day}'" for day in range(1, 6)),
        *("date '1969-12-31'", "timestamp '2024-05-02T12:00:00'", "timestamp '2024-05-03T00:00:00'"),
    ),
    Kind.IP: (
        *(f"'10.0.0.{last}'" for last in (0, 1, 2, 3, 4)),
        *("ip '::1'", "'::'", "'::ffff:10.0.0.2'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'2001:db8::1'"),
    ),
}
_BEGINNINGS = ("'a%'", "'ab%'", "'abc%'", "'é%'", "'😀%'", "'a\U0010ffff%'", "'%'", "'b'", "'a\\%%'")
_NETWORKS = ("10.0.0.0/30", "10.0.0.4/30", "10.0.0.0/8", "0.0.0.0/0", "::/0", "::ffff:0:0/96", "2001:db8::/32", "::1")
AREAS = (
    "region box(0, 0, 2, 2)",
    "region box(2, 0, 4, 2)",  # shares a side with the first
    "region box(4, 2, 5, 3)",  # and a corner with the second
    "region box(6, 0, 7, 1)",
    "region 'POLYGON((0 3, 2 3, 0 5, 0 3))'",
    "region 'POLYGON((10 0, 16 0, 16 6, 10 6, 10 0), (12 2, 14 2, 14 4, 12 4, 12 2))'",
    "region box(12.5, 2.5, 13.5, 3.5)",  # in the hole
    "region 'MULTIPOLYGON(((0 0, 1 0, 0 1, 0 0)), ((6 0, 7 0, 6 1, 6 0)))'",
    "region box(-20, -6, 20, 6)",
)
DISCS = (
    "50 km of point(1, 1)",
    "0 m of point(1, 1)",
    "130 km of point(3, 3)",
    "60 km of point(13, 3)",  # in the hole
    "120 km of point(13, 3)",  # reaches the ring
    "100 km of point(8, 0.5)",
    "80 mi of point(8, 0.5)",
    "200 km of point(5, 1)",
)


class Leaf(NamedTuple):
    """A test, and how its negation is written without NOT, where it can be."""

    text: str
    negated: str | None = None


class Joined(NamedTuple):
    """AND or OR of several parts."""

    word: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = Leaf | Joined
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "<>", "<>": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Writer:
    """Writes random constraints over some attributes of a schema."""

    def __init__(self, random: Random, schema: Schema, attributes: Sequence[str]) -> None:
        self.random = random
        self.schema = schema
        self.attributes = list(attributes)

    def constraint(self) -> str:
        """One constraint."""
        if self.random.random() < 0.02:
            return self.random.choice(["true", "not false", "true or {}"]).format(self._written(self._leaf("")))
        most = self.random.choice([1, 2, 2, 3, 4])
        chosen = self.random.sample(self.attributes, min(most, len(self.attributes)))
        return self._written(self._tree(chosen, 3))

    # ------------------------------------------------------------ trees

    def _tree(self, attributes: list[str], depth: int) -> Tree:
        if depth > 0 and self.random.random() < 0.25:
            alternatives = self.random.choice([2, 2, 3])
            return Joined("or", tuple(self._tree(self._some(attributes), depth - 1) for _ in range(alternatives)))
        if len(attributes) == 1:
            return self._about(attributes[0])
        first = self.random.randint(1, len(attributes) - 1)
        parts = (self._tree(attributes[:first], depth - 1), self._tree(attributes[first:], depth - 1))
        if depth > 0 and self.random.random() < 0.1 and self._ordered(attributes[0]):
            # The ends of a range, apart from each other.
            low, high = self._ends(attributes[0])
            return Joined("and", (Joined("or", (low, parts[1])), high))
        return Joined("and", parts)

    def _some(self, attributes: list[str]) -> list[str]:
        return self.random.sample(attributes, self.random.randint(1, len(attributes)))

    def _ordered(self, attribute: str) -> bool:
        type_ = self.schema[attribute]
        return type_.kind.ordered and not type_.is_list

    def _about(self, attribute: str) -> Tree:
        if self._ordered(attribute) and self.random.random() < 0.2:
            return Joined("and", tuple(self.random.sample(self._ends(attribute), 2)))
        return self._leaf(attribute)

    def _ends(self, attribute: str) -> tuple[Leaf, Leaf]:
        kind = self.schema[attribute].kind
        low, high = self._bounds(kind)
        ops = self.random.choice([">", ">="]), self.random.choice(["<", "<="])
        return self._comparison(attribute, ops[0], low), self._comparison(attribute, ops[1], high)

    # ------------------------------------------------------------ tests

    def _leaf(self, attribute: str) -> Leaf:
        """A test of an attribute, or (without one) of some attribute."""
        attribute = attribute or self.random.choice(self.attributes)
        type_ = self.schema[attribute]
        if self.random.random() < 0.08:
            return Leaf(f"{attribute} is null", f"{attribute} is not null")
        if self.random.random() < 0.04:
            return Leaf(f"exists {attribute}", f"{attribute} is unknown")
        if not type_.is_list:
            return self._test(type_.kind, attribute, self.random.choice(_FORMS[type_.kind]))
        if self.random.random() < 0.1:
            return Leaf(f"{attribute} contains {self._constant(type_.kind)}")
        quantifier = self.random.choice(["any", "all"])
        test = self._test(type_.kind, f"{quantifier}({attribute})", self.random.choice(_FORMS[type_.kind]))
        return Leaf(test.text if self.random.random() < 0.8 else f"not {test.text}")

    def _test(self, kind: Kind, operand: str, form: Form) -> Leaf:
        return form(self, kind, operand)

    def _constant(self, kind: Kind) -> str:
        return self.random.choice(_CONSTANTS[kind])

    def _bounds(self, kind: Kind) -> tuple[str, str]:
        """Two constants, mostly in the order in which they are listed."""
        listed = _CONSTANTS[kind]
        low, high = (self.random.randrange(len(listed)) for _ in range(2))
        return listed[min(low, high)], listed[max(low, high)]

    def _comparison(self, operand: str, op: str, constant: str) -> Leaf:
        mirrored = f"{constant} {_MIRRORED.get(op, op)} {operand}"
        text = mirrored if self.random.random() < 0.15 else f"{operand} {op} {constant}"
        return Leaf(text, f"{operand} {_OPPOSITE[op]} {constant}")

    def compared(self, kind: Kind, operand: str) -> Leaf:
        return self._comparison(operand, self.random.choice(list(_OPPOSITE)), self._constant(kind))

    def equal(self, kind: Kind, operand: str) -> Leaf:
        return self._comparison(operand, "=", self._constant(kind))

    def ranged(self, kind: Kind, operand: str) -> Leaf:
        low, high = self._bounds(kind)
        if self.random.random() < 0.5:
            return Leaf(f"{operand} between {low} and {high}", f"{operand} not between {low} and {high}")
        inside = f"{self.random.choice('[(')}{low} .. {high}{self.random.choice('])')}"
        return Leaf(f"{operand} in {inside}", f"{operand} not in {inside}")

    def listed(self, kind: Kind, operand: str) -> Leaf:
        several = ", ".join(self._constant(kind) for _ in range(self.random.randint(1, 4)))
        found = Leaf(f"{operand} in ({several})", f"{operand} not in ({several})")
        return found if self.random.random() < 0.6 else Leaf(str(found.negated), found.text)

    def same(self, kind: Kind, operand: str) -> Leaf:
        constant = self.random.choice([self._constant(kind), "null"])
        found = Leaf(f"{operand} <=> {constant}", f"{operand} is distinct from {constant}")
        return found if self.random.random() < 0.5 else Leaf(str(found.negated), found.text)

    def alone(self, kind: Kind, operand: str) -> Leaf:
        if operand.endswith(")"):
            return self.equal(kind, operand)
        return self.random.choice(
            [Leaf(operand), Leaf(f"not {operand}", operand), Leaf(f"{operand} is not true", f"{operand} is true")]
        )

    def begins(self, kind: Kind, operand: str) -> Leaf:
        if self.random.random() < 0.2:
            return Leaf(f"{operand} startswith 'ab'", f"{operand} not startswith 'ab'")
        pattern = self.random.choice(_BEGINNINGS)
        found = Leaf(f"{operand} like {pattern}", f"{operand} not like {pattern}")
        return found if self.random.random() < 0.7 else Leaf(str(found.negated), found.text)

    def networks(self, kind: Kind, operand: str) -> Leaf:
        several = [f"'{each}'" for each in self.random.sample(_NETWORKS, self.random.choice([1, 1, 2]))]
        inside = several[0] if len(several) == 1 else f"({', '.join(several)})"
        found = Leaf(f"{operand} in cidr {inside}", f"{operand} not in cidr {inside}")
        return found if self.random.random() < 0.7 else Leaf(str(found.negated), found.text)

    def place(self, kind: Kind, operand: str) -> Leaf:
        return Leaf(f"{operand} within {self.random.choice(AREAS if kind is Kind.REGION else AREAS + DISCS)}")

    # ------------------------------------------------------------ texts

    def _written(self, tree: Tree, wanted: bool = True) -> str:
        """The text of a tree, or of its negation."""
        if self.random.random() < 0.12:
            return f"not ({self._written(tree, not wanted)})"
        if isinstance(tree, Leaf):
            if wanted:
                return tree.text
            return f"not ({tree.text})" if tree.negated is None else tree.negated
        word = tree.word if wanted else {"and": "or", "or": "and"}[tree.word]
        parts = [self._written(part, wanted) for part in tree.parts]
        self.random.shuffle(parts)
        return "(" + f") {word} (".join(parts) + ")"


Form: TypeAlias = Callable[[Writer, Kind, str], Leaf]
_PLAIN: tuple[Form, ...] = (
    *(Writer.compared, Writer.compared, Writer.compared, Writer.equal),
    *(Writer.ranged, Writer.listed, Writer.same),
)
_FORMS: dict[Kind, tuple[Form, ...]] = {
    **dict.fromkeys((Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DATE), _PLAIN),
    Kind.STRING: (*_PLAIN, Writer.begins, Writer.begins),
    Kind.BOOL: (*_PLAIN, Writer.alone, Writer.alone),
    Kind.IP: (*_PLAIN, Writer.networks, Writer.networks),
    Kind.POINT: (Writer.place,),
    Kind.REGION: (Writer.place,),
}


@dataclass(frozen=True)
class Case:
    """Publications and subscriptions, by id, and who is right about them."""

    schema: Schema
    publications: dict[str, str]
    subscriptions: dict[str, str]
    oracle: Oracle

    def expected(self, direction: str) -> Pairs:
        """Who meets."""
        return self.oracle.pairs(self.publications, self.subscriptions, direction)


@lru_cache(maxsize=64)
def case(seed: int, count: int = 24, kinds: frozenset[str] | None = None) -> Case:
    """So many constraints on each side, of a few attributes (whose types are among `kinds`), that can all be true."""
    random = Random(seed)
    known = [name for name, type_ in SCHEMA.items() if kinds is None or str(type_) in kinds]
    attributes = random.sample(known, min(len(known), random.choice([1, 2, 3, 4, 6])))
    writer = Writer(random, SCHEMA, attributes)
    texts = [writer.constraint() for _ in range(2 * count)]
    if kinds is not None:  # the relations of the paper, whose columns of floats have no integers between them
        texts = [text for text in texts if "900719925474099" not in text]
    oracle = Oracle(SCHEMA, texts)
    # Few of them cannot be true; those of one side stay on it, so that the sides are not of one size.
    sides = [
        {f"{side}{number}": text for number, text in enumerate(several) if oracle.can_be(text)}
        for side, several in (("p", texts[:count]), ("s", texts[count:]))
    ]
    return Case(SCHEMA, sides[0], sides[1], oracle)


def together(first: int, stop: int) -> Case:
    """The constraints of several cases, which speak of other attributes each, as one."""
    cases = [case(seed) for seed in range(first, stop)]
    publications, subscriptions = (
        {f"{number} {id_}": text for number, each in enumerate(cases) for id_, text in getattr(each, side).items()}
        for side in ("publications", "subscriptions")
    )
    oracle = Oracle(SCHEMA, dict.fromkeys([*publications.values(), *subscriptions.values()]))
    return Case(SCHEMA, publications, subscriptions, oracle)
