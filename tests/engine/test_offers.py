"""Offers that stand in a stream, and those that subscribed to offers: who meets whom, whoever came later."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from random import Random
from typing import Any

import pytest

import vedette as vd
from tests.meeting.generate import case
from tests.seeds import some
from vedette.engine.offers import StreamOffer
from vedette.engine.outcomes import KINDS, Outcomes
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.step import EventBatch, step
from vedette.errors import FilterError, InputError, NotSupported, UnknownSubscription
from vedette.meeting.direction import DIRECTIONS

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
AUCTION = {"topic": "string", "lot": "int", "price": "float"}
SELLER = "topic = 'pencils' and lot between 1000 and 10000 and price = 1.00"
NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def auction() -> vd.Subscriptions:
    """Two buyers, somebody who looks at events, and a pattern."""
    made = vd.Subscriptions(AUCTION)
    made.add("cheap", "price < 2")
    made.add("b", "topic = 'pencils' and lot >= 5000 and price <= 1.10", to="offers", subscriber="Bea")
    made.add("twice", "[price < 2] ; [price > 2]")
    made.add("a", "topic = 'pens' and lot > 1 and price < 3", to="offers")
    return made


def at(moment: dt.datetime) -> int:
    """As batches say it."""
    return int(moment.timestamp()) * 1_000_000


def told(outcomes: Outcomes) -> list[tuple[Any, str, str]]:
    """Event, subscription and kind."""
    return [(one["event"], one["subscription"], one["kind"]) for one in outcomes.dicts()]


def test_offers_and_events_meet_whom_they_are_for(auction: vd.Subscriptions) -> None:
    with auction.compile().stream() as stream:
        found = stream.step(
            EventBatch(
                [{"price": 1.0}, {"price": 3.0}], offers=[StreamOffer("s", SELLER), StreamOffer("t", "topic = 'pens'")]
            )
        )
        assert told(found) == [
            ("s", "b", "meeting"),
            ("t", "a", "meeting"),
            ("0", "cheap", "match"),
            ("1", "twice", "match"),
        ]
        assert {name: stream.metrics[name] for name in ("events", "matches", "meetings")} == {
            "events": 2,
            "matches": 2,
            "meetings": 2,
        }


def test_an_engine_says_who_would_meet_an_offer(auction: vd.Subscriptions) -> None:
    engine = auction.compile()
    assert engine.match_offer(SELLER) == ["b"]
    assert engine.match_offer("topic >= 'pe'") == ["b", "a"]
    assert engine.match({"price": 1.0, "topic": "pens", "lot": 7}) == ["cheap"]
    assert engine.match_batch([{"price": 1.0}])["event"].to_pylist() == [0]
    assert (engine.text("b"), engine.subscriber("b"), len(engine), list(engine)) == (
        auction.text("b"),
        "Bea",
        4,
        ["cheap", "b", "twice", "a"],
    )
    with pytest.raises(InputError, match="match_offer says"):
        engine.explain({"price": 1.0}, "b")


def test_those_who_come_later_meet_what_stands(auction: vd.Subscriptions) -> None:
    with auction.live() as live, live.stream() as stream:
        assert stream.offer("s", SELLER)["subscription"].to_pylist() == ["b"]
        live.add("c", "topic like 'pen%' and lot > 0 and price > 0.5", to="offers")
        assert live.match_offer(SELLER) == ["b", "c"]
        assert told(stream.step(EventBatch([{"price": 5.0}], names=["e"]))) == [("s", "c", "meeting")]
        live.replace("c", "topic = 'pens' and lot > 0 and price > 0", to="offers")
        assert told(stream.step(EventBatch())) == []
        live.remove("b")
        assert stream.offer("u", SELLER).num_rows == 0
        live.replace("cheap", "topic = 'pencils' and lot > 0 and price > 0", to="offers")  # another kind by the same id
        assert told(stream.step(EventBatch())) == [("s", "cheap", "meeting"), ("u", "cheap", "meeting")]


def test_many_may_be_added_at_once(auction: vd.Subscriptions) -> None:
    with auction.live() as live:
        live.add_many([{"id": "x", "when": "price > 1"}, {"id": "y", "when": "topic > 'a'", "to": "offers"}])
        assert live.match_offer("topic = 'b'") == ["y"]
        assert live.match({"price": 1.5}) == ["cheap", "x"]


def test_what_expired_or_was_withdrawn_meets_nobody(auction: vd.Subscriptions) -> None:
    with auction.live() as live, live.stream() as stream:
        stream.step(
            EventBatch(clock=at(NOON), offers=[StreamOffer("s", SELLER, NOON + HOUR), StreamOffer("t", SELLER)])
        )
        live.add("c", SELLER, to="offers")
        assert told(stream.step(EventBatch(clock=at(NOON + HOUR)))) == [("t", "c", "meeting")]
        stream.step(EventBatch(withdrawn=["t"]))
        live.add("d", SELLER, to="offers")
        assert told(stream.step(EventBatch())) == []
        assert told(stream.step(EventBatch(offers=[StreamOffer("late", SELLER, NOON)]))) == []  # its time is over
        with pytest.raises(UnknownSubscription, match="there is no publication 't'"):
            stream.withdraw("t")
        assert stream.offer("t", SELLER)["subscription"].to_pylist() == ["b", "c", "d"]  # its id is free


def test_time_goes_on_by_the_watermark_too(auction: vd.Subscriptions) -> None:
    with auction.live() as live, live.stream() as stream:
        stream.step(EventBatch(clock=at(NOON), offers=[StreamOffer("s", SELLER, NOON + HOUR)]))
        stream.step(EventBatch(watermark=at(NOON + HOUR)))
        live.add("c", SELLER, to="offers")
        assert told(stream.step(EventBatch())) == []


@pytest.mark.parametrize(
    ("when", "more", "error", "message"),
    [
        ("price contains 'x'", {}, FilterError, "contains is a test of text"),
        ("price > 1 and price < 0", {}, FilterError, "no value of price"),
        ("weight = 1", {}, FilterError, "unknown attribute weight"),
        ("[price > 1] ; [price > 2]", {}, FilterError, "pattern"),
        ("price > 1", {"to": "all"}, InputError, "one of events, offers"),
        ("price > 1", {"predict": {"within": 3}}, NotSupported, "pattern"),
    ],
)
def test_what_cannot_meet_offers_is_refused_at_once(
    auction: vd.Subscriptions, when: str, more: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        auction.add("x", when, **{"to": "offers", **more})
    assert list(auction) == ["cheap", "b", "twice", "a"]
    with auction.live() as live:
        with pytest.raises(error, match=message):
            live.add("x", when, **{"to": "offers", **more})
        assert len(live) == 4


def test_wants_agree_about_types() -> None:
    subscriptions = vd.Subscriptions()
    subscriptions.add("a", "x = 1", to="offers")
    with pytest.raises(FilterError, match="x is"):
        subscriptions.add("b", "x = 'one'", to="offers")


def test_one_bad_offer_is_set_aside_and_the_others_stand(auction: vd.Subscriptions) -> None:
    engine = auction.compile()
    offers = [StreamOffer("bad", "price > 'x'"), StreamOffer("s", SELLER), StreamOffer("s", SELLER)]
    found = step(engine, engine.begin(), EventBatch(offers=offers, withdrawn=["nobody"]), rejects=[])
    assert told(found.outcomes) == [("s", "b", "meeting")]
    assert [(one.side, one.row, one.id) for one in found.refused] == [
        ("publication", 0, "nobody"),
        ("publication", 0, "bad"),
        ("publication", 2, "s"),
    ]
    with pytest.raises(FilterError, match="publication 'bad'"):
        step(engine, engine.begin(), EventBatch(offers=offers))


def test_a_step_leaves_what_it_is_given_as_it_is(auction: vd.Subscriptions) -> None:
    engine = auction.compile()
    state = step(
        engine, engine.begin(), EventBatch(clock=at(NOON), offers=[StreamOffer("s", SELLER, NOON + HOUR)])
    ).state
    before = state.to_bytes()
    first = step(engine, state, EventBatch(offers=[StreamOffer("t", SELLER)], withdrawn=["s"]))
    second = step(engine, state, EventBatch(offers=[StreamOffer("t", SELLER)], withdrawn=["s"]))
    assert told(first.outcomes) == told(second.outcomes) == [("t", "b", "meeting")]
    assert state.to_bytes() == before


def test_a_state_keeps_what_stands_and_what_is_owed(auction: vd.Subscriptions) -> None:
    with auction.live() as live, live.stream() as stream:
        stream.step(
            EventBatch(clock=at(NOON), offers=[StreamOffer("s", SELLER, NOON + HOUR), StreamOffer("t", SELLER)])
        )
        kept = stream.to_bytes()
        live.add("c", SELLER, to="offers")
        live.remove("b")
        again = live.resume(kept)
        assert told(again.step(EventBatch())) == [("s", "c", "meeting"), ("t", "c", "meeting")]
        owed = live.resume(StreamState.from_bytes(kept, live.now).to_bytes())  # not told yet
        assert told(owed.step(EventBatch(clock=at(NOON + HOUR)))) == [("t", "c", "meeting")]


def test_a_snapshot_keeps_them(auction: vd.Subscriptions, tmp_path: Path) -> None:
    engine = auction.compile()
    engine.save(tmp_path / "saved")
    again = vd.open(tmp_path / "saved")
    assert (list(again), again.version, again.match_offer(SELLER)) == (list(engine), engine.version, ["b"])
    auction.replace("a", auction.text("a"))  # the same text, of events
    assert auction.compile().version != engine.version


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", some(12, usual=2))
def test_whoever_comes_and_goes_all_that_stood_together_has_met(seed: int, direction: Any) -> None:
    """Against all pairs, by the definition: everything is told once, and nothing else."""
    random, made = Random(seed), case(seed, 20)
    offers, wants = list(made.publications.items()), list(made.subscriptions.items())
    live = vd.Subscriptions(made.schema).live()
    stream = live.stream(direction=direction)
    standing: dict[str, str] = {}
    wanting: dict[str, str] = {}
    due: set[tuple[str, str]] = set()
    found: list[tuple[str, str]] = []

    def happened(outcomes: Outcomes) -> None:
        found.extend((one["event"], one["subscription"]) for one in outcomes.dicts())

    for _ in range(60):
        chance = random.random()
        if chance < 0.4 and offers:
            some_of = dict(offers[:2])
            del offers[:2]
            due |= made.oracle.pairs(some_of, wanting, direction)
            standing |= some_of
            happened(stream.step(EventBatch(offers=[StreamOffer(id_, text) for id_, text in some_of.items()])))
        elif chance < 0.8 and wants:
            id_, text = wants.pop()
            try:
                live.add(id_, text, to="offers")
            except FilterError:  # its attributes have other types elsewhere
                continue
            wanting[id_] = text
            due |= made.oracle.pairs(standing, {id_: text}, direction)
            happened(stream.step(EventBatch()))
        elif chance < 0.9 and standing:
            id_ = random.choice(sorted(standing))
            del standing[id_]
            happened(stream.step(EventBatch(withdrawn=[id_])))
        elif wanting:
            id_ = random.choice(sorted(wanting))
            del wanting[id_]
            live.remove(id_)
        if random.random() < 0.2:
            stream = live.resume(stream.to_bytes())
    assert len(found) == len(set(found))
    assert set(found) == due
    assert KINDS[8] == "meeting"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_state_without_offers_keeps_whose_attributes_count(direction: Any) -> None:
    with vd.Subscriptions({"a": "int", "b": "int"}).live() as live:
        again = live.resume(live.stream(direction=direction).to_bytes())
        live.add("w", "a = 1", to="offers")
        met = again.step(EventBatch(offers=[StreamOffer("o", "a = 1 and b = 2")]))
    assert len(met.dicts()) == (direction != "publication")


def test_terms_without_offers_take_no_time_for_them(auction: vd.Subscriptions) -> None:
    engine = auction.compile()
    assert engine.begin(StreamOptions(offers=False)).offers is None
    assert engine.begin().offers is not None
