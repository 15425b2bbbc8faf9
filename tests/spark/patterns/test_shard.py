"""Patterns over a stream, followed shard by shard, tell what one process tells: thousands of cases, without Spark.

Micro-batches end anywhere, tasks fail and are run again, state goes through bytes or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from tests.patterns.generate import SCHEMA, patterns, shuffled, stream
from tests.patterns.oracle import expected as by_oracle
from tests.patterns.oracle import names
from tests.seeds import some
from tests.spark.patterns.imitation import Event, Query, Told, local, plain
from vedette.engine.pattern_shards import PatternSet
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SnapshotError, VedetteError
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.forecasts.model import Model
from vedette.patterns.packing import packed
from vedette.spark.patterns import streams
from vedette.spark.patterns.coded import squeezed, unsqueezed
from vedette.spark.patterns.live import made_ready
from vedette.spark.patterns.shard import Shard, facts_of

_FLOATS = {**SCHEMA, "time": "float"}  # of the attributes, where times are seconds
_BEGIN = 100.0  # Spark's watermark begins at 0, and knows nothing then
_UNITS = (1, 0.001, 0.0003, 0.000001)  # seconds between two events: a watermark has whole milliseconds


def subscribed(texts: Iterable[str], **predict: Any) -> Subscriptions:
    """Those texts that are patterns over these attributes."""
    made = Subscriptions(_FLOATS)
    for number, text in enumerate(texts):
        try:
            made.add(f"p{number}", text, subscriber=f"who{number % 2}", predict=predict or None)
        except VedetteError:
            continue
    return made


def followed(subscriptions: Subscriptions, random: Random, **how: Any) -> PatternSet:
    """The patterns of a set, in a few shards."""
    return PatternSet(tuple(subscriptions.patterns.values()), subscriptions.schema, random.choice([1, 2, 5]), **how)


def events_of(random: Random, count: int, unit: float = 1, *, timeless: bool = False) -> list[Event]:
    """Random events in the order of their time."""
    made: list[Event] = []
    for number, event in enumerate(stream(random, count)):
        time = event.pop("time", None)
        if time is None and not timeless:
            time = made[-1]["clock"] if made else 0
        if time is not None:
            event["time"] = round(_BEGIN + time * unit, 6)
        made.append({**event, "id": f"e{number}", "name": f"e{number}", "clock": time})
    return made


def lateness_of(events: Sequence[Event]) -> int:
    """So late is the latest of the events, in microseconds."""
    greatest, most = 0.0, 0.0
    for event in events:
        if event.get("time") is not None:
            greatest = max(greatest, event["time"])
            most = max(most, greatest - event["time"])
    return round(most * 1_000_000)


def parts(random: Random, events: Sequence[Event]) -> list[Sequence[Event]]:
    """Micro-batches of some events, one after the other."""
    found, begin = [], 0
    while begin < len(events):
        end = begin + random.choice([1, 2, 5, 20])
        found.append(events[begin:end])
        begin = end
    return found


def told(query: Query, *, late: bool = False) -> list[Told]:
    """What patterns told, sorted."""
    return sorted(plain(row, row["c0"]) for _, row in query.told if late or row["kind"] != "late")


def run(random: Random, events: Sequence[Event], followed: PatternSet, lateness: int) -> Query:
    """All events in random micro-batches."""
    query = Query(random, lateness)
    for part in parts(random, events):
        query.micro_batch(part, followed)
    query.end(followed)
    return query


# ---------------------------------------------------------------- what one process tells


@pytest.mark.parametrize("seed", some(60))
def test_random_patterns_over_random_micro_batches(seed: int) -> None:
    random = Random(seed)
    unit = random.choice(_UNITS)
    events = events_of(random, random.choice([5, 20, 40]), unit, timeless=random.random() < 0.4)
    if random.random() < 0.6:
        events = shuffled(random, events)
    window = f"{random.choice([1, 2, 6]) * unit:.6f} s"
    subscriptions = subscribed(patterns(random, random.choice([1, 3, 8]), random.choice([None, window])))
    query = run(random, events, followed(subscriptions, random), lateness_of(events))
    assert told(query, late=True) == local(subscriptions, events)
    who = {row["subscription"]: row["subscriber"] for _, row in query.told}
    assert all(subscriptions.patterns[id_].subscriber == subscriber for id_, subscriber in who.items())


@pytest.mark.parametrize("seed", some(130, 100))
def test_against_the_oracle(seed: int) -> None:
    random = Random(seed)
    events = shuffled(random, events_of(random, random.randint(8, 12)))
    subscriptions = subscribed(patterns(random, 10))
    found = told(run(random, events, followed(subscriptions, random), lateness_of(events)))
    numbers = {event["id"]: number for number, event in enumerate(events)}
    for id_, record in subscriptions.patterns.items():
        answers = by_oracle(record.text, events, subscriptions.schema)
        named = {name: place for place, name in enumerate(names(record.text))}
        mine = [
            (numbers[row[0]], frozenset((named[name], numbers[event]) for name, event in row[3]))
            for row in found
            if row[1] == id_
        ]
        witnessed = {(answer[0], witness): answer for answer, valid in answers.items() for witness in valid}
        assert sorted(map(str, (witnessed[one] for one in mine))) == sorted(map(str, answers)), record.text


@pytest.mark.parametrize("seed", some(220, 200))
def test_copies_count_once_whichever_micro_batch_they_come_in(seed: int) -> None:
    random = Random(seed)
    events = shuffled(random, events_of(random, 30))
    lateness = lateness_of(events) + 3_000_000
    again: list[Event] = []
    greatest = 0.0
    for event in events:
        greatest = max(greatest, event["time"])
        again.append(event)
        near = [one for one in again if one["time"] >= greatest - 3]
        again += random.choices(near, k=random.choice([0, 0, 1, 2]))
    subscriptions = subscribed(patterns(random, 5, "5 s"))
    query = run(random, again, followed(subscriptions, random), lateness)
    assert told(query, late=True) == local(subscriptions, events) == local(subscriptions, again)


@pytest.mark.parametrize("seed", some(330, 300))
def test_events_that_come_too_late_are_told_once_and_never_count(seed: int) -> None:
    random = Random(seed)
    events = shuffled(random, shuffled(random, events_of(random, 40, random.choice([1, 0.001]))))
    lateness = random.choice([0, 1, 1_000, 1_000_000])
    subscriptions = subscribed(patterns(random, 6))
    patterns_ = followed(subscriptions, random)
    query, late = Query(random, lateness), []
    for part in parts(random, events):
        late += [event["id"] for event in part if round(event["time"] * 1000) < query.watermark]
        query.micro_batch(part, patterns_)
    query.end(patterns_)
    in_time = [event for event in events if event["id"] not in late]
    assert told(query) == local(subscriptions, in_time)
    called = Counter(row["c0"] for _, row in query.told if row["kind"] == "late")
    assert set(called.values()) <= {1}
    if any(group.keys == () for group in patterns_.groups()):
        assert sorted(called) == sorted(late)
    assert set(called) <= set(late)


def test_an_attribute_may_be_called_number() -> None:
    types = {"time": pa.float64(), "number": pa.int32()}
    subscriptions = Subscriptions({"time": "float", "number": "int"})
    subscriptions.add("rising", "[number = $x] ; [number > $x]")
    events = [{"id": f"e{place}", "name": f"e{place}", "time": 1.0 + place, "number": 7 - place} for place in range(4)]
    events.append({"id": "last", "name": "last", "time": 9.0, "number": 5})
    query = Query(Random(1), 0, types)
    for event in events:
        streams._warm.clear()
        query.micro_batch([event], followed(subscriptions, Random(1)))
    query.end(followed(subscriptions, Random(1)))
    assert told(query) == local(subscriptions, events)
    assert told(query)


# ---------------------------------------------------------------- patterns that come and go


class Life(NamedTuple):
    """A pattern from the first micro-batch that follows it to the last."""

    record: PatternRecord
    begin: int
    events: list[Event]  # that came meanwhile


class Changing:
    """A stream whose patterns change between micro-batches; and what one process tells of each life of each."""

    def __init__(self, random: Random, lateness: int, pool: list[str]) -> None:
        self._random, self._pool, self._shards = random, pool, random.choice([1, 2, 5])
        self.query = Query(random, lateness)
        self._living: dict[str, Life] = {}
        self._over: list[tuple[Life, int | None]] = []  # and how many runs there had been when it ended
        self._batch = 0
        self._arrived: dict[str, int] = {}  # event -> the run in which it came
        self.change(range(len(pool) // 2))

    def change(self, chosen: Iterable[int]) -> None:
        """Follow these of the pool from now on; ids are shared by two texts, so that one takes another's place."""
        wanted: dict[str, PatternRecord] = {}
        for number in chosen:
            record = PatternRecord(f"p{number // 2}", self._pool[number])
            wanted.setdefault(record.id, record)
        for id_ in [id_ for id_, life in self._living.items() if wanted.get(id_) != life.record]:
            self._over.append((self._living.pop(id_), self.query.batches))
        for id_, record in wanted.items():
            self._living.setdefault(id_, Life(record, self._batch, []))

    def randomly(self) -> None:
        """Some other patterns, in another order, too."""
        self.change(self._random.sample(range(len(self._pool)), self._random.randint(1, len(self._pool))))

    @property
    def set(self) -> PatternSet:
        """The patterns now."""
        records_ = [life.record for life in self._living.values()]
        since = tuple((id_, life.begin) for id_, life in self._living.items() if life.begin)
        return PatternSet(tuple(records_), Subscriptions(_FLOATS).schema, self._shards, since=since)

    def follow(self, events: Sequence[Event]) -> None:
        """One more micro-batch."""
        for life in self._living.values():
            life.events.extend(events)
        self._arrived |= {event["id"]: self.query.batches for event in events}
        self.query.micro_batch(events, self.set)
        self._batch += 1

    def check(self) -> None:
        """What was told is what a process tells that follows one pattern alone, for as long as it is followed."""
        self.query.end(self.set)
        expected = []
        for life, end in [*self._over, *((life, None) for life in self._living.values())]:
            alone = Subscriptions(_FLOATS)
            alone.add(life.record.id, life.record.text)
            times = {event["id"]: round(event["time"] * 1_000_000) for event in life.events}
            for row in local(alone, life.events):
                if end is None or self._followed(row[0], times[row[0]]) < end:
                    expected.append((row[0], row[1], row[4]))
        assert sorted((row[0], row[1], row[4]) for row in told(self.query, late=True)) == sorted(expected)

    def _followed(self, event: str, time: int) -> int:
        """The run in which the watermark let an event happen."""
        runs = range(self._arrived[event], self.query.batches)
        return next(run for run in runs if self.query.watermarks[run] * 1000 + 999 >= time)


