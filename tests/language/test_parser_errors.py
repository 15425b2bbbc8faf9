"""Errors: what is said about a wrong text, and where."""

from __future__ import annotations

import pytest

from tests.language.cases import refusals
from vedette.errors import FilterError
from vedette.language.parser import parse


@pytest.mark.parametrize(("text", "said"), refusals("errors.txt"))
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert str(caught.value) == said


def test_the_place_is_given_in_offsets_too() -> None:
    with pytest.raises(FilterError) as caught:
        parse("a = 1\nand b in cidr 'lan'")
    error = caught.value
    assert error.text[error.start : error.end] == "'lan'"
    assert (error.line, error.column) == (2, 15)


@pytest.mark.parametrize("text", ["x = '" + "a" * 3000, "x " + "y" * 3000, "x in cidr '" + "z" * 3000 + "'"])
def test_messages_stay_short(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert len(str(caught.value)) < 400


def test_what_cannot_be_printed_is_not_printed() -> None:
    with pytest.raises(FilterError) as caught:
        parse("x \x00\x07")
    assert "\x00" not in caught.value.message
