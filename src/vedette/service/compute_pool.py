"""Pool of processes for what requests compute; a task is killed at its deadline, and no tenant may use all processes.

Any thread may submit. A task that cannot run at once waits; the number of waiting tasks and their time are bounded.
"""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import orjson

from vedette.service.check_context import CheckContext
from vedette.service.compute_process import READY, error_of, serve
from vedette.service.errors import ComputationStopped, OverLimit, ServiceError, StoreBusy
from vedette.service.settings import ComputingSettings

_LOG: Final = logging.getLogger("vedette.service.compute_pool")
_STARTING: Final = 120.0  # seconds that a process may take to be ready: it may have to compile
_WHAT: Final = {
    "translate": "translating this rule",
    "check": "looking at this subscription",
    "try": "trying this subscription",
    "parse": "reading this text",
    "covering": "holding subscriptions against each other",
    "covered": "holding this subscription against the others",
    "machine": "drawing the machine of this pattern",
    "offer": "looking at this offer",
}
_MEND: Final = (
    "Hint: write less at once: fewer alternatives, repetitions and steps, a nearer horizon, fewer or smaller samples; "
    "`computing.seconds` and `computing.memory_bytes` of the settings are how much there is"
)


class Computations:
    """Queue of the tasks of requests, by tenant, and the processes that run them. Closing it kills what still runs."""

    def __init__(self, settings: ComputingSettings, operators: str | None = None) -> None:
        self._settings, self._operators = settings, operators
        self._lock = threading.Lock()
        self._waiting: list[_Computation] = []
        self._running: Counter[str] = Counter()
        self._idle: list[_ComputeProcess] = []
        self._busy: set[_ComputeProcess] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(settings.processes, thread_name_prefix="vedette-computing")
        self.stopped: Counter[str] = Counter()  # by task
        self.refused = 0

    def submit(self, tenant: str, task: str, stream: str, grounds: CheckContext, **given: Any) -> Future[Any]:
        """Submit a task; the future has its result, ComputationStopped or the error that it raised.

        OverLimit or StoreBusy if too many tasks wait.
        """
        job = _Computation(
            tenant,
            task,
            orjson.dumps({"task": task, "stream": stream, "grounds": grounds.plain(), **given}, default=list),
        )
        with self._lock:
            if self._closed:
                raise StoreBusy("the service ends")
            self._waiting = [each for each in self._waiting if not each.future.cancelled()]
            mine = sum(each.tenant == tenant for each in self._waiting)
            if mine >= self._settings.waiting:
                self.refused += 1
                raise OverLimit(
                    f"{mine} requests of the tenant wait to be computed already\nHint: send fewer at a time",
                    retry_after=self._settings.seconds,
                )
            if len(self._waiting) >= 8 * self._settings.waiting:
                self.refused += 1
                raise StoreBusy("too many requests wait to be computed\nHint: try again later", retry_after=1)
            self._waiting.append(job)
            self._begin()
        return job.future

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return len(self._waiting)

    def _begin(self) -> None:
        """Start the tasks that may run now; a tenant gets all processes but one (or the only one)."""
        while (job := self._next()) is not None:
            self._threads.submit(self._run, job)

    def _next(self) -> _Computation | None:
        """Take a task that may run now; None if there is none."""
        share = max(1, self._settings.processes - 1)
        if self._closed or self._running.total() >= self._settings.processes:
            return None
        for job in list(self._waiting):
            if self._running[job.tenant] < share:
                self._waiting.remove(job)
                if job.future.set_running_or_notify_cancel():
                    self._running[job.tenant] += 1
                    return job
        return None

    def _run(self, first: _Computation) -> None:
        """Run a task, and in the same thread those that may run after it: to wake another thread takes longer."""
        job: _Computation | None = first
        while job is not None:
            self._compute(job)
            with self._lock:
                self._running[job.tenant] -= 1
                self._running = +self._running
                job = self._next()

    def _compute(self, job: _Computation) -> None:
        try:
            if time.monotonic() - job.since > 2 * self._settings.seconds:
                raise StoreBusy("too many requests wait to be computed\nHint: try again later", retry_after=1)
            found = self._found(job)
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(found)

    def _found(self, job: _Computation) -> Any:
        answer = orjson.loads(self._asked(job))
        if "error" in answer:
            raise error_of(answer["error"])
        if "memory" in answer:
            raise self._stopped(job, f"needs more than {self._settings.memory_bytes:,} bytes of memory")
        if "failed" in answer:
            raise RuntimeError(f"{_WHAT[job.task]} failed:\n{answer['failed']}")
        return answer["found"]

    def _asked(self, job: _Computation) -> bytes:
        try:
            process = self._process()
        except EOFError:
            _LOG.error("a process to compute in ended while it began: standard error says why")
            raise StoreBusy("no process to compute in has begun\nHint: try again later", retry_after=1) from None
        done = False
        try:
            answer = process.ask(job.asked, self._settings.seconds)
            done = answer is not None
            if answer is None:
                raise self._stopped(job, f"took longer than {self._settings.seconds:g} s")
            return answer
        except (EOFError, OSError):
            raise self._stopped(job, "ended its process") from None
        finally:
            with self._lock:
                self._busy.discard(process)
                keep = done and not self._closed
                if keep:
                    self._idle.append(process)
            if not keep:
                process.kill()

    def _process(self) -> _ComputeProcess:
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
                if process is not None:
                    self._busy.add(process)
            if process is None:
                process = _ComputeProcess(self._operators, self._settings)
                with self._lock:
                    self._busy.add(process)
                    if self._closed:
                        process.end()
                process.begin()
            if process.alive:
                return process
            with self._lock:
                self._busy.discard(process)
            process.kill()

    def _stopped(self, job: _Computation, why: str) -> ServiceError:
        self.stopped[job.task] += 1
        _LOG.warning("stopped for tenant %s: %s %s", job.tenant, _WHAT[job.task], why)
        return ComputationStopped(f"{_WHAT[job.task]} {why}, and was stopped\n{_MEND}")

    def close(self) -> None:
        """End all processes with the tasks that they run."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            idle, self._idle = self._idle, []
            for process in self._busy:
                process.end()  # the thread that waits for it gets an EOFError, and cleans up
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(StoreBusy("the service ends"))
        for process in idle:
            process.kill()
        self._threads.shutdown()


class _Computation:
    def __init__(self, tenant: str, task: str, asked: bytes) -> None:
        self.tenant, self.task, self.asked = tenant, task, asked
        self.since = time.monotonic()
        self.future: Future[Any] = Future()


class _ComputeProcess:
    """One process, forked from a server that has imported everything, so that a new one starts quickly."""

    def __init__(self, operators: str | None, settings: ComputingSettings) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["vedette.service.compute_process"])
        self._pipe, theirs = context.Pipe()
        given = (theirs, operators, settings.memory_bytes, settings.seconds)
        self._process = context.Process(target=serve, args=given, name="vedette-computing", daemon=True)
        self._process.start()
        theirs.close()

    def begin(self) -> None:
        """Wait until the process is ready."""
        if not self._pipe.poll(_STARTING) or self._pipe.recv_bytes() != READY:
            self.kill()
            raise RuntimeError("a process to compute in did not start")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def ask(self, asked: bytes, seconds: float) -> bytes | None:
        """Send a task and wait for its result; None if that does not come in time."""
        self._pipe.send_bytes(asked)
        return self._pipe.recv_bytes() if self._pipe.poll(seconds) else None

    def end(self) -> None:
        """Kill the process, whatever it does."""
        with suppress(OSError, ValueError):  # it has ended, and nothing is left of it
            self._process.kill()

    def kill(self) -> None:
        """Kill the process and release its resources; no thread may be waiting for its answer."""
        self.end()
        self._process.join()
        self._pipe.close()
