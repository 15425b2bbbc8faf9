"""Thousands of real rules and recorded attacks: every engine finds what other evaluators found.

Where two of them disagree - whether a number equals its text, what is denied of an attribute that is missing, what a
network is - the answer is the one that docs/how-to/bring-sigma-rules.md gives: that of the evaluator which takes Sigma
at its word.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.contract.engines import Engine
from tests.contract.sigma import COLUMNS, LAYOUT, in_columns_and_a_map, shared, translated
from vedette.dialects.rule_results import RuleTranslation
from vedette.engine.engine import Engine as Compiled
from vedette.engine.subscriptions import Subscriptions
from vedette.schema.schema import Schema

_EVERY = 40  # of the events that no rule is known to match, so many are left out for one that is not


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """All rules for Windows, for events whose attributes are in a map; compiled once for all."""
    layout: Path = tmp_path_factory.mktemp("pipelines") / "layout.yml"
    layout.write_text(LAYOUT, encoding="utf-8")
    columns = dict.fromkeys(COLUMNS.values(), "string")
    made = Subscriptions(Schema.of({**columns, "attrs": "map of string"}))
    for outcome in translated(["windows", str(layout)]):
        if isinstance(outcome.made, RuleTranslation) and outcome.made.id is not None:
            made.add(outcome.made.id, outcome.made.when)
    assert len(made) == 2839  # 2,837 that others looked at, and two that they had no channel for
    return made.compile()


def test_the_rules_fire_on_the_events_recorded_for_them(engine: Engine, compiled: Compiled) -> None:
    with gzip.open(shared("sigma_regression/events.jsonl.gz"), "rt", encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    known = json.loads(shared("sigma_regression/reference_all_windows_rules.json").read_text(encoding="utf-8"))
    found = engine.match(in_columns_and_a_map(events), compiled)
    assert {(events[row]["_id"], rule) for row, rule in found} == {(event, rule) for event, rule in known}


@pytest.fixture(scope="module")
def attacks() -> pa.Table:
    """All events that some rule is known to match, and a few of the others."""
    table = pq.read_table(shared("mordor_atomic/events.parquet"))
    known = pq.read_table(shared("mordor_atomic/expected_sigma_matches.parquet"))
    chosen = pc.or_(
        pc.is_in(table["event_id"], pc.unique(known["event_id"].combine_chunks())),
        pa.array([row % _EVERY == 0 for row in range(len(table))]),
    )
    return table.filter(chosen)


def test_the_rules_fire_on_recorded_attacks(engine: Engine, compiled: Compiled, attacks: pa.Table) -> None:
    known = pq.read_table(shared("mordor_atomic/expected_sigma_matches.parquet"))
    wanted = set(zip(known["event_id"].to_pylist(), known["rule_id"].to_pylist(), strict=True))
    assert len(wanted) == 9670
    text = attacks["event_code"].cast(pa.string())
    table = attacks.set_column(attacks.schema.get_field_index("event_code"), "event_code", text)
    ids = attacks["event_id"].to_pylist()
    found = engine.match(table.select([*COLUMNS.values(), "attrs"]), compiled)
    assert {(ids[row], rule) for row, rule in found} == wanted
