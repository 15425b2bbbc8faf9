"""The valid parts of a pipeline file, so that these can be checked further although other parts are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vedette.spark.pipeline.durations import Duration
from vedette.spark.pipeline.fields import Length, Place, Texts
from vedette.spark.pipeline.kinds import AnySink, AnySource, SinkConfig, SourceConfig, Where
from vedette.spark.pipeline.pipeline_models import MOST_SINKS, Mode, OperatorsConfig, SparkConfig, SubscriptionsConfig
from vedette.spark.pipeline.positions import KeyPath


@dataclass
class PipelineDraft:
    """The parts that are valid; None for those that are wrong or missing."""

    mode: Mode | None = None
    trigger: Duration | None = None
    checkpoint: str | None = None
    schema: str | None = None
    keep: tuple[str, ...] = ()
    subscriptions: SubscriptionsConfig | None = None
    source: SourceConfig | None = None
    operators: OperatorsConfig | None = None
    quarantine: SinkConfig | None = None
    sinks: dict[int, SinkConfig] = field(default_factory=dict)  # by their place in the file
    spark: SparkConfig | None = None
    given: frozenset[str] = frozenset()  # the keys at the top of the file, right or wrong

    @property
    def streaming(self) -> bool | None:
        """Whether the pipeline is a stream; None if the mode is wrong."""
        return None if self.mode is None else self.mode != "batch"

    def outputs(self) -> list[tuple[KeyPath, SinkConfig]]:
        """All outputs: the quarantine and the sinks."""
        quarantine: list[tuple[KeyPath, SinkConfig]] = []
        if self.quarantine is not None:
            quarantine.append((("quarantine",), self.quarantine))
        return [*quarantine, *((("sinks", number), sink) for number, sink in self.sinks.items())]

    def parts(self) -> list[tuple[Where, SourceConfig | SinkConfig]]:
        """The source and all outputs, with where they are in the file."""
        source = [] if self.source is None else [(("source",), self.source)]
        parts: list[tuple[KeyPath, SourceConfig | SinkConfig]] = [*source, *self.outputs()]
        return [(Where(path, self.streaming, self.mode, self.source), part) for path, part in parts]


_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    "mode": TypeAdapter(Mode),
    "trigger": TypeAdapter(Length),
    "checkpoint": TypeAdapter(Place),
    "schema": TypeAdapter(Place),
    "keep": TypeAdapter(Texts),
    "subscriptions": TypeAdapter(SubscriptionsConfig),
    "source": TypeAdapter(AnySource),
    "operators": TypeAdapter(OperatorsConfig),
    "quarantine": TypeAdapter(AnySink),
    "spark": TypeAdapter(SparkConfig),
}
_SINK: TypeAdapter[SinkConfig] = TypeAdapter(AnySink)


def draft(raw: Mapping[str, Any], wrong: Iterable[KeyPath], folder: Path) -> PipelineDraft:
    """All parts of a file that are valid once the keys at the wrong places are left out."""
    bad = set(wrong)
    made = PipelineDraft(given=frozenset(raw), mode="batch")
    for name, adapter in _ADAPTERS.items():
        if name in raw:
            part = _part(raw[name], (name,), bad, adapter, folder)
            setattr(made, name, () if name == "keep" and part is None else part)
    sinks = raw.get("sinks")
    for number, sink in enumerate(sinks[:MOST_SINKS] if isinstance(sinks, list) else ()):
        part = _part(sink, ("sinks", number), bad, _SINK, folder)
        if part is not None:
            made.sinks[number] = part
    return made


def _part(value: Any, path: KeyPath, bad: set[KeyPath], adapter: TypeAdapter[Any], folder: Path) -> Any:
    if isinstance(value, dict):
        within = {place[len(path)] for place in bad if place[: len(path)] == path and len(place) > len(path)}
        value = {key: each for key, each in value.items() if key not in within}
    try:
        return adapter.validate_python(value, context={"folder": folder})
    except ValidationError:
        return None
