"""`vedette.meet`: what may be handed in, the order of what comes out, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

import vedette as vd
from vedette.errors import FilterError, InputError
from vedette.meeting.given import RejectedConstraint
from vedette.schema.schema import Schema

OFFERS = {"z": "x = 1", "a": "x = 2 or y = 1"}
WANTS = {"t": "x > 0 and y > 0", "s": "x = 2 and y = 0", "r": "x = 1"}


def test_pairs_are_in_the_order_in_which_both_were_given() -> None:
    found = vd.meet(OFFERS, WANTS)
    assert found.to_pydict() == {"publication": ["z", "z", "a", "a"], "subscription": ["t", "r", "t", "s"]}
    assert [str(each) for each in found.schema.types] == ["string", "string"]
    # The larger side stands, whichever it is; the order is the same.
    turned = vd.meet(WANTS, OFFERS, direction="subscription")
    assert turned.to_pydict() == {"publication": ["t", "t", "s", "r"], "subscription": ["z", "a", "a", "z"]}


def test_records_are_as_good_as_a_mapping() -> None:
    records = ({"id": id_, "when": text, "who": "cares"} for id_, text in OFFERS.items())
    assert vd.meet(records, WANTS) == vd.meet(OFFERS, WANTS)


def test_without_a_schema_both_sides_tell_the_types() -> None:
    assert vd.meet({"p": "x > 1"}, {"s": "x < 2"}).num_rows == 0  # integers
    assert vd.meet({"p": "x > 1"}, {"s": "x < 2.0"}).num_rows == 1
    assert vd.meet({"p": "x > 1"}, {"s": "x < 2"}, schema={"x": "float"}).num_rows == 1
    assert vd.meet({"p": "a = '10.0.0.1'"}, {"s": "a in cidr '10.0.0.0/8'"}).num_rows == 1


def test_nobody() -> None:
    for publications, subscriptions in [({}, {}), (OFFERS, {}), ({}, WANTS)]:
        assert vd.meet(publications, subscriptions).to_pydict() == {"publication": [], "subscription": []}


@pytest.mark.parametrize(
    ("publications", "options", "error", "message"),
    [
        ({"p": "x = 1 and x = 2"}, {}, FilterError, "publication 'p'"),
        ({"p": "x = 'a'"}, {"schema": {"x": "int", "y": "int"}}, FilterError, "publication 'p'"),
        ({"p": "x = 'a'"}, {}, FilterError, "x is used as"),
        ({"p": 5}, {}, InputError, "no text"),
        ({"": "x = 1"}, {}, InputError, "an id is a text"),
        ([{"id": "p"}], {}, InputError, 'a record has "id" and "when"'),
        ([{"id": "p", "when": "x = 1"}] * 2, {}, InputError, "'p' is taken by another publication"),
        (OFFERS, {"direction": "both"}, InputError, "one of publication, subscription, open"),
        (OFFERS, {"per": "event", "by": "x"}, InputError, "one of publication, subscription"),
        (OFFERS, {"top": 0}, InputError, "1 or more"),
    ],
)
def test_mistakes(publications: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vd.meet(publications, WANTS, **options)


@pytest.mark.parametrize("schema", [None, {"x": "int"}])
def test_what_is_wrong_is_set_aside_where_a_list_is_given_for_it(schema: Any) -> None:
    offers = [
        {"id": "a", "when": "x > 1 and x < 3"},
        {"id": "b", "when": "x > 1 and x < 2"},
        {"id": "a", "when": "x = 2"},
        {"id": "c", "when": "x = 'text'"},
        {"id": "d"},
        {"id": "e", "when": "x ="},
        {"id": "old", "when": "x = 2", "expires": "2020-01-01"},
        {"id": "f", "when": "x = 2"},
    ]
    rejects: list[RejectedConstraint] = []
    met = vd.meet(offers, {"s": "x = 2", "t": "x = 1 and x = 2"}, schema=schema, rejects=rejects)
    assert met["publication"].to_pylist() == ["a", "f"]
    assert [(each.side, each.row, each.id) for each in rejects] == [
        *(("publication", row, id_) for row, id_ in ((1, "b"), (2, "a"), (3, "c"), (4, "d"), (5, "e"))),
        ("subscription", 1, "t"),
    ]
    assert "no value of x satisfies x > 1 and x < 2" in rejects[0].reason
    rejects.clear()
    assert vd.meet({"f": "x = 2"}, {"s": "x = 2"}, schema=schema, rejects=rejects).num_rows == 1
    assert rejects == []


def test_two_types_of_what_no_schema_names_are_no_error_of_all() -> None:
    rejects: list[RejectedConstraint] = []
    schema = Schema.of({"x": "int"}, closed=False)
    met = vd.meet({"a": "y = 1", "b": "y = 'a'"}, {"s": "y = 1"}, schema=schema, rejects=rejects)
    assert met["publication"].to_pylist() == ["a"]
    assert [(each.id, "y is string here" in each.reason) for each in rejects] == [("b", True)]


def test_what_has_expired_meets_nobody() -> None:
    offers: list[dict[str, Any]] = [
        {"id": "old", "when": "x = 1", "expires": "2020-01-01"},
        {"id": "new", "when": "x = 1", "expires": None},
    ]
    assert vd.meet(offers, {"s": "x = 1"}).to_pylist() == [{"publication": "new", "subscription": "s"}]