@pytest.mark.parametrize("seed", some(440, 400))
def test_patterns_that_come_and_go_leave_the_others_as_they_were(seed: int) -> None:
    random = Random(seed)
    events = events_of(random, 40, random.choice([1, 0.001]))
    pool = [record.text for record in subscribed(patterns(random, 8)).patterns.values()]
    stream = Changing(random, 0, pool)
    for part in parts(random, events):
        stream.follow(part)
        if random.random() < 0.5:
            stream.query.settle(stream.set)
            stream.randomly()
    stream.check()


@pytest.mark.parametrize("seed", some(530, 500))
def test_events_that_are_held_back_mean_nothing_to_new_patterns(seed: int) -> None:
    random = Random(seed)
    events = shuffled(random, events_of(random, 40))
    # Filters of their own: what is held back is known by the filters that it satisfied.
    texts = [text for text in patterns(random, 24) if " , " not in text and "{" not in text]
    texts = [text.replace("[", f"[(v is null or v < {100 + number}) and ") for number, text in enumerate(texts)]
    pool = [record.text for record in subscribed(texts).patterns.values()][:8]
    stream = Changing(random, lateness_of(events) + random.choice([0, 3_000_000]), pool)
    for part in parts(random, events):
        stream.follow(part)
        if random.random() < 0.5:
            stream.randomly()
    stream.check()


