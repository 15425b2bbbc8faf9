"""Random filters that ask about views, as texts."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_json import NAMES, NUMBERS, TEXTS
from vedette.language.render import constant

PATHS = ("*", *NAMES, "a.b.c", "a.a", "c.a.b")
EVENT_PATTERNS = (
    '{"a": ["x", 12, {"prefix": "mi"}]}',
    '{"b": [{"exists": false}], "c": [{"anything-but": ["y"]}]}',
    '{"a": {"b": [null, {"numeric": [">=", 12]}]}, "c": ["x", "y", "", true]}',
)
_LISTS = ("strings", "texts", "leaves", "items")


def random_filter(chance: random.Random, depth: int = 2) -> str:
    """A filter of up to eight tests."""
    roll = chance.random()
    if depth and roll < 0.35:
        parts = [random_filter(chance, depth - 1) for _ in range(chance.randrange(2, 4))]
        return f"({chance.choice((' and ', ' or ')).join(parts)})"
    if depth and roll < 0.5:
        return f"not ({random_filter(chance, depth - 1)})"
    return chance.choice(_TESTS)(chance)


def _text_operand(chance: random.Random) -> str:
    roll = chance.random()
    if roll < 0.4:
        return f"text({chance.choice(PATHS)})"
    return f"{chance.choice(('any', 'all'))}({chance.choice(_LISTS)}({chance.choice(PATHS)}))"


def _some_text(chance: random.Random) -> str:
    value = chance.choice((*TEXTS, *("12", "300", "null", "true", '"x"', '"12"', "[]", '{"a":12}')))
    return constant(value)


def _compared(chance: random.Random) -> str:
    op = chance.choice(("=", "=", "!=", "<", "<=", ">", ">=", "<=>", "is distinct from"))
    return f"{_text_operand(chance)} {op} {_some_text(chance)}"


def _among(chance: random.Random) -> str:
    items = [_some_text(chance) for _ in range(chance.randrange(1, 4))] + ["null"] * (chance.random() < 0.1)
    return f"{_text_operand(chance)} {chance.choice(('in', 'not in'))} ({', '.join(items)})"


_TEXT_TESTS = (
    *("like 'm%'", "ilike '%KATZ'", "contains 'i'", "icontains 'MI'", "startswith '1'", "iendswith 'Z'"),
    *("matches '^[0-9.]+$'", "imatches 'mimi|x'", "like '_'", "like ''", "between '0' and 'a'"),
)


def _text_test(chance: random.Random) -> str:
    return f"{_text_operand(chance)} {chance.choice(('', 'not '))}{chance.choice(_TEXT_TESTS)}"


def _read_as(chance: random.Random) -> str:
    test = chance.choice(("in cidr '10.0.0.0/8'", "in cidr ('::/64', '10.0.0.1/32')", ">= timestamp '2000-01-01'"))
    return f"{_text_operand(chance)} {test}"


def _numbers(chance: random.Random) -> str:
    operand = f"{chance.choice(('any', 'all'))}(numbers({chance.choice(PATHS)}))"
    number = chance.choice([each for each in NUMBERS if abs(each) < 1e6])
    test = chance.choice(("> {}", "= {}", "!= {}", "<= {}", "in ({}, 12)", "between -1 and {}", "not in (1, {})"))
    return f"{operand} {test.format(constant(number))}"


def _null(chance: random.Random) -> str:
    reading = chance.choice(("text", "texts", "strings", "numbers", "leaves", "nested"))
    return f"{reading}({chance.choice(PATHS)}) is {chance.choice(('', 'not '))}null"


def _fits(chance: random.Random) -> str:
    reading = chance.choice(("nested", "text"))
    return f"{reading}({chance.choice(PATHS)}) fits {constant(chance.choice(EVENT_PATTERNS))}"


def _pair(chance: random.Random) -> str:
    op = chance.choice(("=", "!=", "<", ">=", "<=>", "contains", "not icontains", "istartswith", "endswith"))
    return f"text({chance.choice(PATHS)}) {op} text({chance.choice(PATHS)})"


def _contained(chance: random.Random) -> str:
    word = chance.choice(("contains", "not contains", "icontains"))
    return f"{chance.choice(_LISTS)}({chance.choice(PATHS)}) {word} {_some_text(chance)}"


_TESTS: tuple[Callable[[random.Random], str], ...] = (
    *(_compared, _compared, _among, _text_test, _text_test, _numbers),
    *(_read_as, _null, _fits, _pair, _contained),
)
