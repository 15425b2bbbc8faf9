"""A matcher whose subscriptions can be changed while it matches.

Readers take the current view, a tuple of immutable segments and bitmaps of their live subscriptions, and never wait.
Writers make the next view under a lock and swap it in. New subscriptions go into a small segment that is rebuilt
at every write; when that is full, into a middle one; and when that is full, a thread merges it with the large one
in the background. Removals only clear bits until the next merge sweeps them out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vedette.dialects.rule_results import Rule
from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.filters.index import AT_ONCE
from vedette.filters.matcher import BaseMatcher, Matcher, counted
from vedette.filters.segment import DraftEntry, Segment, SegmentContent, SegmentDraft
from vedette.filters.subscription_input import check_texts, id_exists_message, located_error, read_records, text_of
from vedette.filters.subscription_records import NEEDS_PATTERN
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView, all_alive
from vedette.filters.synthetic_sample import SAMPLE
from vedette.filters.templates import HasOperators, IsPattern, Templates
from vedette.schema.columns import Column, ColumnData
from vedette.schema.encode import encode

SMALL, MIDDLE = 256, 16_384
MOST_TESTS = 8_192  # of the small segment, which is built anew with every change: one filter may have many thousands
_DEAD_SHARE = 0.25  # share of removed subscriptions in the large segment at which a merge is worth its cost


class LiveMatcher(BaseMatcher):
    """A matcher with add, remove and replace by id, at any time; every change becomes visible atomically."""

    def __init__(self, matcher: Matcher, *, sample: Events | None = None) -> None:
        self._lock = threading.Lock()
        self._index = matcher.index
        self._templates = Templates(matcher.schema)
        self._sample = sample
        self._settled: tuple[LiveSegment, ...] = (LiveSegment(matcher.segment),)  # the large and the middle ones
        self._draft = SegmentDraft()
        self._new: LiveSegment | None = None
        self._merging = 0  # how many of the settled parts are being merged
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._closed = False
        self._current = SubscriptionView(matcher.schema, self._settled)

    def _view(self) -> SubscriptionView:
        return self._current

    # ------------------------------------------------------------ changes

    def add(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense."""
        made = self._read(id_, when, subscriber, dialect, origin)
        with self._lock:
            self.check_open()
            if self._find(id_) is not None:
                raise InputError(id_exists_message(id_))
            self._append([made])

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        with self._lock:
            self.check_open()
            self._clear(id_)
            self._publish()

    def remove_many(self, ids: Iterable[str]) -> None:
        """Remove several existing subscriptions, all at once."""
        with self._lock:
            self.check_open()
            for id_ in ids:
                self._clear(id_)
            self._publish()

    def replace(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace the text of a subscription; no reader sees it missing, or twice."""
        made = self._read(id_, when, subscriber, dialect, origin)
        with self._lock:
            self.check_open()
            self._clear(id_)
            self._append([made])

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records as `Subscriptions.add_many` takes them, all at once; returns how many."""
        new: dict[str, DraftEntry] = {}
        places: dict[str, str] = {}
        for one in read_records(records):
            try:
                made = self._read(one.id, one.when, one.subscriber, one.dialect, one.origin)
                if one.predict is not None:
                    raise NotSupported(NEEDS_PATTERN)
                if one.id in new:
                    raise InputError(id_exists_message(one.id))
            except (HasOperators, IsPattern):
                raise  # not plain filters: the caller handles them
            except (InputError, NotSupported) as error:
                raise located_error(error, one.where) from None
            new[one.id] = made
            places[one.id] = one.where
        with self._lock:
            self.check_open()
            for id_, where in places.items():
                if self._find(id_) is not None:
                    raise located_error(InputError(id_exists_message(id_)), where)
            self._append(list(new.values()))
        return len(new)

    def take_many(self, filters: Iterable[Mapping[str, Any]]) -> None:
        """Add filters that are already translated and whose ids are free: `id`, `when`, `subscriber`, `source`."""
        made = [
            DraftEntry(
                one["id"], one["when"], self._templates.normal_form(one["when"]), one["subscriber"], one["source"]
            )
            for one in filters
        ]
        with self._lock:
            self.check_open()
            if made:
                self._append(made)

    def _read(
        self, id_: str, rule: Rule, subscriber: str | None, dialect: str | None, told: Mapping[str, Any] | None
    ) -> DraftEntry:
        """Read a text into an entry for the draft."""
        when, origin = text_of(rule, dialect, told)
        check_texts(id_, when, subscriber)
        return DraftEntry(id_, when, self._templates.normal_form(when), subscriber, origin)

    def check_open(self) -> None:
        """InputError if the matcher is closed to changes."""
        if self._closed:
            raise InputError("this matcher is closed: it matches, but takes no more changes")

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, str):
            return False
        for part in self._current.parts:
            ordinal = part.segment.records.ordinals.get(id_)
            if ordinal is not None and part.lives(ordinal):
                return True
        return False

    # ------------------------------------------------------------ under the lock

    def _find(self, id_: str) -> tuple[int, int] | None:
        """The number of the part that holds an id, and the ordinal in it; the newest part is the last."""
        parts = self._settled if self._new is None else (*self._settled, self._new)
        for number in reversed(range(len(parts))):
            ordinal = parts[number].segment.records.ordinals.get(id_)
            if ordinal is not None and parts[number].lives(ordinal):
                return number, ordinal
        return None

    def _clear(self, id_: str) -> None:
        """Remove one, without publishing the change yet."""
        found = self._find(id_)
        if found is None:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        number, ordinal = found
        if number == len(self._settled) and self._new is not None:
            self._new = self._new.without([ordinal])
        else:
            settled = list(self._settled)
            settled[number] = settled[number].without([ordinal])
            self._settled = tuple(settled)

    def _append(self, new: list[DraftEntry]) -> None:
        """Rebuild the small segment and publish it."""
        for entry in new:
            self._draft.append(*entry)
        size = len(self._draft)
        if size <= SMALL and self._draft.tests <= MOST_TESTS:
            self._new = LiveSegment(Segment.build(self._draft.drawn(), index=AT_ONCE), self._small_alive(size))
        else:
            self._settle(self._draft.drawn().keep(_mask(self._small_alive(size), size)))
            self._draft, self._new = SegmentDraft(), None
        self._publish()

    def _small_alive(self, size: int) -> NDArray[np.uint64]:
        """The bitmap of the draft's live subscriptions: those removed stay so, those added since live."""
        alive = all_alive(size)
        if self._new is not None:
            dead = np.flatnonzero(~self._new.mask())
            np.bitwise_and.at(alive, dead >> 6, ~(np.uint64(1) << (dead & 63).astype(np.uint64)))
        return alive

    def _settle(self, drawn: SegmentContent) -> None:
        """Move the small segment's subscriptions into the middle one; one that is being merged stays as it is."""
        fixed = max(1, self._merging)
        middle = self._settled[fixed:]
        parts = [part.segment.drawn().keep(part.mask()) for part in middle]
        built = LiveSegment(Segment.build(SegmentContent.concatenate([*parts, drawn]), index=self._index))
        self._settled = (*self._settled[:fixed], built)

    def _publish(self) -> None:
        """Publish the next view, and start a merge if one is due."""
        parts = self._settled if self._new is None else (*self._settled, self._new)
        self._current = self._current.followed_by(parts)
        if self._merging:
            return
        large = self._settled[0]
        much_dead = len(large.segment) - large.living > max(MIDDLE, _DEAD_SHARE * len(large.segment))
        if much_dead or sum(len(part.segment) for part in self._settled[1:]) > MIDDLE:
            self._begin_merge()

    # ------------------------------------------------------------ merging

    def _begin_merge(self) -> None:
        self._merging = len(self._settled)
        self._thread = threading.Thread(target=self._merge, args=(self._settled,), name="vedette-merge", daemon=True)
        self._thread.start()

    def _merge(self, parts: tuple[LiveSegment, ...]) -> None:
        """Merge several segments into one in the background, then swap it in."""
        try:
            masks = [part.mask() for part in parts]
            drawn = SegmentContent.concatenate(
                [part.segment.drawn().keep(mask) for part, mask in zip(parts, masks, strict=True)]
            )
            segment = self._large(drawn)
            segment.warm_up()
            with self._lock:
                # Subscriptions removed in the meantime are removed from the merged segment too.
                kept = np.concatenate(masks)
                lives = np.concatenate([part.mask() for part in self._settled[: len(parts)]])
                dead = np.flatnonzero(~lives[kept]).tolist()
                merged = LiveSegment(segment)
                self._settled = (merged.without(dead) if dead else merged, *self._settled[len(parts) :])
                self._merging = 0
                self._publish()
        except BaseException as error:  # kept, to be raised where the merge is waited for
            with self._lock:
                self._failure, self._merging = error, 0

    def _large(self, drawn: SegmentContent) -> Segment:
        """Build the large segment, into which everything is merged."""
        return Segment.build(drawn, index=self._index, sample=self._sampled(drawn))

    def _sampled(self, drawn: SegmentContent) -> Mapping[Column, ColumnData] | None:
        if self._sample is None or not len(self._sample):
            return None
        return encode(self._sample[:SAMPLE], drawn.clauses.columns, self.schema).data

    def merge(self) -> None:
        """Merge everything into one segment now, and wait for it."""
        self._wait()
        with self._lock:
            self.check_open()
            size = len(self._draft)
            if size:
                self._settle(self._draft.drawn().keep(_mask(self._small_alive(size), size)))
                self._draft, self._new = SegmentDraft(), None
            if len(self._settled) > 1 or self._settled[0].living < len(self._settled[0].segment):
                self._begin_merge()
        self._wait()

    def _wait(self) -> None:
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def frozen(self) -> Matcher:
        """The current state as an immutable matcher, e.g. to save it."""
        view = self._current
        drawn = SegmentContent.concatenate([part.segment.drawn().keep(part.mask()) for part in view.parts])
        return Matcher.of(self._large(drawn), view.schema)

    # ------------------------------------------------------------ life

    @property
    def merging(self) -> bool:
        """Whether a merge is in progress."""
        return self._merging > 0

    def close(self) -> None:
        """Refuse further changes, and wait for a merge in progress; matching still works."""
        with self._lock:
            self._closed = True
        self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = " + ".join(f"{part.living:,}" for part in self._current.parts)
        return f"<LiveMatcher: {counted(len(self), 'subscription')} ({parts}), index {self._index}>"


def _mask(alive: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    return np.unpackbits(alive.view(np.uint8), bitorder="little", count=size).view(np.bool_)
