"""Checks of the files that a pipeline file names: its schema, its operators, its subscriptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from vedette.errors import FilterError, InputError, Mistake, NotSupported
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.filters.templates import HasOperators, IsPattern, Templates, parsed_filter
from vedette.io.operator_calls import OperatorCalls, patterns_call
from vedette.io.schemas import read_schema
from vedette.io.subscription_problems import FILTERS_ONLY, LEAVE_IT_OUT, SubscriptionProblem, refusal
from vedette.io.subscription_rows import RejectedSubscription, SubscriptionRecord, SubscriptionRows, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.schema import Schema
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.findings import PipelineMistake, key_name, similar_name
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.pipeline_draft import PipelineDraft

_MOST_BAD = 20  # of a kind are shown
_MOST_READ = 100_000  # that are read for it: the rest is checked when all are compiled, before anything else begins
_PATTERN = (
    "a pattern over several events, and this pipeline follows none\n"
    "Hint: give it a section [patterns]; in a stream it may say `lateness`"
)
_OPERATORS = (
    "it calls operators, and this pipeline has none\n"
    "Hint: give it a section [operators], with the `file` that they are in, or empty for those that are installed"
)
_SECTIONS = {said.partition("\nHint: ")[0] for said in (_PATTERN, _OPERATORS)}  # what lacks a section
_ELSEWHERE = "`file` of [operators] brings others"


def shown(path: str | os.PathLike[str]) -> str:
    """A file's name in messages: relative to the current folder, if it is below."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def check_contents(draft: PipelineDraft, *, every: bool = False) -> Iterator[PipelineMistake | Mistake]:
    """Mistakes in keys of the pipeline file and lines of the others: `every` one, or those that end a run."""
    # Of a schema that cannot be read nothing is known: subscriptions are then held against the language alone.
    schema: Schema | None = None
    if "schema" not in draft.given:
        schema = Schema({}, closed=False)
    elif draft.schema is not None:
        try:
            schema = read_schema(_local(draft.schema))
        except InputError as error:
            yield _at(("schema",), error)
        else:
            yield from islice(_kept(draft.keep, schema), _MOST_BAD)
    calls = None
    try:
        calls = _calls(draft)
    except InputError as error:
        yield _at(("operators", "file"), error)
    given = draft.subscriptions
    if given is not None and given.rules is not None:
        asked = _SubscriptionRules(schema, "patterns" in draft.given, "operators" in draft.given, calls)
        try:
            yield from _subscriptions(given.rules, given.written, asked, strict=every or given.strict)
        except InputError as error:
            yield _at(("subscriptions", "path" if given.file is None else "file"), error)


def operator_calls(file: str | None) -> OperatorCalls:
    """The operators of the section [operators]; InputError if they cannot be read."""
    return OperatorCalls(None if file is None else _local(file), _ELSEWHERE)


def _calls(draft: PipelineDraft) -> OperatorCalls | None:
    return None if draft.operators is None else operator_calls(draft.operators.file)


@dataclass(frozen=True, slots=True)
class _SubscriptionRules:
    """What is allowed in the subscriptions of a pipeline."""

    schema: Schema | None  # None: it is not known
    patterns: bool
    operators: bool
    calls: OperatorCalls | None  # None: there are none, or it is not known which

    def understand(self) -> Callable[[str], object]:
        """A function that checks a text, and raises what is wrong with it, or IsPattern."""
        return parsed_filter if self.schema is None else Templates(self.schema).normal_form  # without any index

    def wrong_calls(self, record: SubscriptionRecord, *, pattern: bool) -> FilterError | NotSupported | None:
        """Why the operator calls of a subscription cannot be made, or None."""
        if self.schema is None:
            return None
        try:
            if self.calls is not None:
                self.calls.check_record(record, self.schema)
            elif not self.operators and (not pattern or _pattern_calls(record, self.schema)):
                return NotSupported(_OPERATORS)
        except (FilterError, NotSupported) as error:
            return error
        except InputError:  # what else is wrong is seen when all are loaded, before anything begins
            return None
        return None


def _pattern_calls(record: SubscriptionRecord, schema: Schema) -> bool:
    predict = None if record.predict is None else Predict.of(record.predict)
    return patterns_call([PatternRecord(record.id, record.when, record.subscriber, predict)], schema)


