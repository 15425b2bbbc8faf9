"""Finds the event or the subscription that makes matching fail, and matches the rest.

Events are halved until those that fail are alone, then the subscriptions of such an event are. Which of the two is at
fault:

- the event, if it fails with a built-in test subscription, or with several subscriptions that do not fail with
  other events;
- else the subscriptions that fail with it. A subscription at fault is reported, and left out from then on;
- neither, if nothing can be matched at all: not even an empty event with a test subscription. Then the error is
  raised again.

The effort for each that is at fault grows with the logarithm of how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from vedette.operators.thread_interrupt import TimeLimitExceeded
from vedette.schema.encode import Reject
from vedette.service.stream_engine import EngineSubscription, JournalBatch, Notices, StreamEngine

T = TypeVar("T")
# What is contained. SystemExit can only come from somebody's operator: it must not end a thread that all share.
FAULTS: Final = (Exception, SystemExit, TimeLimitExceeded)
_SEVERAL: Final = 8  # failing subscriptions of one event, after which the search ends
_STRIKES: Final = 3  # events at fault, after which a subscription that failed with each of them is
_SHARE: Final = 0.25  # of the time that one event and one subscription may take, for many
_BUILDING: Final = 0.01  # further seconds for each subscription to be compiled
_NOBODYS: Final = (
    EngineSubscription("nobody's", "vedette_of_nobody is null"),
    EngineSubscription("nobody's pattern", "[vedette_of_nobody is null]"),
)


class TimedCall(Protocol):
    """A function that calls another one, and raises TimeLimitExceeded after so many seconds."""

    def __call__(self, seconds: float, work: Callable[[], T], /) -> T: ...


class Culprit(NamedTuple):
    """A subscription at fault."""

    id: str
    event: int  # the number of the event that showed it
    error: BaseException


class MatchResult(NamedTuple):
    """Outcomes of some subscriptions for some events, and the state of patterns after these."""

    told: list[Notices]  # by event
    rejects: list[Reject]
    state: bytes | None


@dataclass(slots=True)
class CulpritSearch:
    """Search for what is at fault in one batch, among some subscriptions."""

    make: Callable[[], StreamEngine]
    run: TimedCall
    seconds: float  # that one event may take with one subscription
    some: list[EngineSubscription]
    strikes: Counter[str]
    culprits: list[Culprit] = field(default_factory=list)
    _whole: StreamEngine | None = None  # with all of them
    _kept: ExitStack = field(default_factory=ExitStack)

    def outcome(self, batch: JournalBatch, state: bytes | None) -> MatchResult:
        """Match the batch with all subscriptions that are not at fault; `rejects` have the rows of the batch."""
        with self._kept:
            return self._all(batch, 0, state)

    # ------------------------------------------------------------ trying

    def _tried(self, some: Sequence[EngineSubscription], batch: JournalBatch, state: bytes | None) -> MatchResult:
        """Match a batch with these subscriptions alone; raises any of FAULTS."""
        seconds = self.seconds if len(some) <= 1 and len(batch) <= 1 else max(self.seconds * _SHARE, 0.01)
        if some is self.some:
            if self._whole is None:
                self._whole = self._kept.enter_context(self._standing(some))
            return self.run(seconds, partial(_matched, self._whole, batch, state))
        with self._standing(some) as engine:
            return self.run(seconds, partial(_matched, engine, batch, state))

    def _standing(self, some: Sequence[EngineSubscription]) -> StreamEngine:
        """A new engine with these subscriptions."""
        engine = self.make()
        self.run(self.seconds + _BUILDING * len(some), partial(_stand, engine, some))
        return engine

    def _fails(self, some: Sequence[EngineSubscription], batch: JournalBatch, state: bytes | None) -> bool:
        try:
            self._tried(some, batch, state)
        except FAULTS:
            return True
        return False

    def _fails_with_nobodys(self, batch: JournalBatch, state: bytes | None) -> bool:
        """Whether events fail with the test filter, and with the test pattern if there are patterns."""
        return self._fails(_NOBODYS if self._has_state(self.some) else _NOBODYS[:1], batch, state)

    def _has_state(self, some: Sequence[EngineSubscription]) -> bool:
        """Whether these subscriptions keep state: earlier events matter to later ones."""
        if some is self.some and self._whole is not None:
            return self._whole.has_state
        with self._standing(some) as engine:
            return engine.has_state

    # ------------------------------------------------------------ events

    def _all(self, batch: JournalBatch, first: int, state: bytes | None) -> MatchResult:
        """Match events, the first of which is row `first` of the batch; halve them if that fails."""
        if not self.some:
            return MatchResult([], [], state)
        try:
            found = self._tried(self.some, batch, state)
        except FAULTS as error:
            if len(batch) == 1:
                return self._one(batch, first, state, error)
            half = len(batch) // 2
            left = self._all(batch.part(0, half), first, state)
            right = self._all(batch.part(half, len(batch)), first + half, left.state)
            return MatchResult(left.told + right.told, left.rejects + right.rejects, right.state)
        return found._replace(rejects=[Reject(first + each.row, each.attribute, each.reason) for each in found.rejects])

    def _one(self, batch: JournalBatch, first: int, state: bytes | None, error: BaseException) -> MatchResult:
        """Match one event with which something fails."""
        at_fault = MatchResult([], [_reject(first, error)], state)
        if self._fails_with_nobodys(batch, None):
            if self._fails_with_nobodys(_emptied(batch), None):
                raise error
            return at_fault
        if state is not None and self._fails_with_nobodys(batch, state):
            return self._all(batch, first, None)  # the state cannot be used: patterns begin anew
        failed: list[tuple[EngineSubscription, BaseException]] = []
        passed: list[MatchResult] = []
        self._split(self.some, batch, state, failed, passed)
        if not failed:  # they fail only together; separate results do if there is no state to keep
            if any(each.state is not None for each in passed):
                return at_fault
            return MatchResult([one for each in passed for one in each.told], [], None)
        culprits = self._culprits(failed, batch)
        self._let_go([Culprit(one.id, batch.numbers[0], why) for one, why in culprits])
        if len(culprits) == len(failed):
            return self._all(batch, first, state)
        return self._without([one for one, _ in failed], batch, state, at_fault)

    def _without(
        self, failed: Sequence[EngineSubscription], batch: JournalBatch, state: bytes | None, at_fault: MatchResult
    ) -> MatchResult:
        """Match an event at fault with the subscriptions that it does not fail with, if the others keep no state.

        If they do, or too many failed to know all of them, the event is rejected for all.
        """
        ids = {one.id for one in failed}
        rest = [one for one in self.some if one.id not in ids]
        try:
            if len(failed) >= _SEVERAL or self._has_state(failed):
                return at_fault
            return self._tried(rest, batch, state)._replace(rejects=at_fault.rejects)
        except FAULTS:
            return at_fault

    # ------------------------------------------------------------ subscriptions

    def _split(
        self,
        some: Sequence[EngineSubscription],
        batch: JournalBatch,
        state: bytes | None,
        failed: list[tuple[EngineSubscription, BaseException]],
        passed: list[MatchResult],
    ) -> None:
        """Find by halving the subscriptions that an event fails with; `passed` has the results of the others."""
        if not some or len(failed) >= _SEVERAL:
            return
        try:
            passed.append(self._tried(some, batch, state))
        except FAULTS as error:
            if len(some) == 1:
                failed.append((some[0], error))
                return
            half = len(some) // 2
            self._split(some[:half], batch, state, failed, passed)
            self._split(some[half:], batch, state, failed, passed)

    def _culprits(
        self, failed: Sequence[tuple[EngineSubscription, BaseException]], batch: JournalBatch
    ) -> list[tuple[EngineSubscription, BaseException]]:
        """The subscriptions, of those that failed, that are at fault themselves, and not the event."""
        if len(failed) == 1:
            return list(failed)
        other = _emptied(batch)
        found = []
        for one, error in failed:
            self.strikes[one.id] += 1
            if self.strikes[one.id] >= _STRIKES or self._fails([one], other, None):
                found.append((one, error))
        return found

    def _let_go(self, culprits: Sequence[Culprit]) -> None:
        """Leave subscriptions out from now on."""
        gone = {one.id for one in culprits}
        self.culprits += culprits
        self.some = [one for one in self.some if one.id not in gone]
        if self._whole is not None:
            self._whole.remove_many(gone)


def _matched(engine: StreamEngine, batch: JournalBatch, state: bytes | None) -> MatchResult:
    """Match a batch with an engine that begins with this state."""
    engine.restore(state)
    rejects: list[Reject] = []
    told = engine.match(batch, rejects)
    return MatchResult([told] if len(told) else [], rejects, engine.to_bytes())


def _stand(engine: StreamEngine, some: Sequence[EngineSubscription]) -> None:
    """Add subscriptions that an engine took before; the first failure is raised."""
    for _, error in engine.add_many(some):
        raise error


def _emptied(batch: JournalBatch) -> JournalBatch:
    """A batch of one event without attributes."""
    return replace(batch, events=[{}])


def sound(make: Callable[[], StreamEngine], run: Callable[[Callable[[], Any]], Any]) -> bool:
    """Whether matching works at all: test subscriptions and an empty event."""

    def work() -> None:
        with make() as engine:
            _stand(engine, _NOBODYS)
            engine.match(JournalBatch([1], ["nobody's"], [{}], [0]))

    try:
        run(work)
    except FAULTS:
        return False
    return True


def _reject(row: int, error: BaseException) -> Reject:
    return Reject(row, "", f"matching it failed: {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}")
