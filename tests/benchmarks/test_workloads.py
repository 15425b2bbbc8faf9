"""The workloads are the same every time, as dense as they say, and the same in every form."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from benchmarks import forms
from benchmarks.coding import encode_subscriptions
from benchmarks.constants import Attribute, Constraints, Events, Op, Values
from benchmarks.peers import duckdb_join
from benchmarks.workloads import WORKLOADS, Aguilera
from vedette.kernels.bundles import CodedBatch, PredicateTable

every_workload = pytest.mark.parametrize("name", sorted(WORKLOADS))


def brute_force(table: PredicateTable, batch: CodedBatch) -> NDArray[np.bool_]:
    """[conjunction, event]: all predicates hold."""
    ranks = batch.ranks[table.column].astype(np.int64)
    low, width = table.low[:, None].astype(np.int64), table.width[:, None].astype(np.int64)
    holds = (ranks >= low) & (ranks <= low + width)
    return np.array([holds[begin:end].all(axis=0) for begin, end in pairwise(table.start.tolist())])


@every_workload
def test_the_same_seed_makes_the_same_workload(name: str) -> None:
    first, second, other = (WORKLOADS[name].subscriptions(500, seed) for seed in (3, 3, 4))
    for field in ("start", "attribute", "op", "low", "high"):
        assert np.array_equal(getattr(first, field), getattr(second, field))
    assert len(first.low) != len(other.low) or not np.array_equal(first.low, other.low)
    events, again = (WORKLOADS[name].events(100, seed=3) for _ in range(2))
    assert forms.arrow(events).equals(forms.arrow(again))
    assert not forms.arrow(events).equals(forms.arrow(WORKLOADS[name].events(100, seed=4)))


@every_workload
def test_as_many_matches_as_stated(name: str) -> None:
    workload = WORKLOADS[name]
    coded = encode_subscriptions(workload.subscriptions(10_000))
    batch = coded.encode(workload.events(2048))
    found = sum(int(brute_force(_part(coded.table, at), batch).sum()) for at in range(0, 10_000, 1000)) / 2048
    assert found == pytest.approx(workload.matches_per_event(10_000), rel=0.2)


def _part(table: PredicateTable, begin: int, size: int = 1000) -> PredicateTable:
    start = table.start[begin : begin + size + 1]
    inside = slice(start[0], start[-1])
    return PredicateTable(start - start[0], table.column[inside], table.low[inside], table.width[inside])


@pytest.mark.parametrize("values", [3, 30])
@pytest.mark.parametrize("count", [1_000, 30_000, 1_000_000, 10_000_000])
def test_w1_keeps_a_hundred_matches_whatever_the_number(values: int, count: int) -> None:
    popularity = Aguilera(values).popularity(count)
    expected = count * np.prod(1 - popularity * (1 - 1 / values))
    assert expected == pytest.approx(100, rel=1e-6)
    assert np.all((popularity > 0) & (popularity <= 0.95))
    ratios = popularity[1:] / popularity[:-1]
    assert np.allclose(ratios, ratios[0])


def test_shapes_of_the_workloads() -> None:
    sizes = {name: np.diff(w.subscriptions(3000).start) for name, w in WORKLOADS.items()}
    assert set(sizes["W2"]) == {3}
    assert set(sizes["W3"]) == {3, 4, 5}
    assert set(sizes["W4"]) == {2, 3, 4}
    there = np.sum([column.present for column in WORKLOADS["W4"].events(500).columns], axis=0)
    assert set(there.tolist()) == {20}
    assert {a.kind for a in WORKLOADS["W4"].events(1).attributes} == {"int", "float", "string"}


@every_workload
def test_texts_say_what_the_predicates_say(name: str) -> None:
    """DuckDB reads the texts as WHERE clauses over the Arrow table."""
    workload = WORKLOADS[name]
    constraints, events = workload.subscriptions(120), workload.events(400)
    coded = encode_subscriptions(constraints)
    wanted = brute_force(coded.table, coded.encode(events))
    with duckdb.connect() as connection:
        connection.register("events", forms.arrow(events))
        columns = [f"coalesce({text}, false)" for text in forms.texts(constraints)]
        answer = connection.sql(f"select {', '.join(columns)} from events").fetchnumpy()
    assert np.array_equal(np.array(list(answer.values())), wanted)


@every_workload
@pytest.mark.parametrize("formulation", sorted(duckdb_join.FORMULATIONS))
def test_every_join_finds_the_pairs(name: str, formulation: str) -> None:
    workload = WORKLOADS[name]
    constraints, events = workload.subscriptions(2000), workload.events(40)
    coded = encode_subscriptions(constraints)
    conjunction, event = np.nonzero(brute_force(coded.table, coded.encode(events)))
    with duckdb.connect() as connection:
        query = duckdb_join.FORMULATIONS[formulation](connection, constraints)
        if not query:  # not for so many attributes, or so many slots
            assert (formulation, name) in {("wide", "W4"), ("chain", "W1-3")}
            return
        duckdb_join.load_events(connection, events)
        found = connection.sql(query).fetchall()
    assert sorted(found) == sorted(zip(event.tolist(), conjunction.tolist(), strict=True))


def test_dicts_and_the_arrow_table_are_the_same_events() -> None:
    events = WORKLOADS["W4"].events(50)
    rows = [{k: v for k, v in row.items() if v is not None} for row in forms.arrow(events).to_pylist()]
    assert forms.dicts(events) == rows


def test_ranks_at_the_edges() -> None:
    """Strict and closed bounds, both zeros, absent strings, and missing values."""
    attributes = (Attribute("x", "float"), Attribute("n", "int"), Attribute("s", "string", ("a", "b", "c")))
    op = np.array([Op.BELOW, Op.ABOVE, Op.BETWEEN, Op.EQUAL, Op.EQUAL], np.int8)
    constraints = Constraints(
        attributes,
        np.arange(6),
        np.array([0, 0, 1, 2, 0], np.int16),
        op,
        np.array([0.0, 0.0, 2.0, 1.0, -0.0]),
        np.array([0.0, 0.0, 3.0, 1.0, -0.0]),
    )
    present = np.array([True, True, True, True, False])
    events = Events(
        attributes,
        (
            Values(np.array([-1e-300, -0.0, 0.0, 1e-300, 0.0]), present),
            Values(np.array([1, 2, 3, 4, 2]), present),
            Values(np.array([0, 1, 2, 1, 1]), present),
        ),
    )
    coded = encode_subscriptions(constraints)
    assert brute_force(coded.table, coded.encode(events)).astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 1, 1, 0, 0],
        [0, 1, 0, 1, 0],
        [0, 1, 1, 0, 0],
    ]


def test_a_join_reports_its_pairs_and_events() -> None:
    workload = WORKLOADS["W2"]
    constraints, events = workload.subscriptions(3000), workload.events(300)
    coded = encode_subscriptions(constraints)
    joined = duckdb_join.join(constraints, events, limit_s=30)
    assert joined is not None
    assert joined.events in (64, 256, 300)  # whichever was fastest per event, which is not ours to say
    assert joined.matches == brute_force(coded.table, coded.encode(events.head(joined.events))).sum()
    assert isinstance(forms.arrow(events), pa.Table)
