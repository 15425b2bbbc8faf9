"""The tables of docs/reference/pipeline.md, as the models have them: `python -m tests.spark.pipeline.reference`."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from vedette.plugins import DIALECTS, names
from vedette.spark.pipeline import fields
from vedette.spark.pipeline.config import (
    OperatorsConfig,
    PatternsConfig,
    Pipeline,
    SparkConfig,
    SubscriptionsConfig,
)
from vedette.spark.pipeline.fields import PipelineTable
from vedette.spark.pipeline.kinds import SINKS, SOURCES, SinkConfig
from vedette.spark.pipeline.source_config import JdbcPartition

_KINDS: dict[Any, str] = {
    fields.DialectName: " or ".join(f'`"{name}"`' for name in names(DIALECTS)),
    fields.Text: "text",
    fields.Place: "path",
    fields.Places: "list of paths",
    fields.Texts: "list of texts",
    fields.Length: "duration",
    fields.Options: "table of texts",
    fields.EnvironmentVariable: "environment variable",
    fields.EnvironmentVariables: "table of environment variables",
    fields.Topic: "text",
    fields.Bound: "whole number, date or text",
    fields.Positive: "whole number",
    JdbcPartition: "table",
    str: "text",
    bool: "`true` or `false`",
    int: "whole number",
}
_COMMON = ("name", "subscribers", "subscriptions")  # keys of every sink


def kind(hint: Any) -> str:
    """What a value of this type is called."""
    if hint in _KINDS:
        return _KINDS[hint]
    if get_origin(hint) is Literal:
        return " or ".join(f'`"{choice}"`' for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return "list of texts"
    inner = [each for each in get_args(hint) if each is not type(None)]
    return kind(inner[0])


def default(field: FieldInfo) -> str:
    """What holds if the key is left out."""
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if not isinstance(value, int) else f"`{value}`"


def rows(model: type[PipelineTable], leave_out: tuple[str, ...] = ()) -> list[str]:
    """One line per key, `type` first."""
    hints = get_type_hints(model, include_extras=True)
    lines = []
    for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] != "type"):
        if name in leave_out:
            continue
        key, needed = field.alias or name, default(field)
        if model is Pipeline and name == "name":
            needed = ""
        meaning = " ".join((field.description or "").split())
        lines.append(f"| `{key}` | {kind(hints[name])} | {needed} | {meaning} |")
    return lines


def table(lines: list[str]) -> str:
    """A table of Markdown."""
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *lines])


def tables() -> dict[str, str]:
    """The heading of each section, and its table."""
    parts = ("subscriptions", "source", "patterns", "operators", "quarantine", "sinks", "spark")
    found = {
        "The top of the file": table(rows(Pipeline, parts)),
        "subscriptions": table(rows(SubscriptionsConfig)),
        "patterns": table(rows(PatternsConfig)),
        "operators": table(rows(OperatorsConfig)),
        "spark": table(rows(SparkConfig)),
        "every sink": table([line for line in rows(SinkConfig) if line.split("`")[1] in _COMMON]),
        "partition": table(rows(JdbcPartition)),
    }
    kinds: dict[str, dict[str, Any]] = {"source": SOURCES.loadable(), "sink": SINKS.loadable()}
    for place, models in kinds.items():
        for type_, model in models.items():
            found[f"{place} {type_}"] = table(rows(model, ("type", *(_COMMON if place == "sink" else ()))))
    return found


if __name__ == "__main__":
    for heading, text in tables().items():
        print(f"### {heading}\n\n{text}\n")
