"""Carry out an evaluation for many events, with cache and limits; failures make events unknown."""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SchemaError
from vedette.language.ast import Attribute, Operand
from vedette.operators.evaluation import Evaluation, paths_of
from vedette.operators.event_loop import EventLoop
from vedette.operators.event_sources import EventSource, Rows
from vedette.operators.failures import AbandonedCalls, Failure, Failures, failed
from vedette.operators.operator import Operator
from vedette.operators.results import EvaluationOutcome, EvaluationResult, ResultCache, key_of, read_many, read_one
from vedette.operators.variable_constraints import evaluated
from vedette.operators.workers import Workers


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


def result_key(evaluation: Evaluation, source: EventSource, row: int) -> Hashable:
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


_T = TypeVar("_T")
_TRUTHS = {True: 1, False: 0, None: -1}


class EvaluationResults(NamedTuple):
    """The results of an evaluation for some events, in their order."""

    truth: NDArray[np.int8]  # 1 true, 0 false, -1 unknown
    bindings: list[list[tuple[Any, ...]]] | None  # None if the operator has no outputs
    seconds: float  # that the calls took, by the clock on the wall


class OperatorRunner:
    """Calls operators for all matchers; any number of threads may use it.

    At most `cap_workers` calls of an operator that exceeded their time limit are left running; then it is not called
    until some return.
    """

    def __init__(self, cap_workers: int = 8, *, clock: Callable[[], float] = time.monotonic) -> None:
        given_up = AbandonedCalls(cap_workers)
        self.failures = Failures()
        self.reused: Counter[str] = Counter()  # by operator: what others had found of the same events
        self._workers = Workers(given_up)
        self._loop = EventLoop(given_up)
        self._clock = clock  # that results grow old by
        self._kept: dict[Operator, ResultCache] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, self._loop.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End background work; idle threads end by themselves."""
        self._loop.close()

    def run(self, evaluation: Evaluation, source: EventSource, rows: Rows) -> EvaluationResults:
        """The results of the evaluation for the events in some rows of a batch."""
        operator = evaluation.operator
        outcomes, seconds = self._once(evaluation, source, rows)
        found = [EvaluationResult(None) if isinstance(outcome, Failure) else outcome for outcome in outcomes]
        truth = np.array([_TRUTHS[each.truth] for each in found], np.int8)
        return EvaluationResults(truth, [list(each.bindings) for each in found] if operator.outputs else None, seconds)

    def _once(self, evaluation: Evaluation, source: EventSource, rows: Rows) -> tuple[list[EvaluationOutcome], float]:
        """Evaluate once per event: results that another matcher got for the same events are reused."""
        if source.shared is None:
            return self._recorded(evaluation, source, rows)
        found = source.shared.found.setdefault(evaluation, {})
        numbers = source.shared.numbers[rows].tolist()
        fresh = [place for place, number in enumerate(numbers) if number not in found]
        made, seconds = self._recorded(evaluation, source, rows[fresh])
        found.update(zip([numbers[place] for place in fresh], made, strict=True))
        self.reused[evaluation.operator.name] += len(rows) - len(fresh)
        return [found[number] for number in numbers], seconds

    def _recorded(
        self, evaluation: Evaluation, source: EventSource, rows: Rows
    ) -> tuple[list[EvaluationOutcome], float]:
        outcomes, seconds = self._known_or_made(evaluation, source, rows)
        failures = [
            (source.name(row), outcome)
            for row, outcome in zip(rows.tolist(), outcomes, strict=True)
            if isinstance(outcome, Failure)
        ]
        self.failures.record(evaluation.operator, failures)
        return outcomes, seconds

    def _known_or_made(
        self, evaluation: Evaluation, source: EventSource, rows: Rows
    ) -> tuple[list[EvaluationOutcome], float]:
        operator = evaluation.operator
        if operator.cache is None:
            return self._made(evaluation, source, rows)
        with self._lock:
            kept = self._kept.setdefault(operator, ResultCache(operator.cache, self._clock))
        # Real keys are tuples: a place stands for an event without one.
        keys = [result_key(evaluation, source, row) or place for place, row in enumerate(rows.tolist())]
        known: dict[Hashable, EvaluationOutcome] = {
            key: found for key in set(keys) if (found := kept.get(key)) is not None
        }
        # Of events with the same values, the first one is evaluated for all.
        asked: dict[Hashable, int] = {}
        for place, key in enumerate(keys):
            if key not in known:
                asked.setdefault(key, place)
        made, seconds = self._made(evaluation, source, rows[np.array([*asked.values()], np.int64)])
        for key, outcome in zip(asked, made, strict=True):
            known[key] = outcome
            # What is unknown now may be known the next time.
            if isinstance(key, tuple) and isinstance(outcome, EvaluationResult) and outcome.truth is not None:
                kept.put(key, outcome)
        return [known[key] for key in keys], seconds

    def _made(self, evaluation: Evaluation, source: EventSource, rows: Rows) -> tuple[list[EvaluationOutcome], float]:
        if not len(rows):
            return [], 0.0
        begun = time.perf_counter()
        call = self._together if evaluation.operator.batch else self._one_by_one
        outcomes = call(evaluation, source, rows)
        return outcomes, time.perf_counter() - begun

    def _one_by_one(self, evaluation: Evaluation, source: EventSource, rows: Rows) -> list[EvaluationOutcome]:
        operator = evaluation.operator
        outcomes: list[Any] = single(evaluation, source, rows)
        places = [place for place, given in enumerate(outcomes) if not isinstance(given, Failure)]
        given = [outcomes[place] for place in places]
        made = self._called(operator, given, lambda result: read_one(result, operator.outputs))
        for place, outcome in zip(places, made, strict=True):
            outcomes[place] = outcome
        return outcomes

    def _together(self, evaluation: Evaluation, source: EventSource, rows: Rows) -> list[EvaluationOutcome]:
        operator = evaluation.operator
        given = batch(evaluation, source, rows)
        size = len(given.taken)
        outcomes: dict[int, EvaluationOutcome] = dict(given.failures)
        if size:
            (made,) = self._called(operator, [given.arguments], lambda got: read_many(got, operator.outputs, size))
            each = [made] * size if isinstance(made, Failure) else made
            outcomes |= dict(zip(given.taken.tolist(), each, strict=True))
        return [outcomes[place] for place in range(len(rows))]

    def _called(
        self, operator: Operator, given: Sequence[tuple[Any, ...]], read: Callable[[Any], _T]
    ) -> list[_T | Failure]:
        """Call the function with each of the arguments."""
        function, limit = operator.function, operator.time_limit

        def call(number: int) -> _T | Failure:
            try:
                return read(function(*given[number]))
            except Exception as error:
                return failed(error)

        async def wait_for(number: int) -> _T:
            return read(await function(*given[number]))

        if operator.is_async:
            return self._loop.run(operator, wait_for, len(given), limit)
        if limit is None:
            return [call(number) for number in range(len(given))]
        return [*self._workers.run(operator, call, len(given), limit)]
