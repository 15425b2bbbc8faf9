"""One broker at a time: what it says when something happens."""

from __future__ import annotations

import pytest

from tests.overlay.grid_cover import SCHEMA
from vedette.errors import FilterError, InputError, NotSupported, SchemaError, UnknownSubscription
from vedette.overlay.broker import Broker, BrokerEffects, DuplicateFilter
from vedette.overlay.forwarding import ExactCover
from vedette.overlay.interests import HERE, Interests
from vedette.overlay.memory import Network
from vedette.overlay.messages import (
    AdjacencyMessage,
    CancelMessage,
    DifferMessage,
    DigestMessage,
    HaveMessage,
    Message,
    PublishMessage,
    SubscribeMessage,
    SubscriptionKey,
    digest,
)

NOTHING = DigestMessage(digest([]))


def joined(*links: str) -> Broker:
    """A broker m whose links are up, and whose neighbours have nothing of it."""
    broker = Broker("m", links, ExactCover, schema=SCHEMA, epoch=100)
    for link in links:
        broker.up(link)
        broker.handle(AdjacencyMessage(link, 1, ("m",)), link)
        broker.handle(NOTHING, link)
    return broker


def said(step: BrokerEffects, link: str) -> list[Message]:
    return [message for to, message in step.sends if to == link]


def key(id_: str, origin: str = "a") -> SubscriptionKey:
    return SubscriptionKey(origin, id_, 1)


# ---------------------------------------------------------------- subscriptions


def test_what_was_held_back_is_forwarded_before_what_covered_it_is_cancelled() -> None:
    broker = joined("a", "b")
    broker.handle(SubscribeMessage(key("wide"), "x >= 1"), "a")
    step = broker.handle(SubscribeMessage(key("narrow"), "x >= 3"), "a")
    assert step.sends == []
    assert broker.held("b") == {key("narrow"): (key("wide"),)}
    step = broker.handle(CancelMessage(key("wide")), "a")
    assert step.sends == [("b", SubscribeMessage(key("narrow"), "x >= 3")), ("b", CancelMessage(key("wide")))]
    assert broker.held("b") == {}


def test_several_cover_together_and_each_of_them_is_needed() -> None:
    broker = joined("a", "b")
    for id_, text in (("low", "x <= 3"), ("high", "x >= 2"), ("all", "x is not null")):
        broker.handle(SubscribeMessage(key(id_), text), "a")
    assert set(broker.held("b")[key("all")]) == {key("low"), key("high")}
    step = broker.handle(CancelMessage(key("high")), "a")
    assert said(step, "b") == [SubscribeMessage(key("all"), "x is not null"), CancelMessage(key("high"))]


def test_one_that_is_held_back_is_cancelled_in_silence() -> None:
    broker = joined("a", "b")
    broker.handle(SubscribeMessage(key("wide"), "x >= 1"), "a")
    broker.handle(SubscribeMessage(key("narrow"), "x >= 3"), "a")
    assert broker.handle(CancelMessage(key("narrow")), "a").sends == []
    assert broker.handle(CancelMessage(key("wide")), "a").sends == [("b", CancelMessage(key("wide")))]


def test_replacing_tells_the_new_one_first() -> None:
    broker = joined("a")
    (old,) = said(broker.subscribe("s", "x = 1"), "a")
    assert isinstance(old, SubscribeMessage)
    new, gone = said(broker.replace("s", "x = 2"), "a")
    assert isinstance(new, SubscribeMessage)
    assert new.text == "x = 2"
    assert new.key.version > old.key.version
    assert gone == CancelMessage(old.key)


def test_a_neighbour_is_not_told_what_it_said_itself() -> None:
    broker = joined("a", "b")
    step = broker.handle(SubscribeMessage(key("s"), "x = 1"), "a")
    assert step.sends == [("b", SubscribeMessage(key("s"), "x = 1"))]
    # It comes by both: only now does either have to hear of it because of the other.
    step = broker.handle(SubscribeMessage(key("s"), "x = 1"), "b")
    assert step.sends == [("a", SubscribeMessage(key("s"), "x = 1"))]
    assert broker.handle(SubscribeMessage(key("s"), "x = 1"), "b").sends == []


