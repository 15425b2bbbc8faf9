"""Thousands of real rules and recorded attacks: every engine finds what two other evaluators found.

Every rule for Windows is taken that names the attributes it speaks of; some have exceptions that, written as
alternatives, would multiply beyond all bounds.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.contract.engines import Engine
from tests.contract.sigma import Named, Untranslatable, filter_of, quoted_name, rules, shared
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema

_EVERY = 40  # of the events that no rule is known to match, so many are left out for one that is not
_COLUMNS = {"Channel": "channel", "EventID": "event_code", "Provider_Name": "provider", "Computer": "host"}


def subscribed(schema: Schema, named: Named) -> tuple[Subscriptions, set[str]]:
    """The rules that the language can say, and their ids."""
    subscriptions, taken = Subscriptions(schema), set()
    for name, rule in rules().items():
        try:
            subscriptions.add(name, filter_of(rule, named))
        except Untranslatable:
            continue
        taken.add(name)
    assert len(taken) == 2821
    assert subscriptions.compile("scan").segment.vetoes.any()
    return subscriptions, taken


def as_text(value: Any) -> str | None:
    """How Sigma sees a value."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


@pytest.fixture(scope="module")
def for_regression() -> tuple[Subscriptions, set[str]]:
    """The rules, for events whose attributes are columns."""
    return subscribed(Schema.of({}, closed=False), quoted_name)


@pytest.mark.filterwarnings("ignore:the events have no")
def test_the_rules_fire_on_the_events_recorded_for_them(
    engine: Engine, for_regression: tuple[Subscriptions, set[str]]
) -> None:
    subscriptions, taken = for_regression
    with gzip.open(shared("sigma_regression/events.jsonl.gz"), "rt", encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    names = sorted({name for event in events for name in event})
    table = pa.table({name: pa.array([as_text(event.get(name)) for event in events], pa.string()) for name in names})
    known = json.loads(shared("sigma_regression/reference_all_windows_rules.json").read_text(encoding="utf-8"))
    wanted = {(event, rule) for event, rule in known if rule in taken}
    assert len(wanted) >= 352
    assert {(events[row]["_id"], rule) for row, rule in engine.match(table, subscriptions)} == wanted


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


def column_or_key(field: str) -> str:
    """Four fields are columns, all others keys of the map `attrs`."""
    return _COLUMNS.get(field) or "attrs." + quoted_name(field)


@pytest.fixture(scope="module")
def for_attacks() -> tuple[Subscriptions, set[str]]:
    """The rules, for events whose attributes are in a map."""
    columns = dict.fromkeys(_COLUMNS.values(), "string")
    return subscribed(Schema.of({**columns, "attrs": "map of string"}), column_or_key)


def test_the_rules_fire_on_recorded_attacks(
    engine: Engine, for_attacks: tuple[Subscriptions, set[str]], attacks: pa.Table
) -> None:
    subscriptions, taken = for_attacks
    known = pq.read_table(shared("mordor_atomic/expected_sigma_matches.parquet"))
    pairs = zip(known["event_id"].to_pylist(), known["rule_id"].to_pylist(), strict=True)
    wanted = {(event, rule) for event, rule in pairs if rule in taken}
    assert len(wanted) >= 9668
    text = attacks["event_code"].cast(pa.string())
    table = attacks.set_column(attacks.schema.get_field_index("event_code"), "event_code", text)
    ids = attacks["event_id"].to_pylist()
    found = {(ids[row], rule) for row, rule in engine.match(table, subscriptions)}
    assert found == wanted
