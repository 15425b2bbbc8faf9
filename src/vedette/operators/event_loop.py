"""Run async operators on one event loop in a thread of its own, several at a time, each with a time limit."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from vedette.operators.failures import AbandonedCalls, Failure, failed, too_slow
from vedette.operators.operator import Operator

_T = TypeVar("_T")
_GRACE = 0.5  # seconds that a function has to end when it is cancelled


class _LoopCalls(Generic[_T]):
    """The calls of one run: which have begun, and their results, until the run is given up."""

    def __init__(self, call: Callable[[int], Awaitable[_T]], numbers: Iterable[int]) -> None:
        self.left = list(numbers)
        self.left.reverse()
        self.outcomes: dict[int, _T | Failure] = {}
        self.begun: list[int] = []
        self.escaped: BaseException | None = None  # what is not the function's to fail with, such as KeyboardInterrupt
        self._call = call
        self._lock = threading.Lock()
        self._given_up = False

    def next(self) -> int | None:
        """The next call to make; None if there is none, or the run was given up."""
        with self._lock:
            if not self.left or self._given_up or self.escaped is not None:
                return None
            self.begun.append(self.left.pop())
            return self.begun[-1]

    def told(self, number: int, outcome: _T | Failure) -> None:
        """Record the result of a call."""
        with self._lock:
            if not self._given_up:
                self.outcomes[number] = outcome

    def give_up(self) -> None:
        """Begin no more calls, and ignore results that still come."""
        with self._lock:
            self._given_up = True

    async def made(self, number: int) -> _T | Failure:
        """Make one call and return its result; exceptions become failures, since they would end the loop."""
        try:
            return await self._call(number)
        except (KeyboardInterrupt, SystemExit) as error:
            self.escaped = error
            return failed(error)
        except (Exception, asyncio.CancelledError) as error:
            return failed(error)


class EventLoop:
    """The event loop, started on first use. One that a function blocks is abandoned and replaced."""

    def __init__(self, given_up: AbandonedCalls) -> None:
        self._given_up = given_up
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns: dict[Operator, asyncio.Semaphore] = {}
        self._lock = threading.Lock()

    def run(
        self, operator: Operator, call: Callable[[int], Awaitable[_T]], count: int, limit: float | None
    ) -> list[_T | Failure]:
        """The result of each call; at most `operator.concurrency` run at a time."""
        outcomes: dict[int, _T | Failure] = {}
        left: Iterable[int] = range(count)
        while len(outcomes) < count:
            calls = _LoopCalls(call, left)
            blocked = self._attempt(operator, calls, limit)
            if calls.escaped is not None:
                raise calls.escaped
            if blocked and limit is not None:
                outcomes |= dict.fromkeys(calls.begun, too_slow(limit))
            outcomes |= calls.outcomes
            left = calls.left[::-1]
        return [outcomes[number] for number in range(count)]

    def close(self) -> None:
        """End the loop and its thread."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _attempt(self, operator: Operator, calls: _LoopCalls[Any], limit: float | None) -> bool:
        """Make the calls; True if the loop was blocked and has been abandoned."""
        loop = self._started()
        future = asyncio.run_coroutine_threadsafe(self._all(operator, calls, limit), loop)
        try:
            if self._ended(future, loop, limit):
                future.result()
                return False
            calls.give_up()
        except BaseException:  # such as KeyboardInterrupt: no thread waits for the calls any more
            calls.give_up()
            future.cancel()
            raise
        self._given_up.add(operator)
        loop.call_soon_threadsafe(self._came_back, operator, loop)
        with self._lock:
            if self._loop is loop:
                self._loop = None
        return True

    def _ended(
        self, future: concurrent.futures.Future[None], loop: asyncio.AbstractEventLoop, limit: float | None
    ) -> bool:
        """Wait until the calls have ended; False once the loop has not responded for longer than the limit."""
        turned = threading.Event()
        while True:
            turned.clear()
            loop.call_soon_threadsafe(turned.set)
            wait = None if limit is None else min(limit + _GRACE, threading.TIMEOUT_MAX)
            if concurrent.futures.wait([future], wait).done:
                return True
            if not turned.is_set():
                return False

    def _came_back(self, operator: Operator, loop: asyncio.AbstractEventLoop) -> None:
        self._given_up.remove(operator)
        loop.stop()

    async def _all(self, operator: Operator, calls: _LoopCalls[Any], limit: float | None) -> None:
        turns = self._turns.setdefault(operator, asyncio.Semaphore(operator.concurrency))

        async def lane() -> None:
            while True:
                async with turns:
                    number = calls.next()
                    if number is None:
                        return
                    refusal = self._given_up.refusal(operator)
                    calls.told(number, refusal or await self._one(operator, calls, number, limit))

        async with asyncio.TaskGroup() as lanes:
            for _ in range(min(operator.concurrency, len(calls.left))):
                lanes.create_task(lane())

    async def _one(self, operator: Operator, calls: _LoopCalls[_T], number: int, limit: float | None) -> _T | Failure:
        task = asyncio.create_task(calls.made(number))
        try:
            await asyncio.wait({task}, timeout=limit)
        finally:
            task.cancel()  # nothing, if it has ended
        if task.done() or limit is None:
            return task.result()
        await asyncio.wait({task}, timeout=_GRACE)
        if not task.done():  # it does not want to end
            self._given_up.add(operator)
            task.add_done_callback(lambda _: self._given_up.remove(operator))
        return too_slow(limit)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._turns = {}  # a semaphore belongs to its loop
                threading.Thread(target=_turn, args=(self._loop,), name="vedette-operators", daemon=True).start()
            return self._loop


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))  # so that what is cancelled hears of it
    finally:
        loop.close()
