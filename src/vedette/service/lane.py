"""The thread of a lane: it matches while there are events, gives access to its engine, and survives failures."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from vedette.service.errors import StoreBusy
from vedette.service.kernel_warm_up import warm_up, warm_up_operators
from vedette.service.lane_context import BatchListener, LaneContext
from vedette.service.lane_flow import STATE_EVERY, TRIES, Flow
from vedette.service.quarantine import reason_of
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import SubscriptionChange
from vedette.service.tenants import ServiceStream

_LOG: Final = logging.getLogger("vedette.service.pump")
_FEW: Final = 64  # events; where fewer came, others are waited for a moment: alone each costs ten times as much
_MOMENT: Final = 0.01  # seconds
_PAUSE: Final = 0.5  # seconds before a retry, after a failure that could not be contained
_LONGEST_PAUSE: Final = 30.0  # where that fails again and again

LookResult = TypeVar("LookResult")


class Lane(Flow):
    """A flow with its own thread. `change`, `wake` and `look` may be called by any thread."""

    def __init__(
        self, shared: LaneContext, stream: ServiceStream, name: str, heard: BatchListener | None = None
    ) -> None:
        super().__init__(shared, stream, name, heard)
        self.warm = False  # until then the loops of matching are being loaded, or compiled
        self.trouble: str | None = None  # why it does not get on, although it tries
        self.ended = False
        self._failed = 0  # times in a row
        self._wake = threading.Event()
        self._looks: deque[tuple[Callable[[StreamEngine], Any], Future[Any]]] = deque()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------ beginning and ending

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None:
            name = f"vedette-{'pump' if self.is_plain else self.name}-{self.stream.name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def join(self, seconds: float | None) -> bool:
        """Wait until the thread has ended; False if it has not in time."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
            self._thread = None
        self.engine.close()
        return True

    def change(self, change: SubscriptionChange) -> None:
        """Add a change of a subscription; to be called in the order in which changes were written to the database."""
        super().change(change)
        self._wake.set()

    def wake(self) -> None:
        """Wake the thread: there are new events, or it is to end."""
        self._wake.set()

    @property
    def stuck(self) -> float | None:
        """Seconds for which it has been in work that does not end and cannot be interrupted; None if it is not."""
        thread = self._thread
        return None if thread is None else self._shared.watchdog.stuck(thread.ident or 0)

    @property
    def failure(self) -> str | None:
        """Why the lane matches nothing at present; None if it works."""
        if self.ended and not self._shared.ending:
            return f"matching of the stream {self.stream.name!r} has ended: {self.trouble}"
        if (seconds := self.stuck) is not None:
            return f"matching of the stream {self.stream.name!r} has been in one call for {seconds:.0f} s too long"
        if self._failed >= TRIES:
            return f"matching of the stream {self.stream.name!r} fails again and again: {self.trouble}"
        return None

    def look(self, what: Callable[[StreamEngine], LookResult]) -> Future[LookResult]:
        """Let the lane's thread call a function with its engine, between two batches; no other thread may use it."""
        found: Future[Any] = Future()
        self._looks.append((what, found))
        self._wake.set()
        if self.ended:
            self._show()
        return found

    def _show(self) -> None:
        while True:
            try:
                what, found = self._looks.popleft()
            except IndexError:  # none is left, or another thread was quicker: at the end all may show
                return
            if not found.set_running_or_notify_cancel():
                continue
            try:
                if self.ended:
                    raise StoreBusy("matching has ended\nHint: see /readyz")
                found.set_result(what(self.engine))
            except Exception as error:
                found.set_exception(error)

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            (warm_up if self.is_plain else warm_up_operators)()
            self.warm = True
            while self._turn():
                pass
        finally:
            self.ended = True
            self._show()

    def _turn(self) -> bool:
        """Match the next events, or wait for more; False at the end."""
        self._wake.clear()
        ending, changing = self._shared.ending, bool(self.changes)
        try:
            moved = self.advance()
            self._failed, self.trouble = 0, None
        except BaseException as error:  # what was not contained: it must not end the matching
            return self._recover(error)
        self._show()
        if moved and not (ending and not self.is_plain):
            if moved < _FEW and not ending and self.is_plain:
                time.sleep(_MOMENT)
            return True
        if ending:
            self.end()
            return False
        if changing:  # others may come: to add many at once takes a fraction of the time of one after the other
            time.sleep(_MOMENT)
        self._wake.wait(timeout=STATE_EVERY)
        return True

    def _recover(self, error: BaseException) -> bool:
        """Wait, and go back to the last written state, to try again; False if the service ends."""
        if self._shared.ending:
            _LOG.error("a lane ends with an error", extra=self._says(), exc_info=error)
            return False
        self._failed += 1
        self.trouble = reason_of(error)
        self._shared.failures["lane"] += 1
        _LOG.error("a lane failed and goes back", extra=self._says(), exc_info=error)
        self.spoil(self.read + 1)
        self._show()
        self._wake.wait(min(_PAUSE * 2 ** (self._failed - 1), _LONGEST_PAUSE) if self._failed > 1 else 0)
        return True
