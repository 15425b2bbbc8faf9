"""The newest version of a store's subscriptions; new versions are compiled in the background.

The code that matches calls `current()` before each piece of work. Its result never changes and never waits for a
compilation: a new version takes its place when it is ready. If the store cannot be read, the old version stays; single
bad subscriptions are set aside, or, where it is strict, the version that has them is refused.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import FileError, VedetteError
from vedette.io.loading import load_rows
from vedette.io.operator_calls import OperatorCalls
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem, set_aside
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows
from vedette.operators.calling import Calling
from vedette.patterns.forecasts.model import Model
from vedette.schema.schema import Schema
from vedette.spark.stores import StoreChanging, SubscriptionStore

_log = logging.getLogger("vedette.spark")

_SOON_S = 1.0  # when a store that is being written is looked at again
_DIGITS = 12  # of a version
_PATIENCE = 10  # looks at a store that is being written before the first version is given up


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """A compiled set of subscriptions."""

    engine: Engine
    version: str  # twelve hexadecimal digits of what is subscribed to
    loaded_at: dt.datetime
    options: ShardOptions | None = None  # how patterns are followed, where they are
    origins: Mapping[str, str] = field(default_factory=dict)  # id -> where it comes from, as JSON, if it says so
    left_out: int = 0  # rules that cannot be matched, of a folder of rules
    set_aside: int = 0  # subscriptions that are bad


class CompiledVersion(Protocol):
    """What is made of the subscriptions of a store."""

    @property
    def version(self) -> str:
        """A name that the same subscriptions have, and no others."""


VersionType = TypeVar("VersionType", bound=CompiledVersion)


@dataclass(frozen=True, slots=True)
class VersionRefusal:
    """A state of the store that was refused, and all that is wrong with it."""

    store: str
    reason: str
    kept: str  # the version that goes on

    def __str__(self) -> str:
        return f"the new subscriptions in {self.store} are refused; version {self.kept} goes on\n{self.reason}"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def watch(
    store: SubscriptionStore,
    schema: Schema,
    refresh: float | None = None,
    *,
    following: ShardOptions | None = None,
    calls: OperatorCalls | None = None,
    calling: Calling | None = None,
    model: Model | None = None,
    accepted: Callable[[EngineVersion], None] | None = None,
    refused: Callable[[VersionRefusal], None] | None = None,
    aside: Callable[[str], None] | None = None,
    strict: bool = False,
    clock: Callable[[], dt.datetime] = _now,
) -> EngineVersions:
    """Load the subscriptions of a store, and look for new ones every `refresh` seconds (None: never).

    Where patterns are followed, `following` says how, and their forecasts come from the `model`; where operators are
    called, `calls` has them, and `calling` calls them. Bad subscriptions
    are set aside, unless all are bad, and `aside` is called with them, again whenever they are others (without it, they
    are logged); where it is `strict`, they refuse a version. What refuses the first version is raised. For later ones
    `accepted` or, once each, `refused` is called, in the thread that watches. To be stopped, or used as a context.
    """
    told = VersionListener(accepted, refused, aside)
    versions = EngineVersions(store, schema, following, calls, calling, model, told=told, strict=strict, clock=clock)
    versions.begin(refresh)
    return versions


@dataclass(frozen=True, slots=True)
class VersionListener(Generic[VersionType]):
    """Callbacks for new versions, refused ones, and subscriptions that are set aside."""

    accepted: Callable[[VersionType], None] | None = None
    refused: Callable[[VersionRefusal], None] | None = None
    aside: Callable[[str], None] | None = None


class VersionWatcher(Generic[VersionType]):
    """Keeps the newest good version of what a store holds, whatever is made of it."""

    def __init__(
        self,
        store: SubscriptionStore,
        schema: Schema,
        *,
        told: VersionListener[VersionType],
        strict: bool,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._store, self._schema, self._clock = store, schema, clock
        self._told, self._strict = told, strict
        self._aside = ""  # the last message on subscriptions that are set aside
        self._current: VersionType | None = None
        self._content = ""  # hash of the subscriptions that the current version has
        self._due: dt.datetime | None = None  # when the next of them expires
        self._stamp: Hashable | None = None  # of the store as it was last judged, good or bad
        self._digest: str | None = None
        self._good: str | None = None  # the digest that the current version comes from
        self._complaint: str | None = None  # the last reason of a refusal
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def current(self) -> VersionType:
        """The newest good version."""
        if self._current is None:
            raise RuntimeError("no version has been loaded")
        return self._current

    def begin(self, refresh: float | None) -> None:
        """Load the first version in this thread; the next ones in the background."""
        for last in [*[False] * (_PATIENCE - 1), True]:
            try:
                # No stamp: a file that was written just now is not waited for, only one that changes meanwhile.
                digest = self._store.digest()
                self._load(digest, "nothing was started")
                break
            except StoreChanging:
                if last:
                    name = self._store.name
                    raise FileError(f"{name} keeps changing\nHint: write beside it, then rename") from None
                self._stopped.wait(_SOON_S)
        if refresh is not None:
            self._thread = threading.Thread(
                target=self._watch, args=(refresh,), name="vedette-subscriptions", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop watching; `current()` stays as it is."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------ in the background

    def _watch(self, refresh: float) -> None:
        pause = self._pause(refresh)
        while not self._stopped.wait(pause):
            settled = self.look()
            pause = self._pause(refresh) if settled else min(refresh, _SOON_S)

    def _pause(self, refresh: float) -> float:
        """Seconds until the next look: fewer if a subscription expires before."""
        now = self._clock()
        if self._due is None or self._due <= now:  # a look for expired ones failed: no retry at once
            return refresh
        return min(refresh, (self._due - now).total_seconds())

    def look(self) -> bool:
        """Look for a new version, and take it over or refuse it; False if one is just being written."""
        expired = self._due is not None and self._due <= self._clock()
        try:
            stamp = self._store.stamp()
            if stamp is not None and stamp == self._stamp and not expired:
                return True
            digest = self._store.digest()
            if digest not in (self._digest, self._good) or (expired and digest == self._good):
                self._load(digest, "the version before goes on")
            self._stamp, self._digest = stamp, digest
        except StoreChanging:
            return False
        except BadSubscriptions as error:
            self._stamp, self._digest = stamp, digest  # judged: not to be read again
            self._refuse(str(error))
            return True
        except Exception as error:
            # Whatever it is, events go on being matched. A mistake of this program says of which kind it is.
            self._refuse(
                str(error) if isinstance(error, VedetteError | OSError) else f"{type(error).__name__}: {error}"
            )
            return True
        if digest == self._good:
            self._complaint = None
        return True

    def _load(self, digest: str, consequence: str) -> None:
        rows = self._store.rows(self._clock())
        content = hashlib.sha256()
        problems: list[SubscriptionProblem] = []
        ready = self._ready(rows, _hashed(rows, content), consequence, problems)
        # What is set aside counts: it may be something else that is bad, and the rest the same.
        content.update(repr([(each.id, each.message) for each in problems]).encode())
        if self._current is None or content.hexdigest() != self._content:
            version = ready()
            news = self._current is not None
            self._current, self._content = version, content.hexdigest()
            if news and self._told.accepted is not None:
                self._told.accepted(version)
        self._tell_aside(set_aside(rows.name, problems) if problems else "")
        self._due, self._good = rows.due, digest

    def _ready(
        self,
        rows: SubscriptionRows,
        records: Iterator[SubscriptionRecord],
        consequence: str,
        aside: list[SubscriptionProblem],
    ) -> Callable[[], VersionType]:
        """Read all records, which are those of `rows`; returns a function that makes the version.

        What is wrong is put `aside`, or raised where it is strict.
        """
        raise NotImplementedError

    def _tell_aside(self, said: str) -> None:
        if said and said != self._aside:
            (self._told.aside or (lambda text: _log.warning("%s", text)))(said)
        self._aside = said

    def _refuse(self, reason: str) -> None:
        if reason == self._complaint:
            return
        self._complaint = reason
        if self._told.refused is not None:
            self._told.refused(VersionRefusal(self._store.name, reason, self.current().version))


class EngineVersions(VersionWatcher[EngineVersion]):
    """The newest good version of the subscriptions of a store, compiled."""

    def __init__(
        self,
        store: SubscriptionStore,
        schema: Schema,
        following: ShardOptions | None = None,
        calls: OperatorCalls | None = None,
        calling: Calling | None = None,
        model: Model | None = None,
        *,
        told: VersionListener[EngineVersion],
        strict: bool,
        clock: Callable[[], dt.datetime],
    ) -> None:
        super().__init__(store, schema, told=told, strict=strict, clock=clock)
        self._following, self._calls, self._model = following, calls, model
        self._calling = calling or Calling(None if calls is None else calls.operators)

    def _ready(
        self,
        rows: SubscriptionRows,
        records: Iterator[SubscriptionRecord],
        consequence: str,
        aside: list[SubscriptionProblem],
    ) -> Callable[[], EngineVersion]:
        following, calls = self._following, self._calls
        subscriptions = load_rows(
            rows,
            self._schema,
            records=records,
            consequence=consequence,
            patterns=following is not None,
            operators=calls is not None,
            calls=calls,
            aside=None if self._strict else aside,
        )
        if calls is not None and self._strict:
            calls.refuse_wrong(self._schema, rows.name, consequence)

        def compiled() -> EngineVersion:
            before = None if self._current is None else self._current.engine
            engine = subscriptions.compiled(self._calling, self._model, like=before)
            origins = subscriptions.told()
            parts = [engine.version]
            if following is not None:
                parts.append(engine.sharded(following).version)
            if beside := {id_: origins[id_] for id_ in origins if id_ not in engine.filters}:
                parts.append(repr(beside))  # those of plain filters are part of the engine's version
            version = parts[0]
            if len(parts) > 1:
                version = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:_DIGITS]
            return EngineVersion(engine, version, self._clock(), following, origins, len(rows.left_out), len(aside))

        return compiled


def _hashed(records: Iterator[SubscriptionRecord], into: hashlib._Hash) -> Iterator[SubscriptionRecord]:
    """The records as they come; their content is added to a hash on the way."""
    for record in records:
        into.update(repr((record.id, record.subscriber, record.when, record.predict, record.origin)).encode())
        yield record
