"""Detection rules of the SigmaHQ project as our filters: real subscriptions, with events whose answers are known.

Sigma knows no unknown: a test of an attribute that is missing is false, and its negation true. So negations are pushed
down to the tests, and there they hold where the attribute is null, too. Texts compare without regard to case.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_ADDRESS = "'^[0-9a-fA-F:.]+$'"
_TESTS = {"contains": "icontains", "startswith": "istartswith", "endswith": "iendswith"}
_OTHER = {"and": "or", "or": "and"}
Part: TypeAlias = Mapping[str, Any]
Named: TypeAlias = Callable[[str], str]  # a field of Sigma's -> an attribute


class Untranslatable(Exception):
    """A rule that is not for Windows, or looks into any attribute at all."""


def shared(name: str) -> Path:
    """A file of the shared data, or the test is skipped."""
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not among the shared data")
    return DATA / name


@cache
def rules() -> dict[str, dict[str, Any]]:
    """Id -> rule, those that could be converted."""
    with gzip.open(shared("sigma_rules/rules.jsonl.gz"), "rt", encoding="utf-8") as lines:
        found = (json.loads(line) for line in lines)
        return {rule["id"]: rule for rule in found if rule["expr"]}


def filter_of(rule: Part, named: Named | None = None) -> str:
    """The filter of a Windows rule: which events it listens to, and what it says of them."""
    named = named or quoted_name
    channel, number = named("Channel"), named("EventID")
    listens = [
        f"{channel} = {_quoted(where)}" + ("" if code is None else f" and {number} = {_quoted(str(code))}")
        for where, code in _scope(rule["logsource"])
    ]
    return f"({' or '.join(listens)}) and {_said(rule['expr'], named, negated=False)}"


def quoted_name(field: str) -> str:
    """A name of any characters."""
    return "`" + field.replace("`", "``") + "`"


@cache
def _scopes() -> Any:
    return json.loads(shared("sigma_rules/logsource_scope.json").read_text(encoding="utf-8"))


def _scope(source: Part) -> list[tuple[str, int | None]]:
    """The (channel, event code) that a rule listens to."""
    category, service = source.get("category"), source.get("service")
    if source.get("product") == "windows" and category in _scopes()["categories"]:
        return [(where, code) for where, code in _scopes()["categories"][category]]
    if source.get("product") == "windows" and category is None and service in _scopes()["services"]:
        channels = _scopes()["services"][service]
        return [(where, None) for where in ([channels] if isinstance(channels, str) else channels)]
    raise Untranslatable(source)


def _said(part: Part, named: Named, *, negated: bool) -> str:
    if "not" in part:
        return _said(part["not"], named, negated=not negated)
    word = next((word for word in _OTHER if word in part), None)
    if word is None:
        return _tested([part], "or", named, negated)
    # Tests of one attribute stay together: apart, each would have to say again what holds where it is null.
    together: dict[str, list[Part]] = {}
    said = []
    for one in part[word]:
        if _text_test(one) is None:
            said.append(_said(one, named, negated=negated))
        else:
            together.setdefault(one["field"], []).append(one)
    said += [_tested(tests, word, named, negated) for tests in together.values()]
    return "(" + f" {_OTHER[word] if negated else word} ".join(said) + ")"


def _tested(tests: list[Part], word: str, named: Named, negated: bool) -> str:
    """Tests of one attribute, joined by the word; or that they do not hold."""
    first = tests[0]
    if "field" not in first:
        raise Untranslatable(first)
    name = named(first["field"])
    if _text_test(first) is None:
        return _special(name, first, named, negated)
    joined = f" {word} ".join(f"{name} {_text_test(test)}" for test in tests)
    return f"({name} is null or not ({joined}))" if negated else f"({joined})"


def _special(name: str, part: Part, named: Named, negated: bool) -> str:
    op = part["op"]
    if op == "null":
        return f"{name} != ''" if negated else f"({name} is null or {name} = '')"
    if op == "any":
        return f"{name} is null" if negated else f"{name} is not null"
    if op == "cidr":
        network = _quoted(part["value"])
        if negated:
            return f"({name} is null or {name} not matches {_ADDRESS} or {name} not in cidr {network})"
        return f"{name} in cidr {network}"
    if op == "fieldref" and not part["sw"] and not part["ew"]:
        other = named(part["value"])
        return f"({name} is null or {other} is null or {name} != {other})" if negated else f"{name} = {other}"
    raise Untranslatable(part)


def _text_test(part: Part) -> str | None:
    """What is asked of a text; None for parts that are no test of a text."""
    op, value = part.get("op"), part.get("value")
    if "field" not in part:
        return None
    if op == "eq":
        return f"ilike {_quoted(_escaped(value if isinstance(value, str) else json.dumps(value)))}"
    if op in _TESTS:
        return f"{_TESTS[op]} {_quoted(str(value))}"
    if op == "like":
        return f"ilike {_quoted(''.join(_pattern(value or [])))}"
    if op == "re":
        return f"{'imatches' if 'i' in part['flags'] else 'matches'} {_quoted(str(value))}"
    return None


def _pattern(parts: Iterable[Any]) -> Iterable[str]:
    for part in parts:
        yield {"*": "%", "?": "_"}[part] if isinstance(part, str) else _escaped(part[1])


def _escaped(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
