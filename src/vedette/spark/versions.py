"""The subscriptions as they are now: new versions are compiled in the background, bad ones are refused.

Whoever matches asks `current()` before each piece of work. What it gives never changes and never waits for a
compilation: a new version takes its place when it is ready, and whatever is wrong with one leaves the old in place.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from vedette.composite.step import CAP
from vedette.errors import FileError, VedetteError
from vedette.files.loading import load_rows
from vedette.files.operator_calls import OperatorCalls
from vedette.files.problems import BadSubscriptions
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema
from vedette.spark.operators.tasks import Filters, filters_of
from vedette.spark.patterns.sets import PatternSet, pattern_set
from vedette.spark.stores import Store, Unsettled

_SOON_S = 1.0  # when a store that is being written is looked at again
_DIGITS = 12  # of a version
_PATIENCE = 10  # looks at a store that is being written before the first version is given up


@dataclass(frozen=True, slots=True)
class Version:
    """A compiled set of subscriptions."""

    matcher: Matcher
    version: str  # twelve hexadecimal digits of what is subscribed to
    loaded_at: dt.datetime
    subscriptions: int
    patterns: PatternSet | None = None  # where patterns are followed
    operators: Filters | None = None  # the filters that call operators, where these are called
    origins: Mapping[str, str] = field(default_factory=dict)  # id -> where it comes from, as JSON, of whom has one
    left_out: int = 0  # rules that cannot be matched, of a folder of rules


class Versioned(Protocol):
    """Whatever is made of subscriptions."""

    @property
    def version(self) -> str:
        """The same for the same subscriptions."""


Held = TypeVar("Held", bound=Versioned)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A state of the store that was not taken over, and all that is wrong with it."""

    store: str
    reason: str
    kept: str  # the version that goes on

    def __str__(self) -> str:
        return f"the new subscriptions in {self.store} are refused; version {self.kept} goes on\n{self.reason}"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def watch(
    store: Store,
    schema: Schema,
    refresh: float | None = None,
    *,
    following: Following | None = None,
    calls: OperatorCalls | None = None,
    accepted: Callable[[Version], None] | None = None,
    refused: Callable[[Refusal], None] | None = None,
    clock: Callable[[], dt.datetime] = _now,
) -> Versions:
    """Load the subscriptions of a store, and look for new ones every `refresh` seconds (None: never).

    Where patterns are followed, `following` says how; where operators are called, `calls` has them. What is wrong with
    the first version is raised. Later ones are told to `accepted` or, once each, to `refused`, in the thread that
    watches. To be stopped, or used as a context.
    """
    versions = Versions(store, schema, following, calls, accepted=accepted, refused=refused, clock=clock)
    versions.begin(refresh)
    return versions


