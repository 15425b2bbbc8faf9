"""The service as a whole, without HTTP: its parts and their connections, start and end, periodic tasks."""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

import sqlalchemy as sa

from vedette.errors import InputError
from vedette.operators.registry import Operators
from vedette.service import clock
from vedette.service.compute_pool import Computations
from vedette.service.errors import ServiceError
from vedette.service.journal import Journal
from vedette.service.market import Market
from vedette.service.match_rates import Figures
from vedette.service.outbox import Outbox
from vedette.service.pump import Pump
from vedette.service.rights import Rights, StreamGrants
from vedette.service.sealing import Secrets
from vedette.service.settings import ServiceSettings, StreamSettings
from vedette.service.storage.database_lock import DatabaseLock
from vedette.service.storage.schema_migration import migrate
from vedette.service.storage.store import Store, translated_failures
from vedette.service.stream_engine import JournalBatch, Notices
from vedette.service.subscription_registry import Registry, SubscriptionChange
from vedette.service.tenants import ServiceStream, Streams, Tenants
from vedette.service.watchers import Watchers

_LOG: Final = logging.getLogger("vedette.service")
_HOUSEKEEPING: Final = 1.0  # seconds between two looks at the clock
_TIDYING: Final = 60.0  # seconds between two looks at what can be forgotten


class Service:
    """Subscriptions, events and notifications of one database, which one process at a time serves."""

    def __init__(self, settings: ServiceSettings, *, now: clock.Clock | None = None) -> None:
        self.settings = settings
        self.now = now = now or clock.Steady()
        self.operators = (
            Operators.installed() if settings.operators is None else Operators.read(Path(settings.operators))
        )
        self.store = Store(settings.store.url, synchronous=settings.store.synchronous)
        self._holding = DatabaseLock(self.store.engine)
        self.tenants = Tenants(self.store, now)
        self.streams = Streams(self.store, now)
        self.rights = Rights(self.store, self.streams)
        self.journal = Journal(self.store, now)
        self.outbox = Outbox(self.store, settings.limits.queue, now)
        self.pump = Pump(
            self.store,
            self.journal,
            self.outbox,
            self.rights,
            operators=self.operators,
            now=now,
            heard=self._heard,
            heard_later=self._heard_later,
            limits=settings.limits,
        )
        self.set_aside = self.pump.set_aside
        self.figures, self.watching = Figures(now), Watchers(self.pump.standing, self.rights.may)
        self.market = Market(
            self.store,
            self.streams,
            self.rights,
            self.outbox,
            settings.limits,
            now,
            self.pump.quarantine,
            self.pump.within,
            self.pump.failures,
        )
        self.secrets = Secrets.from_environment()
        self.registry = Registry(
            self.store, self.streams, self.outbox, settings.limits, self._changed, now, self.operators, self.secrets
        )
        self.registry.check_want = self.market.check_want
        self.computations = Computations(settings.computing, settings.operators)
        self._ending = threading.Event()
        self._keeper: threading.Thread | None = None

    def start(self) -> Self:
        """Migrate the database, restore all state, and begin to match.

        StoreFailed if another process serves the database.
        """
        _check_may_start()
        self._holding.take()
        try:
            self._begin()
        except BaseException:
            self._holding.release()
            raise
        return self

    def _begin(self) -> None:
        with translated_failures():
            migrate(self.store.engine)
        self.store.start()
        if sealed := self.registry.seal_secrets():
            _LOG.info("%s secrets of webhooks were encrypted", sealed)
        self.streams.load()
        self.rights.load()
        for name, wanted in self._wanted_streams().items():
            self.add_stream(
                name,
                schema=wanted.attributes,
                anonymous=wanted.anonymous,
                lateness=int(wanted.lateness * clock.SECOND),
                owner=wanted.owner,
                rights={"publish": wanted.publish, "subscribe": wanted.subscribe, "read": wanted.read},
            )
        for stream in self.streams.all():
            self.pump.open(stream, self.registry)
            self.market.open(stream)
        self.streams.made = self._made
        self.journal.start(self.pump.wake)
        self.pump.start()
        self.market.start()
        self._keeper = threading.Thread(target=self._keep, name="vedette-keeper", daemon=True)
        self._keeper.start()

    def _wanted_streams(self) -> Mapping[str, StreamSettings]:
        """Streams to be made by the settings; the default one is made once, and stays as it was changed since."""
        named, known = self.settings.streams, {stream.name for stream in self.streams.all()}
        if "streams" in self.settings.model_fields_set:
            return named
        return {name: wanted for name, wanted in named.items() if name not in known}

    def add_stream(
        self,
        name: str,
        *,
        schema: dict[str, object] | None,
        anonymous: bool,
        lateness: int,
        owner: str | None = None,
        rights: StreamGrants = MappingProxyType({}),
    ) -> ServiceStream:
        """Make or change a stream. Owner and rights that are not given stay as they are.

        Without an owner a new one is shared by all tenants; with its first owner it is the owner's alone.
        """
        there = self.streams.find(name)
        keeps = there is not None and (there.owner is not None or owner is None)
        if there is not None and owner is None:
            owner = there.owner
        shared = None if keeps else owner is None
        settle = partial(self.rights.settle, name, rights, shared=shared)
        same = keeps and not self.rights.would_change(name, rights)
        return self.streams.put(
            name,
            schema=schema,
            anonymous=anonymous,
            lateness=lateness,
            owner=owner,
            settle=None if same else settle,
        )

    def _made(self, stream: ServiceStream) -> None:
        """Add a new stream to matching; called in the thread that writes."""
        self.pump.begin(stream)
        self.market.begin(stream)

    def _changed(self, change: SubscriptionChange) -> None:
        """Hand a change of a subscription to all parts that need it, in order."""
        self.figures.changed(change)
        self.pump.change(change)
        self.market.change(change)

    def _heard(self, stream: ServiceStream, batch: JournalBatch, told: Sequence[Notices]) -> None:
        """A batch was matched: count it, and show it to watchers."""
        self.figures.count(stream.name, batch.numbers, told)
        self.watching.heard(stream, batch, told)

    def _heard_later(self, stream: ServiceStream, batch: JournalBatch, told: Sequence[Notices]) -> None:
        """The same events were matched with subscriptions that call operators: count and show these outcomes."""
        self.figures.count_told(told)
        self.watching.heard_later(stream, batch, told)

    def close(self) -> None:
        """Match what was accepted, write all state, and end."""
        self._ending.set()
        self.computations.close()
        if self._keeper is not None:
            self._keeper.join()
        self.market.close()
        self.pump.close()
        self.store.close()
        self._holding.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def trouble(self) -> str | None:
        """Why the service cannot do its work, or None; it asks the database."""
        if self.pump.failure is not None:
            return self.pump.failure
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
        """Check the database lock; writes are refused while another process may write."""
        self._holding.keep()
        self.store.barred = self._holding.lost
        self.store.settle()

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
        """Delete events and notifications that were kept long enough; returns how many."""
        kept = self.settings.store
        events = self.journal.forget(self.now() - int(kept.keep_events * clock.SECOND), self.pump.least)
        self.set_aside.forget(self.now() - int(kept.keep_events * clock.SECOND))
        if self.pump.behind <= 0:
            self.outbox.forget_gone()
        return events + self.outbox.forget(self.now() - int(kept.keep_notifications * clock.SECOND))


def _check_may_start() -> None:
    """InputError in a child process of a service: it imports the program first, which must not start another one."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise InputError(
            "a service starts processes, which import your program first, and this one starts a service when imported\n"
            'Hint: start it below `if __name__ == "__main__":`'
        )
