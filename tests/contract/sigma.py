"""Detection rules of the SigmaHQ project, as it publishes them, and recorded events whose answers others worked out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from vedette.dialects import registry
from vedette.dialects.rule_results import RuleDocument, RuleResult

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_PARTS = ("title", "id", "status", "level", "author", "tags", "logsource", "detection")
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# Recorded attacks have four columns, and all other fields in a map: a pipeline of pySigma says so.
COLUMNS = {"Channel": "channel", "EventID": "event_code", "Provider_Name": "provider", "Computer": "host"}
LAYOUT = f"""
name: columns and a map
transformations:
- type: field_name_mapping
  mapping: {json.dumps(COLUMNS)}
- type: field_name_prefix
  prefix: attrs.
  field_name_conditions: [{{type: exclude_fields, fields: {json.dumps([*COLUMNS.values()])}}}]
"""


def shared(name: str) -> Path:
    """A file of the shared data, or the test is skipped."""
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not among the shared data")
    return DATA / name


@cache
def rules() -> dict[str, dict[str, Any]]:
    """Id -> rule."""
    with gzip.open(shared("sigma_rules/rules.jsonl.gz"), "rt", encoding="utf-8") as lines:
        found = (json.loads(line) for line in lines)
        return {rule["id"]: {name: rule[name] for name in (*_PARTS, "file") if rule[name]} for rule in found}


def documents(ids: Collection[str] | None = None) -> list[RuleDocument]:
    """The rules as files of YAML: all of them, or some."""
    return [
        RuleDocument(yaml.dump({name: rule[name] for name in _PARTS if name in rule}, Dumper=_DUMPER), rule["file"])
        for name, rule in rules().items()
        if ids is None or name in ids
    ]


def translated(pipelines: list[str], ids: Collection[str] | None = None) -> list[RuleResult]:
    """What became of the rules."""
    return list(registry.translate_all("sigma", documents(ids), pipelines=pipelines))


def in_columns_and_a_map(events: list[dict[str, Any]]) -> pa.Table:
    """Events of plain attributes in the layout of the recorded attacks."""
    columns = {column: [_text(event.get(field)) for event in events] for field, column in COLUMNS.items()}
    others = [{name: _text(value) for name, value in event.items() if name not in COLUMNS} for event in events]
    attrs = pa.array([list(event.items()) for event in others], pa.map_(pa.string(), pa.string()))
    return pa.table({**{name: pa.array(values, pa.string()) for name, values in columns.items()}, "attrs": attrs})


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
