"""Single events, read without arrays: the same as batches of one, which take the long way."""

from __future__ import annotations

import datetime as dt
import ipaddress
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.patterns.generate import SCHEMA, patterns, shuffled, stream
from tests.patterns.hosting import records
from tests.seeds import EXAMPLES, some
from vedette.errors import InputError, NotSupported
from vedette.filters.subscription_records import PatternRecord
from vedette.operators.calling import Calling
from vedette.patterns.machines import PatternNumbering
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.pattern_reader import PatternReader
from vedette.patterns.single_event_reader import NeedsBatchReader
from vedette.schema.schema import Schema

COMMON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]),
    st.floats(),
    st.text(),
)
OTHERS = st.one_of(
    st.integers(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.dates(),
    st.ip_addresses(),
    st.ip_addresses().map(str),
    st.binary(max_size=3),
)
TIMES = st.one_of(
    st.none(),
    st.integers(-(10**9), 10**9),
    st.floats(-1e9, 1e9),
    st.datetimes(timezones=st.just(dt.UTC)).map(dt.datetime.isoformat),
)
ODD_TIMES = st.one_of(COMMON, OTHERS, st.sampled_from(["2024-05-01", "2024-05-01T12:00:00Z", "yesterday"]))
DECLARED = ["int", "float", "string", "bool", "timestamp", "date", "ip"]
SCHEMAS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([*DECLARED, "list<int>"]) for name in ("a", "b.c", "time")}
).map(lambda types: Schema.of(types, closed=False))


def reader(schema: Schema) -> PatternReader:
    """Two columns, and partitions by one and by both of them."""
    return PatternReader(
        PatternNumbering.of(["x > 1", "x < 5"], ["a", "b.c"], [["a"], ["b.c", "a"]]), schema, Calling()
    )


def pairs(values: Any, known: Any) -> list[tuple[int, int] | None]:
    """The pairs of the only event, in each column."""
    return [
        (int(value[0, 0]), int(value[0, 1])) if there[0] else None for value, there in zip(values, known, strict=True)
    ]


def agrees(schema: Schema, event: dict[str, Any]) -> bool:
    """Whether the quick way takes an event; if so, it sees what the long way sees."""
    both = reader(schema)
    try:
        one = both.read_one(event)
    except NeedsBatchReader:
        return False
    batch, timed = both.read([event], 0, None, None)
    assert one.time == (int(batch.time[0]) if timed[0] else None)
    assert one.primitives == batch.primitive.tolist()
    assert one.keys == pairs(batch.key, batch.keyed)
    assert one.values == pairs(batch.value, batch.known)
    return True


@given(st.fixed_dictionaries({}, optional={"a": COMMON, "b.c": COMMON, "x": st.integers(0, 9), "time": TIMES}))
@example({"a": "\ud800"})
@example({"a": -0.0, "b.c": float("nan")})
@settings(max_examples=3 * EXAMPLES)
def test_without_a_schema_common_values_are_read_the_quick_way(event: dict[str, Any]) -> None:
    texts = [value for value in event.values() if isinstance(value, str)]
    assert agrees(Schema.of({}, closed=False), event) or any("\ud800" <= c <= "\udfff" for t in texts for c in t)


@given(
    SCHEMAS,
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.one_of(COMMON, OTHERS),
            "b.c": st.one_of(COMMON, OTHERS),
            "b": st.fixed_dictionaries({}, optional={"c": st.one_of(COMMON, OTHERS)}),
            "x": st.one_of(COMMON, OTHERS),
            "time": ODD_TIMES,
        },
    ),
)
@settings(max_examples=5 * EXAMPLES)
def test_whatever_is_read_the_quick_way_is_read_the_same(schema: Schema, event: dict[str, Any]) -> None:
    try:
        agrees(schema, event)
    except (InputError, NotSupported, OverflowError) as error:  # then the quick way should not have taken it
        pytest.fail(f"only the long way says what is wrong: {error}")


def test_declared_types_are_read_the_quick_way() -> None:
    schema = Schema.of({"a": "ip", "b.c": "date", "time": "timestamp"}, closed=False)
    assert agrees(schema, {"a": "10.0.0.1", "b": {"c": "2024-05-01"}, "time": "2024-05-01T12:00:00Z", "x": 2})
    assert agrees(schema, {"a": ipaddress.ip_address("::1"), "time": dt.datetime(2024, 5, 1, tzinfo=dt.UTC)})
    assert agrees(Schema.of({"time": "date"}, closed=False), {"time": dt.date(2024, 5, 1)})
    assert not agrees(Schema.of({"a": "int"}, closed=False), {"a": "ten"})
    assert not agrees(Schema.of({"a": "list<int>"}, closed=False), {"a": [1]})


