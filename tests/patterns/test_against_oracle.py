"""The engine against the oracle: thousands of random patterns on random streams, however they arrive."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.patterns.generate import SCHEMA, cuts, patterns, shuffled, stream
from tests.patterns.hosting import Told, answers, check, matches, records, told
from tests.patterns.oracle import composite, expected, in_order, streams
from tests.seeds import some
from vedette.filters.subscription_records import Predict
from vedette.patterns.matcher import PatternMatcher

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
_TOGETHER = 25  # patterns in one matcher
TYPES = pa.schema(
    {
        name: pa.float64() if name in ("time", "f") else pa.int64() if name in ("u", "v") else pa.string()
        for name in SCHEMA
    }
)


def case(seed: int) -> tuple[Random, list[str], list[dict[str, Any]]]:
    """Some patterns, and a stream that they share."""
    random = Random(seed)
    return random, patterns(random, _TOGETHER), stream(random, random.randint(8, 12))


def completions(found: list[Told]) -> list[tuple[int, int]]:
    """(pattern, completing event) of every match: the witness is any valid one, and may differ."""
    return sorted((one.pattern, one.event) for one in found)


@pytest.mark.parametrize("seed", some(160))
def test_what_matches_and_by_which_events(seed: int) -> None:
    _, texts, events = case(seed)
    check(texts, events, told(texts, events))


@pytest.mark.parametrize("seed", some(1040, 1000))
def test_batches_cut_anywhere_with_the_state_as_bytes_between_them(seed: int) -> None:
    random, texts, events = case(seed)
    matcher, found = PatternMatcher(records(texts), SCHEMA), []
    for begin, end in cuts(random, len(events)):
        found += matches(matcher.process(events[begin:end]))
        matcher = PatternMatcher.from_bytes(matcher.to_bytes())
    found += matches(matcher.finish())
    check(texts, events, found)
    assert completions(told(texts, events, batches=cuts(random, len(events)))) == completions(found)


@pytest.mark.parametrize("seed", some(2020, 2000))
def test_merged_or_not_together_or_alone(seed: int) -> None:
    _, texts, events = case(seed)
    texts += texts[:5]  # the same pattern twice shares all of its states
    together = told(texts, events)
    check(texts, events, together)
    assert completions(told(texts, events, merge=False)) == completions(together)
    alone = [one._replace(pattern=n) for n, text in enumerate(texts) for one in told([text], events)]
    assert completions(alone) == completions(together)


@pytest.mark.parametrize("seed", some(3020, 3000))
def test_the_order_of_matches(seed: int) -> None:
    _, texts, events = case(seed)
    place = {one.number: place for place, one in enumerate(in_order(events, SCHEMA)[0])}
    order = [(place[one.event], one.pattern) for one in told(texts, events)]
    assert order == sorted(order)


@pytest.mark.parametrize("seed", some(4040, 4000))
@pytest.mark.parametrize("lateness", [None, 0, 1_000_000, 3_000_000])
def test_events_out_of_order(seed: int, lateness: int | None) -> None:
    random, texts, events = case(seed)
    texts, events = texts[:12], shuffled(random, events)
    matcher, found, late = PatternMatcher(records(texts), SCHEMA, lateness=lateness), [], []
    for begin, end in cuts(random, len(events)):
        outcome = matcher.process(events[begin:end])
        found += matches(outcome)
        late += outcome.late.tolist()
    found += matches(matcher.finish())
    assert sorted(late) == in_order(events, SCHEMA, lateness)[1]
    check(texts, events, found, lateness=lateness)


@pytest.mark.parametrize("seed", some(8020, 8000))
def test_patterns_that_are_forecast_match_as_others_do(seed: int) -> None:
    """And there is a row for every event that such a pattern's machine sees, which says whether it completed."""
    random, texts, events = case(seed)
    forecast = [replace(one, predict=Predict(5, 0.5)) if random.random() < 0.5 else one for one in records(texts)]
    matcher = PatternMatcher(forecast, SCHEMA)
    outcome = matcher.process(events)
    found = matches(outcome)
    check(texts, events, found)
    seen = outcome.observations
    rows = sorted(zip(seen.pattern.tolist(), seen.event.tolist(), seen.hit.tolist(), strict=True))
    ordered = in_order(events, SCHEMA)[0]
    assert rows == [
        (number, event, (number, event) in completions(found))
        for number, text in enumerate(texts)
        if forecast[number].predict is not None
        for event in sorted(one.number for part in streams(composite(text), ordered, SCHEMA) for one in part)
    ]


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", some(6010, 6000))
def test_windows_of_a_long_stream(seed: int) -> None:
    """What happened before the window of a match is no part of it, so the oracle need not see it."""
    random = Random(seed)
    texts = patterns(random, 10, window="3 s")
    events = [event for event in stream(random, 150) if event.get("time") is not None]
    found = told(texts, events, batches=cuts(random, len(events)))
    for last in random.sample(range(len(events)), 20):
        since = events[last]["time"] - 3
        first = next(number for number, event in enumerate(events) if event["time"] >= since)
        for number, text in enumerate(texts):
            known = expected(text, events[first : last + 1], SCHEMA)
            now = {answer: valid for answer, valid in known.items() if answer[0] == last - first}
            here = [one for one in found if (one.pattern, one.event) == (number, last)]
            moved = [Told(0, last - first, frozenset((p, n - first) for p, n in one.witness)) for one in here]
            assert sorted(map(str, answers(text, moved, now))) == sorted(map(str, now)), text


