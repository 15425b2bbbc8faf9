"""Findings: what, and where."""

from __future__ import annotations

import pytest

from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.lint import Lint, lint
from vedette.language.parser import parse
from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "price": "float",
        "volume": "int",
        "issue": "string",
        "active": "bool",
        "time": "timestamp",
        "tags": "list of string",
    }
)


def findings(text: str) -> list[tuple[str, str, str]]:
    found = lint(check(parse(text), SCHEMA, text))
    return [(each.code, text[each.start : each.end], each.message) for each in found]


CLEAN = [
    "price < 120",
    "issue = 'IBM' and price < 120 and volume between 1000 and 5000",
    "price > 5 and price < 10 and price != 7",
    "issue = 'a' or issue = 'b' or volume > 5",
    "volume is null or volume > 5",
    "volume is not null",
    "not (issue like 'lab-%' or issue is null)",
    "issue contains 'a' and issue contains 'b'",
    "issue in ('Abc', 'x') and issue istartswith 'A'",
    "any(tags) = 'a' and any(tags) = 'b'",
    "people(?n) and ?n > 5 and volume > 5",
    "price > 5 and (volume > 5 or volume is null)",
    "[price > 5] ; [price < 3]",
    "volume > 0 and " + " and ".join(f"not (volume = {n} and price = {n})" for n in range(1, 40)),
]


@pytest.mark.parametrize("text", CLEAN)
def test_what_makes_sense_has_no_findings(text: str) -> None:
    assert findings(text) == []


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("true", "always", "true", "this filter matches, whatever the event"),
        ("false", "never", "false", "this filter never matches"),
        (
            "price > 5 and price < 3",
            "never",
            "price > 5 and price < 3",
            "price > 5 and price < 3 can never both be true",
        ),
        ("volume = 2.5", "never", "volume = 2.5", "volume is an int, and none equals 2.5"),
        ("volume > 1e30", "never", "volume > 1e30", "no int is so"),
        ("volume = null", "never", "volume = null", "a comparison with null is always unknown"),
        ("not volume = null", "never", "volume = null", "volume = null can never be false"),
        ("volume not in (1, null)", "never", "volume not in (1, null)", "null is among the items"),
        ("volume between 5 and 3", "never", "volume between 5 and 3", "the range is empty"),
        ("issue contains 'a' and issue is null", "never", "issue contains 'a' and issue is null", "both be true"),
        ("issue = 'Abc' and issue istartswith 'x'", "never", "issue = 'Abc' and issue istartswith 'x'", "both be true"),
        ("issue in ('Abc', 'b') and issue like '_c%'", "never", "issue in ('Abc', 'b') and issue like '_c%'", "true"),
        ("issue = 'Abc' and not issue imatches '^a'", "never", "issue = 'Abc' and not issue imatches '^a'", "true"),
        ("active or (price > 5 and price < 3)", "never", "price > 5 and price < 3", "can never both be true"),
        ("active and not (price > 5 or price <= 5)", "never", "price > 5 or price <= 5", "can never both be false"),
        ("volume is null or volume is not null", "always", "volume is null or volume is not null", "every event"),
        ("active or 1 = 1", "always", "1 = 1", "the others are idle"),
        ("volume > 5 or volume <= 5", "always", "volume > 5 or volume <= 5", "one of these always holds"),
        ("volume > 5 and volume > 3", "redundant", "volume > 3", "volume > 3 adds nothing beside volume > 5"),
        ("volume > 3 and volume > 5", "redundant", "volume > 3", "volume > 3 adds nothing beside volume > 5"),
        ("volume > 3 or volume > 5", "redundant", "volume > 5", "volume > 5 adds nothing beside volume > 3"),
        ("volume = 5 or volume in (5, 6)", "redundant", "volume = 5", "adds nothing beside"),
        ("volume = 5 and active and volume = 5", "redundant", "volume = 5", "adds nothing beside volume = 5"),
        ("issue contains 'a' or issue like '%a%'", "redundant", "issue like '%a%'", "said before: issue contains 'a'"),
        ("active and 1 = 1", "redundant", "1 = 1", "always holds and adds nothing"),
        ("[price > 5 and price < 3] ; [active]", "never", "price > 5 and price < 3", "this step can never match"),
        ("people(?n) and price > 5 and price > 3", "redundant", "price > 3", "adds nothing"),
    ],
)
def test_findings(text: str, code: str, place: str, message: str) -> None:
    found = findings(text)
    assert any(each[0] == code and each[1] == place and message in each[2] for each in found), found