# ---------------------------------------------------------------- what happens


def happened(matcher: PatternMatcher, events: list[dict[str, Any]], ids: list[str] | None, *, quick: bool) -> list[Any]:
    """All that came of events, one at a time: a list of one takes the quick way, a tuple the long one."""
    told = []
    for number, event in enumerate(events):
        alone: Any = [event] if quick else (event,)
        outcome = matcher.process(alone, ids=None if ids is None else [ids[number]])
        matches = outcome.matches
        told.append(
            (
                matches.event.tolist(),
                matches.pattern.tolist(),
                [matches.witness.of(row) for row in range(len(matches))],
                matches.values.tolist(),
                outcome.observations.state.tolist(),
                outcome.late.tolist(),
            )
        )
    return told


@pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
@pytest.mark.parametrize("seed", some(60))
def test_patterns_end_up_where_they_do_the_long_way(seed: int) -> None:
    random = Random(seed)
    texts, events = patterns(random, 12), stream(random, 30)
    if seed % 3 == 1:
        events = shuffled(random, events)
    events[0] = {**events[0], "time": 0}  # else patterns that ask for times would refuse it alone
    ids = [str(random.randrange(40)) for _ in events] if seed % 2 else None
    quick, long = (PatternMatcher(records(texts), SCHEMA, cap=1_000) for _ in range(2))
    assert happened(quick, events, ids, quick=True) == happened(long, events, ids, quick=False)
    assert quick.to_bytes() == long.to_bytes()
    assert quick.counts == long.counts


def test_it_is_the_quick_way_that_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = PatternMatcher([PatternRecord("p", "[x = 1] , [x = 2] by user within 1 h")])
    monkeypatch.setattr(matcher._reader, "read", None)  # whoever asked it would fail
    found = [matcher.process([event]).matches for event in ({"x": 1, "user": "u", "time": 1}, {"x": 2, "user": "u"})]
    assert [len(matches) for matches in found] == [0, 1]
    assert matcher.state.runs.dtype == np.int64


def test_events_that_are_unusual_take_the_long_way() -> None:
    matcher = PatternMatcher([PatternRecord("p", "[x = 1] , [x = 2] by user within 1 h")])
    begin = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    matcher.process([{"x": 1, "user": begin.date(), "time": begin}])
    assert len(matcher.process([{"x": 2, "user": begin.date(), "time": begin + dt.timedelta(minutes=1)}]).matches) == 1
    with pytest.raises(InputError, match="is not a time such as"):
        matcher.process([{"x": 1, "user": "u", "time": "noon"}])
    with pytest.raises(InputError, match="speaks of time, and the events have none"):
        PatternMatcher([PatternRecord("p", "[x = 1] within 1 h")]).process([{"x": 1}])
    with pytest.raises(InputError):
        matcher.process(["no event"])  # type: ignore[list-item]
    rejects: list[Any] = []
    matcher.process([{"x": 1, "user": "u", "time": "noon"}], rejects=rejects)
    assert [reject.attribute for reject in rejects] == ["time"]


def test_events_that_are_held_back_take_the_long_way() -> None:
    record = PatternRecord("p", "[x = 1] , [x = 2]")
    matcher = PatternMatcher([record], lateness=5_000_000)
    assert len(matcher.process([{"x": 2, "time": 3}]).matches) == 0
    assert len(matcher.process([{"x": 1, "time": 2}]).matches) == 0
    assert len(matcher.finish().matches) == 1


def test_new_patterns_are_seen_by_the_quick_way() -> None:
    matcher = PatternMatcher([PatternRecord("p", "[x = 1] , [x = 2] by user")])
    matcher.process([{"x": 1, "user": 7, "y": 5}])
    matcher.add(PatternRecord("q", "[y = 5] , [y = $v and x = 2] by place"))
    found = matcher.process([{"x": 2, "user": 7, "y": 5, "place": "here"}])
    assert len(found.matches) == 1
    again = matcher.again()
    assert len(again.process([{"x": 2, "user": 7}]).matches) == 0
