"""Lengths of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.spark.pipeline.durations import Duration


@pytest.mark.parametrize(
    ("text", "milliseconds", "shown"),
    [
        ("500 ms", 500, "500 milliseconds"),
        ("1 millisecond", 1, "1 millisecond"),
        ("10 seconds", 10_000, "10 seconds"),
        ("10s", 10_000, "10 seconds"),
        (" 1.5 Sec ", 1_500, "1500 milliseconds"),
        ("60 s", 60_000, "1 minute"),
        ("5 min", 300_000, "5 minutes"),
        ("90 minutes", 5_400_000, "90 minutes"),
        ("1 hour", 3_600_000, "1 hour"),
        ("2 days", 172_800_000, "48 hours"),
    ],
)
def test_what_people_write(text: str, milliseconds: int, shown: str) -> None:
    duration = Duration.of(text)
    assert (duration.milliseconds, str(duration)) == (milliseconds, shown)
    assert duration.seconds == milliseconds / 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "seconds",
        "ten seconds",
        "-1 s",
        "1 s 2 ms",
        "1,5 s",
        "1 month",
        "0 s",
        "0.1 ms",
        "400 days",
        "\u0663 s",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"^is no"):
        Duration.of(text)


@given(st.integers(1, 366 * 86_400_000))
def test_what_is_shown_is_read_again(milliseconds: int) -> None:
    assert Duration.of(str(Duration(milliseconds))) == Duration(milliseconds)


@given(st.text(max_size=20))
def test_any_text(text: str) -> None:
    try:
        duration = Duration.of(text)
    except ValueError:
        return
    assert duration.milliseconds > 0
