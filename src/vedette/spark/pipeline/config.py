"""The pipeline file: `load` reads one, or reports every mistake in it at once, each with its line.

The models are in `pipeline_models.py`, those of sources and sinks are plug-ins (`kinds.py`). Nothing of this needs
Spark, so that a file is checked in a moment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vedette.errors import Mistake, PipelineError
from vedette.spark.pipeline.checkpoint_facts import differences
from vedette.spark.pipeline.checks import check
from vedette.spark.pipeline.content_checks import check_contents
from vedette.spark.pipeline.durations import Duration
from vedette.spark.pipeline.example import EXAMPLE
from vedette.spark.pipeline.findings import PipelineMistake
from vedette.spark.pipeline.kinds import SinkConfig, SourceConfig
from vedette.spark.pipeline.mistakes import found, keys_of, path_of
from vedette.spark.pipeline.pipeline_draft import draft
from vedette.spark.pipeline.pipeline_models import (
    OperatorsConfig,
    PatternsConfig,
    Pipeline,
    SparkConfig,
    SubscriptionsConfig,
)
from vedette.spark.pipeline.positions import Positions

__all__ = [
    "EXAMPLE",
    "Duration",
    "OperatorsConfig",
    "PatternsConfig",
    "Pipeline",
    "SinkConfig",
    "SourceConfig",
    "SparkConfig",
    "SubscriptionsConfig",
    "differences",
    "keys_of",
    "load",
]


MOST_BYTES = 1 << 20  # of a pipeline file
_MOST_SHOWN = 100  # mistakes of a file
# A key of very many parts, which Python's reader takes very long for.
_LONG_KEY = re.compile(r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def load(path: str | os.PathLike[str], *, every: bool = False) -> Pipeline:
    """The pipeline of a file; PipelineError names every mistake in it and in the files it names.

    Single subscriptions that are bad are mistakes where the file says `strict`, or `every` mistake is asked for: a run
    sets them aside.
    """
    name = os.fspath(path)
    text = _text(name)
    raw = _read(text, name)
    raw.setdefault("name", _named_after(name))
    folder = Path(os.path.abspath(name)).parent
    pipeline, errors = None, []
    try:
        pipeline = Pipeline.model_validate(raw, context={"folder": folder})
    except ValidationError as error:
        # A list whose only element is wrong is said to be empty besides.
        errors = [each for each in error.errors(include_url=False) if each["type"] != "too_short" or not each["input"]]
    parts = draft(raw, map(path_of, errors), folder)
    mistakes = _mistakes(errors, [*check(parts), *check_contents(parts, every=every)], raw, text, name)
    if pipeline is None or mistakes:
        raise _refused(name, mistakes)
    pipeline._file = Path(name)
    return pipeline


def _text(name: str) -> str:
    try:
        with open(name, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refused(name, [Mistake(name, None, f"cannot be opened: {why}", "check the path")]) from None
    if len(content) > MOST_BYTES:
        raise _refused(name, [Mistake(name, None, f"is larger than {MOST_BYTES:,} bytes", "is it a pipeline file?")])
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused(name, [Mistake(name, line, "this is not UTF-8 text", "save the file as UTF-8")]) from None


def _read(text: str, name: str) -> dict[str, Any]:
    line: int | None = None
    long = _LONG_KEY.search(text)
    if long is not None:
        line = text.count("\n", 0, long.start()) + 1
        raise _refused(name, [Mistake(name, line, "this key has too many parts", "64 names between dots are too many")])
    try:
        return tomllib.loads(text)
    except RecursionError:
        message, hint = "it is nested too deeply", "make it flatter"
    except ValueError as error:  # TOMLDecodeError; and numbers with thousands of digits, which have no place
        place = _TOML_PLACE.search(str(error))
        reason = str(error)[: place.start()] if place else "a number is too large"
        message, hint = f"this is not TOML: {reason}", 'texts stand in quotes: key = "value"'
        if place is not None:
            line = int(place[1]) if place[1] else text.rstrip().count("\n") + 1
    raise _refused(name, [Mistake(name, line, message, hint)])


def _named_after(path: str) -> str:
    """A name for a pipeline without one, from its file."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(path).stem).lstrip(".-")[:64] or "pipeline"


def _mistakes(
    errors: Sequence[ErrorDetails],
    others: Sequence[PipelineMistake | Mistake],
    raw: dict[str, Any],
    text: str,
    name: str,
) -> list[Mistake]:
    """All mistakes in the order of their lines; those of other files come last."""
    if not errors and not others:
        return []
    positions = Positions(text)
    # Thousands may be wrong in the same way: words are found only for those that are shown.
    lines = [(positions.line(path_of(error)), error) for error in errors]
    lines.sort(key=itemgetter(0))
    here = [(line, found(error, raw)) for line, error in lines[: _MOST_SHOWN + 1]]
    here += [(positions.line(each.path), each) for each in others if isinstance(each, PipelineMistake)]
    here.sort(key=itemgetter(0))
    elsewhere = [each for each in others if isinstance(each, Mistake)]
    return [*(Mistake(name, line, each.message, each.hint) for line, each in here), *elsewhere]


def _refused(name: str, mistakes: Sequence[Mistake]) -> PipelineError:
    parts = [str(mistake) for mistake in mistakes[:_MOST_SHOWN]]
    count = len(mistakes)
    total = "1 mistake" if count == 1 else f"{count} mistakes"
    if count > _MOST_SHOWN:
        total = f"more than {_MOST_SHOWN} mistakes"
    return PipelineError("\n\n".join([*parts, f"{total} in {name} or what it names; nothing was started."]), mistakes)
