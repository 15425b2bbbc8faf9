"""Rules as queries of DuckDB: what a query per rule finds is what the rule matches."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from benchmarks import sigma_data
from benchmarks.peers.rule_queries import NotSql, Query, fields, on_duckdb
from benchmarks.sigma import SigmaFigures, Sizes, measure_sigma
from vedette.engine.subscriptions import Subscriptions
from vedette.language.parser import parse_filter

RULES = {
    "task": r"text(attrs.Image) iendswith '\schtasks.exe' and text(attrs.CommandLine) icontains ' /create '",
    "not": r"text(code) = '1' and (text(attrs.Parent) is null or text(attrs.Parent) not istartswith 'C:\Programs\')",
    "wild": r"text(attrs.CommandLine) ilike '%100\%\_x%'",
    "regex": r"text(attrs.CommandLine) matches '^[a-z]+ /(sc|create)'",
    "quote": "text(attrs.CommandLine) icontains 'it''s'",
}
EVENTS = pa.table(
    {
        "code": pa.array([1, 1, 4624, None], pa.int32()),
        "attrs": pa.array(
            [
                [("Image", r"C:\SCHTASKS.EXE"), ("CommandLine", "schtasks /create /sc daily")],
                [("Image", r"C:\x.exe"), ("Parent", r"c:\programs\a.exe"), ("CommandLine", "it's 100%_X")],
                [("CommandLine", "say IT'S 100 x")],
                None,
            ],
            pa.map_(pa.string(), pa.string()),
        ),
    }
)


@pytest.mark.parametrize("flat", [False, True])
def test_a_query_finds_what_its_rule_matches(flat: bool) -> None:
    subscriptions = Subscriptions()
    for name, rule in RULES.items():
        subscriptions.add(name, rule)
    found = subscriptions.compile().match_batch(EVENTS).column("subscription").to_pylist()
    queries = [Query(parse_filter(rule)) for rule in RULES.values()]
    asked = on_duckdb(EVENTS, fields(queries), queries, time.perf_counter, flat=flat)
    assert asked.found == [found.count(name) for name in RULES]
    assert min(asked.found) > 0


def test_what_sql_cannot_say_is_told() -> None:
    with pytest.raises(NotSql):
        Query(parse_filter("any(strings(*)) icontains 'x'"))


@pytest.mark.skipif(not sigma_data.is_there(), reason="the rules of Sigma and the recorded attacks are not here")
@pytest.mark.thorough
def test_all_rules_over_a_part_of_the_events() -> None:
    figures = SigmaFigures()
    measure_sigma(figures, Sizes.of(quick=True))
    assert figures.passes[0].matches > 100
    assert {row.peer for row in figures.queries} == {"DuckDB, events as they are", "DuckDB, a column for each field"}
