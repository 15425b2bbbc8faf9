"""Real logins and real summers: patterns find what was counted by other means."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.contract.sigma import shared
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.matcher import PatternMatcher

_SSH = "logins/ssh_events.parquet"
_COWRIE = "logins/cowrie_sessions.parquet"
_CITIES = "city_temperature_dayton/daily_1995_2014_324cities.parquet"
_RUNS = "city_temperature_dayton/expected_heatwaves_1995_2014.csv"


def completing(text: str, events: pa.Table, *, batch: int = 200_000) -> list[int]:
    """The rows that complete the pattern, in the order of time."""
    matcher = PatternMatcher([PatternRecord("p", text)], lateness=None)
    for begin in range(0, len(events), batch):
        assert len(matcher.process(events.slice(begin, batch)).matches.event) == 0  # sorted as a whole at the end
    return matcher.finish().matches.event.tolist()


def logins(source: str) -> pa.Table:
    """The lines of one log, as events."""
    lines = pq.read_table(shared(_SSH))
    lines = lines.filter(pc.equal(lines["source"], source)).rename_columns({"ts": "time"})
    return lines.select(["time", "event", "src_ip"])


@pytest.mark.parametrize(
    ("source", "windows", "addresses"), [("loghub_openssh_2k", 440, 9), ("elastic_examples_auth", 361, 45)]
)
@pytest.mark.parametrize("partition", ["by", "variable"])
def test_the_fifth_failure_of_an_address_within_a_minute(
    source: str, windows: int, addresses: int, partition: str
) -> None:
    lines = logins(source)
    if partition == "by":
        text = " ; ".join(["[event = 'failed']"] * 5) + " by src_ip within 60 s"
    else:
        text = " ; ".join(["[event = 'failed' and src_ip = $x]"] * 5) + " within 60 s"
    rows = completing(text, lines)
    assert len(rows) == len(set(rows)) == windows
    assert len(set(lines["src_ip"].take(rows).to_pylist())) == addresses


@pytest.mark.parametrize(("source", "successes"), [("loghub_openssh_2k", 0), ("elastic_examples_auth", 10)])
def test_successes_after_a_failure_within_ten_minutes(source: str, successes: int) -> None:
    text = "[event = 'failed'] ; [event = 'accepted'] by src_ip within 600 s"
    assert len(completing(text, logins(source))) == successes


def test_sessions_that_succeed_after_three_that_failed() -> None:
    sessions = pq.read_table(shared(_COWRIE)).rename_columns({"start_time": "time"})
    sessions = sessions.select(["time", "src_ip", "login_success", "login_failed"])
    failed = "[login_success = 0 and login_failed > 0]"
    rows = completing(f"{failed} ; {failed} ; {failed} ; [login_success > 0] by src_ip within 600 s", sessions)
    assert len(rows) == len(set(rows)) == 358
    assert len(set(sessions["src_ip"].take(rows).to_pylist())) == 193


def test_five_hot_days_in_a_row() -> None:
    days = pq.read_table(shared(_CITIES), columns=["date", "code", "temp_f"])
    events = days.set_column(0, "time", days["date"].cast(pa.timestamp("us")))
    # Some days are missing. Five days of one city, each after the other, are in a row if there are four days from
    # the first to the last; a day without a temperature is an event, and is not hot.
    rows = completing("[temp_f > 86.0]{5} by code within 4 d", events)
    assert len(rows) == len(set(rows)) == 39_450
    ends = days.take(rows).select(["code", "date"]).sort_by([("code", "ascending"), ("date", "ascending")])
    found = list(runs(list(zip(ends["code"].to_pylist(), ends["date"].to_pylist(), strict=True))))
    with shared(_RUNS).open(encoding="utf-8", newline="") as lines:
        known = [(row["code"], row["start"], row["end"]) for row in csv.DictReader(lines)]
    assert len(found) == 3_111
    assert len({code for code, _, _ in found}) == 134
    assert found == sorted(known)


def runs(ends: list[tuple[str, dt.date]]) -> Iterator[tuple[str, str, str]]:
    """(city, first day, last day) of every maximal run, from the last days of all windows of five."""
    day = dt.timedelta(days=1)
    begun = None
    for (code, end), after in pairwise([*ends, ("", dt.date.max)]):
        begun = begun or end - 4 * day
        if after != (code, end + day):
            yield code, str(begun), str(end)
            begun = None
