"""Facts of a pipeline that its checkpoint depends on: with others the checkpoint is refused.

The facts are kept as plain JSON beside the checkpoint, not only as a digest, so that a refusal can say what changed.
What may change from run to run is no fact: sinks, subscriptions, triggers, limits, the list of Kafka's brokers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from vedette.spark.pipeline.kinds import SourceConfig

_CALLED = {
    "pipeline": "the pipeline's name",
    "type": "the type of the source",
    "path": "the path of the source",
    "table": "the table of the source",
    "topics": "the topics of the source",
    "url": "the address of the source",
    "query": "the query of the source",
    "patterns": "whether patterns are followed",
}


def facts_of(name: str, source: SourceConfig, *, patterns: bool = False) -> dict[str, Any]:
    """The facts of a pipeline; whether it follows patterns is one, since Spark keeps state for them."""
    facts: dict[str, Any] = {"pipeline": name, "type": source.type}
    for key in source.identity:
        value = getattr(source, key, None)
        if value is not None:
            facts[key] = sorted(value) if isinstance(value, tuple) else value
    return {**facts, "patterns": True} if patterns else facts


def digest(facts: Mapping[str, Any]) -> str:
    """A hash of the facts, 12 hexadecimal digits."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The changed facts, in words; empty if none has changed."""
    return list(_differences(before, after))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for key in [*_CALLED, *sorted({*before, *after} - {*_CALLED})]:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        called = _CALLED.get(key, f"`{key}`")
        if isinstance(old, list) and isinstance(new, list):
            changes = [f"without {_said(each)}" for each in old if each not in new]
            changes += [f"now also {_said(each)}" for each in new if each not in old]
            yield f"{called}: {', '.join(changes)}"
        else:
            yield f"{called}: {_said(old)} before, {_said(new)} now"


def _said(value: object) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)