# ---------------------------------------------------------------- forecasts

_PREDICTED = (
    "[kind = 'a'] ; [kind = 'b'] , [kind = 'c'] by s within 20 s",
    "[u = 1] , [u = 2] by r, kind",
    "[kind = 'a'] ; not [kind = 'c'] ; [kind = 'b']",
    "x:[kind = 'a' and u = $m] ; y:[v = $m] @ (t(y) - t(x) < 9 s)",
)


def rounded(rows: Iterable[Told]) -> list[Told]:
    """What is learnt is added up micro-batch by micro-batch, so that the last digits of a probability may differ."""
    return sorted((*row[:5], round(row[5], 12) if row[5] else row[5], row[6]) for row in rows)


def model_of(subscriptions: Subscriptions, events: Sequence[Event]) -> Model:
    """What is learnt of some events."""
    learnt = StreamMatcher(subscriptions, lateness=None)
    learnt.process(list(events))
    learnt.finish()
    return learnt.model()


@pytest.mark.parametrize("seed", range(600, 606))
def test_forecasts_by_a_model(seed: int) -> None:
    random = Random(seed)
    subscriptions = subscribed(_PREDICTED, within=6, threshold=0.1)
    model = model_of(subscriptions, events_of(random, 300))
    events = shuffled(random, events_of(random, 60, timeless=True))
    patterns_ = followed(subscriptions, random, model=model.to_bytes())
    found = told(run(random, events, patterns_, lateness_of(events)))
    assert found == local(subscriptions, events, model)
    assert {row[2] for row in found} == {"match", "prediction"}


