"""Both sides stand: what comes, expires and is withdrawn, what is told of it, and what goes wrong without harm."""

from __future__ import annotations

import datetime as dt
import threading
from random import Random
from typing import Any

import pytest

from tests.meeting.engines import of_table
from tests.meeting.generate import SCHEMA, case
from vedette.errors import FilterError, InputError, UnknownSubscription
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.given import RejectedConstraint
from vedette.meeting.live_meeting import Meeting, Side

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
AUCTION = {"topic": "string", "lot": "int", "price": "float"}
NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def auction() -> Meeting:
    """Two buyers."""
    made = Meeting(AUCTION, clock=lambda: NOON - 9 * HOUR)
    assert made.subscriptions.add("b", "topic = 'pencils' and lot >= 5000 and price <= 1.10") == []
    assert made.subscriptions.add("a", "topic = 'pens' and lot > 1 and price < 3") == []
    return made


SELLER = "topic = 'pencils' and lot between 1000 and 10000 and price = 1.00"

# ---------------------------------------------------------------- coming and going


def test_a_new_one_on_either_side_meets_those_that_stand(auction: Meeting) -> None:
    assert auction.publications.add("s", SELLER) == ["b"]
    assert auction.subscriptions.add("c", "topic like 'pen%' and lot > 0 and price > 0.5") == ["s"]
    assert auction.publications.add("t", "topic = 'pens'") == ["a", "c"]
    assert of_table(auction.pairs()) == {("s", "b"), ("s", "c"), ("t", "a"), ("t", "c")}


def test_answers_come_in_the_order_in_which_the_others_came() -> None:
    meeting, random = Meeting({"x": "int"}), Random(3)
    ids = [f"{number:03}" for number in range(200)]
    random.shuffle(ids)
    for id_ in ids:
        meeting.subscriptions.add(id_, f"x >= {random.randrange(5)}")
        if random.random() < 0.1:  # lays them out, so that there are segments of many sizes
            meeting.publications.add(f"p{id_}", "x = 3")
    for id_ in ids[:40]:
        meeting.subscriptions.remove(id_)
    meeting.subscriptions.add(ids[5], "x > 0")
    assert meeting.publications.add("all", "x = 9") == [*ids[40:], ids[5]]
    assert list(meeting.subscriptions) == [*ids[40:], ids[5]]


def test_many_at_once_are_told_in_their_order(auction: Meeting) -> None:
    found = auction.publications.add_many(
        {"id": id_, "when": f"topic = '{topic}'"} for id_, topic in [("z", "pens"), ("n", "ink"), ("c", "pencils")]
    )
    assert found.to_pydict() == {"publication": ["z", "c"], "subscription": ["a", "b"]}
    wanted = auction.subscriptions.add_many([{"id": "e", "when": "topic > 'j'"}, {"id": "d", "when": "topic > 'i'"}])
    assert wanted.to_pydict() == {"publication": ["z", "c", "z", "n", "c"], "subscription": ["e", "e", "d", "d", "d"]}
    assert auction.publications.add_many([]).to_pydict() == {"publication": [], "subscription": []}
    assert [str(each) for each in found.schema.types] == ["string", "string"]


def test_all_pairs_are_in_the_order_in_which_both_came(auction: Meeting) -> None:
    auction.publications.add_many([{"id": "z", "when": "price < 5"}, {"id": "y", "when": SELLER}])
    assert auction.pairs().to_pydict() == {"publication": ["z", "z", "y"], "subscription": ["b", "a", "b"]}


def test_what_is_withdrawn_meets_nobody_and_its_id_is_free(auction: Meeting) -> None:
    auction.subscriptions.remove("b")
    assert auction.publications.add("s", SELLER) == []
    assert auction.subscriptions.add("b", "topic != 'pencils' and lot > 0 and price > 0") == []
    assert auction.subscriptions.text("b") == "topic != 'pencils' and lot > 0 and price > 0"
    auction.publications.remove("s")
    assert auction.publications.add("s", SELLER.replace("pencils", "pens")) == ["a", "b"]


