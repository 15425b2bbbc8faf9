"""Normal forms with vetoes: they say what the filter says, and stay small where conjunctions would multiply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.language.brute_force import holds
from tests.language.random_filters import ATOMS, FILTERS, SCHEMA, random_events
from tests.vetoes import everywhere
from vedette.errors import LimitError
from vedette.language import limits, vetoes
from vedette.language.ast import And, Filter, Not, Or
from vedette.language.check import check
from vedette.language.complements import complement_of
from vedette.language.evaluate import evaluate
from vedette.language.forms import AndForm, Form, distributed
from vedette.language.normalform import NormalForm
from vedette.language.normalise import _form, normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema

EVENTS = random_events(240)


@pytest.fixture
def _vetoes_wherever_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch)


def _excepted(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    """`base and not (… and …) and not (…)`, and the same below OR and NOT."""
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    groups = st.lists(
        st.one_of(st.builds(Not, st.builds(And, several)), st.builds(Or, several)), min_size=2, max_size=3
    )
    return st.one_of(
        st.builds(lambda base, more: And((base, *more)), parts, groups),
        st.builds(lambda more: And(tuple(more)), groups),
        st.builds(Or, several),
        st.builds(Not, parts),
    )


EXCEPTED = st.recursive(ATOMS, _excepted, max_leaves=12)


@pytest.mark.usefixtures("_vetoes_wherever_they_can_be")
@pytest.mark.parametrize("kept", [1, 4, 32])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(filter_=st.one_of(EXCEPTED, FILTERS), first=st.integers(0, 219))
def test_vetoes_agree_with_evaluate(kept: int, filter_: Filter, first: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vetoes, "KEPT", kept)
        checked, negated = check(filter_, SCHEMA), check(Not(filter_), SCHEMA)
        form, opposite = normalise(checked), normalise(negated)
    for event in EVENTS[first : first + 20]:
        truth = evaluate(checked, event)
        assert holds(form, event, SCHEMA) == (truth is True)
        assert holds(opposite, event, SCHEMA) == (truth is False)


def _flat(form: Form) -> NormalForm:
    return NormalForm(tuple(distributed([form] if isinstance(form, AndForm) else form)))


@settings(deadline=None)
@given(filter_=FILTERS, first=st.integers(0, 219))
def test_a_complement_holds_where_the_form_does_not(filter_: Filter, first: int) -> None:
    root = check(filter_, SCHEMA).root
    assert root is not None
    form = _form(root, True)
    opposite = complement_of(form)
    if opposite is None:
        assert "ls" in repr(filter_) or "lp" in repr(filter_)
        return
    for event in EVENTS[first : first + 20]:
        assert holds(_flat(form), event, SCHEMA) != holds(_flat(opposite), event, SCHEMA)


LISTS = [[], [None], [1], [1, None], [2, None], [None, None], [1, 2], [2, 7], None]


@pytest.mark.parametrize("not_", ["", "not "])
@pytest.mark.parametrize("quantifier", ["any", "all"])
@pytest.mark.parametrize(
    "test", ["= 1", "!= 1", "> 1", "<=> 1", "<=> null", "= null", "is null", "is not null", "in (1, null)", "in (1, 2)"]
)
def test_complements_where_elements_are_null(not_: str, quantifier: str, test: str) -> None:
    checked = check(parse(f"{not_}{quantifier}(li) {test}"), SCHEMA)
    assert checked.root is not None
    opposite = complement_of(_form(checked.root, True))
    assert opposite is not None
    for elements in LISTS:
        event = {"li": elements}
        assert holds(_flat(opposite), event, SCHEMA) == (evaluate(checked, event) is not True), elements


def form(text: str, schema: Schema | None = SCHEMA, **options: Any) -> NormalForm:
    """The normal form of a text."""
    return normalise(check(parse(text), schema, text), **options)


def excepted(count: int, width: int = 2) -> str:
    """A filter with so many exceptions."""
    exceptions = ("not (" + " and ".join(f"{letter}{n} = {n}" for letter in "abcd"[:width]) + ")" for n in range(count))
    return "k = 7 and " + " and ".join(exceptions)


ATTRIBUTES = {f"{letter}{n}": "int" for letter in "abcd" for n in range(120)}
WIDE = Schema.of({**ATTRIBUTES, "k": "int", **{f"l{n}": "list of string" for n in range(40)}})


def test_small_filters_have_no_vetoes() -> None:
    found = form(excepted(4), WIDE)
    assert len(found.conjunctions) == limits.DISTRIBUTED == 16
    assert not found.vetoes


@pytest.mark.parametrize(("count", "width"), [(5, 2), (20, 3), (120, 4)])
def test_exceptions_add_up(count: int, width: int) -> None:
    found = form(excepted(count, width), WIDE)
    assert len(found.conjunctions) == 1
    assert len(found.vetoes) == count
    assert {len(veto.values) for veto in found.vetoes} == {width + 1}  # the rest of the filter is among them
    everything = dict.fromkeys(ATTRIBUTES, 1_000) | {"k": 7}
    assert holds(found, everything, WIDE)
    assert not holds(found, {**everything, "k": 8}, WIDE)
    last = count - 1
    one = {f"{letter}{last}": last for letter in "abcd"[:width]}
    assert not holds(found, everything | one, WIDE)
    assert holds(found, everything | one | {f"a{last}": 1_000}, WIDE)
    # `not (unknown and true)` is unknown; `not (unknown and false)` is true.
    assert not holds(found, everything | one | {f"a{last}": None}, WIDE)
    assert holds(found, everything | {f"a{last}": None}, WIDE)


def test_what_few_events_satisfy_is_distributed() -> None:
    text = f"(a100 = 1 or b100 = 2) and (c100 > 1 or d100 = 3) and {excepted(10)}"
    found = form(text, WIDE)
    assert len(found.conjunctions) == 4
    assert len(found.vetoes) == 10
    many = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(100))
    found = form(many, WIDE)
    assert len(found.conjunctions) == vetoes.KEPT == 32
    # That neither is so holds for most events: it is asked of those only that the rest holds for.
    assert len(found.vetoes) == 95 * 32
    assert all(len(veto.values) == 7 for veto in found.vetoes)


def test_exceptions_of_one_alternative_leave_the_others_alone() -> None:
    found = form(f"a119 = 5 and b119 = 6 or {excepted(8)}", WIDE)
    assert len(found.conjunctions) == 2
    base = dict.fromkeys(ATTRIBUTES, 1_000) | {"k": 7}
    assert holds(found, base, WIDE)
    assert not holds(found, base | {"a3": 3, "b3": 3}, WIDE)
    assert holds(found, base | {"a3": 3, "b3": 3, "a119": 5, "b119": 6}, WIDE)
    assert not holds(found, base | {"a3": 3, "b3": 3, "a119": 5}, WIDE)


def test_alternatives_that_exclude_each_other_need_no_more_vetoes() -> None:
    found = form(f"k = 8 and c118 = 1 or {excepted(8)}", WIDE)
    assert len(found.vetoes) == 8


@pytest.mark.usefixtures("_vetoes_wherever_they_can_be")
def test_what_can_never_be() -> None:
    assert form("(i = 1 or j = 1) and i != 1 and j != 1") == NormalForm(())
    assert form("(i is null or j = 1) and i > 1 and j < 1") == NormalForm(())


def test_tests_of_elements_that_cannot_be_complemented_multiply() -> None:
    text = " and ".join(f"(any(l{n}) contains 'a' or a{n} = 1)" for n in range(14))
    with pytest.raises(LimitError, match="16,384 conjunctions; the limit is 10,000"):
        form(text, WIDE)
    beside = " and ".join(f"(any(l{n}) contains 'a' or a{n} = 1)" for n in range(4))
    found = form(f"{beside} and {excepted(10)}", WIDE)
    assert len(found.conjunctions) == 16
    assert len(found.vetoes) == 10


def test_elements_of_views_are_never_null() -> None:
    text = " and ".join(f"not (any(strings(l{n})) contains 'a' and any(numbers(a{n})) > 1)" for n in range(20))
    found = form(f"k = 7 and {text}", Schema.of({}, closed=False))
    assert len(found.conjunctions) == 1
    for event in ({"k": 7, "l3": ["b", "xa"], "a3": [0, 2]}, {"k": 7, "l3": "a", "a3": "2"}, {"k": 7}, {"l3": "a"}):
        assert holds(found, event, None) == (evaluate(check(parse(f"k = 7 and {text}")), event) is True)


def test_what_is_too_large_with_vetoes_is_refused() -> None:
    alternatives = " or ".join(f"a{{0}} = {n} and b{{0}} = {n} and c{{0}} > {n}" for n in range(12))
    text = " and ".join(f"({alternatives.format(n)})" for n in range(6))
    with pytest.raises(LimitError, match="2,985,984 conjunctions; the limit is 10,000"):
        form(text, WIDE)
