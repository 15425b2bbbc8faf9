"""The operator that evaluates expressions of CloudEvents SQL."""

from __future__ import annotations

import pytest

import vedette as vd
from vedette.operators.shipped.cesql import cesql, operators


def test_it_says_where_an_expression_is_true_without_an_error() -> None:
    subscriptions = vd.Subscriptions()
    subscriptions.add("s1", "text(hop) is not null and cesql('hop < ttl')")
    subscriptions.add("s2", "not cesql('hop < ttl')")
    with subscriptions.compile(operators=vd.Operators(*operators({}))) as engine:
        assert engine.match({"hop": "5", "ttl": 10}) == ["s1"]
        assert engine.match({"hop": 5, "ttl": 1}) == ["s2"]
        assert engine.match({"hop": 5}) == ["s2"]  # an error is not true
        assert engine.match({"hop": "x", "ttl": 10}) == ["s2"]
        assert engine.failures == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("cesql('hop <')", "expected an attribute"),
        ("cesql(hop)", "is a constant text"),
        ("cesql(5)", "a constant text"),
    ],
)
def test_what_is_no_expression_is_refused(call: str, message: str) -> None:
    subscriptions = vd.Subscriptions()
    subscriptions.add("s1", call)
    with pytest.raises(vd.FilterError, match=message):
        subscriptions.compile(operators=vd.Operators(cesql))
