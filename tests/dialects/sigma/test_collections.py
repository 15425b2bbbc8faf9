"""Collections: several documents in a file, filters, ids, what rules say of themselves, and which are wrong and why."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from vedette.dialects import registry
from vedette.dialects.rule_results import RuleDocument, RuleResult, RuleTranslation
from vedette.dialects.sigma import describe
from vedette.errors import DialectError, LimitError, NotInstalled

ID = "929a690e-bef0-4204-a928-ef5e620d6fcc"
RULE = f"""
title: Whoami
id: {ID}
status: test
level: high
description: Somebody asks who they are
author: Jane Doe
date: 2024-05-01
tags: [attack.discovery, attack.t1033]
references: ['https://example.org/whoami']
logsource: {{product: windows, category: process_creation}}
detection:
  selection: {{Image|endswith: \\whoami.exe}}
  condition: selection
"""
SMALL = "title: {0}\nlogsource: {{product: any}}\ndetection: {{s: {{a: {0}}}, condition: s}}\n"


def outcomes(*texts: str, **files: str) -> list[RuleResult]:
    documents = [RuleDocument(text, f"rules/{number}.yml") for number, text in enumerate(texts)]
    documents += [RuleDocument(text, f"{name}.yml") for name, text in files.items()]
    return list(registry.translate_all("sigma", documents))


def whens(*texts: str) -> list[str]:
    found = []
    for outcome in outcomes(*texts):
        assert isinstance(outcome.made, RuleTranslation), outcome.made
        found.append(outcome.made.when)
    return found


def test_a_rule_says_who_it_is() -> None:
    (outcome,) = outcomes(RULE)
    assert isinstance(outcome.made, RuleTranslation)
    assert outcome.made.id == ID == outcome.described.id
    assert outcome.rule.strip() == RULE.strip()
    assert outcome.made.origin == {
        "title": "Whoami",
        "level": "high",
        "status": "test",
        "author": "Jane Doe",
        "description": "Somebody asks who they are",
        "date": "2024-05-01",
        "tags": ["attack.discovery", "attack.t1033"],
        "references": ["https://example.org/whoami"],
        "logsource": {"product": "windows", "category": "process_creation"},
        "file": "rules/0.yml",
    }
    described = describe(RULE)
    assert described.id == ID
    assert "file" not in described.origin


def test_rules_without_an_id_are_called_by_their_files() -> None:
    found = outcomes(SMALL.format("x"), f"{SMALL.format('y')}---\n{SMALL.format('z')}")
    assert [outcome.described.id for outcome in found] == [
        "0",
        "rules/1.yml, document 1 (line 1)",
        "rules/1.yml, document 2 (line 5)",
    ]
    same = list(
        registry.translate_all("sigma", [RuleDocument(SMALL.format("x"), f"{folder}/a.yml") for folder in "xyz"])
    )
    assert [outcome.described.id for outcome in same] == ["a", "y/a.yml", "z/a.yml"]


def test_an_id_is_used_once() -> None:
    first, second = outcomes(RULE, RULE.replace("Whoami", "Again"))
    assert isinstance(first.made, RuleTranslation)
    assert isinstance(second.made, DialectError)
    assert "is also that of rules/0.yml" in str(second.made)


def test_documents_may_have_something_in_common() -> None:
    text = """
action: global
title: Common
logsource: {product: any}
detection: {common: {a: x}, condition: common and own}
---
detection: {own: {b: y}}
---
detection: {own: {b: z}}
---
action: reset
---
title: Alone
logsource: {product: any}
detection: {s: {c: 1}, condition: s}
---
action: repeat
title: Once more
detection: {s: {c: 2}}
"""
    assert whens(text) == [
        "any(items(a)) ilike 'x' and any(items(b)) ilike 'y'",
        "any(items(a)) ilike 'x' and any(items(b)) ilike 'z'",
        "any(items(c)) = '1'",
        "any(items(c)) = '2'",
    ]


def test_empty_documents_are_no_rules() -> None:
    assert len(whens(f"---\n{SMALL.format('x')}---\n---\n# nothing\n")) == 1
    assert outcomes("", "# nothing at all\n") == []


FILTER = """
title: Not those of the laboratory
logsource: {{product: windows}}
filter:
  rules: {0}
  laboratory: {{Computer|startswith: lab-}}
  condition: not laboratory
