"""What is wrong inside the files that a pipeline names: its schema, its subscriptions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from vedette.errors import FilterError, InputError, Mistake, NotSupported
from vedette.files.problems import FILTERS_ONLY, Problem, refusal
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import RejectedSubscription, SubscriptionFile, SubscriptionRecord, read_subscriptions
from vedette.matching.templates import Templates
from vedette.schema.schema import Schema
from vedette.spark.pipeline.draft import Draft
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.mistakes import Found, called, meant

_MOST_BAD = 20  # of a kind are shown
_MOST_READ = 100_000  # that are read for it: the rest is checked when all are compiled, before anything else begins


def shown(path: str | os.PathLike[str]) -> str:
    """A file as messages call it: from here, if it is below."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def check_contents(draft: Draft) -> Iterator[Found | Mistake]:
    """The mistakes: of keys of the pipeline file, and of lines of the others."""
    schema: Schema | None = None
    if draft.schema is not None:
        try:
            schema = _schema(draft.schema)
        except InputError as error:
            yield _at(("schema",), error)
        else:
            yield from islice(_kept(draft.keep, schema), _MOST_BAD)
    file = None if draft.subscriptions is None else draft.subscriptions.file
    # Without the schema that was meant, the subscriptions would be judged by another one.
    if file is not None and (draft.schema is None or schema is not None):
        try:
            yield from _subscriptions(file, schema)
        except InputError as error:
            yield _at(("subscriptions", "file"), error)


def _schema(place: str) -> Schema:
    return read_schema(_local(place))


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


def _subscriptions(file: str, schema: Schema | None) -> Iterator[Mistake]:
    rows = read_subscriptions(_local(file))
    name = shown(rows.source.name)
    problems = _problems(rows, schema)
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


def _problems(rows: SubscriptionFile, schema: Schema | None) -> list[Problem]:
    """One more than are shown, if there are as many."""
    templates = Templates(Schema({}, closed=False) if schema is None else schema)  # without any index
    problems: list[Problem] = []
    rows.rejects = _Few()
    for record in _until_enough(islice(rows, _MOST_READ)):
        if len(problems) + len(rows.rejects) > _MOST_BAD:
            break
        error: FilterError | NotSupported | None = refusal(record)
        if error is None:
            try:
                templates.normal_form(record.when)
                continue
            except FilterError as wrong:
                error = wrong
            except NotSupported as more:
                error = NotSupported(f"{more}: {FILTERS_ONLY}\nHint: leave it out, or write it as a filter")
        problems.append(Problem.of_error(record, error))
    problems += map(Problem.of_reject, rows.rejects)
    return sorted(problems, key=lambda problem: problem.line)
