"""What has happened to a set so far: where its patterns stand, what was learnt, and how many events there were.

A set without patterns has no more state than a count, by which its events are numbered. What operators cost is learnt
by the engine that calls them, and travels with the state: it says what is called first, and never what is answered.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.subscription_records import CAP
from vedette.meeting.direction import Direction
from vedette.schema.columns import Column

if TYPE_CHECKING:
    from vedette.engine.engine import Engine
    from vedette.engine.offers import OfferBook
    from vedette.patterns.forecasts.forecast import Forecaster
    from vedette.patterns.forecasts.probability_table import ForecastSettings
    from vedette.patterns.forecasts.score import Score
    from vedette.patterns.matcher import PatternCounts, PatternMatcher
    from vedette.patterns.shares import Share
    from vedette.patterns.witness_names import WitnessNames

_KIND: Final = "stream matcher"  # as in version 0.1, whose states are read


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a stream is followed, from its first event on."""

    lateness: int | None = 0  # microseconds within which events come in any order; None: all are held back
    learn: bool = True  # forecasts learn from what happens
    cap: int = CAP  # partial matches of a partition
    promised: tuple[Column, ...] = ()  # what the schema promises of every event, whether or not somebody asks for it
    direction: Direction = "publication"  # whose attributes have to be met where offers and wants meet
    offers: bool = True  # something may be offered
    train: ForecastSettings | None = None  # forecasts only learn, by these settings, and nothing is forecast
    train_until: int | None = None  # forecasts learn until then (microseconds since 1970), and are made from then on


@dataclass(slots=True)
class PatternState:
    """Where patterns stand, what is forecast, and what is said of events."""

    patterns: PatternMatcher
    forecaster: Forecaster
    telling: WitnessNames

    @classmethod
    def begin(cls, engine: Engine, terms: StreamOptions) -> PatternState:
        """Before the first event."""
        from vedette.patterns.forecasts.forecast import Forecaster, HeldOutForecaster, LearningForecaster

        patterns = engine.machines.again(lateness=terms.lateness, cap=terms.cap)
        if terms.train is not None:
            forecaster: Forecaster = LearningForecaster(patterns.patterns, terms.train)
        elif terms.train_until is None or all(each.predict is None for each in patterns.patterns.values()):
            forecaster = Forecaster(patterns.patterns, engine.model, learn=terms.learn)
        else:
            forecaster = HeldOutForecaster(patterns.patterns, terms.train_until)
        patterns.expect(forecaster.expected())
        return cls(patterns, forecaster, engine.telling.again())

    def copy(self) -> PatternState:
        """One that goes on from here by itself."""
        return PatternState(self.patterns.copy(), copy.deepcopy(self.forecaster), self.telling.copy())