class Watched(Generic[Held]):
    """The newest good version of what a store holds, whatever is made of it."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        *,
        accepted: Callable[[Held], None] | None,
        refused: Callable[[Refusal], None] | None,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._store, self._schema, self._clock = store, schema, clock
        self._accepted, self._refused = accepted, refused
        self._current: Held | None = None
        self._content = ""  # hash of the subscriptions that the current version has
        self._due: dt.datetime | None = None  # when the next of them expires
        self._stamp: Hashable | None = None  # of the store as it was last judged, good or bad
        self._digest: str | None = None
        self._good: str | None = None  # the digest that the current version comes from
        self._complaint: str | None = None  # what was last said to be wrong
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def current(self) -> Held:
        """The newest good version."""
        if self._current is None:
            raise RuntimeError("no version has been loaded")
        return self._current

    def begin(self, refresh: float | None) -> None:
        """Load the first version here and now; the next ones in the background."""
        for last in [*[False] * (_PATIENCE - 1), True]:
            try:
                # No stamp: a file that was written just now is not waited for, only one that changes meanwhile.
                digest = self._store.digest()
                self._load(digest, "nothing was started")
                break
            except Unsettled:
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
        """Watch no longer; `current()` stays as it is."""
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
        """Until the next look: sooner if a subscription expires before."""
        now = self._clock()
        if self._due is None or self._due <= now:  # what should have gone by now could not be read: not at once again
            return refresh
        return min(refresh, (self._due - now).total_seconds())

    def look(self) -> bool:
        """See whether there is a new version, and take it over or refuse it; False if one is just being written."""
        expired = self._due is not None and self._due <= self._clock()
        try:
            stamp = self._store.stamp()
            if stamp is not None and stamp == self._stamp and not expired:
                return True
            digest = self._store.digest()
            if digest not in (self._digest, self._good) or (expired and digest == self._good):
                self._load(digest, "the version before goes on")
            self._stamp, self._digest = stamp, digest
        except Unsettled:
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
        ready = self._ready(rows, _hashed(rows, content), consequence)
        if self._current is None or content.hexdigest() != self._content:
            version = ready()
            news = self._current is not None
            self._current, self._content = version, content.hexdigest()
            if news and self._accepted is not None:
                self._accepted(version)
        self._due, self._good = rows.due, digest

    def _ready(
        self, rows: SubscriptionRows, records: Iterator[SubscriptionRecord], consequence: str
    ) -> Callable[[], Held]:
        """Read all records, which are those of the rows, and raise what is wrong; the result makes the version."""
        raise NotImplementedError

    def _refuse(self, reason: str) -> None:
        if reason == self._complaint:
            return
        self._complaint = reason
        if self._refused is not None:
            self._refused(Refusal(self._store.name, reason, self.current().version))


@dataclass(frozen=True, slots=True)
class Following:
    """How patterns are followed: see `PatternSet`."""

    shards: int
    cap: int = CAP
    learn: bool = False
    model: bytes | None = None

    def patterns(self, subscriptions: Subscriptions) -> PatternSet:
        """The patterns of a set."""
        records, schema = subscriptions.patterns.values(), subscriptions.schema
        return pattern_set(records, schema, self.shards, cap=self.cap, learn=self.learn, model=self.model)


class Versions(Watched[Version]):
    """The newest good version of the subscriptions that a store holds, compiled."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        following: Following | None = None,
        calls: OperatorCalls | None = None,
        *,
        accepted: Callable[[Version], None] | None,
        refused: Callable[[Refusal], None] | None,
        clock: Callable[[], dt.datetime],
    ) -> None:
        super().__init__(store, schema, accepted=accepted, refused=refused, clock=clock)
        self._following, self._calls = following, calls

    def _ready(
        self, rows: SubscriptionRows, records: Iterator[SubscriptionRecord], consequence: str
    ) -> Callable[[], Version]:
        following, calls = self._following, self._calls
        subscriptions = load_rows(
            rows,
            self._schema,
            records=records,
            consequence=consequence,
            patterns=following is not None,
            operators=calls is not None,
            calls=calls,
        )
        if calls is not None:
            calls.refuse_wrong(self._schema, rows.name, consequence)

        def compiled() -> Version:
            matcher = subscriptions.compile(filters_only=following is not None or calls is not None)
            parts, followed, asked = [matcher.version], None, None
            if following is not None:
                followed = following.patterns(subscriptions)
                parts.append(followed.version)
            if calls is not None:
                asked = filters_of(tuple(subscriptions.with_operators.values()), self._schema, matcher.version)
                parts += [asked.version] if asked.records else []
            origins = subscriptions.told()
            beside = {id_: origins[id_] for id_ in origins if id_ not in matcher}
            if beside:  # those of filters are part of the matcher's version
                parts.append(repr(beside))
            version = parts[0]
            if len(parts) > 1:
                version = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:_DIGITS]
            return Version(
                matcher, version, self._clock(), len(subscriptions), followed, asked, origins, len(rows.left_out)
            )

        return compiled


def _hashed(records: Iterator[SubscriptionRecord], into: hashlib._Hash) -> Iterator[SubscriptionRecord]:
    """The records as they come; what they say goes into a hash on the way."""
    for record in records:
        into.update(repr((record.id, record.subscriber, record.when, record.predict, record.origin)).encode())
        yield record