def test_what_a_side_says_of_itself(auction: Meeting) -> None:
    assert len(auction.subscriptions) == 2
    assert "a" in auction.subscriptions
    assert "a" not in auction.publications
    assert list(auction.subscriptions) == ["b", "a"]
    assert repr(auction.subscriptions) == "<2 subscriptions>"
    assert "0 publications, 2 subscriptions" in repr(auction)
    assert "2</td>" in auction._repr_html_()


# ---------------------------------------------------------------- time


def test_those_whose_time_is_over_go_in_the_order_of_their_times(auction: Meeting) -> None:
    side = auction.publications
    side.add("late", SELLER, expires=NOON + 2 * HOUR)
    side.add("soon", SELLER, expires="2026-05-01T12:30:00Z")
    side.add("noon", SELLER, expires=dt.datetime(2026, 5, 1, 12))  # without a zone: UTC
    side.add("ever", SELLER)
    assert side.expires("soon") == NOON + HOUR / 2
    assert side.expires("ever") is None
    assert side.expire(NOON - HOUR) == []
    assert side.expire(NOON + HOUR) == ["noon", "soon"]
    assert auction.subscriptions.add("c", "topic > 'a' and lot > 0 and price > 0") == ["late", "ever"]
    assert side.expire(NOON + 2 * HOUR) == ["late"]  # until then, and not then any more
    assert side.expire() == []
    assert list(side) == ["ever"]


def test_a_new_one_with_the_id_of_an_old_one_has_a_time_of_its_own(auction: Meeting) -> None:
    side = auction.publications
    side.add("s", SELLER, expires=NOON)
    side.remove("s")
    side.add("s", SELLER, expires=NOON + 2 * HOUR)
    assert side.expire(NOON + HOUR) == []
    assert side.expire(NOON + 3 * HOUR) == ["s"]
    side.add("s", SELLER)
    assert side.expire(NOON + 100 * HOUR) == []


def test_both_sides_expire_together(auction: Meeting) -> None:
    auction.publications.add_many([{"id": "s", "when": SELLER, "expires": NOON}, {"id": "t", "when": SELLER}])
    auction.subscriptions.add("c", SELLER, expires=NOON - HOUR)
    assert auction.expire(NOON) == (["s"], ["c"])
    assert of_table(auction.pairs()) == {("t", "b")}


# ---------------------------------------------------------------- mistakes


def _state(side: Side) -> list[tuple[str, str]]:
    return [(id_, side.text(id_)) for id_ in side]


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        ({"id": "b", "when": "lot = 1"}, InputError, "'b' is taken by another subscription"),
        ({"id": "n", "when": "lot = 1"}, InputError, "'n' is taken by another subscription"),
        ({"id": "", "when": "lot = 1"}, InputError, "an id is a text"),
        ({"id": 5, "when": "lot = 1"}, InputError, "an id is a text"),
        ({"id": "m"}, InputError, "is no subscription"),
        ({"id": "m", "when": 5}, InputError, "which is no text"),
        ({"id": "m", "when": "lot = 1", "expire": NOON}, InputError, "did you mean 'expires'"),
        ({"id": "m", "when": "lot = 'x'"}, FilterError, "subscription 'm'"),
        ({"id": "m", "when": "lot = 1 and lot = 2"}, FilterError, "more than once"),
        ({"id": "m", "when": "weight = 1"}, FilterError, "unknown attribute weight"),
        ({"id": "m", "when": "lot = 1", "expires": "tomorrow"}, InputError, "'tomorrow'"),
    ],
)
def test_one_mistake_and_nothing_is_taken_up(
    auction: Meeting, record: dict[str, Any], error: type[Exception], message: str
) -> None:
    before = _state(auction.subscriptions)
    with pytest.raises(error, match=message):
        auction.subscriptions.add_many([{"id": "n", "when": "lot > 0", "expires": NOON}, record])
    assert _state(auction.subscriptions) == before
    assert auction.subscriptions.expire(NOON) == []
    assert auction.publications.add("s", "lot > 0 or " + SELLER) == ["b", "a"]
    assert auction.subscriptions.add("n", "lot > 0") == ["s"]


