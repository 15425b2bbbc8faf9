"""Which dialects there are, and what comes out of one."""

from __future__ import annotations

import pytest

import vedette as vd
from vedette.dialects import registry
from vedette.dialects.rule_results import RuleDocument, RuleTranslation
from vedette.errors import DialectError, InputError, NotSupported


def test_a_rule_becomes_a_text_with_what_it_says_of_itself(standin: str) -> None:
    rule = {"a": 1, "b": "x", "about": {"id": "r1", "title": "Both", "level": "high"}}
    made = vd.translate(rule, dialect=standin)
    assert made == RuleTranslation("a = 1 and b = 'x'", {"title": "Both", "level": "high"}, "r1")
    assert str(made) == made.when
    assert vd.translate('{"a": 1}', dialect=standin).when == "a = 1"
    assert vd.translate("a = 1", dialect="vedette") == RuleTranslation("a = 1")


def test_pipelines_are_handed_on(standin: str) -> None:
    assert vd.translate({"a": 1}, dialect=standin, pipelines=["a=b"]).when == "b = 1"
    with pytest.raises(InputError, match="know no pipelines"):
        vd.translate({"source": ["x"]}, dialect="eventbridge", pipelines=["a=b"])


def test_what_is_wrong_and_what_cannot_be_said_are_told_apart(standin: str) -> None:
    with pytest.raises(DialectError, match=r"the rule is empty\nHint: ask for something"):
        vd.translate({}, dialect=standin)
    with pytest.raises(NotSupported, match="cannot be said"):
        vd.translate({"kind": "odd"}, dialect=standin)


@pytest.mark.parametrize(
    ("dialect", "hint"), [("Sigma", "did you mean 'sigma'"), ("lua", "there are 'cesql', "), (3, "there are")]
)
def test_an_unknown_dialect_is_refused(dialect: str, hint: str) -> None:
    with pytest.raises(NotSupported, match=hint):
        vd.translate("x", dialect=dialect)


def test_what_is_no_rule_is_refused(standin: str) -> None:
    with pytest.raises(InputError, match="a rule must be a text or a mapping, not a list"):
        vd.translate([1], dialect=standin)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is a text, not a dict"):
        vd.translate({}, dialect="vedette")


def test_collections_go_on_after_what_cannot_be_translated(standin: str) -> None:
    texts = [RuleDocument('{"a": 1}\n---\n{"kind": "odd"}', "one.yml"), RuleDocument("{", "two.yml")]
    found = list(registry.translate_all(standin, texts))
    assert [(one.place, type(one.made)) for one in found] == [
        ("one.yml, document 1", RuleTranslation),
        ("one.yml, document 2", NotSupported),
        ("two.yml", DialectError),
    ]
    with pytest.raises(NotSupported, match="write them as records"):
        registry.translate_all("vedette", texts)