def _local(place: str) -> Path:
    path = local(place)
    if path is None:
        raise InputError("it must be a file of this machine\nHint: copy it, and name its path")
    if not os.path.exists(path):
        raise InputError(f"there is no {shown(path)}\nHint: check the path; it is relative to the pipeline file")
    return path


def _at(path: tuple[str, ...], error: InputError) -> PipelineMistake:
    message, _, hint = str(error).partition("\nHint: ")
    return PipelineMistake(path, f"{key_name(path)}: {message}", hint or None)


def _kept(keep: tuple[str, ...], schema: Schema) -> Iterator[PipelineMistake]:
    if not schema.closed:
        return
    objects = {path[:dot] for path in schema for dot in _dots(path)}  # which are kept as a whole
    for number, name in enumerate(keep):
        if schema.type_of(name) is None and name not in objects:
            near = similar_name(name, schema)
            hint = f'did you mean "{near}"?' if near else "name it there too, or leave it out"
            yield PipelineMistake(("keep", number), f'`keep`: the schema knows no attribute "{shortened(name)}"', hint)


def _dots(path: str) -> Iterator[int]:
    return (at for at, sign in enumerate(path) if sign == ".")


def _subscriptions(file: str, written: Written, asked: _SubscriptionRules, *, strict: bool) -> Iterator[Mistake]:
    rows = read_subscriptions(_local(file), written=written)
    name = shown(rows.name)
    problems, good = _problems(rows, asked)
    if good and not strict:  # the bad ones are set aside when all are loaded, but this the pipeline file can mend
        problems = [problem for problem in problems if problem.message in _SECTIONS]
    for problem in problems[:_MOST_BAD]:
        whose = "" if problem.id is None else f"subscription {problem.id!r}: "
        message, _, hint = problem.body().partition("\nHint: ")
        if problem.place is None:
            yield Mistake(name, problem.line, f"{whose}{message}", hint or None)
        else:
            yield Mistake(shown(problem.place), None, f"rule {problem.id!r}: {message}", hint or None)
    if len(problems) > _MOST_BAD:
        more = "" if written.dialect is None else f" --dialect {written.dialect}"
        yield Mistake(name, None, "more subscriptions are bad", f"run: vedette check {name}{more}")


class _TooManyProblems(Exception):
    """There are so many bad subscriptions that the rest is not read: it may be gigabytes of something else."""


class _FirstProblems(list[RejectedSubscription]):
    def append(self, reject: RejectedSubscription, /) -> None:
        super().append(reject)
        if len(self) > _MOST_BAD:
            raise _TooManyProblems


def _until_enough(records: Iterator[SubscriptionRecord]) -> Iterator[SubscriptionRecord]:
    with suppress(_TooManyProblems):
        yield from records


def _problems(rows: SubscriptionRows, asked: _SubscriptionRules) -> tuple[list[SubscriptionProblem], bool]:
    """The bad subscriptions, at most one more than are shown; and whether any was good."""
    problems: list[SubscriptionProblem] = []
    good = False
    understand = asked.understand()
    rows.rejects = _FirstProblems()
    for record in _until_enough(islice(rows, _MOST_READ)):
        if len(problems) + len(rows.rejects) > _MOST_BAD:
            break
        error: FilterError | NotSupported | None = refusal(record, patterns=asked.patterns)
        if error is None:
            try:
                understand(record.when)
            except FilterError as wrong:
                error = wrong
            except IsPattern:  # whether it makes sense is seen when all are loaded, before anything begins
                error = asked.wrong_calls(record, pattern=True) if asked.patterns else NotSupported(_PATTERN)
            except HasOperators:
                error = asked.wrong_calls(record, pattern=False)
            except NotSupported as more:
                error = NotSupported(f"{more}: {FILTERS_ONLY}\n{LEAVE_IT_OUT}")
            if error is None:
                good = True
                continue
        if not rows.leaves_out(record, error):
            problems.append(SubscriptionProblem.of_error(record, error))
    problems += map(SubscriptionProblem.of_reject, rows.rejects)
    return sorted(problems, key=lambda problem: problem.line), good