@pytest.mark.parametrize("negated", ["", "not "])
@pytest.mark.parametrize("pattern", ["a", "A", "bc", "BC", "abc", "x", "%b%", "_bc", "", "^a", "B$", r"\%bc"])
@pytest.mark.parametrize("kind", ["startswith", "endswith", "contains", "like", "matches"])
def test_a_text_that_is_known_is_tried_on_other_tests(kind: str, pattern: str, negated: str) -> None:
    for word in (kind, f"i{kind}"):
        text = f"issue = 'Abc' and {negated}issue {word} '{pattern}'"
        holds = evaluate(check(parse(text), SCHEMA, text), {"issue": "Abc"})
        assert any(code == "never" for code, _, _ in findings(text)) is not holds


def test_a_filter_that_never_matches_is_named_and_explained() -> None:
    found = findings("active and price > 5 and price < 3 and issue = 'a'")
    assert found == [
        (
            "never",
            "active and price > 5 and price < 3 and issue = 'a'",
            "this filter can never match: price > 5 and price < 3 can never both be true",
        ),
        ("never", "price > 5 and price < 3", "price > 5 and price < 3 can never both be true"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("volume > 1 and volume < 2", "volume > 1 and volume < 2 can never both be true"),
        ("'type' = 'PushEvent'", "'type' = 'PushEvent' compares two constants and is always false"),
        ("active and 1 = 2", "1 = 2 compares two constants and is always false"),
        ("active and false", "false is never true"),
        ("active and not (volume = 1 or true)", "true is never false"),
        ("volume != volume", "volume != volume can never be true: both sides are the same attribute"),
        ("price > 5 and (price < 3 or price = 4)", "price > 5 and (price < 3 or price = 4) can never both be true"),
        ("not (price > 5 or price <= 5)", "price > 5 and price <= 5 can never both be false"),
        (
            "issue = 'a' and (active and issue = 'b' or volume = 2 and issue = 'c')",
            "issue = 'a' and issue = 'b' can never both be true; issue = 'a' and issue = 'c' can never both be true",
        ),
        (
            "(issue = 'a' or volume = 1) and volume = 2 and issue = 'b'",
            "issue = 'a' and issue = 'b' can never both be true; volume = 1 and volume = 2 can never both be true",
        ),
        (
            "volume in (1, 2) and volume != 1 and volume != 2",
            "volume in (1, 2), volume != 1 and volume != 2 can never all",
        ),
        ("volume = 1 and volume = 2 or volume = 3 and 1 = 2", "both be true; 1 = 2 compares two constants"),
        (
            "issue contains 'a' and active and issue not contains 'a'",
            "issue contains 'a' and issue not contains 'a' can",
        ),
        ("people(?n) and price > 5 and price < 3", "price > 5 and price < 3 can never both be true"),
        (" or ".join(f"volume = {n} and volume = {n + 1}" for n in range(5)), "; and 2 more"),
        ("[price > 5 and price < 3] ; [active]", "price > 5 and price < 3 can never both be true"),
        ("[issue = $x and active and not active] ; [issue = $x]", "active and not active can never both be true"),
    ],
)
def test_what_never_matches_says_which_parts_contradict(text: str, why: str) -> None:
    one = "this step can never match: " if text.startswith("[") else "this filter can never match: "
    whole = (one, "this filter never matches, whatever the event: ")
    (message,) = [each[2] for each in findings(text) if each[2].startswith(whole)]
    assert why in message


def test_a_presence_in_disguise_gets_a_hint() -> None:
    text = "volume > 5 or volume <= 5"
    (found,) = lint(check(parse(text), SCHEMA, text))
    assert found.hint == "it says no more than: volume is not null"


def test_a_finding_shows_its_place() -> None:
    found = Lint("never", "this cannot be", 4, 7, "abc def ghi", "try again")
    assert str(found) == "line 1, column 5: this cannot be\n  abc def ghi\n      ^^^\nHint: try again"


def test_long_filters_are_linted_in_reasonable_time() -> None:
    text = " or ".join(f"volume = {n}" for n in range(150))
    assert findings(text) == []
    many = " and ".join(f"(volume = {n} or price = {n})" for n in range(60))
    assert findings(many) == []