@pytest.mark.parametrize("seed", range(620, 624))
def test_forecasts_that_learn(seed: int) -> None:
    random = Random(seed)
    subscriptions = subscribed(_PREDICTED, within=6, threshold=0.1)
    events = shuffled(random, events_of(random, 300))
    found = told(run(random, events, followed(subscriptions, random, learn=True), lateness_of(events)))
    stream = StreamMatcher(subscriptions, lateness=None)
    rows = pa.concat_tables([stream.process(events, ids=[event["id"] for event in events]), stream.finish()])
    assert rounded(found) == rounded(plain(row, row["event"]) for row in rows.to_pylist())
    assert {row[2] for row in found} == {"match", "prediction"}


@pytest.mark.parametrize("learn", [False, True])
def test_forecasts_of_patterns_that_stay_when_others_change(learn: bool) -> None:
    random = Random(7)
    history, events = events_of(random, 300), events_of(random, 300)
    stays = subscribed(_PREDICTED[:2], within=6, threshold=0.1)
    more = subscribed(_PREDICTED, within=6, threshold=0.1)
    model = model_of(more, history)
    query = Query(random, 0)
    for number, part in enumerate(parts(random, events)):
        now = more if number % 5 == 2 else stays
        query.micro_batch(
            part, PatternSet(tuple(now.patterns.values()), now.schema, 2, learn=learn, model=model.to_bytes())
        )
    query.end(PatternSet(tuple(stays.patterns.values()), stays.schema, 2, learn=learn, model=model.to_bytes()))
    stream = StreamMatcher(stays, lateness=None, model=model, learn=learn)
    rows = pa.concat_tables([stream.process(events, ids=[event["id"] for event in events]), stream.finish()])
    mine = [row for row in told(query) if row[1] in stays.patterns]
    assert rounded(mine) == rounded(plain(row, row["event"]) for row in rows.to_pylist())
    assert {row[2] for row in mine} == {"match", "prediction"}


