"""Tables of tokens over every kind of column, lists in three-valued logic, and back from their arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.probes.oracle import as_sets, text_column, token_holds
from vedette.errors import NotSupported
from vedette.filters.probes.probe_table import ProbeTable
from vedette.filters.probes.specs import from_spec, to_spec
from vedette.language.ast import Point, Region
from vedette.language.normalform import Elementary, ElementProbe, TextProbe
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.language.valuesets import Interval, ValueSet
from vedette.schema.columns import Column, ColumnData, KeyColumn, ListColumn, PointColumn, RegionColumn
from vedette.schema.types import INT, IP, POINT, REGION, STRING, Kind, Type

REGIONS = [Region(shapely.box(n, n, n + 2, n + 2).wkt) for n in range(4)]
SHAPES = [shapely.box(n, 0, n + 1, 1) for n in range(5)]


def key_column(values: Sequence[int | None]) -> KeyColumn:
    present = np.array([value is not None for value in values], np.bool_)
    return KeyColumn(np.array([value or 0 for value in values], np.int64), present)


def point_column(values: Sequence[tuple[float, float] | None]) -> PointColumn:
    pairs = np.array([(np.nan, np.nan) if value is None else value for value in values], np.float64).reshape(-1, 2)
    return PointColumn(pairs[:, 0].copy(), pairs[:, 1].copy())


def region_column(values: Sequence[Any]) -> RegionColumn:
    codes = [-1 if value is None else SHAPES.index(value) for value in values]
    return RegionColumn(np.array(codes, np.int32), np.array(SHAPES, object))


COLUMNS: dict[Kind, Any] = {
    Kind.INT: key_column,
    Kind.STRING: text_column,
    Kind.IP: text_column,
    Kind.POINT: point_column,
    Kind.REGION: region_column,
}


def column_data(kind: Type, values: Sequence[Any]) -> ColumnData:
    """Plain values as a column of this type."""
    if not kind.is_list:
        return COLUMNS[kind.kind](values)
    rows = [value or [] for value in values]
    start = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    present = np.array([value is not None for value in values], np.bool_)
    return ListColumn(start, COLUMNS[kind.kind]([element for row in rows for element in row]), present)


# ---------------------------------------------------------------- strategies

bounds = st.integers(-5, 5) | st.sampled_from([-(2**63), 2**63 - 1, 2**63, -(2**63) - 5])
letters = st.text("ab", max_size=3)


@st.composite
def value_sets(draw: st.DrawFn, keys: st.SearchStrategy[Any]) -> ValueSet[Any]:
    """Disjoint intervals, points among them, and null or not."""
    cuts = sorted(draw(st.sets(keys, max_size=6)))
    intervals = [Interval(low, high) for low, high in zip(cuts[::2], cuts[1::2], strict=False)]
    if bool(cuts) and draw(st.booleans()):
        point = cuts[-1]
        following = point + (b"\0" if isinstance(point, bytes) else 1)
        intervals = [*(i for i in intervals if i.high < point), Interval(point, following)]
    if not cuts and draw(st.booleans()):
        intervals = [Interval(None, None)]
    elif bool(intervals) and draw(st.booleans()):
        intervals[0] = Interval(None, intervals[0].high)
    if len(intervals) > 1 and draw(st.booleans()):
        intervals[-1] = Interval(intervals[-1].low, None)
    return ValueSet(tuple(intervals), draw(st.booleans()))


text_tests = st.one_of(
    st.builds(TextProbe, st.sampled_from(["contains", "startswith", "endswith"]), letters, st.booleans()),
    st.builds(TextProbe, st.just("like"), st.sampled_from(["a%b", "_", "%", "", "a_%"]), st.booleans()),
    st.builds(TextProbe, st.just("matches"), st.sampled_from(["a+b", "^b", "(?i)AB", "aab."])),
)
region_tests = st.sampled_from(REGIONS).map(RegionProbe)
near_tests = st.builds(
    NearProbe, st.builds(Point, st.integers(0, 5), st.integers(0, 5)), st.sampled_from([0.0, 2e5, 1e6])
)
nothing_or_all = st.sampled_from([ValueSet(null=True), ValueSet((Interval(None, None),))])
byte_keys = letters.map(str.encode) | st.sampled_from([b"a\0", b"\xff"])

TESTS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INT: value_sets(bounds),
    Kind.STRING: value_sets(byte_keys) | text_tests,
    Kind.IP: value_sets(byte_keys),
    Kind.POINT: region_tests | near_tests | nothing_or_all,
    Kind.REGION: region_tests | nothing_or_all,
}
PROBES: dict[Kind, st.SearchStrategy[Any]] = {  # without value sets, which only elements of lists are tested by
    Kind.STRING: text_tests,
    Kind.POINT: region_tests | near_tests,
    Kind.REGION: region_tests,
}
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INT: st.integers(-6, 6) | st.sampled_from([-(2**63), 2**63 - 1]),
    Kind.STRING: st.text("abAB", max_size=5).map(str.encode),
    Kind.IP: byte_keys,
    Kind.POINT: st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float)),
    Kind.REGION: st.sampled_from(SHAPES),
}


@st.composite
def tables(draw: st.DrawFn, lists: bool) -> tuple[Column, list[frozenset[Elementary]], list[Any]]:
    kinds = [INT, STRING, IP, POINT, REGION] if lists else [STRING, POINT, REGION]
    kind = draw(st.sampled_from(kinds)).kind
    tests, values = TESTS[kind], VALUES[kind]
    if lists:
        tests = st.builds(ElementProbe, st.sampled_from(["any", "all"]), tests)
        values = st.lists(st.none() | values, max_size=4)
    else:
        tests = PROBES[kind]
    tokens = draw(st.lists(st.frozensets(tests, min_size=1, max_size=3), min_size=1, max_size=8))
    return Column("x", Type(kind, lists)), tokens, draw(st.lists(st.none() | values, min_size=1, max_size=8))


def check(table: ProbeTable, tokens: list[frozenset[Elementary]], values: list[Any], negated: set[int]) -> None:
    found = table.evaluate(column_data(table.column.type, values))
    for tokens_found, value in zip(as_sets(found), values, strict=True):
        assert tokens_found == sorted(set(tokens_found))
        truths = [token_holds(tests, value) for tests in tokens]
        assert [t for t in tokens_found if t < len(tokens)] == [t for t, truth in enumerate(truths) if truth]
        if table.column.type.is_list:
            for token in negated:
                is_false = (table.false_token(token) in tokens_found) != table.false_by_absence(token)
                assert is_false == (truths[token] is False)
        else:
            assert all(t < len(tokens) for t in tokens_found)
    assert all(t < table.size for t in found.tokens.tolist())


@pytest.mark.interpreted
@given(tables(lists=False))
def test_scalars(case: tuple[Column, list[frozenset[Elementary]], list[Any]]) -> None:
    column, tokens, values = case
    table = ProbeTable.build(column, tokens)
    check(table, tokens, values, set())
    assert [table.false_token(token) for token in range(len(tokens))] == [None] * len(tokens)
    assert table.size == len(tokens)


@pytest.mark.interpreted
@given(tables(lists=True), st.booleans(), st.data())
def test_lists(
    case: tuple[Column, list[frozenset[Elementary]], list[Any]], by_absence: bool, data: st.DataObject
) -> None:
    column, tokens, values = case
    check(ProbeTable.build(column, tokens), tokens, values, set(range(len(tokens))))
    negated = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    chosen = ProbeTable.build(column, tokens, negated=negated, by_absence=by_absence)
    check(chosen, tokens, values, negated)
    silent = {chosen.false_token(token) for token in range(len(tokens)) if token not in negated}
    found = chosen.evaluate(column_data(column.type, values))
    assert silent.isdisjoint(found.tokens.tolist())


@given(st.booleans().flatmap(lambda lists: tables(lists=lists)))
def test_survives_its_arrays(case: tuple[Column, list[frozenset[Elementary]], list[Any]]) -> None:
    column, tokens, values = case
    arrays = ProbeTable.build(column, tokens, by_absence=True).arrays()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    table = ProbeTable.restore(column, {name: np.array(array) for name, array in arrays.items()})
    assert table.tokens == tuple(tokens)
    check(table, tokens, values, set(range(len(tokens))))
    again = table.arrays()
    assert again.keys() == arrays.keys()
    assert all(np.array_equal(again[name], array) for name, array in arrays.items())


@given(st.booleans().flatmap(lambda lists: tables(lists=lists)))
def test_one_event_as_in_a_batch(case: tuple[Column, list[frozenset[Elementary]], list[Any]]) -> None:
    column, tokens, values = case
    table = ProbeTable.build(column, tokens)
    batch = as_sets(table.evaluate(column_data(column.type, values)))
    for value, expected in zip(values, batch, strict=True):
        if value is not None:
            one = value if isinstance(value, bytes) else column_data(column.type, [value])
            assert table.evaluate_one(one).tolist() == expected
            assert table.evaluate_one(one).tolist() == expected


@given(st.one_of([TESTS[kind] for kind in TESTS]), st.sampled_from(["any", "all"]))
def test_specs_are_json(test: Any, quantifier: Any) -> None:
    own = [ElementProbe(quantifier, test)] + ([] if isinstance(test, ValueSet) else [test])
    for one in own:
        assert from_spec(json.loads(json.dumps(to_spec(one)))) == one


def test_unknown_specs_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        from_spec({"test": "sounds like"})
    with pytest.raises(ValueError, match="inside another"):
        from_spec({"test": "any", "of": {"test": "any", "of": to_spec(TextProbe("contains", "a"))}})


# ---------------------------------------------------------------- examples


def probes(*tests: Elementary) -> list[frozenset[Elementary]]:
    return [frozenset((test,)) for test in tests]


def test_events_share_the_sets_of_their_values() -> None:
    table = ProbeTable.build(Column("x", STRING), probes(TextProbe("contains", "a")))
    found = table.evaluate(text_column([b"a", b"b", b"a", None, b"ba"]))
    assert found.sets.tolist() == [0, -1, 0, -1, 1]
    assert found.start.tolist() == [0, 1, 2]


def test_only_values_that_occur_are_asked() -> None:
    table = ProbeTable.build(Column("x", STRING), probes(TextProbe("contains", "a")))
    data = text_column([b"a", b"xa", b"ya"])
    found = table.evaluate(type(data)(np.array([2, -1, 2], np.int32), data.values))
    assert as_sets(found) == [[0], [], [0]]
    assert len(found.start) == 2


def test_equal_lists_share_a_set() -> None:
    table = ProbeTable.build(Column("x", Type(Kind.STRING, True)), probes(ElementProbe("any", TextProbe("like", "a_"))))
    found = table.evaluate(column_data(table.column.type, [[b"ab"], [b"c"], [b"ab"], None, [b"c", None]]))
    assert as_sets(found) == [[0], [1], [0], [], []]
    assert len(found.start) == 3


def test_empty_batches() -> None:
    for kind in (STRING, POINT, REGION):
        test = TextProbe("contains", "a") if kind == STRING else RegionProbe(REGIONS[0])
        assert len(ProbeTable.build(Column("x", kind), probes(test)).evaluate(column_data(kind, [])).sets) == 0
        listed = ProbeTable.build(Column("x", Type(kind.kind, True)), probes(ElementProbe("all", test)))
        assert len(listed.evaluate(column_data(Type(kind.kind, True), [])).sets) == 0


def test_no_tokens() -> None:
    for kind in (STRING, Type(Kind.INT, True)):
        table = ProbeTable.build(Column("x", kind), [])
        assert as_sets(table.evaluate(column_data(kind, [None]))) == [[]]


def test_a_rare_token_is_false_by_absence() -> None:
    column = Column("tags", Type(Kind.STRING, True))
    has_a = ElementProbe("any", ValueSet((Interval(b"a", b"a\0"),)))
    above_a = ElementProbe("any", ValueSet((Interval(b"a", None),)))
    table = ProbeTable.build(column, probes(has_a, above_a), by_absence=True)
    assert [table.false_by_absence(token) for token in range(2)] == [True, False]
    sets = as_sets(table.evaluate(column_data(column.type, [[b"a"], [b"0"], [None], None])))
    assert sets == [[0, 1, 2], [3], [2], [2]]


@pytest.mark.parametrize(
    ("column", "test"),
    [
        (Column("x", INT), TextProbe("contains", "a")),
        (Column("x", REGION), NearProbe(Point(0, 0), 1.0)),
        (Column("x", STRING), ElementProbe("any", TextProbe("contains", "a"))),
        (Column("x", Type(Kind.STRING, True)), TextProbe("contains", "a")),
        (Column("x", Type(Kind.POINT, True)), ElementProbe("any", ValueSet((Interval(0, 1),)))),
    ],
)
def test_what_does_not_fit_is_refused(column: Column, test: Elementary) -> None:
    with pytest.raises(NotSupported):
        ProbeTable.build(column, probes(test))


def test_lists_in_a_scalar_column_are_refused() -> None:
    table = ProbeTable.build(Column("x", STRING), probes(TextProbe("contains", "a")))
    with pytest.raises(TypeError):
        table.evaluate(column_data(Type(Kind.STRING, True), [[b"a"]]))


def test_threads_agree() -> None:
    tokens = probes(
        *(TextProbe("contains", f"{n}") for n in range(100)),
        *(TextProbe("matches", f"(a|b){n}[0-9]*c") for n in range(100)),
        *(TextProbe("matches", f"[ab]+{n}x") for n in range(50)),
    )
    values = [f"a{n * 7}c b{n}x".encode() for n in range(500)]
    alone = as_sets(ProbeTable.build(Column("x", STRING), tokens).evaluate(text_column(values)))
    shared = ProbeTable.build(Column("x", STRING), tokens)
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: as_sets(shared.evaluate(text_column(values))), range(8)))
        singles = list(pool.map(lambda value: shared.evaluate_one(value).tolist(), values * 2))
    assert all(batch == alone for batch in batches)
    assert singles == alone * 2
