"""What a rule of Sigma says of one event, straight from its detection: no pySigma, no language, nothing fast.

Knows what `random_rules` makes: lists, wildcards without escapes, `contains`, `startswith`, `endswith`, `all`, `cased`,
`re`, `cidr`, `exists`, `gt`, `lt`, `neq`, `fieldref`, null, keywords, `1 of`, `all of`, conditions with parentheses.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Mapping
from typing import Any

Event = Mapping[str, Any]


def holds(rule: Mapping[str, Any], event: Event) -> bool:
    """Whether the rule fires."""
    detection = rule["detection"]
    named = {name: _detected(part, event) for name, part in detection.items() if name != "condition"}
    words = re.findall(r"[()]|[\w*]+", detection["condition"])
    truth = _either(words, named)
    assert not words
    return truth


def _either(words: list[str], named: dict[str, bool]) -> bool:
    truth = _both(words, named)
    while words[:1] == ["or"]:
        words.pop(0)
        truth = _both(words, named) or truth
    return truth


def _both(words: list[str], named: dict[str, bool]) -> bool:
    truth = _one(words, named)
    while words[:1] == ["and"]:
        words.pop(0)
        truth = _one(words, named) and truth
    return truth


def _one(words: list[str], named: dict[str, bool]) -> bool:
    word = words.pop(0)
    if word == "not":
        return not _one(words, named)
    if word == "(":
        truth = _either(words, named)
        assert words.pop(0) == ")"
        return truth
    if words[:1] == ["of"]:
        words.pop(0)
        pattern = words.pop(0)
        chosen = [truth for name, truth in named.items() if pattern == "them" or fnmatch.fnmatchcase(name, pattern)]
        return all(chosen) if word == "all" else any(chosen)
    return named[word]


def _detected(part: Any, event: Event) -> bool:
    if isinstance(part, dict):
        return all(_field(name, values, event) for name, values in part.items())
    if isinstance(part, list):
        return any(_detected(one, event) for one in part)
    return any(_like(text, f"*{part}*", cased=False) for text in _texts(event))


def _field(key: str, values: Any, event: Event) -> bool:
    name, *modifiers = key.split("|")
    found = event.get(name)
    truths = [_of_any(found, modifiers, value, event) for value in _listed(values)]
    truth = all(truths) if "all" in modifiers else any(truths)
    return not truth if "neq" in modifiers else truth


def _of_any(found: Any, modifiers: list[str], value: Any, event: Event) -> bool:
    """Of a list any element counts, except where nothing but its presence is asked, and in comparisons of fields."""
    if not isinstance(found, list) or "exists" in modifiers:
        return _value(found, modifiers, value, event)
    return any(_value(each, modifiers, value, event) for each in found if each is not None)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) and values else [None] if values == [] else [values]


def _value(found: Any, modifiers: list[str], value: Any, event: Event) -> bool:
    if value is None:
        return found is None or found == ""
    if "exists" in modifiers:
        return (found is not None) is value
    if found is None:
        return False
    text = _text(found)
    if "fieldref" in modifiers:
        return event.get(value) is not None and text.lower() == _text(event[value]).lower()
    if "cidr" in modifiers:
        try:
            return ipaddress.ip_address(text) in ipaddress.ip_network(value)
        except ValueError:
            return False
    if "re" in modifiers:
        return re.search(value, text, re.IGNORECASE if "i" in modifiers else 0) is not None
    if "gt" in modifiers or "lt" in modifiers:
        try:
            return float(text) > value if "gt" in modifiers else float(text) < value
        except ValueError:
            return False
    wanted = _text(value)
    before = "*" if "contains" in modifiers or "endswith" in modifiers else ""
    after = "*" if "contains" in modifiers or "startswith" in modifiers else ""
    return _like(text, before + wanted + after, cased="cased" in modifiers)


def _like(text: str, pattern: str, *, cased: bool) -> bool:
    parts = [{"*": ".*", "?": "."}.get(character) or re.escape(character) for character in pattern]
    return re.fullmatch("".join(parts), text, re.DOTALL | (0 if cased else re.IGNORECASE)) is not None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [] if value is None else [_text(value)]
