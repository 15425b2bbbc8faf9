"""Walks the steps of a pattern, and checks the names that it uses."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.errors import FilterError
from vedette.language.syntax import (
    Absence,
    Composite,
    Pattern,
    PatternAnd,
    PatternOr,
    Repeat,
    Sequence,
    Step,
    TimedPattern,
)
from vedette.language.type_families import named, similar
from vedette.schema.schema import Schema


def steps_of(pattern: Pattern) -> Iterator[Step]:
    """Every step, also those that must be absent, in the order in which they are written."""
    if isinstance(pattern, Step):
        yield pattern
    elif isinstance(pattern, Absence):
        yield pattern.step
    elif isinstance(pattern, Sequence | PatternAnd | PatternOr):
        for part in pattern.parts:
            yield from steps_of(part)
    else:
        yield from steps_of(pattern.part)


def conditions_of(pattern: Pattern) -> Iterator[TimedPattern]:
    """Every part that has a time condition, the outermost first."""
    if isinstance(pattern, TimedPattern):
        yield pattern
    if isinstance(pattern, Sequence | PatternAnd | PatternOr):
        for part in pattern.parts:
            yield from conditions_of(part)
    elif isinstance(pattern, Repeat | TimedPattern):
        yield from conditions_of(pattern.part)


def check_names(composite: Composite, schema: Schema | None, text: str) -> None:
    """FilterError if a label is used twice or never defined, or the partition is by a type that cannot be compared."""
    labels: set[str] = set()
    for step in steps_of(composite.pattern):
        if step.label is None:
            continue
        if step.label in labels:
            _fail(f"two steps have the label {step.label}", step.span.start, step.span.end, text, "labels are unique")
        labels.add(step.label)
    for conditioned in conditions_of(composite.pattern):
        for condition in conditioned.conditions:
            for label in (condition.later, condition.earlier):
                if label is not None and label not in labels:
                    span = condition.span
                    _fail(f"no step has the label {label}", span.start, span.end, text, similar(label, labels))
    if schema is None:
        return
    spans = composite.by_spans or (composite.span,) * len(composite.by)
    for path, span in zip(composite.by, spans, strict=True):
        declared = schema.type_of(path)
        if declared is None and schema.closed:
            _fail(f"unknown attribute {path} to partition by", span.start, span.end, text, similar(path, schema))
        if declared is not None and (declared.is_list or not declared.kind.ordered):
            message = f"{path} is {named(declared)}, and events are partitioned by single values that can be compared"
            _fail(message, span.start, span.end, text, "name an attribute such as a user or a host")


def _fail(message: str, start: int, end: int, text: str, hint: str | None) -> None:
    raise FilterError(message, text=text, start=start, end=end, hint=hint)
