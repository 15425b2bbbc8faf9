"""Random expressions, most of them of sense and some of none, and random events, valid and not."""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ("type", "id", "subject", "time", "a", "b", "c", "n1", "data")
_TEXTS = (
    "a",
    "b",
    "",
    "5",
    "05",
    "+5",
    "-0",
    "true",
    "TRUE",
    "False",
    "abc",
    "3.5",
    "2147483648",
    "1",
    "0",
    "A",
    "[1]",
)
_LITERALS = (
    *(f"'{text}'" for text in _TEXTS),
    "5",
    "1",
    "0",
    "-3",
    "100",
    "2147483647",
    "-2147483648",
    "TRUE",
    "false",
)
_PATTERNS = ("a%", "%b", "_", "%", "", "5", "tr%", r"a\%", "%0%", r"a\b", "__", "A%")
_FUNCTIONS = (
    *("INT", "BOOL", "STRING", "IS_INT", "IS_BOOL", "ABS", "LENGTH", "LOWER", "UPPER", "TRIM", "NOSUCH"),
    *("LEFT", "RIGHT", "SUBSTRING", "CONCAT"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 5, -3, 100, 2147483647, -2147483648, 2147483648, 3.5, 5.0, -0.0, 1e300),
    *("", "a", "b", "ab", "abc", "A", "5", "05", "+5", "-0", "000", "-3", "true", "TRUE", "False", "tRuE", "falſe"),
    *("3.5", " 5", "2147483648", "-2147483648", "2147483647", "[1]", "null", "é", "a\\b", "a%", "\n", "Σ", "1"),
    *([], [1], ["5"], [True], ["a"], {"x": 1}, [[1]], [None]),
)


def expression(random: Random, depth: int) -> str:
    """The text of one, in parentheses where it is not a single word."""

    def inner() -> str:
        return expression(random, depth - 1)

    if depth == 0 or random.random() < 0.15:
        return random.choice(NAMES) if random.random() < 0.7 else random.choice(_LITERALS)
    negated = random.choice(["", "NOT "])
    match random.randrange(16):
        case 0 | 1 | 2:
            return f"({inner()} {random.choice(['AND', 'OR', 'XOR'])} {inner()})"
        case 3 | 4 | 5:
            return f"({inner()} {random.choice(['=', '!=', '<>'])} {inner()})"
        case 6 | 7:
            return f"({inner()} {random.choice(['<', '<=', '>', '>='])} {inner()})"
        case 8:
            return f"(NOT {inner()})"
        case 9:
            return f"(- {inner()})"
        case 10:
            return f"({inner()} {random.choice('+-*/%')} {inner()})"
        case 11:
            return f"({inner()} {negated}LIKE '{random.choice(_PATTERNS)}')"
        case 12 | 13:
            items = [random.choice(NAMES if random.random() < 0.2 else _LITERALS) for _ in range(random.randint(1, 3))]
            return f"({inner()} {negated}IN ({', '.join(items)}))"
        case 14:
            return f"(EXISTS {random.choice(NAMES)})"
    name = random.choice(_FUNCTIONS)
    if name in ("LEFT", "RIGHT", "SUBSTRING"):
        return f"{name}({inner()}, {random.choice(['0', '1', '2', '-1', 'n1'])})"
    return f"CONCAT({inner()}, {inner()})" if name == "CONCAT" else f"{name}({inner()})"


def event(random: Random) -> dict[str, Any]:
    """An event that may lack what every CloudEvent has, and have what none may have."""
    made: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "s", "type": "a"}
    for name in (*NAMES, "source"):
        if random.random() < 0.75:
            made[name] = random.choice(_VALUES)
        elif random.random() < 0.3:
            made.pop(name, None)
    return made
