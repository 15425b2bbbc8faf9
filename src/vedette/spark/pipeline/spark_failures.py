"""Errors of Spark for people: the reason in one line, and the whole traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from vedette.errors import RunError

_STREAM = re.compile(r"^\[STREAM_FAILED\] .*?terminated with exception: ", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_RAISED = re.compile(
    r"^(?:[\w.]*\.)?(?P<kind>\w*(?:Error|Exception|Unsettled|NotSupported|NotInstalled)): (?P<what>.+)", re.M
)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (?P<file>.+?)\.\s")
_PYTHON = "Traceback (most recent call last):"


def explained(error: BaseException) -> str:
    """The innermost reason, without the stack that led to it."""
    texts = [text for text in (_text(error), *_causes(error)) if text]
    for text in texts:
        if _PYTHON in text:  # a worker or a callback: its own error comes last
            found = list(_RAISED.finditer(text[text.index(_PYTHON) :]))
            if found:
                return f"{found[-1]['kind']}: {found[-1]['what'].strip()}"
    if not isinstance(error, PySparkException | Py4JError):  # Java says itself of which kind it is
        return f"{type(error).__name__}: {error}".strip(": ")
    reason = texts[-1] if texts else type(error).__name__
    reason = _STATE.sub("", _STREAM.sub("", reason).strip())
    lines = [line.strip() for line in reason.splitlines() if line.strip() and not line.strip().startswith("at ")]
    reason = lines[0] if lines else type(error).__name__
    damaged = next(filter(None, map(_UNREADABLE.search, texts)), None)
    if damaged is None:
        return reason
    file = damaged["file"]
    place = unquote(urlparse(file).path) if file.startswith("file:") else file
    return f"{place} cannot be read ({reason}): take it away, or put a whole one in its place, and run again"


def _text(error: BaseException) -> str:
    message = getattr(error, "getMessage", None) or getattr(error, "desc", None)
    if callable(message):
        message = message()
    return str(message or error).strip()


def _causes(error: BaseException) -> list[str]:
    """The messages of Java's causes, from the outermost to the innermost."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = []
    for _ in range(20):
        if java is None:
            break
        message = java.getMessage()
        if message:
            texts.append(f"{java.getClass().getSimpleName()}: {message}")
        java = java.getCause()
    return texts


def whole(error: BaseException) -> str:
    """The whole traceback."""
    return "".join(traceback.format_exception(error))


@contextmanager
def told_plainly() -> Iterator[None]:
    """Raise RunError instead of Spark's errors, as a context."""
    try:
        yield
    except PySparkException as error:
        raise RunError(f"Spark did not get through: {explained(error)}") from error
