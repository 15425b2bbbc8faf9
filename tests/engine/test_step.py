"""The step: it changes nothing that it is given, wherever batches end; and sets may be apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import vedette as vd
from tests.contract.cases import FORECASTS, MIXED, SCHEMA, Case, events_of
from tests.seeds import some
from vedette.engine.engine import Engine
from vedette.engine.offers import StreamOffer
from vedette.engine.outcomes import Outcomes, united_outcomes
from vedette.engine.sharing import merged, split
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.step import EventBatch, step
from vedette.errors import InputError
from vedette.schema.encode import Reject

RECORDS: list[dict[str, Any]] = [
    *MIXED,
    *FORECASTS,
    {"id": "want0", "when": "price between 20 and 60 and kind = 'a'", "to": "offers"},
    {"id": "want1", "when": "price > 50 and kind like 'a%'", "to": "offers"},
]
OFFERS = [
    StreamOffer("o1", "price = 55 and kind = 'a'"),
    StreamOffer("o2", "price >= 70"),
    StreamOffer("o3", "price < 30 and kind > 'A'"),
]

SPLIT = [
    {"id": "by_user", "when": "[kind = 'a'] ; [kind = 'b'] by user within 20 s"},
    {"id": "by_both", "when": "[n < 5] ; not [n = 7] ; [n > 5] by user, kind"},
    {"id": "joined", "when": "[n = $m] ; [n > $m and kind = 'c'] by user within 15 s"},
    {"id": "nobody", "when": "[kind = 'a'] ; [kind = 'b'] ; [kind = 'c'] within 5 s"},
]


def made(records: Sequence[dict[str, Any]], folder: Path) -> Engine:
    """An engine of them, with the operators that some call."""
    subscriptions = vd.Subscriptions(SCHEMA)
    subscriptions.add_many(records)
    return subscriptions.compile(operators=Case("", (), ()).operators(folder))


def rows(several: Sequence[Outcomes]) -> list[dict[str, Any]]:
    """All that was told, in order within an event."""
    found = [one for outcomes in several for one in outcomes.table().to_pylist()]
    return sorted(found, key=lambda row: (row["event"], row["subscription"], row["kind"]))


def batches(random: Random, events: list[dict[str, Any]]) -> list[EventBatch]:
    """Events cut anywhere, some of them as Arrow, with offers on the way."""
    found, begin = [EventBatch(offers=OFFERS[:1])], 0
    while begin < len(events):
        end = min(len(events), begin + random.choice((1, 2, 5, 40)))
        part: Any = events[begin:end]
        names = [event["id"] for event in part]
        if random.random() < 0.5:
            part = pa.Table.from_pylist(part, ARROW)
        found.append(EventBatch(part, names=names))
        begin = end
    return [*found, EventBatch(offers=OFFERS[1:]), EventBatch(last=True)]


ARROW = pa.schema(
    {
        "id": pa.string(),
        "time": pa.int64(),
        "kind": pa.string(),
        "user": pa.string(),
        "n": pa.int64(),
        "price": pa.float64(),
        "tags": pa.list_(pa.string()),
    }
)


@pytest.mark.parametrize("seed", some(12, usual=3))
def test_it_does_not_matter_where_batches_end(seed: int, tmp_path: Path) -> None:
    engine, random = made(RECORDS, tmp_path), Random(seed)
    events = events_of(seed, 120)
    names = [event["id"] for event in events]
    whole = step(engine, engine.begin(), EventBatch(events, names=names, offers=OFFERS, last=True))
    state, told = engine.begin(), []
    for batch in batches(random, events):
        stepped = step(engine, state, batch, in_place=random.random() < 0.5)
        told.append(stepped.outcomes)
        state = stepped.state
        if random.random() < 0.2:
            state = type(state).from_bytes(state.to_bytes(), engine)
    assert rows(told) == rows([whole.outcomes])
    assert state.counts == whole.state.counts
    assert {row["kind"] for row in rows(told)} == {"match", "prediction", "meeting"}


@pytest.mark.parametrize("seed", some(4, usual=1))
def test_nothing_that_goes_in_is_changed(seed: int, tmp_path: Path) -> None:
    engine = made(RECORDS, tmp_path)
    events = events_of(seed, 80)
    state = step(engine, engine.begin(), EventBatch(events[:40], offers=OFFERS[:2])).state
    before = state.to_bytes()
    first = step(engine, state, EventBatch(events[40:], offers=OFFERS[2:], withdrawn=["o1"], last=True))
    again = step(engine, state, EventBatch(events[40:], offers=OFFERS[2:], withdrawn=["o1"], last=True))
    assert first.outcomes.table().equals(again.outcomes.table())
    assert first.state.counts == again.state.counts != state.counts
    # What operators cost is learnt by the engine, and is measured anew with every call.
    assert _beside_operators(state.to_bytes()) == _beside_operators(before)


def _beside_operators(data: bytes) -> dict[str, Any]:
    from vedette.patterns.packing import unpacked

    arrays, facts = unpacked("stream matcher", data)
    return {
        **{name: array.tobytes() for name, array in arrays.items()},
        **{key: value for key, value in facts.items() if key != "operators"},
    }


@pytest.mark.parametrize("seed", some(8, usual=2))
def test_sets_apart_tell_what_one_set_tells(seed: int, tmp_path: Path) -> None:
    """Shards in any grouping: united, they say what the whole says."""
    random = Random(seed)
    records = list(RECORDS)
    random.shuffle(records)
    cuts = sorted(random.sample(range(1, len(records)), 3))
    shards = [records[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(records)], strict=True)]
    events = events_of(seed, 80)
    batch = EventBatch(events, names=[event["id"] for event in events], offers=OFFERS, last=True)

    def told(some_of: Sequence[dict[str, Any]]) -> Outcomes:
        engine = made(some_of, tmp_path)
        return step(engine, engine.begin(), batch).outcomes

    a, b, c, d = map(told, shards)
    expected = told(records).table()
    for grouped in (
        united_outcomes([a, b, c, d]),
        united_outcomes([united_outcomes([a, b]), united_outcomes([c, d])]),
        united_outcomes([a, united_outcomes([b, c]), d]),
    ):
        assert grouped.table().equals(expected)
    assert united_outcomes([]).table().num_rows == 0


@pytest.mark.parametrize("seed", some(12, usual=3))
def test_a_state_in_shares_tells_what_the_whole_tells(seed: int, tmp_path: Path) -> None:
    """Whenever it is split, into however many, restarted on the way, and put together again."""
    random = Random(seed)
    engine = made([*RECORDS, *SPLIT], tmp_path)
    events = events_of(seed, 160)
    for place in range(0, len(events), 7):  # some come later than they happened
        events[place]["time"] -= random.randrange(6)
    terms = StreamOptions(lateness=random.choice((0, 3_000_000, None)))
    whole, shares = engine.begin(terms), split(engine.begin(terms), random.randrange(2, 5))
    expected, told = [], []
    for batch in batches(random, events):
        stepped = step(engine, whole, batch)
        whole = stepped.state
        expected.append(stepped.outcomes)
        parts = [step(engine, share, batch) for share in shares]
        told += [part.outcomes for part in parts]
        assert all(part.late.tolist() == stepped.late.tolist() for part in parts)
        shares = [part.state for part in parts]
        if random.random() < 0.2:
            place = random.randrange(len(shares))
            shares[place] = StreamState.from_bytes(shares[place].to_bytes(), engine)
        if random.random() < 0.2:
            random.shuffle(shares)
            again = merged(shares)
            assert again.counts == whole.counts
            shares = split(again, random.randrange(2, 5))
    assert sorted(map(repr, rows(told))) == sorted(map(repr, rows(expected)))  # several of one event are in any order
    assert {row["subscription"] for row in rows(told)} >= {one["id"] for one in SPLIT}
    again = merged(shares)
    assert again.counts == whole.counts
    assert again.patterns.counts == whole.patterns.counts
    assert sorted(map(repr, again.patterns.unfinished())) == sorted(map(repr, whole.patterns.unfinished()))
    assert again.forecaster.to_bytes() == whole.forecaster.to_bytes()


def test_shares_are_all_there_and_equally_far(tmp_path: Path) -> None:
    engine = made(RECORDS, tmp_path)
    state = engine.begin()
    shares = split(state, 3)
    for wrong in ([], shares[1:], [*shares, shares[1]], [state]):
        with pytest.raises(InputError, match="these are not all shares of one state"):
            merged(wrong)
    ahead = step(engine, shares[0], EventBatch([{"n": 1, "time": 1}])).state
    with pytest.raises(InputError, match="not equally far"):
        merged([ahead, *shares[1:]])
    with pytest.raises(InputError, match="1 shares\nHint: at least 2"):
        split(state, 1)
    with pytest.raises(InputError, match="a share is not split again"):
        split(shares[1], 2)
    with pytest.raises(InputError, match="a share goes on under the set it was split under"):
        step(made(RECORDS[:3], tmp_path), shares[1], EventBatch([{"n": 1, "time": 1}]))


def test_an_empty_batch_tells_the_time(tmp_path: Path) -> None:
    engine = made([{"id": "p", "when": "[n = 1] ; [n = 2]"}], tmp_path)
    state = engine.begin(StreamOptions(lateness=None))
    first = step(engine, state, EventBatch([{"n": 2, "time": 20}, {"n": 1, "time": 10}]))
    assert len(first.outcomes) == 0
    then = step(engine, first.state, EventBatch(watermark=15_000_000))
    assert len(then.outcomes) == 0
    later = step(engine, then.state, EventBatch(watermark=20_000_000))
    assert rows([later.outcomes])[0]["steps"] == [("1", 1), ("2", 0)]
    assert step(engine, later.state, EventBatch([{"n": 1, "time": 12}])).late.tolist() == [2]


def test_what_breaks_the_schema_counts_for_nobody(tmp_path: Path) -> None:
    engine = made(RECORDS, tmp_path)
    events = events_of(3, 6)
    events[2]["n"] = "three"
    rejects: list[Reject] = []
    found = step(engine, engine.begin(), EventBatch(events), rejects=rejects)
    assert [(one.row, one.attribute) for one in rejects] == [(2, "n")]
    assert 2 not in found.outcomes.event
    assert found.state.events == 6
    with pytest.raises(vd.SchemaError):
        step(engine, engine.begin(), EventBatch(events))


def test_ids_are_there_always_or_never(tmp_path: Path) -> None:
    engine = made(RECORDS[:1], tmp_path)
    state = step(engine, engine.begin(), EventBatch([{"n": 1}], ["a"])).state
    with pytest.raises(InputError, match="hand in `ids` always, or never"):
        step(engine, state, EventBatch([{"n": 1}]))
    with pytest.raises(InputError, match="there are 2 ids for 1 event"):
        step(engine, state, EventBatch([{"n": 1}], ["b", "c"]))


def test_a_state_survives_changes_of_its_set(tmp_path: Path) -> None:
    """What says the same goes on where it stands; what is new begins, what is gone is forgotten."""
    pattern = {"id": "p", "when": "[n = 1] ; [n = 2]"}
    before = made([pattern, {"id": "q", "when": "[n = 1] ; [n = 3]"}, {"id": "f", "when": "n > 1"}], tmp_path)
    state = step(before, before.begin(), EventBatch([{"n": 1}])).state
    after = made([{"id": "q", "when": "[n = 1] ; [n = 2 or n = 3]"}, {"id": "g", "when": "n > 2"}, pattern], tmp_path)
    found = step(after, state, EventBatch([{"n": 3}, {"n": 2}]))
    assert [(row["event"], row["subscription"]) for row in rows([found.outcomes])] == [(1, "g"), (2, "p")]


@pytest.mark.parametrize(("broken", "as_arrow"), [("n", False), ("kind", False), ("user", False), ("n", True)])
def test_an_event_alone_that_breaks_the_schema_is_told_once(broken: str, as_arrow: bool, tmp_path: Path) -> None:
    """Whether filters, those that call operators, or both read what is wrong."""
    engine = made(
        [{"id": "plain", "when": "n > 0 or kind = 'a'"}, {"id": "calls", "when": "odd() and (n > 0 or user = 'ann')"}],
        tmp_path,
    )
    event: dict[str, Any] = {"n": 1, "kind": "a", "user": "ann"}
    event[broken] = 1.5 if as_arrow else ["no", "such", "thing"]
    given: Any = pa.Table.from_pylist([event]) if as_arrow else [event]
    rejects: list[Reject] = []
    assert len(step(engine, engine.begin(), EventBatch(given), rejects=rejects).outcomes) == 0
    assert [(one.row, one.attribute) for one in rejects] == [(0, broken)]
