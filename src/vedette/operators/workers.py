"""Call functions that may not return, in threads that are watched and abandoned if need be.

A call that is given up is interrupted, as a task of asyncio is cancelled: an endless loop of Python ends, a call into
compiled code runs until it returns.

A thread takes many steps in a row, and the waiting thread only checks whether the current step takes too long: a limit
costs no change of threads per event.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vedette.operators.failures import AbandonedCalls, Failure, too_slow
from vedette.operators.operator import Operator
from vedette.operators.thread_interrupt import TimeLimitExceeded, await_interrupt, interrupt

_T = TypeVar("_T")
_MOST_IDLE = 8  # threads that wait for something to do
_IDLE_SECONDS = 10.0
_LOOK = 0.1  # seconds; the waiting thread can be interrupted so often


class _OperatorJob(Generic[_T]):
    """A sequence of steps, until it is given up."""

    def __init__(self, step: Callable[[int], _T], first: int, count: int) -> None:
        self.done = threading.Event()
        self.results: list[_T] = []
        self.escaped: BaseException | None = None  # what no step is meant to catch, such as KeyboardInterrupt
        self._step, self._first, self._count = step, first, count
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._at = first
        self._thread: int | None = None  # that takes the steps
        self._given_up = self._ended = False

    def work(self) -> bool:
        """Take the steps; return whether somebody still waited at the end."""
        self._thread = threading.get_ident()
        try:
            for at in range(self._first, self._count):
                if not self._begin(at):
                    break
                self.results.append(self._step(at))
        except BaseException as error:
            self.escaped = error
        try:
            return self._end()
        except TimeLimitExceeded:  # it came when the step had ended
            return self._end()

    def _end(self) -> bool:
        with self._lock:
            self._ended = True
            awaited = not self._given_up
        if not awaited:
            await_interrupt()
        return awaited

    def _begin(self, at: int) -> bool:
        with self._lock:
            if not self._given_up:
                self._at, self._started = at, time.monotonic()
            return not self._given_up

    def left(self, limit: float) -> float:
        """Seconds until the current step exceeds its limit."""
        return self._started + limit - time.monotonic()

    def give_up(self, limit: float, given_up: Callable[[], None]) -> list[_T] | None:
        """The results of the steps before the one that exceeds the limit; None if none does."""
        with self._lock:
            if self._ended or self.left(limit) > 0:
                return None
            self._given_up = True
            given_up()
            if self._thread is not None:
                interrupt(self._thread)
            return self.results[: self._at - self._first]


class Workers:
    """Threads for jobs. An abandoned one ends when its call returns; none keeps Python from exiting."""

    def __init__(self, given_up: AbandonedCalls) -> None:
        self._given_up = given_up
        self._idle: list[_WorkerThread] = []
        self._lock = threading.Lock()

    def run(self, operator: Operator, step: Callable[[int], _T], count: int, limit: float) -> list[_T | Failure]:
        """The result of each step. One that exceeds the limit fails; the next one is taken by another thread."""
        outcomes: list[_T | Failure] = []
        while len(outcomes) < count:
            refusal = self._given_up.refusal(operator)
            if refusal is not None:
                return outcomes + [refusal] * (count - len(outcomes))
            job = _OperatorJob(step, len(outcomes), count)
            self._start(operator, job)
            given_up = self._watched(operator, job, limit)
            if given_up is None:
                outcomes += job.results
            else:
                outcomes += [*given_up, too_slow(limit)]
        return outcomes

    def _watched(self, operator: Operator, job: _OperatorJob[_T], limit: float) -> list[_T] | None:
        """The results of the job until it was given up; None if it was not."""
        wait = limit
        try:
            while not job.done.wait(min(max(wait, 0.001), _LOOK)):
                before = job.give_up(limit, lambda: self._given_up.add(operator))
                if before is not None:
                    return before
                wait = job.left(limit)
        except BaseException:  # such as KeyboardInterrupt: no thread waits for the job any more
            job.give_up(0, lambda: self._given_up.add(operator))
            raise
        if job.escaped is not None:
            raise job.escaped
        return None

    def _start(self, operator: Operator, job: _OperatorJob[_T]) -> None:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = _WorkerThread(self)
            worker.start()
        worker.jobs.put((operator, job))

    def came_back(self, worker: _WorkerThread, operator: Operator, awaited: bool) -> bool:
        """Note that a job has ended; return whether its thread may stay."""
        if not awaited:
            self._given_up.remove(operator)
            return False
        with self._lock:
            if len(self._idle) >= _MOST_IDLE:
                return False
            self._idle.append(worker)
            return True

    def retire(self, worker: _WorkerThread) -> bool:
        """Remove an idle thread; False if it is about to get a job."""
        with self._lock:
            if worker not in self._idle:
                return False
            self._idle.remove(worker)
            return True


class _WorkerThread(threading.Thread):
    def __init__(self, workers: Workers) -> None:
        super().__init__(name="vedette-operator", daemon=True)
        self.jobs: queue.SimpleQueue[tuple[Operator, _OperatorJob[Any]]] = queue.SimpleQueue()
        self._workers = workers

    def run(self) -> None:
        while True:
            try:
                operator, job = self.jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._workers.retire(self):
                    return
                continue
            stays = self._workers.came_back(self, operator, job.work())
            # Only now, so that the thread that waited finds this one idle and needs no new one.
            job.done.set()
            if not stays:
                return
            del job  # an idle thread keeps no events alive
