"""How are functions called that may not come back? In threads that are watched, and given up if need be.

A thread takes many steps in a row, and whoever waits looks only whether the one in progress takes too long: a limit
costs no change of threads per event.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vedette.operators.failures import Failure
from vedette.operators.giving_up import GivenUp, too_slow
from vedette.operators.operator import Operator

_T = TypeVar("_T")
_MOST_IDLE = 8  # threads that wait for something to do
_IDLE_SECONDS = 10.0


class _Job(Generic[_T]):
    """Steps from the first to the last, until somebody gives them up."""

    def __init__(self, step: Callable[[int], _T], first: int, count: int) -> None:
        self.done = threading.Event()
        self.results: list[_T] = []
        self.escaped: BaseException | None = None  # what no step is meant to catch, such as KeyboardInterrupt
        self._step, self._first, self._count = step, first, count
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._at = first
        self._given_up = self._ended = False

    def work(self) -> bool:
        """Takes the steps; whether they have been waited for."""
        try:
            for at in range(self._first, self._count):
                if not self._begin(at):
                    break
                self.results.append(self._step(at))
        except BaseException as error:
            self.escaped = error
        with self._lock:
            self._ended = True
            return not self._given_up

    def _begin(self, at: int) -> bool:
        with self._lock:
            if not self._given_up:
                self._at, self._started = at, time.monotonic()
            return not self._given_up

    def left(self, limit: float) -> float:
        """Seconds until the step in progress has taken too long."""
        return self._started + limit - time.monotonic()

    def give_up(self, limit: float, given_up: Callable[[], None]) -> list[_T] | None:
        """The results of the steps before the one that takes longer than the limit; None if none does."""
        with self._lock:
            if self._ended or self.left(limit) > 0:
                return None
            self._given_up = True
            given_up()
            return self.results[: self._at - self._first]


class Workers:
    """Threads for jobs. One that is given up ends when it comes back; none keeps Python from ending."""

    def __init__(self, given_up: GivenUp) -> None:
        self._given_up = given_up
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def run(self, operator: Operator, step: Callable[[int], _T], count: int, limit: float) -> list[_T | Failure]:
        """What each step gives. One that takes longer than the limit fails; the next one is taken by another thread."""
        outcomes: list[_T | Failure] = []
        while len(outcomes) < count:
            refusal = self._given_up.refusal(operator)
            if refusal is not None:
                return outcomes + [refusal] * (count - len(outcomes))
            job = _Job(step, len(outcomes), count)
            self._start(operator, job)
            given_up = self._watched(operator, job, limit)
            if given_up is None:
                outcomes += job.results
            else:
                outcomes += [*given_up, too_slow(limit)]
        return outcomes

    def _watched(self, operator: Operator, job: _Job[_T], limit: float) -> list[_T] | None:
        """What the job did until it was given up; None if it was not."""
        wait = limit
        try:
            while not job.done.wait(min(max(wait, 0.001), threading.TIMEOUT_MAX)):
                before = job.give_up(limit, lambda: self._given_up.add(operator))
                if before is not None:
                    return before
                wait = job.left(limit)
        except BaseException:  # such as KeyboardInterrupt: nobody waits for the job any more
            job.give_up(0, lambda: self._given_up.add(operator))
            raise
        if job.escaped is not None:
            raise job.escaped
        return None

    def _start(self, operator: Operator, job: _Job[_T]) -> None:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = _Worker(self)
            worker.start()
        worker.jobs.put((operator, job))

    def came_back(self, worker: _Worker, operator: Operator, awaited: bool) -> bool:
        """A job has ended; whether its thread may stay."""
        if not awaited:
            self._given_up.remove(operator)
            return False
        with self._lock:
            if len(self._idle) >= _MOST_IDLE:
                return False
            self._idle.append(worker)
            return True

    def retire(self, worker: _Worker) -> bool:
        """Takes an idle thread out; False if it is about to get a job."""
        with self._lock:
            if worker not in self._idle:
                return False
            self._idle.remove(worker)
            return True


class _Worker(threading.Thread):
    def __init__(self, workers: Workers) -> None:
        super().__init__(name="vedette-operator", daemon=True)
        self.jobs: queue.SimpleQueue[tuple[Operator, _Job[Any]]] = queue.SimpleQueue()
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
            # Only now, so that whoever waited finds the thread idle and needs no new one.
            job.done.set()
            if not stays:
                return
            del job  # an idle thread keeps no events alive
