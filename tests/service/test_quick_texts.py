"""Tests of texts that are checked without a process: what may take long is never one of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.running import Running
from vedette.service.quick_texts import is_quick


@pytest.mark.parametrize(
    "text",
    [
        "symbol = 's17' and price between 1.5 and 101.5",
        "x=1",
        "order.total >= -99.5 AND paid = true and note is not null",
    ],
)
def test_a_few_plain_tests_are_quick(text: str) -> None:
    assert is_quick(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1 or x = 2",
        "not x = 1",
        "x in (1, 2)",
        "x like 'a%'",
        "x matches '(a+)+b'",
        "x = 1e400000000",  # a number of so many digits is never written out
        "x = 1234567890123456789",
        "f(x) = 1",
        "[x = 1]",
        "x = 1 ",
        "a.b.c.d.e.f.g.h.i = 1",
        " and ".join(["x = 1"] * 17),
        f"x = '{'x' * 500}'",
        "x = 'it''s'",
    ],
)
def test_all_others_are_not(text: str) -> None:
    assert not is_quick(text)


@given(st.text(alphabet="x.1'<>= andbetwisull()-e", max_size=60))
def test_what_is_quick_has_nothing_in_it_that_takes_long(text: str) -> None:
    if is_quick(text):
        bare = re.sub(r"'[^']*'", "", text.lower())
        assert not re.search(r"[()\[\]{};,@$]|\b(or|like|matches|contains|in)\b|\d{16}|\d\.?e", bare)


def test_they_are_registered_or_refused_without_a_process(running: Running) -> None:
    computations = running.service.computations
    asked: list[str] = []
    plainly = computations.submit

    def submit(tenant: str, task: str, *more: object, **given: object) -> object:
        asked.append(task)
        return plainly(tenant, task, *more, **given)  # type: ignore[arg-type]

    computations.submit = submit  # type: ignore[assignment,method-assign]
    made = running.call("POST", "/v1/subscriptions", json={"when": "x = 1"})
    assert (made.status_code, made.json()["kind"], made.json()["cost"]) == (201, "filter", 1.0)
    wrong = running.call("POST", "/v1/subscriptions", json={"when": "x = 1 and x = 'a'"})
    assert (wrong.status_code, "x" in wrong.json()["detail"]) == (422, True)
    assert asked == []
    assert running.call("POST", "/v1/subscriptions", json={"when": "x = 1 or x = 2"}).status_code == 201
    assert asked == ["check"]
