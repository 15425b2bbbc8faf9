"""The exceptions that Vedette raises.

VedetteError
├── InputError            something handed in is wrong: what, where, how to mend it
│   ├── FilterError       a filter or pattern text (line, column, caret, hint)
│   │   ├── LimitError    a text that would cost too much: refused before harm
│   │   └── DialectError  a rule of another dialect that its own system would refuse
│   ├── SchemaError       a schema, or a value that breaks it
│   ├── FileError         a file that cannot be read as what it should be
│   └── PipelineError     a pipeline file, or what it names: every mistake with its line
├── SnapshotError         a compiled set that is damaged, foreign or of another version
│   └── DamageError       stored bytes that are not those that were written: which file, and where in it
├── DeliveryError         a sink that could not be written; what was to be written is not lost
├── RunError              a pipeline that ran and cannot go on: why, and where the whole story is
├── StartError            Spark could not be started: why, and which Java it was
├── Refused               what a service answered to a client: its status, its kind
├── NotInstalled          an optional part that is not on this machine: which extra brings it
├── UnknownSubscription   an id that is not there (also a KeyError)
└── NotSupported          something the language, or another dialect, can say and this engine cannot do
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self


class VedetteError(Exception):
    """The base class of all exceptions of Vedette; `str()` of it is the message for people."""


class InputError(VedetteError):
    """Something that was passed in is wrong."""


class FilterError(InputError):
    """A filter or pattern that cannot be parsed or makes no sense; has the position in the text."""

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        start: int = 0,
        end: int | None = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        self.message = message
        self.text = text
        self.start = start
        self.end = max(start + 1, end if end is not None else start + 1)
        self.hint = hint
        self.where = where  # which text it is, if there are several
        super().__init__(self.render())

    @property
    def line(self) -> int:
        """The line of the place, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the place, counted from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def of(self, where: str) -> Self:
        """The same error, with the name of the text in front."""
        return type(self)(self.message, text=self.text, start=self.start, end=self.end, hint=self.hint, where=where)

    def render(self) -> str:
        """The name of the text, the message, the position, the line with a caret under it, and the hint."""
        parts = [self.message]
        if self.text:
            parts = [f"line {self.line}, column {self.column}: {self.message}", *self._excerpt()]
        if self.where:
            parts.insert(0, f"{self.where}:")
        if self.hint:
            parts.append(f"Hint: {self.hint}")
        return "\n".join(parts)

    def _excerpt(self, most: int = 96) -> list[str]:
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        stop = len(self.text) if stop < 0 else stop
        # A long line is cut around the position, so that the caret is always visible.
        left = max(begin, min(self.start - most // 2, stop - most))
        right = min(stop, left + most)
        line = self.text[left:right].replace("\t", " ")
        head, tail = ("…" if left > begin else ""), ("…" if right < stop else "")
        width = max(1, min(self.end, right) - self.start)
        return [f"  {head}{line}{tail}", "  " + " " * (len(head) + self.start - left) + "^" * width]


class LimitError(FilterError):
    """A text over a limit, refused before it costs anything."""


class DialectError(FilterError):
    """A rule of another dialect that makes no sense there.

    If the rule is a text, it is shown with a caret; if it is JSON or YAML, the message says which part is wrong.
    """


class SchemaError(InputError):
    """A schema that makes no sense, or a value that breaks it."""


class FileError(InputError):
    """A file that is missing, or not what it should be."""


class Mistake(NamedTuple):
    """One of several mistakes: where it is, what is wrong, how to mend it."""

    file: str
    line: int | None  # counted from 1; None: the file as a whole
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        lines = [*self.message.splitlines(), *([] if self.hint is None else [f"Hint: {self.hint}"])]
        return "\n  ".join([f"{where}: {lines[0]}", *lines[1:]])


class PipelineError(InputError):
    """A pipeline that cannot run: its file makes no sense, or something that it names does not exist or does not fit.

    If a file was read, `mistakes` has all of them.
    """

    def __init__(self, message: str, mistakes: Sequence[Mistake] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)


class SnapshotError(VedetteError):
    """A compiled set that is damaged, foreign or of another version."""


class DamageError(SnapshotError):
    """Stored bytes that differ from those that were written; `path` and, if known, `offset` say where."""

    def __init__(self, path: object, what: str, reason: str, *, offset: int | None = None) -> None:
        super().__init__(f"{path} {what}{reason}")
        self.path = str(path)
        self.offset = offset


class DeliveryError(VedetteError):
    """A sink that could not be written; the batch is delivered again when the pipeline is started again."""


class RunError(VedetteError):
    """A pipeline that ran and cannot go on."""


class StartError(VedetteError):
    """Spark could not be started."""


class Refused(VedetteError):
    """A service refuses a client's request; status 0: it cannot be reached."""

    def __init__(self, message: str, *, status: int, kind: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind  # a stable name


class NotInstalled(VedetteError):
    """An optional part that is not installed."""


class UnknownSubscription(VedetteError, KeyError):
    """An id that does not exist."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "unknown subscription"


class NotSupported(VedetteError):
    """Something that the language can express and this engine cannot do."""
