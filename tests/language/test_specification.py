"""LANGUAGE.md is true: its examples parse, are refused, and mean what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from vedette.errors import FilterError, NotSupported
from vedette.language import limits
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.lexer import RESERVED
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.schema.schema import Schema

SPECIFICATION = (Path(__file__).parents[2] / "LANGUAGE.md").read_text(encoding="utf-8")
_FENCE = re.compile(r"^```(?P<kind>[^\n]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TRUTHS = {"true": True, "false": False, "unknown": None}


def examples(kind: str) -> list[str]:
    """The examples in blocks of a kind: a line that is not indented begins one."""
    found: list[str] = []
    for fence in _FENCE.finditer(SPECIFICATION):
        if fence["kind"] == kind:
            found += [text.strip() for text in re.split(r"\n(?=\S)", fence["body"].strip("\n"))]
    return found


def verdicts(example: str) -> list[tuple[dict[str, Any], bool | None]]:
    """The events in an example's comment, and what the filter is for each."""
    found: list[tuple[dict[str, Any], bool | None]] = []
    comment = example.rpartition(" -- ")[2] if " -- " in example else ""
    while (at := comment.find("{")) >= 0:
        event, length = json.JSONDecoder().raw_decode(comment[at:])
        word, comment = re.match(r"\s*(\w+)(.*)", comment[at + length :], re.DOTALL).groups()  # type: ignore[union-attr]
        found.append((event, TRUTHS[word]))
    return found


SCHEMA_TEXT = next(fence["body"] for fence in _FENCE.finditer(SPECIFICATION) if fence["kind"] == "yaml")
SCHEMA = Schema.of(yaml.safe_load(SCHEMA_TEXT), closed=False)
VALID = examples("sql")
REFUSED = examples("sql refused")
JUDGED = [(example, *verdict) for example in VALID for verdict in verdicts(example)]


def test_there_are_examples() -> None:
    assert len(VALID) > 80
    assert len(REFUSED) > 30
    assert len(JUDGED) > 120


@pytest.mark.parametrize("example", VALID)
def test_valid_examples(example: str) -> None:
    found = parse(example)
    assert parse(render(found)) == found
    check(found, SCHEMA, example)


@pytest.mark.parametrize("example", REFUSED)
def test_refused_examples(example: str) -> None:
    with pytest.raises((FilterError, NotSupported)):
        check(parse(example), SCHEMA, example)


@pytest.mark.parametrize(("example", "event", "expected"), JUDGED)
def test_what_examples_mean(example: str, event: dict[str, Any], expected: bool | None) -> None:
    assert evaluate(check(parse(example), SCHEMA, example), event) is expected


def test_the_reserved_words_are_listed() -> None:
    line = next(line for line in SPECIFICATION.splitlines() if line.startswith("    and  or  not"))
    assert set(line.split()) == RESERVED


def test_the_limits_are_listed() -> None:
    section = SPECIFICATION.partition("## 10. Limits")[2].partition("## 11.")[0]
    numbers = {int(number.replace(",", "")) for number in re.findall(r"\b[0-9][0-9,]*\b", section)}
    assert numbers >= {value for name, value in vars(limits).items() if name.isupper() and name != "REGEX_MEMORY"}


def test_the_error_shown_is_the_one_given() -> None:
    with pytest.raises(FilterError) as caught:
        parse("volume betwen 1 and 5")
    assert "".join(f"    {line}\n" for line in str(caught.value).splitlines()) in SPECIFICATION
