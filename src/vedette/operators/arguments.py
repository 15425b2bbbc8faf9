"""Arguments of an operator's function: the event, or a table of events, and the values of the inputs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SchemaError
from vedette.language.ast import Attribute, Operand
from vedette.operators.evaluation import Evaluation, paths_of
from vedette.operators.event_sources import EventSource, Rows
from vedette.operators.failures import Failure
from vedette.operators.result_cache import key_of
from vedette.operators.variable_constraints import evaluated


class CallArguments(NamedTuple):
    """The arguments of one call for many events: the rows that have arguments, and why the others have none."""

    arguments: tuple[Any, ...]
    taken: NDArray[np.int64]  # places among the rows that were asked for
    failures: dict[int, Failure]  # by such a place


def single(evaluation: Evaluation, source: EventSource, rows: Rows) -> list[tuple[Any, ...] | Failure]:
    """The arguments for each event; a failure if a value breaks the schema."""
    reads = evaluation.operator.reads
    for path in evaluation.paths.union(reads or ()):
        source.load(path, rows)
    whole = source.events(rows) if reads is None else []
    given: list[tuple[Any, ...] | Failure] = []
    for number, row in enumerate(rows.tolist()):
        try:
            event = whole[number] if reads is None else source.values(reads, row)
            given.append((event, *_inputs(evaluation, source, row)))
        except SchemaError as error:
            given.append(Failure("error", str(error)))
    return given


def key(evaluation: Evaluation, source: EventSource, row: int) -> Hashable:
    """The key of a result in the cache; None if the input values cannot form one."""
    reads = evaluation.operator.reads
    try:
        event = source.event(row) if reads is None else source.values(reads, row)
        return key_of(event), key_of(_inputs(evaluation, source, row))
    except (SchemaError, TypeError):
        return None


def batch(evaluation: Evaluation, source: EventSource, rows: Rows) -> CallArguments:
    """The arguments for all events in one table, without events in which a value breaks the schema."""
    positions = np.arange(len(rows))
    try:
        return CallArguments(_together(evaluation, source, rows), positions, {})
    except SchemaError as error:
        reasons = source.refused(None, rows) if evaluation.operator.reads is None else {}
        reasons |= source.refused(evaluation.paths.union(evaluation.operator.reads or ()), rows)
        if not reasons:  # no single value is wrong, but they are not of one kind
            reasons = dict.fromkeys(rows.tolist(), str(error))
    failures = {at: Failure("error", reasons[row]) for at, row in enumerate(rows.tolist()) if row in reasons}
    taken = np.delete(positions, list(failures))
    if not len(taken):
        return CallArguments((), taken, failures)
    rest = batch(evaluation, source, rows[taken])
    failures |= {int(taken[at]): failure for at, failure in rest.failures.items()}
    return CallArguments(rest.arguments, taken[rest.taken], failures)


def _together(evaluation: Evaluation, source: EventSource, rows: Rows) -> tuple[Any, ...]:
    inputs = [_column(operand, source, rows) for operand in evaluation.inputs]
    return source.table(evaluation.operator.reads, rows), *inputs


def _column(operand: Operand, source: EventSource, rows: Rows) -> Any:
    if isinstance(operand, Attribute):
        return source.column(operand.path, rows)
    if not paths_of(operand):
        return evaluated(operand, {}, lambda path: None)
    for path in paths_of(operand):
        source.load(path, rows)
    return pa.array([_value(operand, source, row) for row in rows.tolist()])


def _inputs(evaluation: Evaluation, source: EventSource, row: int) -> tuple[Any, ...]:
    return evaluation.values(lambda path: source.value(path, row))


def _value(operand: Operand, source: EventSource, row: int) -> Any:
    return evaluated(operand, {}, lambda path: source.value(path, row))
