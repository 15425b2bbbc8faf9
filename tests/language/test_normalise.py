"""Normal forms mean what the filter says, and are as small as promised."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.brute_force import holds
from tests.language.random_filters import FILTERS, SCHEMA, random_events
from vedette.errors import LimitError, NotSupported
from vedette.language.ast import Filter, Not
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.normalform import Conjunction, ElementProbe, NormalForm, Probe, TextProbe
from vedette.language.normalise import normalise
from vedette.language.parser import parse, parse_filter
from vedette.language.valuesets import NULL, PRESENT, Interval, ValueSet
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, INT, IP

EVENTS = random_events(240)


@settings(max_examples=400, deadline=None)
@given(FILTERS, st.integers(0, 219))
def test_normal_forms_agree_with_evaluate(filter_: Filter, first: int) -> None:
    checked, negated = check(filter_, SCHEMA), check(Not(filter_), SCHEMA)
    form, opposite = normalise(checked), normalise(negated)
    for event in EVENTS[first : first + 20]:
        truth = evaluate(checked, event)
        assert holds(form, event, SCHEMA) == (truth is True)
        assert holds(opposite, event, SCHEMA) == (truth is False)


LISTS = [[], [None], [1], [1, None], [2, None], [None, None], [1, 2], [2, 7], None]


@pytest.mark.parametrize("quantifier", ["any", "all"])
@pytest.mark.parametrize(
    "test", ["= 1", "!= 1", "> 1", "<=> 1", "<=> null", "= null", "is null", "is not null", "in (1, null)", "in (1, 2)"]
)
def test_elements_that_are_null(quantifier: str, test: str) -> None:
    text = f"{quantifier}(li) {test}"
    checked, negated = check(parse(text), SCHEMA), check(Not(parse_filter(text)), SCHEMA)
    for elements in LISTS:
        truth = evaluate(checked, {"li": elements})
        assert holds(normalise(checked), {"li": elements}, SCHEMA) == (truth is True), elements
        assert holds(normalise(negated), {"li": elements}, SCHEMA) == (truth is False), elements


def form(text: str, schema: Schema | None = SCHEMA) -> NormalForm:
    return normalise(check(parse(text), schema, text))


def conjunction(text: str) -> Conjunction:
    """The only one of a filter."""
    (one,) = form(text).conjunctions
    return one


def values(text: str) -> ValueSet[Any]:
    """The only literal of a filter, a set."""
    one = conjunction(text)
    assert not one.probes
    ((_, found),) = one.values
    return found


def probe(text: str) -> Probe:
    """The only literal of a filter, a probe."""
    one = conjunction(text)
    assert not one.values
    ((_, found),) = one.probes
    return found


def test_sets_merge_within_and() -> None:
    assert values("i > 5 and i < 10 and i != 7") == ValueSet((Interval(6, 7), Interval(8, 10)))
    assert values("not (i <= 5 or i >= 10)") == ValueSet((Interval(6, 10),))
    assert values("i != 1 and i != 3 and i != 5 and i != 7 and i is not null").intervals[1] == Interval(2, 3)


def test_sets_merge_within_or() -> None:
    assert values("i = 1 or i = 2") == ValueSet((Interval(1, 3),))
    assert values("i is null or i > 5") == ValueSet((Interval(6, None),), True)
    assert values("not (i > 5 and i < 9)") == ValueSet((Interval(None, 6), Interval(9, None)))


def test_types_have_exact_bounds() -> None:
    assert values("i > 2.5") == ValueSet((Interval(3, None),))
    assert form("i = 2.5") == NormalForm(())
    assert values("i != 2.5") == PRESENT
    assert values("i < 1e30") == PRESENT
    assert values("b = false") == ValueSet((Interval(None, 1),))
    assert values("b = false or b = true") == PRESENT
    assert values("d >= timestamp '1970-01-02T00:00:01Z'") == ValueSet((Interval(2, None),))
    assert values("t = date '1970-01-02'") == ValueSet((Interval(86_400_000_000, 86_400_000_001),))
    assert values("f <= float 'inf'") == values("f < float 'nan'")
    assert values("f >= float '-inf'") == PRESENT


def test_what_is_always_or_never_true() -> None:
    always, never = NormalForm((Conjunction(),)), NormalForm(())
    assert form("i is null or i is not null") == always
    assert form("i > 5 and i < 3") == never
    assert form("i > 5 and i < 3 or true") == always
    assert form("i = null") == never
    assert form("not (i = null)") == never
    assert form("i not in (1, null)") == never
    assert form("i <=> i") == always
    assert values("i = i") == PRESENT
    assert form("i < i") == never
    assert form("s contains 'a' and not s contains 'a'") == never
    assert form("s contains 'a' and s is null") == never
    assert form("(i = 1 or j = 1) and i = 2 and j = 2") == never


def test_texts_that_are_intervals() -> None:
    assert values("s startswith 'ab'") == values("s like 'ab%'") == ValueSet((Interval(b"ab", b"ac"),))
    assert values("s like 'ab'") == values("s = 'ab'")
    assert values("s like 'a!%' escape '!'") == values("s = 'a%'")
    assert values("s like '%'") == values("s contains ''") == PRESENT
    assert values("s startswith 'é'") == ValueSet((Interval("é".encode(), b"\xc3\xaa"),))
    assert values("s >= ''") == PRESENT
    assert values("s = ''") == ValueSet((Interval(None, b"\0"),))


def test_texts_that_are_probes() -> None:
    assert probe("s like '%ab%'") == probe("s contains 'ab'") == Probe(frozenset({TextProbe("contains", "ab")}))
    assert probe("s like '%ab'") == Probe(frozenset({TextProbe("endswith", "ab")}))
    assert probe("s like 'a!%_%b' escape '!'") == Probe(frozenset({TextProbe("like", "a\\%_%b")}))
    assert probe("s icontains 'AB'") == Probe(frozenset({TextProbe("contains", "ab", True)}))
    assert probe("s ilike 'AB'") == Probe(frozenset({TextProbe("like", "ab", True)}))
    assert probe("not s matches 'a+'") == Probe(frozenset({TextProbe("matches", "a+")}), positive=False)


def test_alternatives_of_text_are_one_probe() -> None:
    many = " or ".join(f"s contains 'x{n}'" for n in range(50))
    assert len(probe(many).tests) == 50
    found = conjunction(f"({many}) and (r contains 'a' or r contains 'b') and i = 1")
    assert [len(each.tests) for _, each in found.probes] == [2, 50]
    mixed = probe("s = 'a%' or s in ('b', '') or s startswith 'c' or s endswith 'd'")
    kinds = [("like", "a\\%"), ("like", "b"), ("like", ""), ("startswith", "c"), ("endswith", "d")]
    assert mixed == Probe(frozenset(TextProbe(kind, pattern) for kind, pattern in kinds))  # type: ignore[arg-type]
    assert len(form("s < 'a' or s endswith 'd'").conjunctions) == 2


def test_none_of_several_texts_is_one_probe() -> None:
    found = probe("not s contains 'a' and not s contains 'b' and s is not null")
    assert found == Probe(frozenset({TextProbe("contains", "a"), TextProbe("contains", "b")}), positive=False)
    assert len(form("not s contains 'a' or not s contains 'b'").conjunctions) == 2


def test_elements_of_lists() -> None:
    one_or_two = ValueSet((Interval(1, 3),))
    assert probe("any(li) = 1 or li contains 2") == Probe(frozenset({ElementProbe("any", one_or_two)}))
    assert probe("not (any(li) = 1 or any(li) = 2)") == Probe(frozenset({ElementProbe("any", one_or_two)}), False)
    assert probe("all(li) >= 3 and all(li) < 9") == probe("not any(li) < 3 and not any(li) >= 9")
    assert probe("all(ls) contains 'a'") == Probe(frozenset({ElementProbe("all", TextProbe("contains", "a"))}))
    assert values("li is null") == NULL


def test_two_attributes() -> None:
    ((column, found),) = conjunction("j > i").values
    assert column == Column("i", INT, "j")
    assert found == ValueSet((Interval(None, 1),))
    assert values("i <= j and j <= i") == values("i = j")
    assert len(form("i <=> j").conjunctions) == 2


def test_addresses() -> None:
    low, high = b"\0" * 10 + b"\xff\xff\x0a\0\0\0", b"\0" * 10 + b"\xff\xff\x0b\0\0\0"
    assert values("a in cidr '10.0.0.0/8'") == ValueSet((Interval(low, high),))
    assert values("a in cidr '10.0.0.0/9' or a in cidr '10.128.0.0/9'") == values("a in cidr '10.0.0.0/8'")
    assert values("a in cidr '10.0.0.0/32'") == values("a = ip '10.0.0.0'")
    assert values("a in cidr '::/0'") == PRESENT
    ((column, _),) = conjunction("s in cidr '10.0.0.0/8'").values
    assert column == Column("s", IP)


def test_conjunctions_are_in_a_fixed_order() -> None:
    assert form("i = 1 and s = 'a' and s contains 'b'") == form("s contains 'b' and s = 'a' and i = 1")


def test_conjunctions_that_differ_in_one_column_are_joined() -> None:
    assert form("i = 1 and j = 2 or i = 3 and j = 2") == form("i in (1, 3) and j = 2")
    assert form("i is null and j = 2 or i is not null and j = 2") == form("j = 2")
    assert form("i in (1, 2) and (j = 1 or j = 2)") == form("j in (1, 2) and i in (1, 2)")


def test_conjunctions_that_imply_another_are_absorbed() -> None:
    assert form("i > 5 or i > 7 and j = 1") == form("i > 5")
    assert form("s contains 'a' or s contains 'a' and j = 1") == form("s contains 'a'")


def test_the_limit_is_found_before_the_work() -> None:
    numbers = {f"{letter}{n}": "int" for letter in "ab" for n in range(100)}
    schema = Schema.of({**numbers, **{f"{letter}{n}": "list of string" for letter in "lm" for n in range(100)}})

    def multiplied(count: int) -> str:
        """ORs that vetoes cannot say: that of no element it is true."""
        return " and ".join(f"(any(l{n}) contains 'x' or any(m{n}) contains 'x')" for n in range(count))

    with pytest.raises(LimitError, match=r"more than 10\^30 conjunctions; the limit is 10,000"):
        form(multiplied(100), schema)
    with pytest.raises(LimitError, match="16,384 conjunctions"):
        form(multiplied(14), schema)
    text = multiplied(10)
    assert len(form(text, schema).conjunctions) == 1024
    with pytest.raises(LimitError, match="1,024 conjunctions; the limit is 1,000"):
        normalise(check(parse(text), schema), limit=1000)
    wide = text + "".join(f" and a{n} > 5" for n in range(10, 100)) + "".join(f" and b{n} > 5" for n in range(11, 90))
    wide += " and (any(l10) contains 'y' or b10 > 7)"
    with pytest.raises(LimitError, match="tests in 2,048 conjunctions"):
        normalise(check(parse(wide), schema), limit=5000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("locIn('Bronx') and i = 1", "the operator locIn"),
        ("people(?n) and ?n > 50", "the operator people"),
        ("not (people(?n) or ?n > 50)", "the operator people"),
    ],
)
def test_what_the_index_cannot_decide_is_refused(text: str, message: str) -> None:
    with pytest.raises(NotSupported, match=message):
        form(text)


def test_patterns_have_no_normal_form() -> None:
    with pytest.raises(NotSupported, match="several events"):
        form("[i = 1] ; [i = 2]")


def test_without_a_schema_types_come_from_the_constants() -> None:
    ((column, _),) = form("x > 5 and x is not null", None).conjunctions[0].values
    assert column == Column("x", FLOAT)
    ((column, found),) = form("x is null", None).conjunctions[0].values
    assert (column, found) == (Column("x", INT, "x"), NULL)