def test_what_is_wrong_is_set_aside_where_a_list_is_given_for_it() -> None:
    meeting = Meeting(direction="open")
    meeting.subscriptions.add("wants", "x = 1")
    records = [
        {"id": "a", "when": "x > 1.5 and x < 1.2"},
        {"id": "b", "when": "x = 1 and y = 2"},
        {"id": "b", "when": "z = 'a'"},
        {"id": "c", "when": "y = 'a'"},
        {"when": "x = 1"},
        {"id": "d", "when": "z = 3"},
    ]
    rejects: list[RejectedConstraint] = []
    assert meeting.publications.add_many(records, rejects=rejects)["publication"].to_pylist() == ["b", "d"]
    assert list(meeting.publications) == ["b", "d"]
    assert [(each.side, each.row, each.id) for each in rejects] == [
        ("publication", 0, "a"),
        ("publication", 2, "b"),
        ("publication", 3, "c"),
        ("publication", 4, None),
    ]
    for reject, says in zip(
        rejects, ("no value of x", "is taken", "y is string here", "is no publication"), strict=True
    ):
        assert says in reject.reason
    assert str(rejects[3]).startswith("publication row 4: ")
    assert meeting.publications.add("e", "z = 4") == ["wants"]  # what was set aside tells no types


def test_what_is_not_there_cannot_be_withdrawn(auction: Meeting) -> None:
    for ask in (auction.publications.remove, auction.publications.text, auction.publications.expires):
        with pytest.raises(UnknownSubscription, match="there is no publication 'b'"):
            ask("b")
    assert "b" in auction.subscriptions


def test_no_such_direction() -> None:
    with pytest.raises(InputError, match="one of publication, subscription, open"):
        Meeting(AUCTION, direction="both")  # type: ignore[arg-type]


# ---------------------------------------------------------------- types that nobody has given


def test_an_attribute_has_one_type_once_something_tells_it() -> None:
    meeting = Meeting(direction="open")
    assert meeting.publications.add("missing", "x is null") == []
    assert meeting.subscriptions.add("there", "x is not null") == []
    assert meeting.subscriptions.add("number", "x = 5 and y = 'a'") == []
    with pytest.raises(FilterError, match="x is string here and float"):
        meeting.publications.add("text", "x = 'a' and z = 1")
    assert meeting.publications.add("other", "x > 4.5 and y > ''") == ["there", "number"]
    assert meeting.publications.add("text", "z = 'a'") == ["there", "number"]  # z is still open
    assert meeting.subscriptions.add("null", "x is null") == ["missing", "text"]


def test_what_is_refused_settles_no_type() -> None:
    meeting = Meeting()
    with pytest.raises(FilterError):
        meeting.publications.add_many([{"id": "a", "when": "x = 1"}, {"id": "b", "when": "x = 1 and"}])
    with pytest.raises(FilterError, match="x is string here and float"):
        meeting.publications.add_many([{"id": "a", "when": "x = 1"}, {"id": "b", "when": "x = 'a'"}])
    assert meeting.publications.add("a", "x = 'a'") == []