@dataclass(slots=True)
class StreamState:
    """Where one stream stands. Only the step changes it, and only for those who own it."""

    engine: Engine
    terms: StreamOptions
    followed: PatternState | None = None  # None: there were no patterns so far
    named: bool | None = None  # events have ids, or only numbers: the first ones decide
    counts: dict[str, int] = field(default_factory=lambda: {"events": 0, "matches": 0, "predictions": 0, "meetings": 0})
    offers: OfferBook | None = None  # those that stand; None: nothing was offered, and nobody wants anything
    share: Share | None = None  # of the stream, where it is followed by several

    @classmethod
    def begin(cls, engine: Engine, terms: StreamOptions) -> StreamState:
        """Before the first event."""
        made = cls(engine, terms, PatternState.begin(engine, terms) if engine.pattern_records else None)
        if engine.wants and terms.offers:
            made.offered()
        return made

    @property
    def tells_alone(self) -> bool:
        """It tells what filters and offers bring about, and no other share does."""
        return self.share is None or self.share.is_first

    @property
    def patterns(self) -> PatternMatcher:
        """Where patterns stand."""
        return self._follow().patterns

    @property
    def forecaster(self) -> Forecaster:
        """What is forecast."""
        return self._follow().forecaster

    @property
    def telling(self) -> WitnessNames:
        """What is said of events and patterns."""
        return self._follow().telling

    @property
    def lost(self) -> PatternCounts | None:
        """Events that did not count for patterns, and partial matches that were given up; None without patterns."""
        return None if self.followed is None else self.followed.patterns.counts

    @property
    def learnt(self) -> int | None:
        """Rows that forecasts have learnt from, where they learn only up to a moment."""
        from vedette.patterns.forecasts.forecast import HeldOutForecaster

        forecaster = None if self.followed is None else self.followed.forecaster
        return forecaster.learnt if isinstance(forecaster, HeldOutForecaster) else None

    @property
    def scores(self) -> Mapping[str, Score]:
        """How good forecasts were, by the ids of the patterns."""
        return {} if self.followed is None else self.followed.forecaster.scores

    def _follow(self) -> PatternState:
        if self.followed is None:
            self.followed = PatternState.begin(self.engine, self.terms)
        return self.followed

    def offered(self) -> OfferBook:
        """The offers that stand, and who wants them."""
        if self.offers is None:
            from vedette.engine.offers import OfferBook

            self.offers = OfferBook(self.engine.schema, self.terms.direction)
            self.offers.follow(self.engine.wants)
        return self.offers

    @property
    def events(self) -> int:
        """How many there have been, which is the number of the next one."""
        return self.counts["events"]

    @property
    def waiting(self) -> bool:
        """Events are held back, of which something may still be told."""
        return self.followed is not None and self.followed.patterns.held.held > 0

    def check_ids(self, count: int, ids: Sized | None) -> None:
        """InputError where events have ids that others have not, or not as many as there are events."""
        if ids is not None and len(ids) != count:
            raise InputError(f"there are {len(ids)} ids for {count} {'event' if count == 1 else 'events'}")
        if self.named is not None and (ids is not None) != self.named:
            raise InputError("some events of the stream have ids, others none\nHint: hand in `ids` always, or never")

    def forget(self) -> None:
        """Keep of events only what may still be named, once there are many."""
        if self.followed is not None and self.followed.telling.crowded:
            self.followed.telling = self._remembered()

    def _remembered(self) -> WitnessNames:
        """What may still be named; outcomes of earlier steps go on naming what they tell of."""
        telling = self.telling.copy()
        telling.forget(self.patterns.remembered())
        return telling

    def copy(self) -> StreamState:
        """One that goes on from here by itself."""
        return StreamState(
            self.engine,
            self.terms,
            None if self.followed is None else self.followed.copy(),
            self.named,
            dict(self.counts),
            None if self.offers is None else self.offers.copy(),
            self.share,
        )

    def following(self, engine: Engine) -> StreamState:
        """The same stream under another set: patterns that are in both go on where they stand, others begin now.

        What it was is given up: `copy` it first to keep it.
        """
        if engine is self.engine:
            return self
        if self.share is not None:
            raise InputError("a share goes on under the set it was split under\nHint: merge all shares first")
        if self.offers is not None:
            self.offers.follow(engine.wants)
        if self.followed is None:
            followed = PatternState.begin(engine, self.terms) if engine.pattern_records else None
            return replace(self, engine=engine, followed=followed)
        if engine.machines is self.engine.machines:
            return replace(self, engine=engine)
        patterns = engine.machines.again(lateness=self.terms.lateness, cap=self.terms.cap)
        numbers = patterns.take_over(self.patterns)
        self.forecaster.follow(patterns.patterns, numbers)
        patterns.expect(self.forecaster.expected())
        telling = self.telling.copy()  # outcomes of earlier steps go on naming their patterns
        telling.follow(patterns.patterns)
        return replace(self, engine=engine, followed=PatternState(patterns, self.forecaster, telling))

    # ------------------------------------------------------------ kept

    def to_bytes(self) -> bytes:
        """All of it; the subscriptions are kept elsewhere, and patterns are known again by what they say."""
        from vedette.patterns.packing import packed

        parts = {"patterns": self.patterns.to_bytes(), "forecaster": self.forecaster.to_bytes()}
        arrays: dict[str, NDArray[Any]] = {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}
        facts = {
            "told": self.counts,
            "named": self.named,
            "events": self._remembered().plain(),
            "operators": self.engine.calling.plain(),
            "offers": None if self.offers is None else self.offers.plain(),
            "share": self.share,
            "direction": self.terms.direction,
        }
        return packed(_KIND, arrays, facts)

    @classmethod
    def from_bytes(cls, data: bytes, engine: Engine, *, learn: bool = True, knowing: bool = True) -> StreamState:
        """Go on where another stood; patterns that are new, changed or gone meanwhile leave the others as they were.

        What operators cost is taken up, too, by the engine that calls them, unless that is not worth `knowing` again.
        """
        from vedette.patterns.forecasts.forecast import Forecaster
        from vedette.patterns.matcher import PatternMatcher
        from vedette.patterns.packing import unpacked
        from vedette.patterns.shares import Share

        arrays, facts = unpacked(_KIND, data)
        known = facts.get("operators")
        if known is not None and knowing:
            engine.calling.resume(known)
        before = PatternMatcher.from_bytes(arrays["patterns"].tobytes(), reads=False)
        direction = facts.get("direction", "publication")  # which version 0.1 had alone
        terms = StreamOptions(before.held.lateness, learn, before.cap, direction=direction)
        patterns = engine.machines.again(lateness=terms.lateness, cap=terms.cap)
        share = Share(*told) if (told := facts.get("share")) is not None else None
        if share is not None:
            patterns = patterns.shared(share)
            if {*before.patterns.values()} != {*patterns.patterns.values()}:
                raise InputError("a share goes on under the set it was split under\nHint: merge all shares first")
        numbers = patterns.take_over(before)
        forecaster = Forecaster(patterns.patterns, engine.model, learn=learn)
        forecaster.restore(arrays["forecaster"].tobytes(), numbers)
        patterns.expect(forecaster.expected())
        telling = engine.telling.again()
        telling.restore(facts["events"])
        counts = {"meetings": 0, **facts["told"]}
        made = cls(engine, terms, PatternState(patterns, forecaster, telling), facts["named"], counts, share=share)
        if (offers := facts.get("offers")) is not None:  # version 0.1 had none
            from vedette.engine.offers import OfferBook

            made.offers = OfferBook.restored(offers, engine.schema)
            made.offers.follow(engine.wants)
        elif engine.wants and made.tells_alone:
            made.offered()
        return made