"""


@pytest.mark.parametrize("rules", ["any", f"[{ID}]", "[whoami]"])
def test_filters_add_exceptions_to_rules_in_any_file(rules: str) -> None:
    rule = RULE.replace("title: Whoami", "title: Whoami\nname: whoami")
    other = SMALL.format("x")
    found = outcomes(FILTER.format(rules), rule, other)
    assert found[0].made is None
    assert [outcome.made.when for outcome in found[1:] if isinstance(outcome.made, RuleTranslation)] == [
        "any(items(Image)) iendswith '\\whoami.exe' and "
        "(items(Computer) is null or not (any(items(Computer)) istartswith 'lab-'))",
        "any(items(a)) ilike 'x'",
    ]


def test_a_filter_that_names_nobody_says_so() -> None:
    wrong, right = outcomes(FILTER.format("[nobody]"), RULE)
    assert isinstance(wrong.made, DialectError)
    assert "Rule 'nobody' not found" in str(wrong.made)
    assert isinstance(right.made, RuleTranslation)
    (missing,) = outcomes(FILTER.format("any").replace("  rules: any\n", ""))
    assert "must have a 'rules' field" in str(missing.made)


WRONG = {
    "no mapping": ("just a text", "a rule is a mapping of YAML, not a str"),
    "no yaml": ("title: [", "this is not YAML: line 2"),
    "no logsource": ("title: x\ndetection: {s: {a: 1}, condition: s}", "must have a log source"),
    "no detection": ("title: x\nlogsource: {product: a}", "must have a detection"),
    "no condition": ("title: x\nlogsource: {product: a}\ndetection: {s: {a: 1}}", "at least one condition"),
    "no such detection": (SMALL.format("x").replace("condition: s", "condition: t"), "Detection 't' not defined"),
    "no such selector": (
        SMALL.format("x").replace("condition: s", "condition: 1 of t*"),
        "doesn't match any detection",
    ),
    "no condition at all": (
        SMALL.format("x").replace("condition: s", "condition: s and"),
        "line 1, column 6: the condition ends too early",
    ),
    "nonsense": (
        SMALL.format("x").replace("condition: s", "condition: s s"),
        "line 1, column 3: the condition makes no",
    ),
    "too long": (SMALL.format("x").replace("condition: s", f"condition: {'s and ' * 4000}s"), "the limit is 16,384"),
    "old condition": (SMALL.format("x").replace("condition: s", "condition: s | count() > 5"), "`|` in a condition"),
    "no uuid": (RULE.replace(ID, "mine"), "identifier must be an UUID"),
    "no level": (RULE.replace("high", "sky-high"), "not a valid Sigma rule level"),
    "no list": (
        RULE.replace("[attack.discovery, attack.t1033]", "5"),
        "must be a list",
    ),
    "condition of another type": (
        SMALL.format("x").replace("condition: s", "condition: 5"),
        "a condition is a text, not 5",
    ),
    "a list as detection": ("title: x\nlogsource: {product: a}\ndetection: [1]", "detection"),
    "unknown action": ("action: juggle", "Unknown Sigma collection action 'juggle'"),
    "nested too deeply": ("a: " + "[" * 70 + "]" * 70, "nested more than 64 deep"),
    "twice the same": (
        "title: x\nlogsource: {product: a}\ndetection: {s: &a {b: *a}, condition: s}",
        "ecursive|not YAML",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_says_what_is_wrong_and_leaves_others_alone(name: str) -> None:
    text, message = WRONG[name]
    before, wrong, after = outcomes(SMALL.format("x"), text, SMALL.format("y"))
    assert isinstance(before.made, RuleTranslation)
    assert isinstance(after.made, RuleTranslation)
    assert isinstance(wrong.made, DialectError | LimitError)
    assert any(part in str(wrong.made) for part in message.split("|")), wrong.made
    assert wrong.place == "rules/1.yml"


def test_what_can_be_known_of_a_wrong_rule_is_told() -> None:
    (wrong,) = outcomes(RULE.replace("condition: selection", "condition: nothing"))
    assert wrong.described.id == ID
    assert wrong.described.origin["title"] == "Whoami"
    (worse,) = outcomes(RULE.replace("endswith", "shout"))
    assert worse.described.id == ID
    assert worse.described.origin == {"title": "Whoami", "author": "Jane Doe", "file": "rules/0.yml"}


def test_a_bomb_of_aliases_does_not_go_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (wrong,) = outcomes("\n".join(lines) + "\n" + SMALL.format("x"))
    assert isinstance(wrong.made, DialectError)
    assert "aliases expand to too many nodes" in str(wrong.made)


def test_a_condition_that_is_nested_too_deeply_is_refused() -> None:
    (wrong,) = outcomes(SMALL.format("x").replace("condition: s", f"condition: {'not ' * 4000}s"))
    assert isinstance(wrong.made, LimitError)
    assert "nested too deeply" in str(wrong.made)


def test_one_rule_is_expected_where_one_is_translated() -> None:
    with pytest.raises(DialectError, match="2 rules in this text, where one is expected"):
        registry.translate("sigma", f"{SMALL.format('x')}---\n{SMALL.format('y')}")
    with pytest.raises(DialectError, match="no rules in this text"):
        registry.translate("sigma", "# nothing")
    with pytest.raises(DialectError, match="Unknown modifier"):
        registry.translate("sigma", SMALL.format("x").replace("{a:", "{a|shout:"))


def test_a_rule_may_be_a_mapping_without_a_title() -> None:
    rule: dict[str, Any] = {"logsource": {"product": "any"}, "detection": {"s": {"a": ("x", "y")}, "condition": "s"}}
    made = registry.translate("sigma", rule)
    assert made.when == "any(items(a)) ilike 'x' or any(items(a)) ilike 'y'"
    assert rule["detection"]["s"] == {"a": ("x", "y")}  # as it was
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    with pytest.raises(DialectError, match="nested more than 64 deep"):
        registry.translate("sigma", {"detection": deep})


def test_pysigma_is_loaded_when_the_first_rule_comes() -> None:
    code = "import sys, vedette, vedette.dialects.sigma; assert 'sigma' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_pysigma_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sigma.collection", None)
    with pytest.raises(NotInstalled, match=r"pip install 'vedette\[sigma\]'"):
        registry.translate("sigma", SMALL.format("x"))
