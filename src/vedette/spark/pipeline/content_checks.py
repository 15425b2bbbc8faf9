"""What is wrong inside the files that a pipeline names: its schema, its subscriptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from vedette.errors import FilterError, InputError, Mistake, NotSupported
from vedette.files.problems import FILTERS_ONLY, LEAVE_IT_OUT, Problem, refusal
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import RejectedSubscription, SubscriptionFile, SubscriptionRecord, read_subscriptions
from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.matching.templates import IsPattern, Templates
from vedette.schema.schema import Schema
from vedette.spark.pipeline.draft import Draft
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.mistakes import Found, called, meant

_MOST_BAD = 20  # of a kind are shown
_MOST_READ = 100_000  # that are read for it: the rest is checked when all are compiled, before anything else begins
_PATTERN = (
    "a pattern over several events: pipelines match filters only\n"
    "Hint: leave it out here; `vedette match` matches it, and StreamMatcher does in Python. "
    "Pipelines will match patterns once they keep state from micro-batch to micro-batch"
)


def shown(path: str | os.PathLike[str]) -> str:
    """A file as messages call it: from here, if it is below."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def check_contents(draft: Draft) -> Iterator[Found | Mistake]:
    """The mistakes: of keys of the pipeline file, and of lines of the others."""
    # Of a schema that cannot be read nothing is known: subscriptions are then held against the language alone.
    understand: Callable[[str], object] = _parsed
    if "schema" not in draft.given:
        understand = Templates(Schema({}, closed=False)).normal_form  # without any index
    elif draft.schema is not None:
        try:
            schema = read_schema(_local(draft.schema))
        except InputError as error:
            yield _at(("schema",), error)
        else:
            understand = Templates(schema).normal_form
            yield from islice(_kept(draft.keep, schema), _MOST_BAD)
    if draft.subscriptions is not None and draft.subscriptions.file is not None:
        try:
            yield from _subscriptions(draft.subscriptions.file, understand)
        except InputError as error:
            yield _at(("subscriptions", "file"), error)


def _parsed(text: str) -> None:
    expression = parse(text)
    if isinstance(expression, Composite):
        raise IsPattern(expression)


def _local(place: str) -> Path:
    path = local(place)
    if path is None:
        raise InputError("it must be a file of this machine\nHint: copy it, and name its path")
    if not os.path.exists(path):
        raise InputError(f"there is no {shown(path)}\nHint: check the path; it is relative to the pipeline file")
    return path


def _at(path: tuple[str, ...], error: InputError) -> Found:
    message, _, hint = str(error).partition("\nHint: ")
    return Found(path, f"{called(path)}: {message}", hint or None)


def _kept(keep: tuple[str, ...], schema: Schema) -> Iterator[Found]:
    if not schema.closed:
        return
    objects = {path[:dot] for path in schema for dot in _dots(path)}  # which are kept as a whole
    for number, name in enumerate(keep):
        if schema.type_of(name) is None and name not in objects:
            near = meant(name, schema)
            hint = f'did you mean "{near}"?' if near else "name it there too, or leave it out"
            yield Found(("keep", number), f'`keep`: the schema knows no attribute "{shortened(name)}"', hint)


def _dots(path: str) -> Iterator[int]:
    return (at for at, sign in enumerate(path) if sign == ".")


def _subscriptions(file: str, understand: Callable[[str], object]) -> Iterator[Mistake]:
    rows = read_subscriptions(_local(file))
    name = shown(rows.source.name)
    problems = _problems(rows, understand)
    for problem in problems[:_MOST_BAD]:
        whose = "" if problem.id is None else f"subscription {problem.id!r}: "
        message, _, hint = problem.body().partition("\nHint: ")
        yield Mistake(name, problem.line, f"{whose}{message}", hint or None)
    if len(problems) > _MOST_BAD:
        yield Mistake(name, None, "more subscriptions are bad", f"run: vedette check {name}")


class _Enough(Exception):
    """So much is bad that the rest need not be read: it may be gigabytes of something else altogether."""


class _Few(list[RejectedSubscription]):
    def append(self, reject: RejectedSubscription, /) -> None:
        super().append(reject)
        if len(self) > _MOST_BAD:
            raise _Enough


def _until_enough(records: Iterator[SubscriptionRecord]) -> Iterator[SubscriptionRecord]:
    with suppress(_Enough):
        yield from records


def _problems(rows: SubscriptionFile, understand: Callable[[str], object]) -> list[Problem]:
    """One more than are shown, if there are as many."""
    problems: list[Problem] = []
    rows.rejects = _Few()
    for record in _until_enough(islice(rows, _MOST_READ)):
        if len(problems) + len(rows.rejects) > _MOST_BAD:
            break
        error: FilterError | NotSupported | None = refusal(record)
        if error is None:
            try:
                understand(record.when)
                continue
            except FilterError as wrong:
                error = wrong
            except IsPattern:
                error = NotSupported(_PATTERN)
            except NotSupported as more:
                error = NotSupported(f"{more}: {FILTERS_ONLY}\n{LEAVE_IT_OUT}")
        problems.append(Problem.of_error(record, error))
    problems += map(Problem.of_reject, rows.rejects)
    return sorted(problems, key=lambda problem: problem.line)
