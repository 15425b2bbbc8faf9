"""When events were, however it is written down."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from vedette.errors import InputError
from vedette.patterns.event_times import Times, times_of
from vedette.schema.schema import Schema

OPEN = Schema({}, closed=False)
NOON = 1_714_564_800  # 2024-05-01T12:00:00Z


def told(times: Times) -> list[int | None]:
    return [int(at) if known else None for at, known in zip(times.microseconds, times.known, strict=True)]


@pytest.mark.parametrize(
    "values",
    [
        ["2024-05-01T12:00:00Z", None, "2024-05-01T14:00:00.5+02:00"],
        [NOON, None, NOON + 0.5],
        [float(NOON), None, NOON + 0.5],
        [dt.datetime(2024, 5, 1, 12), None, dt.datetime(2024, 5, 1, 12, 0, 0, 500_000, tzinfo=dt.UTC)],
    ],
)
def test_texts_seconds_and_datetimes(values: list[Any]) -> None:
    events = [{} if value is None else {"time": value} for value in values]
    times = times_of(events, OPEN)
    assert told(times) == [NOON * 1_000_000, None, NOON * 1_000_000 + 500_000]
    assert times.rejects == []


def test_tables() -> None:
    day = pa.table({"time": pa.array([dt.date(2024, 5, 1), None])})
    assert told(times_of(day, OPEN)) == [(NOON - 43_200) * 1_000_000, None]
    whole = pa.table({"time": pa.array([NOON, -1], pa.int64())})
    assert told(times_of(whole, OPEN)) == [NOON * 1_000_000, -1_000_000]
    assert told(times_of(pa.table({"x": [1, 2]}), OPEN)) == [None, None]


def test_what_is_no_time_is_rejected_with_the_reason() -> None:
    events = [{"time": "2024-05-01"}, {"time": "2024-05-01 25:99"}, {"time": "01/05/2024"}]
    times = times_of(events, OPEN)
    assert [(each.row, each.attribute) for each in times.rejects] == [(1, "time"), (2, "time")]
    assert "'2024-05-01 25:99' is not a time such as" in times.rejects[0].reason
    (milliseconds,) = times_of([{"time": NOON * 1000}], OPEN).rejects
    assert "are these milliseconds?" in milliseconds.reason
    (not_a_number,) = times_of([{"time": 1.5}, {"time": float("nan")}], OPEN).rejects
    assert not_a_number.row == 1


def test_a_list_is_no_time() -> None:
    with pytest.raises(InputError, match="'time' is list of int, not a time"):
        times_of([{"time": [1, 2]}], OPEN)


def test_an_event_without_a_time_has_the_greatest_up_to_it() -> None:
    times = times_of([{}, {"time": 5}, {}, {"time": 3}, {}], OPEN)
    assert times.filled(None).tolist() == [0, 5_000_000, 5_000_000, 3_000_000, 5_000_000]
    assert times.filled(7_000_000).tolist() == [7_000_000, 5_000_000, 7_000_000, 3_000_000, 7_000_000]
