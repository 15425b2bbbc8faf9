from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import vedette as vd
from vedette.engine.outcomes import KINDS, Outcomes
from vedette.engine.state import StreamOptions
from vedette.engine.step import EventBatch, step
from vedette.io.chunk_stepper import OutcomeOrder

TEN = range(10)
SCHEMA = {"time": "timestamp", "kind": "string", "user": "string", "n": "int"}


def _engine() -> vd.Engine:
    subscriptions = vd.Subscriptions(SCHEMA)
    subscriptions.add("pair", "a:[kind = 'a' and user = $u] ; b:[kind = 'b' and user = $u]")
    subscriptions.add("big", "n > 7")
    subscriptions.add("next", "[kind = 'b'] ; [kind = 'c']", predict={"within": 10, "threshold": 0.3})
    subscriptions.add("all", "n >= 0")
    return subscriptions.compile()


def _events(random: Random, count: int) -> list[dict[str, Any]]:
    moments = [random.randrange(50) for _ in range(count)]
    return [
        {
            "time": 1_700_000_000 + at,
            "kind": random.choice("abcd"),
            "user": random.choice("xy"),
            "n": random.randrange(10),
        }
        for at in moments
    ]


def _told(engine: vd.Engine, events: list[dict[str, Any]], sizes: list[int], lateness: int | None) -> list[Any]:
    """All that is told in order, whatever is forgotten between steps."""
    state, rows, first = engine.begin(StreamOptions(lateness)), [], 0
    told = OutcomeOrder(lambda outcomes: rows.extend(outcomes.dicts()))
    for size in sizes:
        part = events[first : first + size]
        names = pa.array([f"e{first + at}" for at in range(len(part))])
        stepped = step(engine, state, EventBatch(part, names), in_place=True)
        state = stepped.state
        told.take(stepped.outcomes, waiting=state.waiting)
        assert state.followed is not None
        state.followed.telling = state._remembered()  # as where there are many events
        first += size
    told.take(step(engine, state, EventBatch(last=True), in_place=True).outcomes, waiting=False)
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_of_many_steps_are_handed_on_as_those_of_one(seed: int) -> None:
    random, engine = Random(seed), _engine()
    events = _events(random, 300)
    whole = _told(engine, events, [300], None)
    assert {row["kind"] for row in whole} == {"match", "prediction"}
    assert any("bindings" in row for row in whole)
    sizes = [random.choice((0, 1, 2, 19)) for _ in range(60)]
    assert _told(engine, events, [*sizes, 300], None) == whole
    ordered = sorted(events, key=lambda event: event["time"])
    assert _told(engine, ordered, [*sizes, 300], 0) == _told(engine, ordered, [300], None)


def test_details_in_columns_are_those_of_single_rows() -> None:
    engine, found = _engine(), []
    state = engine.begin(StreamOptions(None))
    events = _events(Random(3), 300)
    state = step(engine, state, EventBatch(events, [f"e{n}" for n in range(300)])).state
    found.append(step(engine, state, EventBatch(last=True)).outcomes)
    found += [found[0].settled(), Outcomes.joined([found[0].settled()])]
    for outcomes in found:
        columns = outcomes.in_detail()
        assert columns is not None
        details = dict(outcomes.details())
        assert columns.row.tolist() == list(details)
        assert [KINDS[kind] for kind in columns.kind] == [one.kind for one in details.values()]
        assert [dict(each or ()) for each in columns.steps.to_pylist()] == [one.steps for one in details.values()]
        assert [dict(each or {}) for each in columns.bindings] == [one.bindings for one in details.values()]
        assert columns.probability.to_pylist() == [one.probability for one in details.values()]
        part = columns.part(3, 40)
        assert part.row.tolist() == [row - 3 for row in details if 3 <= row < 40]
        assert part.within.to_pylist() == [one.within for row, one in details.items() if 3 <= row < 40]
        some = outcomes.take(columns.row[1:5])
        assert some.dicts() == [outcomes.dicts()[row] for row in columns.row[1:5].tolist()]


def test_what_kept_events_from_filters_that_call_operators() -> None:
    @vd.operator(reads=("n",), time_limit=None)
    def wide(event: Mapping[str, Any]) -> bool:
        return bool(event["n"] > 5)

    subscriptions = vd.Subscriptions({"n": "int", "m": "int"})
    subscriptions.add("calls", "m = 1 and wide()")
    with subscriptions.compile(operators=vd.Operators(wide)) as engine:
        events = [{"n": 1, "m": 1}, {"n": 2, "m": 1}, {"n": 9, "m": 2}, {"n": 9, "m": 1}]
        assert engine.failing(events, "calls") == [("wide()", 2), ("m = 1", 1)]
        assert engine.failing(pa.Table.from_pylist(events), "calls") == [("wide()", 2), ("m = 1", 1)]


def test_events_are_handed_in_as_anything_that_gives_them() -> None:
    events = [{"n": number % 4, "kind": "ab"[number % 2]} for number in range(12)]
    table = pa.Table.from_pylist(events)
    texts = {"f": "n > 1", "p": "[n = 3]"}
    for ids in (["f"], ["f", "p"]):
        subscriptions = vd.Subscriptions({"n": "int", "kind": "string"})
        for id_ in ids:
            subscriptions.add(id_, texts[id_])
        for engine in (subscriptions.compile(), subscriptions.live()):
            given: dict[str, Any] = {
                "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(3)),
                "batch": lambda: table.to_batches()[0],
                "tuple": lambda: tuple(events),
                "iterator": lambda: iter(events),
                "table": lambda: table,
            }
            for form, make in given.items():
                assert engine.match_batch(make()).equals(engine.match_batch(events)), form
                assert len(engine.match_rows(make()).start) == 13, form
                assert len(engine.match_pairs(make()).event) == 6 * 1 + 3 * (len(ids) - 1), form
                assert engine.failing(make(), "f") == [("n > 1", 6)], form
            for wrong in ({"n": 1}, "n", 7):
                with pytest.raises(vd.InputError, match="not a list of events or an Arrow table\nHint: hand in"):
                    engine.match_batch(wrong)
