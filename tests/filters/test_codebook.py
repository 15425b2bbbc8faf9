"""Clauses, their coding, and the way back: held against the value sets themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import naive_pairs
from vedette.filters.clause_builder import ClauseBuilder, may_overlap
from vedette.filters.clauses import Clauses, concatenate, equals, intervals
from vedette.filters.coding import decode_clauses, encode_clauses
from vedette.filters.rank_columns import TextRanks
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.valuesets import ValueSet, complement, next_key, of_intervals
from vedette.schema.columns import Column, KeyColumn, TextColumn
from vedette.schema.keys import NumberKey
from vedette.schema.types import INT, IP, POINT, STRING

NUMBER, NAME, ADDRESS, PLACE = Column("n", INT), Column("s", STRING), Column("a", IP), Column("p", POINT)
_LIMITS = [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1]
_INTS = st.one_of(st.integers(-3, 30), st.sampled_from(_LIMITS))
_TEXTS = st.sampled_from([b"", b"a", b"a\0", b"a\0\0", b"ab", b"b", b"\xff", b"c", b"d", b"e"])


@st.composite
def _value_sets(draw: st.DrawFn, keys: st.SearchStrategy[Any]) -> ValueSet[Any]:
    """Points and intervals, some of many values, some turned inside out."""
    points = draw(st.lists(keys, max_size=draw(st.sampled_from([1, 3, 25]))))
    bounds: list[tuple[Any, Any]] = [(k, next_key(k)) for k in points]
    if draw(st.booleans()):
        ends = sorted({draw(keys), draw(keys)})
        if len(ends) == 2:
            bounds.append(draw(st.sampled_from([(ends[0], ends[1]), (None, ends[0]), (ends[1], None)])))
    made = of_intervals(bounds, draw(st.booleans()))
    return complement(made) if draw(st.booleans()) else made


_CONJUNCTIONS = st.builds(
    lambda *parts: Conjunction(values=tuple(part for part in parts if part is not None)),
    st.one_of(st.none(), st.tuples(st.just(NUMBER), _value_sets(_INTS))),
    st.one_of(st.none(), st.tuples(st.just(NAME), _value_sets(_TEXTS))),
    st.one_of(
        st.none(), st.tuples(st.just(ADDRESS), st.sampled_from([ValueSet(), ValueSet((), True)]).map(complement))
    ),
)
_FORMS = st.lists(st.lists(_CONJUNCTIONS, max_size=2).map(lambda c: NormalForm(tuple(c))), max_size=6)
_EVENTS = st.lists(
    st.tuples(st.one_of(st.none(), _INTS), st.one_of(st.none(), _TEXTS), st.one_of(st.none(), _TEXTS)), max_size=8
)


def _data(events: list[tuple[Any, Any, Any]]) -> dict[Column, Any]:
    numbers = [n for n, _, _ in events]
    data: dict[Column, Any] = {
        NUMBER: KeyColumn(
            np.array([n or 0 for n in numbers], np.int64), np.array([n is not None for n in numbers], np.bool_)
        )
    }
    for place, column in ((1, NAME), (2, ADDRESS)):
        values = sorted({event[place] for event in events if event[place] is not None})
        codes = [-1 if event[place] is None else values.index(event[place]) for event in events]
        data[column] = TextColumn(np.array(codes, np.int32), values)
    return data


def _wanted(forms: list[NormalForm], events: list[tuple[Any, Any, Any]]) -> set[tuple[int, int]]:
    place = {NUMBER: 0, NAME: 1, ADDRESS: 2}
    return {
        (e, f)
        for e, event in enumerate(events)
        for f, form in enumerate(forms)
        if any(all(v.contains(event[place[column]]) for column, v in c.values) for c in form.conjunctions)
    }


def _built(forms: list[NormalForm]) -> tuple[Clauses, list[int]]:
    builder, owner = ClauseBuilder(), []
    for number, form in enumerate(forms):
        before = builder.size
        builder.add(form)
        owner += [number] * (builder.size - before)
    return builder.clauses(), owner


def _found(clauses: Clauses, owner: list[int], events: list[tuple[Any, Any, Any]]) -> set[tuple[int, int]]:
    codebook, table = encode_clauses(clauses)
    batch = codebook.code(_data(events), len(events))
    pairs = naive_pairs(table, len(codebook.ranks), batch)
    by_column = {NUMBER: 0, NAME: 1, ADDRESS: 2}
    for e, event in enumerate(events):
        one = codebook.code_one([event[by_column[column]] for column in codebook.columns])
        assert one.ranks[:, 0].tolist() == batch.ranks[:, e].tolist()
        single = naive_pairs(table, len(codebook.ranks), one)
        assert {c for _, c in single} == {c for i, c in pairs if i == e}
    assert set(codebook.columns) == set(clauses.columns)
    return {(e, owner[c]) for e, c in pairs}


@pytest.mark.interpreted
@given(_FORMS, _EVENTS)
def test_coded_predicates_say_what_the_sets_say(forms: list[NormalForm], events: list[tuple[Any, Any, Any]]) -> None:
    clauses, owner = _built(forms)
    assert _found(clauses, owner, events) == _wanted(forms, events)


@pytest.mark.interpreted
@given(_FORMS, _FORMS, _EVENTS, st.randoms(use_true_random=False))
def test_decoded_joined_and_thinned_out_they_still_do(
    first: list[NormalForm], second: list[NormalForm], events: list[tuple[Any, Any, Any]], random: Any
) -> None:
    parts, owners = [], []
    for forms, shift in ((first, 0), (second, len(first))):
        clauses, owner = _built(forms)
        parts.append(decode_clauses(*encode_clauses(clauses)))
        owners += [o + shift for o in owner]
    forms = first + second
    keep = np.array([random.random() < 0.6 for _ in forms], np.bool_)
    chosen = np.array([keep[o] for o in owners], np.bool_)
    thinned = concatenate(parts).select(chosen)
    kept_owners = [o for o in owners if keep[o]]
    wanted = {(e, f) for e, f in _wanted(forms, events) if keep[f]}
    assert _found(thinned, kept_owners, events) == wanted
    again = decode_clauses(*encode_clauses(thinned))
    assert _found(again, kept_owners, events) == wanted


@given(st.lists(_CONJUNCTIONS, min_size=2, max_size=3), _EVENTS)
def test_conjunctions_that_cannot_meet_never_hold_together(
    conjunctions: list[Conjunction], events: list[tuple[Any, Any, Any]]
) -> None:
    form = NormalForm(tuple(conjunctions))
    if not may_overlap(form):
        each = [NormalForm((c,)) for c in conjunctions]
        matched = [e for e, _ in _wanted(each, events)]
        assert len(matched) == len(set(matched))


def test_only_equality_needs_one_rank_a_value() -> None:
    values: list[ValueSet[bytes]] = [of_intervals([(v, v + b"\0")]) for v in (b"x", b"y", b"z")]
    forms = [NormalForm((Conjunction(((NAME, v),)),)) for v in (*values, complement(values[0]))]
    codebook, _ = encode_clauses(_built(forms)[0])
    (ranks,) = codebook.ranks
    assert isinstance(ranks, TextRanks)
    assert ranks.codes is None
    assert ranks.highest == 3


def test_long_lists_become_one_token_and_short_ones_are_split() -> None:
    few: ValueSet[NumberKey] = of_intervals([(k, k + 1) for k in range(0, 20, 2)])
    many: ValueSet[NumberKey] = of_intervals([(k, k + 1) for k in range(0, 200, 2)])
    clauses, _ = _built([NormalForm((Conjunction(((NUMBER, v),)),)) for v in (few, many, complement(many))])
    assert clauses.size == 10 + 1 + 1
    assert clauses.members[NUMBER].negative.tolist() == [False, True]


def test_columns_of_constants_need_no_objects() -> None:
    rows = np.arange(3)
    clauses = Clauses(
        3,
        {
            NUMBER: intervals(
                rows, np.array([0, 5, 9]), np.array([5, 9, 0]), bounded_above=np.array([True, True, False])
            ),
            NAME: equals(rows, pa.array(["b", "a", "b"])),
        },
    )
    events = [(3, b"b", None), (5, b"a", None), (100, b"b", None), (5, b"b", None)]
    codebook, table = encode_clauses(clauses)
    batch = codebook.code(_data(events), 4)
    assert naive_pairs(table, len(codebook.ranks), batch) == {(0, 0), (1, 1), (2, 2)}


def test_presence_of_a_place_is_a_rank_of_its_own() -> None:
    present: ValueSet[NumberKey] = complement(ValueSet((), True))
    forms = [NormalForm((Conjunction(((PLACE, v),)),)) for v in (present, ValueSet((), True))]
    codebook, table = encode_clauses(_built(forms)[0])
    from vedette.schema.columns import PointColumn

    batch = codebook.code({PLACE: PointColumn(np.array([1.0, np.nan]), np.array([2.0, np.nan]))}, 2)
    assert naive_pairs(table, 1, batch) == {(0, 0), (1, 1)}
