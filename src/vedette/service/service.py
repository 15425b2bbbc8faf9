"""The service as a whole, without HTTP: what is wired to what, how it starts and ends, what it does by the clock."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

import sqlalchemy as sa

from vedette.operators.registry import Operators
from vedette.service import clock
from vedette.service.engine import Batch, Told
from vedette.service.errors import ServiceError
from vedette.service.figures import Figures
from vedette.service.journal import Journal
from vedette.service.market import Market
from vedette.service.outbox import Outbox
from vedette.service.pump import Pump
from vedette.service.registry import Change, Registry
from vedette.service.settings import Settings, StreamSettings
from vedette.service.storage.holding import Holding
from vedette.service.storage.migrating import migrate
from vedette.service.storage.store import Store, failures_told
from vedette.service.tenants import Stream, Streams, Tenants
from vedette.service.watching import Watching

_LOG: Final = logging.getLogger("vedette.service")
_HOUSEKEEPING: Final = 1.0  # seconds between two looks at the clock
_TIDYING: Final = 60.0  # seconds between two looks at what can be forgotten


class Service:
    """Subscriptions, events and notifications of one database. One process at a time has it."""

    def __init__(self, settings: Settings, *, now: clock.Clock = clock.now) -> None:
        self.settings = settings
        self._now = now
        self.operators = (
            Operators.installed() if settings.operators is None else Operators.read(Path(settings.operators))
        )
        self.store = Store(settings.store.url, synchronous=settings.store.synchronous)
        self._holding = Holding(self.store.engine)
        self.tenants = Tenants(self.store, now)
        self.streams = Streams(self.store, now)
        self.journal = Journal(self.store, now)
        self.outbox = Outbox(self.store, settings.limits.queue, now)
        self.pump = Pump(self.store, self.journal, self.outbox, operators=self.operators, now=now, heard=self._heard)
        self.figures, self.watching = Figures(now), Watching(self.pump.standing)
        self.market = Market(self.store, self.streams, self.outbox, settings.limits, now)
        self.registry = Registry(
            self.store, self.streams, self.outbox, settings.limits, self._changed, now, self.operators
        )
        self._ending = threading.Event()
        self._keeper: threading.Thread | None = None

    def start(self) -> Self:
        """Bring the database up to date, take up where it was left, begin to match.

        StoreFailed if another process serves it.
        """
        self._holding.take()
        try:
            self._begin()
        except BaseException:
            self._holding.release()
            raise
        return self

    def _begin(self) -> None:
        with failures_told():
            migrate(self.store.engine)
        self.store.start()
        self.streams.load()
        for name, wanted in self._wanted_streams().items():
            self.streams.put(
                name,
                schema=wanted.attributes,
                anonymous=wanted.anonymous,
                lateness=int(wanted.lateness * clock.SECOND),
            )
        for stream in self.streams.all():
            self._open(stream)
        self.journal.start(self.pump.wake)
        self.pump.start()
        self._keeper = threading.Thread(target=self._keep, name="vedette-keeper", daemon=True)
        self._keeper.start()

    def _wanted_streams(self) -> Mapping[str, StreamSettings]:
        """Streams that the settings name; the one that is there by default stays as it was made, or changed since."""
        named, known = self.settings.streams, {stream.name for stream in self.streams.all()}
        if "streams" in self.settings.model_fields_set:
            return named
        return {name: wanted for name, wanted in named.items() if name not in known}

    def add_stream(self, name: str, *, schema: dict[str, object] | None, anonymous: bool, lateness: int) -> Stream:
        """A stream that is made while the service runs."""
        known = {stream.name for stream in self.streams.all()}
        made = self.streams.put(name, schema=schema, anonymous=anonymous, lateness=lateness)
        if name not in known:
            self._open(made)
        return made

    def _open(self, stream: Stream) -> None:
        self.pump.open(stream, self.registry)
        self.market.open(stream)

    def _changed(self, change: Change) -> None:
        """A subscription came, changed or went: whoever has to know hears of it in order."""
        self.figures.changed(change)
        self.pump.change(change)
        self.market.change(change)

    def _heard(self, stream: Stream, batch: Batch, told: list[Told]) -> None:
        """A batch was matched: it is counted, and shown to those who watch."""
        self.figures.count(stream.name, batch.numbers, told)
        self.watching.heard(stream, batch, told)

    def close(self) -> None:
        """Match what was accepted, write where everything stands, and end."""
        self._ending.set()
        if self._keeper is not None:
            self._keeper.join()
        self.pump.close()
        self.store.close()
        self._holding.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def trouble(self) -> str | None:
        """Why the service cannot do its work, if it cannot: it asks the database."""
        if self.pump.failure is not None:
            return f"matching has ended: {self.pump.failure}"
        if self._holding.lost is not None:
            return self._holding.lost
        if not self.pump.warm:
            return "matching begins soon: its loops are being compiled, once for this machine"
        try:
            self.store.read(lambda connection: connection.execute(sa.select(1)).scalar_one())
        except ServiceError as error:
            return str(error).partition("\n")[0]
        return None

    # ------------------------------------------------------------ by the clock

    def _hold(self) -> None:
        """Nothing is written while another process may write."""
        self._holding.keep()
        self.store.barred = self._holding.lost

    def _keep(self) -> None:
        tasks: list[tuple[float, Callable[[], object]]] = [
            (_HOUSEKEEPING, self._hold),
            (_HOUSEKEEPING, self.registry.expire),
            (_HOUSEKEEPING, self.market.expire),
            (_TIDYING, self.tidy),
        ]
        due = [0.0] * len(tasks)
        while not self._ending.wait(_HOUSEKEEPING):
            for place, (every, task) in enumerate(tasks):
                if time.monotonic() < due[place]:
                    continue
                due[place] = time.monotonic() + every
                try:
                    task()
                except ServiceError as error:
                    _LOG.warning("housekeeping waits: %s", error)

    def tidy(self) -> int:
        """Forget events and notifications whose time is over; how many there were."""
        kept = self.settings.store
        events = self.journal.forget(self._now() - int(kept.keep_events * clock.SECOND), self.pump.least)
        if self.pump.behind <= 0:
            self.outbox.forget_gone()
        return events + self.outbox.forget(self._now() - int(kept.keep_notifications * clock.SECOND))
