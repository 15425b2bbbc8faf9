"""Another way to say what fits: try every choice of leaves. It knows nothing of vedette.language.documents."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator
from typing import Any

Membership = dict[int, int]
Rule = dict[str, list[Any]]


def naive_fits(pattern: dict[str, Any], event: Any) -> bool:
    """Whether some way through the `$or`s has a choice of leaves that agree."""
    found: dict[str, list[tuple[Any, Membership]]] = {}
    for path, leaf, membership in _leaves(event, "", {}, itertools.count()):
        found.setdefault(path, []).append((leaf, membership))
    return any(_some_choice(rule, found) for rule in _rules(pattern, "", [{}]))


def _rules(pattern: dict[str, Any], above: str, rules: list[Rule]) -> list[Rule]:
    for key, below in pattern.items():
        if key == "$or":
            rules = [made for each in below for made in _rules(each, above, [dict(rule) for rule in rules])]
        elif isinstance(below, dict):
            rules = _rules(below, f"{above}{key}.", rules)
        else:
            for rule in rules:
                rule[above + key] = below
    return rules


def _leaves(value: Any, path: str, inside: Membership, numbers: Iterator[int]) -> Iterator[tuple[str, Any, Membership]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, f"{path}.{key}" if path else key, inside, numbers)
    elif isinstance(value, list):
        number = next(numbers)
        for index, element in enumerate(value):
            is_scalar = not isinstance(element, dict | list)
            yield from _leaves(element, path, inside if is_scalar else {**inside, number: index}, numbers)
    else:
        yield path, value, inside


def _some_choice(rule: Rule, found: dict[str, list[tuple[Any, Membership]]]) -> bool:
    paths = sorted(rule, key=lambda path: path.encode("utf-16-be"))
    options: list[list[Membership | None]] = []  # None: the field is missing
    for path in paths:
        here: list[Membership | None] = [where for leaf, where in found.get(path, ()) if _passes_some(rule[path], leaf)]
        options.append([*here, None] if {"exists": False} in rule[path] else here)
    for choice in itertools.product(*options):
        together: Membership = {}
        for path, where in zip(paths, choice, strict=True):
            if where is None:
                if any(_agree(other, together) for _, other in found.get(path, ())):
                    break
            elif _agree(where, together):
                together = {**together, **where}
            else:
                break
        else:
            return True
    return False


def _agree(one: Membership, other: Membership) -> bool:
    return all(other.get(number, index) == index for number, index in one.items())


def _passes_some(tests: list[Any], leaf: Any) -> bool:
    return any(_passes(test, leaf) for test in tests)


def _passes(test: Any, leaf: Any) -> bool:
    if not isinstance(test, dict):
        return _same(test, leaf)
    ((name, value),) = test.items()
    if name == "exists":
        return bool(value)
    if name == "anything-but":
        return not any(_passes(one, leaf) for one in _excluded(value))
    if name == "numeric":
        return _is_number(leaf) and all(_compared(leaf, value[at], value[at + 1]) for at in range(0, len(value), 2))
    return isinstance(leaf, str) and _passes_text(name, value, leaf)


def _passes_text(name: str, value: Any, leaf: str) -> bool:
    if name == "cidr":
        return _in_network(leaf, value)
    if name in ("prefix", "suffix"):
        text, flags = (value["equals-ignore-case"], re.IGNORECASE) if isinstance(value, dict) else (value, 0)
        begin, end = (re.escape(text), ".*") if name == "prefix" else (".*", re.escape(text))
        return re.fullmatch(begin + end, leaf, flags | re.DOTALL) is not None
    if name == "equals-ignore-case":
        return re.fullmatch(re.escape(value), leaf, re.IGNORECASE) is not None
    if name == "exactly":
        return bool(value == leaf)
    parts = re.findall(r"\\.|.", value, re.DOTALL)
    made = "".join(".*" if part == "*" else re.escape(part[-1]) for part in parts)
    return re.fullmatch(made, leaf, re.DOTALL) is not None


def _excluded(value: Any) -> list[Any]:
    if isinstance(value, dict):
        ((name, below),) = value.items()
        return [{name: one} for one in (below if isinstance(below, list) else [below])]
    return [
        {"exactly": one} if isinstance(one, str) else one for one in (value if isinstance(value, list) else [value])
    ]


def _same(value: Any, leaf: Any) -> bool:
    if isinstance(value, str) and isinstance(leaf, str):
        return value == leaf or (_address(value) is not None and _address(value) == _address(leaf))
    if _is_number(value) and _is_number(leaf):
        return bool(value == leaf)
    return value is leaf if value is None or isinstance(value, bool) else False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(leaf: Any, sign: str, number: Any) -> bool:
    signs = {"=": leaf == number, "<": leaf < number, "<=": leaf <= number, ">": leaf > number, ">=": leaf >= number}
    return bool(signs[sign])


def _address(text: str) -> Any:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _in_network(leaf: str, network: str) -> bool:
    address = _address(leaf)
    return address is not None and address in ipaddress.ip_network(network, strict=False)
