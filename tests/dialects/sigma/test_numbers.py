"""Integers of 64 bits in rules: none is rounded, wherever it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dialects.sigma.asking import answers, read, selection
from tests.dialects.sigma.test_collections import outcomes, whens
from tests.dialects.sigma.test_pipelines import written
from vedette.dialects.rule_results import RuleTranslation
from vedette.errors import NotSupported

USER = 1846987654321098753  # between two floats: pySigma makes 1846987654321098752 of it
NEAR = range(USER - 2, USER + 3)


@pytest.mark.parametrize("form", [int, str, lambda user: ["x", user]])
@pytest.mark.parametrize("number", [USER, -USER, 2**53 + 1, 2**63 - 1, 2**64 - 3])
def test_a_number_is_the_one_that_is_written(number: int, form: Any) -> None:
    near = [form(number + more) for more in range(-2, 3)]
    events = [{"f": value} for value in near]
    for fields, expected in (
        (f"f: {number}", "..x.."),
        (f"f: [{number - 1}, {number + 1}]", ".x.x."),
        (f"f|neq: {number}", "xx.xx"),
        (f"f|gt: {number}", "...xx"),
        (f"f|gte: {number}", "..xxx"),
        (f"f|gte: [{number + 1}, {number + 2}]", "...xx"),
        (f"f|lt: {number}", "xx..."),
        (f"f|lte: {number}", "xxx.."),
    ):
        assert answers(read(fields), events) == [sign == "x" for sign in expected], fields


def test_everywhere_in_a_detection() -> None:
    events = [{"f": user, "g": "x"} for user in NEAR]
    only = [user == USER for user in NEAR]
    assert answers(selection([{"f": 7}, {"g": "x", "f": USER}]), events) == only
    assert answers(selection([USER, "nobody"]), events) == only
    assert answers(selection(USER), events) == only
    assert answers(selection({"g": "x"}, "not selection or selection", extra={"f": USER}), events) == [True] * 5


def test_in_documents_that_have_something_in_common() -> None:
    text = f"""
action: global
title: common
logsource: {{product: any}}
detection:
    who: {{f: {USER}}}
    condition: who and what
---
detection:
    what: {{g: {USER + 2}}}
---
action: repeat
detection:
    what: {{g: {USER + 1}}}
"""
    assert whens(text) == [f"any(items(f)) = '{USER}' and any(items(g)) = '{USER + more}'" for more in (2, 1)]


def test_exceptions_of_filters() -> None:
    text = f"""
title: rule
name: rule
logsource: {{product: any}}
detection:
    any: {{f|gt: 0}}
    condition: any
---
title: filter
logsource: {{product: any}}
filter:
    rules: [rule]
    one: {{f: {USER}}}
    condition: not one
"""
    rule, exceptions = outcomes(text)
    assert isinstance(rule.made, RuleTranslation)
    assert f"not (any(items(f)) = '{USER}')" in rule.made.when
    assert exceptions.made is None


def test_what_a_pipeline_rounds_is_refused(tmp_path: Path) -> None:
    pipeline = written(tmp_path, "p.yml", f"transformations: [{{type: set_value, value: {USER}}}]")
    with pytest.raises(NotSupported, match=r"integers beyond 2\*\*53 are not exact there\nHint: write it as a text"):
        answers(selection({"f": 5}), [{}], [pipeline])
    text = written(tmp_path, "t.yml", f"transformations: [{{type: set_value, value: '{USER}'}}]")
    assert answers(selection({"f": 5}), [{"f": user} for user in NEAR], [text]) == [user == USER for user in NEAR]
