"""`vedette explain`: why, why not, and what fails most."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import EVENTS, SUBSCRIPTIONS, vedette, write_lines


def _explain(*arguments: object) -> tuple[int, str, str]:
    result = vedette("explain", *arguments)
    return result.exit_code, result.stdout, result.stderr


def test_a_match(subscriptions: Path, events: Path) -> None:
    assert _explain(subscriptions, events, "--event", "e1", "--subscription", "s1") == (
        0,
        "Subscription s1 of alice, event e1\n"
        "The event matches.\n"
        "✓ issue = 'IBM' and price < 120\n"
        "├─ ✓ issue = 'IBM'   issue was 'IBM'\n"
        "└─ ✓ price < 120   price was 119.0\n",
        "",
    )


def test_a_miss_with_its_nearest_test(subscriptions: Path, events: Path) -> None:
    code, told, _ = _explain(subscriptions, events, "--event", "e3", "--subscription", "s1")
    assert code == 0
    assert "The event does not match." in told
    assert "✗ price < 120   price was 125.3, needed < 120: missed by 5.3" in told
    assert told.splitlines()[-1].startswith("Nearest miss: price < 120")


def test_a_missing_value_is_unknown(subscriptions: Path, events: Path) -> None:
    _, told, _ = _explain(subscriptions, events, "-e", "e3", "-s", "s2")
    assert "? volume between 1000 and 5000   volume is missing, so this is unknown" in told


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_events_by_number_in_every_format(kind: str, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "price < 120 and place.city = 'Rome'"}])
    events = tmp_path / f"e.{kind}"
    if kind == "csv":
        events.write_text("price,place.city\n130,Oslo\n110,Rome\n")
    elif kind == "parquet":
        records = [{"price": 130, "place": {"city": "Oslo"}}, {"price": 110, "place": {"city": "Rome"}}]
        pq.write_table(pa.Table.from_pylist(records), events)
    else:
        write_lines(events, [{"price": 130, "place": {"city": "Oslo"}}, {"price": 110, "place.city": "Rome"}])
    assert "The event matches." in _explain(subscriptions, events, "-s", "s1", "-e", "1")[1]
    assert "place.city was 'Oslo'" in _explain(subscriptions, events, "-s", "s1", "-e", "0")[1]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_what_fails_most_over_all_events(kind: str, subscriptions: Path, tmp_path: Path) -> None:
    events = tmp_path / f"e.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(EVENTS), events)
    else:
        write_lines(events, EVENTS)
    code, told, _ = _explain(subscriptions, events, "--subscription", "s1")
    assert code == 0
    assert told.splitlines() == [
        "Subscription s1 of alice, all 4 events",
        "1 match, 3 do not.",
        "What kept them from matching, most often first:",
        "           2   66.7%  issue = 'IBM'",
        "           2   66.7%  price < 120",
    ]


def test_rejected_events_are_counted_apart(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[0], "oops", {"issue": "IBM", "price": "much"}])
    schema = tmp_path / "schema.yaml"
    schema.write_text("issue: string\nprice: float\nvolume: int\n")
    told = _explain(subscriptions, events, "-s", "s1", "--schema", schema)[1]
    assert "1 match, 0 do not. 2 more cannot be read or break the schema." in told


def test_ids_that_are_not_there(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    write_lines(subscriptions, [{**SUBSCRIPTIONS[0], "id": "orders-north"}, {**SUBSCRIPTIONS[1], "id": "orders-south"}])
    code, told, error = _explain(subscriptions, events, "-s", "order-north", "-e", "e1")
    assert (code, told) == (1, "")
    assert "has no subscription 'order-north'\nHint: did you mean 'orders-north'" in error
    code, told, error = _explain(subscriptions, events, "-s", "orders-north", "-e", "e77")
    assert (code, told) == (1, "")
    assert "has no event 'e77'" in error
    assert "Hint: " in error
    numbered = write_lines(tmp_path / "n.jsonl", [{"price": 1}, {"price": 2}])
    assert "numbered from 0; there are 2" in _explain(subscriptions, numbered, "-s", "orders-north", "-e", "2")[2]


def test_what_cannot_be_explained(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    bad = [
        {"id": "pattern", "when": "[price = 1] ; [price = 2"},
        {"id": "broken", "when": "price <"},
        {"id": "dialect", "when": "price", "dialect": "klingon"},
        {"id": "nothing"},
    ]
    write_lines(subscriptions, bad)
    for record, told in zip(bad, ["expected", "expected a value", "'klingon'", "there is no `when`"], strict=True):
        code, said, error = _explain(subscriptions, events, "-s", record["id"], "-e", "e1")
        assert (code, said) == (1, "")
        assert told in error
        assert "Traceback" not in error
    assert _explain(subscriptions, events, "-s", "pattern")[0] == 1


def test_events_that_match_rejects(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[0], "oops", {"id": "e9", "issue": "IBM", "price": "much"}])
    schema = tmp_path / "schema.yaml"
    schema.write_text("issue: string\nprice: float\nvolume: int\n")
    code, _, error = _explain(subscriptions, events, "-s", "s1", "-e", "e9", "--schema", schema)
    assert code == 1
    assert "event 'e9' breaks the schema" in error
    code, _, error = _explain(subscriptions, events, "-s", "s1", "-e", "1", "--schema", schema)
    assert code == 1
    assert "line 2: not JSON" in error


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_events_that_disagree_are_explained_as_they_are_matched(kind: str, subscriptions: Path, tmp_path: Path) -> None:
    prices = ["119", "125.3", "much", "130"]
    events = tmp_path / f"e.{kind}"
    if kind == "csv":
        events.write_text("".join(f"{cell}\n" for cell in ["issue,price", *(f"IBM,{price}" for price in prices)]))
    else:
        numbers = [price if price == "much" else float(price) for price in prices]
        write_lines(events, [{"issue": "IBM", "price": price} for price in numbers])
    assert "1 match, 2 do not. 1 more cannot be read" in _explain(subscriptions, events, "-s", "s1")[1]
    assert "price was 125.3, needed < 120" in _explain(subscriptions, events, "-s", "s1", "-e", "1")[1]
    assert _explain(subscriptions, events, "-s", "s1", "-e", "2")[0] == 1


def test_an_expired_subscription_can_be_explained(events: Path, tmp_path: Path) -> None:
    expired = {"id": "old", "when": "price > 0", "expires": "2001-01-01T00:00:00Z"}
    subscriptions = write_lines(tmp_path / "s.jsonl", [expired])
    code, told, note = _explain(subscriptions, events, "-s", "old", "-e", "e1")
    assert code == 0
    assert "The event matches." in told
    assert "expired on 2001-01-01" in note
