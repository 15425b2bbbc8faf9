"""The end of a command: the one place where errors become a text and an exit status.

0 fine, 1 bad input, 2 wrong usage (reported by typer), 130 interrupted, 141 the reader of the output has gone.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from vedette.cli.terminal import say_error
from vedette.errors import VedetteError

BAD_INPUT = 1
INTERRUPTED = 128 + signal.SIGINT
READER_GONE = 141  # 128 + SIGPIPE, which not every system has


class Commands(TyperGroup):
    """The commands, with common error handling."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; errors of the user's input are shown without a traceback."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # here, where a failure can still be reported
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except VedetteError as error:
            say_error(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:
            hush_output()
            raise typer.Exit(READER_GONE) from None
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            say_error(f"{place}{error.strerror or error}\nHint: check the path, its permissions and the space left")
            raise typer.Exit(BAD_INPUT) from None


def hush_output() -> None:
    """Silence errors about standard output, which nobody reads any more, when the process ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no real file behind it
        return


def prepare_process() -> None:
    """Replace characters that an output cannot show, and let SIGTERM leave no half-written file."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
