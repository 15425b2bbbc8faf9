"""Which part of an expression becomes tests for the index, and which is left to the operator."""

from __future__ import annotations

import pytest

from vedette.dialects.cesql import translate
from vedette.errors import DialectError
from vedette.language.parser import parse_filter
from vedette.language.render import render

INTEGER = "between -2147483648 and 2147483647"
LOOKS = "'^(?:[+-]?[0-9]+|true|false)$'"
TRUE, FALSE = "'^[Tt][Rr][Uu][Ee]$'", "'^[Ff][Aa][Ll][Ss][Ee]$'"


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("type = 'a'", "text(type) = 'a'"),
        ("type != 'a'", "text(type) != 'a'"),
        ("'a' = type", "text(type) = 'a'"),
        ("source LIKE 'https://%'", "text(source) like 'https://%'"),
        ("source LIKE 'plain'", "text(source) = 'plain'"),
        ("source NOT LIKE '%x'", "text(source) not like '%x'"),
        (r"source LIKE 'a\b\%%'", r"text(source) like 'a\\b\%%'"),
        ("EXISTS subject", "text(subject) is not null"),
        ("NOT EXISTS subject", "text(subject) is null"),
        ("EXISTS type", "true"),
        ("EXISTS data", "false"),
        ("type IN ('a', 'b')", "text(type) in ('a', 'b')"),
        ("type = 'a' OR type = 'b'", "text(type) in ('a', 'b')"),
        ("type != 'a' AND type != 'b'", "text(type) not in ('a', 'b')"),
        ("NOT (type = 'a' OR type = 'b')", "text(type) not in ('a', 'b')"),
        ("type = 'a' AND subject = 'b'", "text(type) = 'a' and text(subject) = 'b'"),
        # What goes wrong on the left of OR is not mended by its right.
        ("x = 'a' OR y = 'b'", "text(x) = 'a' or text(x) is not null and text(y) = 'b'"),
        # Constants are worked out.
        ("1 + 1 = 2", "true"),
        ("TRUE OR NOSUCH(x)", "true"),
        ("NOSUCH(x) OR TRUE", "false"),
        ("1 / 0 = x", "false"),
        ("5", "false"),
        ("data = 5", "false"),
        ("x = 1 + 1", "integer(x) = 2"),
        # The type of an attribute comes with the event: a number, or a text that is one.
        ("x = 5", "integer(x) = 5"),
        ("x = 1", "integer(x) = 1 or text(x) = 'true' and any(leaves(x)) = 'true'"),
        ("id = 1", "integer(id) = 1"),
        ("5 = x", "text(x) = '5' or text(x) = 'true' and any(leaves(x)) = 'true'"),
        ("'5' = x", "text(x) = '5'"),
        ("'05' = x", "text(x) = '05' or text(x) = '5' and any(numbers(x)) = 5"),
        ("x IN ('a', '5')", "text(x) = 'a' or text(x) = '5' and any(strings(x)) = '5'"),
        ("TRUE = x", "text(x) = 'true' or text(x) = '1' and any(numbers(x)) = 1"),
        ("x > 10", "integer(x) between 11 and 2147483647"),
        ("id <= 99", "integer(id) between -2147483648 and 99"),
        ("x IN (5, 6)", "text(x) in ('5', '6') or text(x) = 'true' and any(leaves(x)) = 'true'"),
        ("id != 5", f"integer(id) {INTEGER} and integer(id) != 5"),
        ("INT(x) > 999", "integer(x) between 1000 and 2147483647"),
        ("x + 1 > 1000", "integer(x) between 1000 and 2147483646"),
        ("1 - x >= 1000", "integer(x) between -2147483646 and -999"),
        ("-x > 1000", "integer(x) between -2147483647 and -1001"),
        ("STRING(x) < 1", "integer(x) between -2147483648 and 0"),
        ("x", "text(x) = 'true' and any(leaves(x)) = 'true'"),
        ("subject", "false"),
        ("NOT x", f"text(x) matches {FALSE}"),
        ("subject AND TRUE", f"text(subject) matches {TRUE}"),
        ("(type = 'a') = TRUE", "text(type) = 'a'"),
        ("(type = 'a') = 'false'", "text(type) != 'a'"),
        ("STRING(x) = '5'", "text(x) = '5'"),
        ("LOWER(subject) = 'abc'", "text(subject) ilike 'abc'"),
        ("LOWER(subject) = 'Abc'", "false"),
        ("LOWER(subject) LIKE 'a%'", "text(subject) ilike 'a%'"),
        ("LEFT(subject, 3) = 'abc'", "text(subject) startswith 'abc'"),
        ("LEFT(subject, 5) = 'abc'", "text(subject) = 'abc'"),
        ("LEFT(subject, 2) = 'abc'", "false"),
        ("LEFT(subject, -1) = 'abc'", "false"),
        ("RIGHT(subject, 3) = 'abc'", "text(subject) endswith 'abc'"),
        ("LENGTH(subject) >= 2", "text(subject) like '__%'"),
        ("LENGTH(subject) = 0", "text(subject) not like '_%'"),
        ("IS_INT(x)", f"integer(x) {INTEGER}"),
        ("type = subject", "text(type) = text(subject)"),
        ("x != type", "text(x) != text(type)"),
        # The rest is left to the operator, behind what the event must have.
        ("hop < ttl", f"text(hop) matches {LOOKS} and text(ttl) matches {LOOKS} and cesql('hop < ttl')"),
        (
            "type = 'a' AND (x * 2 = y)",
            f"text(type) = 'a' and text(x) matches {LOOKS} and text(y) is not null and cesql('(x * 2 = y)')",
        ),
        ("NOT (UPPER(x) = 'A')", "text(x) is not null and cesql('NOT ((UPPER(x) = ''A''))')"),
        (
            "UPPER(x) = 'A' OR y = 'b'",
            "text(x) is not null and cesql('UPPER(x) = ''A''') or "
            "text(x) is not null and cesql('(UPPER(x) = ''A'') OR TRUE') and text(y) = 'b'",
        ),
        ("SUBSTRING(x, 2) AND TRUE", "text(x) is not null and cesql('BOOL(SUBSTRING(x, 2))')"),
        ("x = y", "text(x) is not null and text(y) is not null and cesql('x = y')"),
        ("x IN (y, 'a')", "text(x) is not null and text(y) is not null and cesql('x IN (y, ''a'')')"),
    ],
)
def test_what_becomes_of_an_expression(said: str, made: str) -> None:
    found = render(translate(said))
    assert found == made
    assert parse_filter(found) == translate(said)


