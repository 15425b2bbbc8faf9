"""Patterns and events at random, small enough to meet, from few names and few values."""

from __future__ import annotations

import random
from typing import Any

NAMES = ["a", "b", "c", "d"]
STRINGS = [
    *(
        "",
        "x",
        "X",
        "xy",
        "xyz",
        "Xy",
        "n",
        "5",
        "null",
        "a*b",
        "a\\b",
        "foo/bar",
        'q"r',
        "line\nn",
        "été",
        "ÉTÉ",
        "😀x",
    ),
    *("10.0.0.1", "10.0.0.77", "192.168.1.1", "::1", "0:0::1", "2001:db8::5"),
]
NUMBERS = [0, 1, 5, 5.0, -1, 1.5, 300, 3e2, 0.1, 123456789012, -0.0, 2**52]
AFFIXES = ["x", "X", "a", "1", "n", "y", "é", '"']
WILDCARDS = ["*", "x*", "*y", "x*z", "*a*", "a\\**", "a\\\\*", "*/*", "*n", "*\\*b", "xy"]
NETWORKS = ["10.0.0.0/24", "10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32", "::/64", "10.0.0.64/26"]


class Cases:
    """One stream of random cases; `dots` lets names have dots in them."""

    def __init__(self, seed: int, *, dots: bool = False) -> None:
        self._random = random.Random(seed)
        self._dots = dots

    def name(self) -> str:
        """A name of a field."""
        dotted = self._dots and self._random.random() < 0.1
        return f"{self._one(NAMES)}.{self._one(NAMES)}" if dotted else self._one(NAMES)

    def event(self) -> dict[str, Any]:
        """An event with objects, lists, and lists of objects."""
        return self._object(0)

    def pattern(self, event: dict[str, Any]) -> dict[str, Any]:
        """A pattern that this event may well fit."""
        made = self._fields(event)
        if self._random.random() < 0.2:
            made["$or"] = [self._fields(event) for _ in range(self._one([2, 2, 3]))]
        return made

    def _one(self, values: list[Any]) -> Any:
        return self._random.choice(values)

    def _scalar(self) -> Any:
        return self._one(self._one([STRINGS, STRINGS, STRINGS, NUMBERS, NUMBERS, [True, False, None]]))

    def _object(self, depth: int) -> dict[str, Any]:
        return {self.name(): self._value(depth) for _ in range(self._one([1, 2, 2, 3]))}

    def _value(self, depth: int) -> Any:
        chance = self._random.random()
        if depth >= 4 or chance < 0.4:
            return self._scalar()
        if chance < 0.7:
            return self._object(depth + 1)
        return [self._value(depth + 1) for _ in range(self._one([0, 1, 2, 2, 3]))]

    def _fields(self, event: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        places = list(_places(event, ()))
        for path, leaf in self._random.sample(places, min(len(places), self._one([1, 2, 2, 3]))):
            tests = [self._near(leaf), *(self._test() for _ in range(self._one([0, 0, 1])))]
            if self._random.random() < 0.2:
                path, tests = (*path[:-1], self.name()), [self._test()]
            if self._random.random() < 0.15:
                tests.append({"exists": False})
            self._random.shuffle(tests)
            _put(made, path, tests)
        if not made or self._random.random() < 0.25:
            _put(made, (self.name(), *([self.name()] if self._random.random() < 0.5 else [])), [{"exists": False}])
        return made

    def _near(self, leaf: Any) -> Any:
        """A test that the leaf passes more often than not."""
        kind = self._random.randrange(7)
        if isinstance(leaf, str):
            cut = self._random.randrange(len(leaf) + 1)
            escaped = [part.replace("\\", "\\\\").replace("*", "\\*") for part in (leaf[:cut], leaf[cut + 1 :])]
            near: list[dict[str, Any]] = [
                {"prefix": leaf[:cut]},
                {"suffix": leaf[cut:]},
                {"equals-ignore-case": leaf.swapcase()},
            ]
            near += [{"wildcard": "*".join(escaped)}, {"exists": True}]
            return near[kind] if kind < len(near) else leaf
        if isinstance(leaf, int | float) and not isinstance(leaf, bool) and kind < 4:
            return {"numeric": [["=", leaf], ["<=", leaf], [">=", leaf], [">", leaf - 1, "<", leaf + 1]][kind]}
        return self._test() if kind == 6 else leaf

    def _test(self) -> Any:
        kind = self._random.randrange(12)
        if kind < 3:
            return self._scalar()
        if kind == 3:
            name = self._one(["prefix", "suffix"])
            return {name: self._one([self._one(AFFIXES), {"equals-ignore-case": self._one(AFFIXES)}])}
        if kind == 4:
            return {"equals-ignore-case": self._one(STRINGS)}
        if kind == 5:
            return {"wildcard": self._one(WILDCARDS)}
        if kind in (6, 7):
            return {"anything-but": self._excluded()}
        if kind == 8:
            low = self._one(NUMBERS)
            return {"numeric": self._one([["=", low], ["<", low], [">=", low], [">", low, "<=", low + 100]])}
        if kind == 9:
            return {"cidr": self._one(NETWORKS)}
        return {"exists": kind == 10}

    def _excluded(self) -> Any:
        name = self._one(["prefix", "suffix", "equals-ignore-case", "wildcard", "strings", "numbers"])
        values: dict[str, Any] = {
            "strings": STRINGS,
            "numbers": NUMBERS,
            "equals-ignore-case": STRINGS,
            "wildcard": WILDCARDS,
        }
        made = [self._one(values.get(name, AFFIXES)) for _ in range(self._one([1, 1, 2, 3]))]
        excluded = made[0] if len(made) == 1 and self._random.random() < 0.5 else made
        return excluded if name in ("strings", "numbers") else {name: excluded}


def _places(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _places(below, (*path, key))
    elif isinstance(value, list):
        for element in value:
            yield from _places(element, path)
    else:
        yield path, value


def _put(made: dict[str, Any], path: tuple[str, ...], tests: list[Any]) -> None:
    for key in path[:-1]:
        if not isinstance(made.get(key), dict):
            made[key] = {}
        made = made[key]
    made[path[-1]] = tests