def test_subscriptions_that_make_no_sense_are_refused_where_they_are_made() -> None:
    broker = joined("a")
    broker.subscribe("s", "x = 1")
    with pytest.raises(InputError, match="already"):
        broker.subscribe("s", "x = 2")
    with pytest.raises(FilterError):
        broker.subscribe("t", "x = ")
    with pytest.raises(FilterError):
        broker.replace("s", "x = ")
    for text in ("[x = 1] ; [x = 2]", "seen(?y) and ?y > 1"):
        with pytest.raises(NotSupported, match="Hint: brokers take filters over one event, without operators"):
            broker.subscribe("t", text)
    with pytest.raises(InputError, match="501 characters"):
        broker.subscribe("t" * 501, "x = 1")
    with pytest.raises(UnknownSubscription, match="no subscription 't' at broker 'm'"):
        broker.cancel("t")
    assert broker.publish({"x": 1}).notifications[0].subscription == "s"


def test_a_filter_that_cannot_be_read_here_gets_every_event() -> None:
    broker = joined("a", "b")
    step = broker.handle(SubscribeMessage(key("odd"), "x resembles 3"), "a")
    assert said(step, "b") == [SubscribeMessage(key("odd"), "x resembles 3")]
    assert "cannot be read here, and gets every event" in step.problems[0]
    assert [link for link, _ in broker.publish({"x": 1}).sends] == ["a"]
    broker.handle(CancelMessage(key("odd")), "a")
    assert broker.publish({"x": 1}).sends == []


# ---------------------------------------------------------------- events


def test_an_event_is_told_once_and_not_sent_back() -> None:
    broker = joined("a", "b")
    broker.handle(SubscribeMessage(key("s"), "x = 1"), "a")
    broker.subscribe("here", "x = 1", subscriber="alice")
    event = PublishMessage("b", 7, {"x": 1})
    step = broker.handle(event, "b")
    assert step.sends == [("a", event)]
    assert [tuple(told) for told in step.notifications] == [("here", "alice", {"x": 1}, ("b", 7))]
    assert broker.handle(event, "b") == BrokerEffects([], [], [])
    assert broker.handle(PublishMessage("a", 8, {"x": 1}), "a").sends == []


def test_an_event_of_another_schema_is_reported() -> None:
    broker = joined("a", "b")
    broker.subscribe("here", "x = 1")
    with pytest.raises(SchemaError):
        broker.publish({"x": "one"})
    step = broker.handle(PublishMessage("b", 7, {"x": "one"}), "b")
    assert not step.sends
    assert not step.notifications
    assert "event 7 of 'b' came over 'b' and cannot be read here" in step.problems[0]


def test_the_memory_of_events_is_bounded() -> None:
    seen = DuplicateFilter(most=3)
    for number in range(5):
        seen.add(("a", number))
    assert [("a", number) in seen for number in range(5)] == [False, False, True, True, True]
    assert len(seen) == 3


# ---------------------------------------------------------------- links


def test_while_a_link_is_down_changes_wait_and_then_only_they_are_told() -> None:
    broker = joined("a")
    broker.subscribe("kept", "x = 1")
    broker.subscribe("gone", "x = 2")
    told = broker.forwarded("a")
    broker.down("a")
    assert broker.cancel("gone").sends == broker.subscribe("new", "y = 1").sends == []
    broker.up("a")
    broker.handle(AdjacencyMessage("a", 2, ("m",)), "a")
    step = broker.handle(DigestMessage(digest(told)), "a")
    assert [type(message) for message in said(step, "a")] == [SubscribeMessage, CancelMessage]
    assert {each.id for each in broker.forwarded("a")} == {"kept", "new"}


def test_what_was_lost_on_the_way_is_told_again() -> None:
    broker = joined("a")
    for number in range(5):
        broker.subscribe(f"s{number}", f"x = {number}")
    lost, *arrived = broker.forwarded("a")
    stranger = key("stranger", "m")
    broker.down("a")
    broker.up("a")
    broker.handle(AdjacencyMessage("a", 2, ("m",)), "a")
    (differ,) = said(broker.handle(DigestMessage(digest([*arrived, stranger])), "a"), "a")
    assert isinstance(differ, DifferMessage)
    step = broker.handle(HaveMessage((stranger,), last=True), "a")
    assert said(step, "a") == [SubscribeMessage(lost, "x = 0"), CancelMessage(stranger)]
    assert set(broker.forwarded("a")) == {lost, *arrived}