# ---------------------------------------------------------------- at random


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", range(7000, 7003))
def test_whatever_comes_and_goes_everyone_is_told_of_those_that_stand(seed: int, direction: Direction) -> None:
    """Changes of all kinds; what each is told, and now and then all pairs, is what the oracle says of that moment."""
    random, given = Random(seed), case(seed, count=40)
    meeting = Meeting(SCHEMA, direction=direction, clock=lambda: NOON - 9 * HOUR)
    texts = [*given.publications.values(), *given.subscriptions.values()]
    stand: tuple[dict[str, str], dict[str, str]] = ({}, {})
    until: tuple[dict[str, int], dict[str, int]] = ({}, {})
    sides = meeting.publications, meeting.subscriptions
    for moment in range(90):
        which = random.randrange(2)
        side, mine, others = sides[which], stand[which], stand[1 - which]
        kind = random.random()
        if kind < 0.25 and mine:
            gone = random.choice(list(mine))
            side.remove(gone)
            del mine[gone]
            until[which].pop(gone, None)
        elif kind < 0.35:
            over = sorted((when, list(mine).index(id_), id_) for id_, when in until[which].items() if when <= moment)
            assert side.expire(NOON + moment * HOUR) == [id_ for _, _, id_ in over]
            for _, _, id_ in over:
                del mine[id_], until[which][id_]
        else:
            free = [f"{number}" for number in range(400) if f"{number}" not in mine]
            new = {id_: random.choice(texts) for id_ in random.sample(free, random.choice([1, 1, 2, 9]))}
            records: list[dict[str, Any]] = []
            for id_, text in new.items():
                records.append({"id": id_, "when": text})
                if random.random() < 0.3:
                    until[which][id_] = moment + random.randrange(20)
                    records[-1]["expires"] = NOON + until[which][id_] * HOUR
            if len(records) == 1:
                (one,) = records
                found: list[Any] = side.add(one["id"], one["when"], expires=one.get("expires"))
            else:
                table = side.add_many(records).to_pydict()
                found = list(zip(table["publication"], table["subscription"], strict=True))
            mine |= new
            wanted = [
                (id_, other) if which == 0 else (other, id_)
                for id_, text in new.items()
                for other, said in others.items()
                if given.oracle.meet(*((text, said) if which == 0 else (said, text)), direction)
            ]
            assert found == (wanted if len(records) > 1 else [pair[1 - which] for pair in wanted])
        assert [list(each) for each in sides] == [list(each) for each in stand]
        if moment % 30 == 29:
            assert of_table(meeting.pairs()) == given.oracle.pairs(stand[0], stand[1], direction)


def test_threads_may_change_it_at_once() -> None:
    """Each pair is told to just one of the two: to the one that came later."""
    meeting = Meeting({"x": "int"})
    told: dict[str, list[str]] = {}
    start = threading.Barrier(4)

    def work(name: str, side: Side) -> None:
        start.wait()
        for number in range(40):
            id_ = f"{name}{number}"
            told[id_] = side.add(id_, f"x >= {number}")
            if number % 4 == 3:
                side.remove(f"{name}{number - 1}")

    sides = {
        "p": meeting.publications,
        "q": meeting.publications,
        "s": meeting.subscriptions,
        "t": meeting.subscriptions,
    }
    threads = [threading.Thread(target=work, args=each) for each in sides.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stand = [id_ for side in (meeting.publications, meeting.subscriptions) for id_ in side]
    assert len(stand) == 120
    found = of_table(meeting.pairs())
    assert len(found) == 60 * 60
    for one, other in found:
        assert (other in told[one]) != (one in told[other])


def test_whose_time_is_over_leaves_by_the_clock() -> None:
    time = [NOON]
    auction = Meeting({"lot": "int"}, clock=lambda: time[0])
    assert auction.publications.add("gone", "lot = 1", expires=NOON) == []
    assert auction.publications.add("soon", "lot = 1", expires=NOON + HOUR) == []
    assert list(auction.publications) == ["soon"]
    assert auction.subscriptions.add("early", "lot < 5") == ["soon"]
    time[0] = NOON + HOUR
    assert auction.subscriptions.add("late", "lot < 5") == []
    assert auction.pairs().num_rows == 0
    assert auction.subscriptions.add_many({"more": "lot > 0"}).num_rows == 0
    assert list(auction.publications) == []


def test_a_text_is_no_list_of_records() -> None:
    for given in ("offers.jsonl", 5):
        with pytest.raises(InputError, match="the publications are a"):
            Meeting().publications.add_many(given)  # type: ignore[arg-type]