@pytest.mark.parametrize("seed", range(640, 644))
def test_another_model_holds_from_its_micro_batch_on(seed: int) -> None:
    random = Random(seed)
    subscriptions = subscribed(_PREDICTED, within=6, threshold=0.1)
    models = [model_of(subscriptions, events_of(random, 300)), model_of(subscriptions, shifted(events_of(random, 300)))]
    sets = [replace(followed(subscriptions, Random(1)), model=each.to_bytes()) for each in models]
    events = events_of(random, 200)
    query = Query(random, 0)
    for number, part in enumerate((events[:100], events[100:])):
        for few in parts(random, part):
            query.micro_batch(few, sets[number])
        query.settle(sets[number])
    query.end(sets[1])
    # What was told of a partial match once is not told again, so only those are compared that begin afterwards.
    begin = {event["id"] for event in events[100:]}
    said = [
        {row for row in rows if row[2] == "prediction" and row[3][0][1] in begin}
        for rows in (
            map(_hashable, told(query)),
            *(map(_hashable, local(subscriptions, events, each)) for each in models),
        )
    ]
    assert said[0] == said[2]
    assert said[0] != said[1]


def _hashable(row: Told) -> Told:
    return tuple(tuple(each) if isinstance(each, list) else each for each in row)


def shifted(events: Sequence[Event]) -> list[Event]:
    """Others, in which the same happens with other frequencies."""
    kinds = {"a": "b", "b": "c", "c": "a"}
    return [{**event, "kind": kinds.get(str(event.get("kind")), event.get("kind"))} for event in events]


# ---------------------------------------------------------------- bytes


def state_of(patterns_: PatternSet) -> bytes:
    """The state of the first shard of some patterns after a few events."""
    query = Query(Random(3), 0)
    for part in parts(Random(3), events_of(Random(3), 20)):
        query.micro_batch(part, patterns_)
    return next(place.values[streams.STATE][0] for place in query.state.values() if place.values)


def test_bytes_that_are_no_state_are_refused_and_it_is_said_what_to_do() -> None:
    patterns_ = followed(subscribed(["[kind = 'a'] ; [kind = 'b']"]), Random(1))
    ready = made_ready(patterns_)
    data = state_of(patterns_)
    assert facts_of(data)["events"] == 20
    Shard.from_bytes(data, ready.versions[0], ready.follower(0))
    whole = unsqueezed(data)
    wrong = {
        "damaged": [data[:-3], data[:50], data[: len(data) // 2] + b"\0\0\0" + data[len(data) // 2 + 3 :], b""],
        "another kind": [squeezed(packed("sorter", {})), squeezed(patterns_.to_bytes())],
        "older": [squeezed(whole.replace(b"shard of patterns, version 1", b"shard of patterns, version 0"))],
    }
    for several in wrong.values():
        for bad in several:
            with pytest.raises(SnapshotError, match=r"cannot be read by Vedette .*\n.*go on with the version"):
                Shard.from_bytes(bad, ready.versions[0], ready.follower(0))
    with pytest.raises(SnapshotError, match="the state is of the patterns"):
        Shard.from_bytes(data, "other", ready.follower(0))


def test_a_set_of_patterns_as_bytes() -> None:
    subscriptions = subscribed(_PREDICTED, within=6, threshold=0.1, features=["u > 1"])
    made = followed(subscriptions, Random(1), learn=True, model=b"model", cap=7, since=(("p1", 4),))
    assert PatternSet.from_bytes(made.to_bytes()) == made
    assert PatternSet.from_bytes(made.to_bytes()).version == made.version
    assert replace(made, since=()).version != made.version
    for bad in (made.to_bytes()[:-1], b"", packed("set of patterns, version 1", {}), packed("sorter", {})):
        with pytest.raises(SnapshotError):
            PatternSet.from_bytes(bad)