def test_a_neighbour_is_told_what_is_known_of_it_in_bounded_messages() -> None:
    broker = joined("a", "b")
    keys = [key(f"s{number}") for number in range(1_200)]
    for each in keys:
        broker.handle(SubscribeMessage(each, "x = 1"), "a")
    assert said(broker.up("a"), "a")[-1] == DigestMessage(digest(keys))
    listed = said(broker.handle(DifferMessage(tuple(range(256))), "a"), "a")
    assert all(isinstance(message, HaveMessage) and len(message.keys) <= 500 for message in listed)
    assert [message.last for message in listed] == [False, False, True]  # type: ignore[union-attr]
    assert {each for message in listed for each in message.keys} == set(keys)  # type: ignore[union-attr]
    nothing = said(broker.handle(DifferMessage(()), "a"), "a")
    assert nothing == [HaveMessage((), last=True)]


def test_what_a_lost_neighbour_wanted_is_kept_in_mind_unless_it_can_be_reached_otherwise() -> None:
    broker = joined("a", "b")
    broker.handle(SubscribeMessage(key("s"), "x = 1"), "a")
    assert [type(message) for message in said(broker.down("a"), "b")] == [AdjacencyMessage]
    step = broker.handle(AdjacencyMessage("b", 2, ("a", "m")), "b")
    assert said(step, "b") == []
    step = broker.handle(AdjacencyMessage("a", 2, ("b",)), "b")
    assert said(step, "b") == [CancelMessage(key("s"))]


def test_a_new_neighbour_is_told_of_links_that_it_cannot_see() -> None:
    broker = Broker("m", ["a", "b"], schema=SCHEMA, epoch=100)
    broker.up("a")
    broker.handle(AdjacencyMessage("far", 3, ("a",)), "a")
    assert AdjacencyMessage("far", 3, ("a",)) in said(broker.up("b"), "b")


def test_a_broker_outbids_what_an_earlier_life_said() -> None:
    broker = joined("a")
    (adjacency,) = said(broker.handle(AdjacencyMessage("m", 10_000, ("z",)), "a"), "a")
    assert adjacency == AdjacencyMessage("m", 10_001, ("a",))


def test_names_and_links_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="linked to itself"):
        Broker("m", ["m"])
    with pytest.raises(InputError, match="linked to itself"):
        Network({"m": ["m"]})
    with pytest.raises(InputError, match=r"are one text\nHint: give a list, as in \['rome'\]"):
        Broker("m", "rome")
    with pytest.raises(InputError, match="cannot be called"):
        Broker("m", ["a b"])
    with pytest.raises(InputError, match=r"no link to 'z'\nHint: its links are \['a'\]"):
        Broker("m", ["a"]).up("z")
    network = Network({"a": ["b"], "c": []})
    with pytest.raises(InputError, match="no broker 'z'"):
        network.publish("z", {})
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        network.cut("a", "c")


# ---------------------------------------------------------------- interests


def test_equal_texts_are_wanted_until_the_last_one_goes() -> None:
    interests = Interests(SCHEMA)
    interests.add(key("s"), "x = 1", "a")
    interests.add(key("t"), "x = 1", "a")
    interests.add(key("t"), "x = 1", HERE)
    assert interests.matching({"x": 1}) == (frozenset({"x = 1"}), frozenset({"a", HERE}))
    interests.remove(key("t"), "a")
    interests.remove(key("t"), "a")
    assert interests.matching({"x": 1}) == (frozenset({"x = 1"}), frozenset({"a", HERE}))
    interests.remove(key("s"), "a")
    assert interests.matching({"x": 1}) == (frozenset({"x = 1"}), frozenset({HERE}))
    interests.remove(key("t"), HERE)
    assert interests.matching({"x": 1}) == (frozenset(), frozenset())
    assert list(interests) == []
