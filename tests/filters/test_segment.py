from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import NotSupported
from vedette.filters.clauses import Clauses, equals, intervals
from vedette.filters.matcher import Matcher
from vedette.filters.segment import Segment, SegmentContent
from vedette.filters.subscription_table import SubscriptionTable
from vedette.filters.subscription_view import LiveSegment, all_alive
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import INT, STRING

SCHEMA = Schema.of({"n": "int", "s": "string"})


def _drawn(texts: list[str]) -> SegmentContent:
    subs = Subscriptions(SCHEMA)
    for number, text in enumerate(texts):
        subs.add(f"s{number}", text, subscriber=str(number))
    return subs.drawn()


def _ids(segment: Segment, **event: object) -> list[str]:
    return Matcher.of(segment, SCHEMA).match(event)


def test_subscriptions_of_several_conjunctions_come_once() -> None:
    segment = Segment.build(_drawn(["n > 1 or s = 'a'", "n = 5", "n in (1, 5, 9) or n = 4"]))
    assert segment.conjunctions == 6
    assert segment.repeats.tolist() == [True, False, False]
    assert _ids(segment, n=5, s="a") == ["s0", "s1", "s2"]
    matcher = Matcher.of(segment, SCHEMA)
    assert matcher.match_pairs([{"n": 5, "s": "a"}, {"n": 4}]).subscription.tolist() == [0, 1, 2, 0, 2]


def test_one_conjunction_each_needs_no_owners() -> None:
    segment = Segment.build(_drawn(["n > 1", "s = 'a'"]))
    assert len(segment.owner) == 0
    assert len(segment.repeats) == 0
    assert _ids(segment, n=2, s="a") == ["s0", "s1"]
    never_in_between = Segment.build(_drawn(["n > 1", "false", "s = 'a'"]))
    assert _ids(never_in_between, n=2, s="a") == ["s0", "s2"]


def test_segments_are_built_from_what_segments_were_built_from() -> None:
    first = Segment.build(_drawn(["n > 1 or s = 'a'", "n = 5", "s > 'b'"]))
    second = Segment.build(_drawn(["s = 'c'", "n in (2, 5) and s != 'a'"]))
    kept = [first.drawn().keep(np.array([True, False, True])), second.drawn()]
    merged = Segment.build(SegmentContent.concatenate(kept), index="scan")
    assert merged.records.ids.to_pylist() == ["s0", "s2", "s0", "s1"]
    matcher = Matcher.of(merged, SCHEMA)
    assert matcher.match_pairs([{"n": 5, "s": "c"}], ordered=True).subscription.tolist() == [0, 1, 2, 3]
    assert matcher.match_pairs([{"n": 1, "s": "a"}], ordered=True).subscription.tolist() == [0]


def test_the_dead_do_not_match() -> None:
    segment = Segment.build(_drawn([f"n >= {i // 2}" for i in range(100)]))
    part = LiveSegment(segment).without([0, 63, 64, 99])
    assert part.living == 96
    assert not part.lives(63)
    assert part.lives(62)
    assert np.flatnonzero(~part.mask()).tolist() == [0, 63, 64, 99]
    assert LiveSegment(segment, all_alive(100)).living == 100
    codebook = segment.codebook
    alive = segment.match_one([50] if len(codebook.columns) == 1 else [50, None], part.alive)
    assert alive == [i for i in range(100) if i not in (0, 63, 64, 99)]


def test_a_segment_from_columns_of_constants() -> None:
    size = 1000
    rows = np.arange(size)
    clauses = Clauses(
        size,
        {
            Column("n", INT): intervals(rows, rows, rows + 10),
            Column("s", STRING): equals(rows, pa.array([f"name{i % 7}" for i in rows])),
        },
    )
    records = SubscriptionTable.of(pa.array([f"s{i}" for i in rows]))
    drawn = SegmentContent(clauses, rows.astype(np.int32), np.zeros(size, np.bool_), records)
    matcher = Matcher.of(Segment.build(drawn), SCHEMA)
    assert matcher.match({"n": 500, "s": "name3"}) == [f"s{i}" for i in range(491, 501) if i % 7 == 3]
    assert matcher.text("s1") is None
    with pytest.raises(NotSupported, match="without its text"):
        matcher.explain({"n": 1}, "s1")
