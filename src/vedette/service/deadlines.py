"""Deadlines for Python code: a watchdog interrupts what takes too long (`vedette.operators.thread_interrupt`).

Work that has not ended some time after the interrupt is stuck: it cannot be ended, and the watchdog reports it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from vedette.operators.thread_interrupt import TimeLimitExceeded, await_interrupt, interrupt

T = TypeVar("T")
_LOOKS: Final = 0.25  # of the shortest deadline, between two looks at the clock
_SHORTEST_LOOK: Final = 0.005  # seconds
_LONGEST_LOOK: Final = 1.0
_GRACE: Final = 2.0  # seconds after the exception in which work ends, or is stuck


@dataclass(slots=True, eq=False)
class _TimedWork:
    thread: int
    due: float
    seconds: float
    raised: bool = False
    last: float = field(default=0.0)


class Watchdog:
    """Interrupts work that misses its deadline; its thread starts with the first work to be watched."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._work: dict[int, _TimedWork] = {}
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._ending = False
        self._look = _LONGEST_LOOK

    def run(self, seconds: float, work: Callable[[], T]) -> T:
        """Call a function and return its result; TimeLimitExceeded if it has not ended after so many seconds."""
        mine = _TimedWork(threading.get_ident(), time.monotonic() + seconds, seconds)
        late = False
        try:
            self._begin(mine)
            result = work()
        except TimeLimitExceeded:
            late = True
        finally:
            late = self._ended(mine, late)
        if late:
            raise TimeLimitExceeded(f"it took longer than {seconds:g} seconds")
        return result

    def _begin(self, mine: _TimedWork) -> None:
        self._work[mine.thread] = mine
        look = min(max(mine.seconds * _LOOKS, _SHORTEST_LOOK), _LONGEST_LOOK)
        if self._thread is None or look < self._look:
            with self._lock:
                self._look = min(look, self._look)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._watch, name="vedette-watchdog", daemon=True)
                    self._thread.start()
            self._news.set()

    def _ended(self, mine: _TimedWork, late: bool) -> bool:
        """Stop watching this work; an interrupt that was sent and has not arrived yet is waited for."""
        try:
            with self._lock:
                self._work.pop(mine.thread, None)
            if mine.raised and not late:
                await_interrupt()
        except TimeLimitExceeded:
            with self._lock:
                self._work.pop(mine.thread, None)
            return True
        return late

    def stuck(self, thread: int) -> float | None:
        """Seconds by which work of a thread is late although it was interrupted; None if it is not stuck."""
        work = self._work.get(thread)
        if work is None or not work.raised:
            return None
        over = time.monotonic() - work.due
        return over if over > _GRACE else None

    def close(self) -> None:
        """End the watchdog's thread."""
        self._ending = True
        self._news.set()

    def _watch(self) -> None:
        while not self._ending:
            self._news.wait(self._look)
            self._news.clear()
            moment = time.monotonic()
            with self._lock:
                for work in list(self._work.values()):
                    # Once more every now and then: somebody may have caught it.
                    if moment >= work.due and moment - work.last >= min(work.seconds, _GRACE):
                        work.raised, work.last = True, moment
                        interrupt(work.thread)
