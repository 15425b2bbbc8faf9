"""Interrupt Python code from outside, by an exception in the thread that runs it.

The exception is raised between two steps of Python: it ends an endless loop of Python; a call into compiled code (a
kernel, `time.sleep`, a database) ends only when it returns.
"""

from __future__ import annotations

import ctypes
import time


class TimeLimitExceeded(BaseException):
    """A time limit was exceeded. Not an Exception, so that code which catches all of these does not catch it."""


def interrupt(thread: int) -> None:
    """Raise TimeLimitExceeded in a thread, soon."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeLimitExceeded))


def await_interrupt() -> None:
    """Wait for an interrupt that was sent to this thread and not raised yet: TimeLimitExceeded, if there is one."""
    for _ in range(1_000):
        time.sleep(0)