@pytest.mark.parametrize("seed", some(7010, 7000))
def test_a_long_stream_however_it_arrives(seed: int) -> None:
    random = Random(seed)
    texts, events = patterns(random, 30), stream(random, 120)
    whole = told(texts, events)
    assert whole
    assert completions(told(texts, events, batches=cuts(random, len(events)))) == completions(whole)
    assert completions(told(texts, events, merge=False)) == completions(whole)
    assert completions(told(texts, pa.Table.from_pylist(events, TYPES))) == completions(whole)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", some(5030, 5000))
def test_patterns_that_come_and_go_leave_the_others_alone(seed: int) -> None:
    random, texts, events = case(seed)
    # An event without a time has the greatest one seen, of which those who come later know nothing.
    events = [event for event in events if event.get("time") is not None]
    kept, passing = texts[:15], texts[15:]
    matcher = PatternMatcher(records(kept[:-2]), SCHEMA)
    for record in records(passing[:5], "before"):
        matcher.add(record)
    for record in records(kept, "p")[-2:]:  # numbered after others that will go
        matcher.add(record)
    arrived = {f"before{n}": text for n, text in enumerate(passing[:5])}
    late_comers = records(passing[5:], "later")
    found: list[tuple[str, Told]] = []
    begun: dict[str, int] = {}
    for begin, end in cuts(random, len(events)):
        known = matcher.patterns
        found += [(known[one.pattern].id, one) for one in matches(matcher.process(events[begin:end]))]
        if arrived and random.random() < 0.7:
            gone = random.choice(sorted(arrived))
            matcher.remove(gone)
            del arrived[gone]
        if late_comers and random.random() < 0.7:
            record = late_comers.pop()
            matcher.add(record)
            begun[record.id] = end
    found += [(matcher.patterns[one.pattern].id, one) for one in matches(matcher.finish())]
    numbered = [one._replace(pattern=int(name[1:])) for name, one in found if name.startswith("p")]
    check(kept, events, numbered)
    # Whoever comes later has seen nothing of what was before.
    texts_of = {record.id: record.text for record in matcher.patterns.values()}
    for name, begin in begun.items():
        since = [
            Told(0, one.event - begin, frozenset((position, number - begin) for position, number in one.witness))
            for each, one in found
            if each == name
        ]
        check([texts_of[name]], events[begin:], since)