def test_an_expression_that_is_too_long_once_written_out_is_left_to_the_operator() -> None:
    xors = " XOR ".join(f"a{number} = 'x'" for number in range(40))
    found = render(translate(f"type = 'a' AND ({xors})"))
    assert found.startswith("text(type) = 'a' and text(a0) is not null and ")
    assert found.count("cesql(") == 1
    alternating = "a0 = 'x'"
    for number in range(1, 60):
        alternating = f"({alternating} {'AND' if number % 2 else 'OR'} a{number} = 'x')"
    assert "cesql(" in render(translate(alternating))


def test_many_conditions_are_many_tests() -> None:
    ranges = " AND ".join(f"a{number} > {number}" for number in range(1, 300))
    assert "cesql(" not in render(translate(f"type = 'a' AND {ranges}"))


def test_one_part_too_many_leaves_the_others_to_the_index() -> None:
    alike = " AND ".join(f"(x{number} OR y{number} OR z{number})" for number in range(60))
    found = render(translate(f"type = 'a' AND {alike}"))
    assert found.startswith("text(type) = 'a' and ")
    parse_filter(found)


def test_long_lists_stay_lists() -> None:
    names = ", ".join(f"'id-{number}'" for number in range(3_000))
    assert render(translate(f"subject IN ({names})")).count("'") == 6_000
    chain = " OR ".join(f"subject = 'id-{number}'" for number in range(1_000))
    assert render(translate(chain)).startswith("text(subject) in ('id-0', 'id-1', ")


def test_a_rule_is_a_text() -> None:
    with pytest.raises(DialectError, match=r"is a text, not a dict\nHint: .* of the dialect 'cloudevents'"):
        translate({"exact": {"type": "a"}})
