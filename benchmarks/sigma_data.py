"""Rules of SigmaHQ and recorded attacks (OTRF Security-Datasets), where they are beside the project."""

from __future__ import annotations

import gzip
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from vedette.dialects import registry
from vedette.dialects.rule_results import RuleDocument, RuleTranslation
from vedette.language import ast
from vedette.language.parser import parse_filter

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_RULES, _EVENTS = DATA / "sigma_rules" / "rules.jsonl.gz", DATA / "mordor_atomic" / "events.parquet"
_EXPECTED = DATA / "mordor_atomic" / "expected_sigma_matches.parquet"
_PARTS = ("title", "id", "level", "logsource", "detection")

# Four fields are columns of their own, all others are in a map.
_COLUMNS = {"Channel": "channel", "EventID": "event_code", "Provider_Name": "provider", "Computer": "host"}
_LAYOUT = {
    "name": "columns and a map",
    "transformations": [
        {"type": "field_name_mapping", "mapping": _COLUMNS},
        {
            "type": "field_name_prefix",
            "prefix": "attrs.",
            "field_name_conditions": [{"type": "exclude_fields", "fields": [*_COLUMNS.values()]}],
        },
    ],
}


class SigmaRule(NamedTuple):
    """A rule in Vedette's language."""

    id: str
    when: str

    @property
    def tree(self) -> ast.Filter:
        """What it says."""
        return parse_filter(self.when)


def is_there() -> bool:
    """Whether there is anything to measure."""
    return all(path.exists() for path in (_RULES, _EVENTS, _EXPECTED))


@cache
def documents() -> list[RuleDocument]:
    """Every rule as a YAML text."""
    with gzip.open(_RULES, "rt", encoding="utf-8") as lines:
        rules = [json.loads(line) for line in lines]
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return [
        RuleDocument(yaml.dump({part: rule[part] for part in _PARTS}, Dumper=dumper), rule["file"]) for rule in rules
    ]


def translate(documents: list[RuleDocument]) -> list[SigmaRule]:
    """The rules that are for Windows."""
    with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
        layout = Path(folder) / "layout.yml"
        layout.write_text(yaml.safe_dump(_LAYOUT), encoding="utf-8")
        made = (one.made for one in registry.translate_all("sigma", documents, pipelines=["windows", str(layout)]))
        return [SigmaRule(one.id, one.when) for one in made if isinstance(one, RuleTranslation) and one.id is not None]


@cache
def events() -> pa.Table:
    """All recorded events: columns and a map."""
    return pq.read_table(_EVENTS, columns=[*_COLUMNS.values(), "attrs"]).combine_chunks()


@cache
def expected() -> set[tuple[int, str]]:
    """(row, rule) of all matches that are known."""
    numbers = {
        event: row for row, event in enumerate(pq.read_table(_EVENTS, columns=["event_id"])["event_id"].to_pylist())
    }
    known = pq.read_table(_EXPECTED)
    pairs = zip(known["event_id"].to_pylist(), known["rule_id"].to_pylist(), strict=True)
    return {(numbers[event], rule) for event, rule in pairs}
