"""A matcher that takes changes while it matches.

Readers take the current view, a tuple of immutable segments and bitmaps of who lives in them, and never wait.
Writers make the next view under a lock and swap it in. What is new goes into a small segment that is built anew
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

from vedette.dialects.rules import Rule
from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.matching.draft import Draft, Entry
from vedette.matching.given import check_texts, placed, read_records, taken, text_of
from vedette.matching.made_up import SAMPLE
from vedette.matching.matcher import Matcher, Reader, counted
from vedette.matching.patterns import NEEDS_PATTERN
from vedette.matching.segment import Drawn, Segment
from vedette.matching.templates import Templates
from vedette.matching.view import Events, Part, View, all_alive
from vedette.schema.columns import Column, ColumnData
from vedette.schema.encode import encode

SMALL, MIDDLE = 256, 16_384
_DEAD_SHARE = 0.25  # of a large segment, at which it is worth sweeping


class LiveMatcher(Reader):
    """Add, remove and replace by id, at any time and in any order; every change is visible at once and whole."""

    def __init__(self, matcher: Matcher, *, sample: Events | None = None) -> None:
        self._lock = threading.Lock()
        self._index = matcher.index
        self._templates = Templates(matcher.schema)
        self._sample = sample
        self._settled: tuple[Part, ...] = (Part(matcher.segment),)  # the large and the middle ones
        self._draft = Draft()
        self._new: Part | None = None
        self._merging = 0  # so many of the settled parts are being merged
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._closed = False
        self._current = View(matcher.schema, self._settled)

    def _view(self) -> View:
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
            self._may_write()
            if self._find(id_) is not None:
                raise InputError(taken(id_))
            self._append([made])

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        with self._lock:
            self._may_write()
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
        """Let an id say something else from now on; no reader sees it gone, or twice."""
        made = self._read(id_, when, subscriber, dialect, origin)
        with self._lock:
            self._may_write()
            self._clear(id_)
            self._append([made])

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records as `Subscriptions.add_many` takes them, all at once; returns how many."""
        new: dict[str, Entry] = {}
        places: dict[str, str] = {}
        for one in read_records(records):
            try:
                made = self._read(one.id, one.when, one.subscriber, one.dialect, one.origin)
                if one.predict is not None:
                    raise NotSupported(NEEDS_PATTERN)
                if one.id in new:
                    raise InputError(taken(one.id))
            except (InputError, NotSupported) as error:
                raise placed(error, one.where) from None
            new[one.id] = made
            places[one.id] = one.where
        with self._lock:
            self._may_write()
            for id_, where in places.items():
                if self._find(id_) is not None:
                    raise placed(InputError(taken(id_)), where)
            self._append(list(new.values()))
        return len(new)

    def _read(
        self, id_: str, rule: Rule, subscriber: str | None, dialect: str | None, told: Mapping[str, Any] | None
    ) -> Entry:
        """What a text says, ready to be kept."""
        when, origin = text_of(rule, dialect, told)
        check_texts(id_, when, subscriber)
        return Entry(id_, when, self._templates.normal_form(when), subscriber, origin)

    def _may_write(self) -> None:
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
        """The number of the part and the ordinal in it; the newest part is the last."""
        parts = self._settled if self._new is None else (*self._settled, self._new)
        for number in reversed(range(len(parts))):
            ordinal = parts[number].segment.records.ordinals.get(id_)
            if ordinal is not None and parts[number].lives(ordinal):
                return number, ordinal
        return None

    def _clear(self, id_: str) -> None:
        """Take one out, without showing it yet."""
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

    def _append(self, new: list[Entry]) -> None:
        """Build the small segment anew and show it."""
        for entry in new:
            self._draft.append(*entry)
        size = len(self._draft)
        if size <= SMALL:
            self._new = Part(Segment.build(self._draft.drawn(), index="scan"), self._small_alive(size))
        else:
            self._settle(self._draft.drawn().keep(_mask(self._small_alive(size), size)))
            self._draft, self._new = Draft(), None
        self._publish()

    def _small_alive(self, size: int) -> NDArray[np.uint64]:
        """Who lives in the draft: those removed before stay so, those added since live."""
        alive = all_alive(size)
        if self._new is not None:
            dead = np.flatnonzero(~self._new.mask())
            np.bitwise_and.at(alive, dead >> 6, ~(np.uint64(1) << (dead & 63).astype(np.uint64)))
        return alive

    def _settle(self, drawn: Drawn) -> None:
        """Put what was small into the middle segment; one that is being merged stays as it is."""
        fixed = max(1, self._merging)
        middle = self._settled[fixed:]
        parts = [part.segment.drawn().keep(part.mask()) for part in middle]
        built = Part(Segment.build(Drawn.concatenate([*parts, drawn]), index=self._index))
        self._settled = (*self._settled[:fixed], built)

    def _publish(self) -> None:
        """Show the next view, and merge if it is time."""
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

    def _merge(self, parts: tuple[Part, ...]) -> None:
        """In the background: one segment from several, then the swap."""
        try:
            masks = [part.mask() for part in parts]
            drawn = Drawn.concatenate(
                [part.segment.drawn().keep(mask) for part, mask in zip(parts, masks, strict=True)]
            )
            segment = self._large(drawn)
            segment.warm_up()
            with self._lock:
                # Who was removed in the meantime is so in the merged segment too.
                kept = np.concatenate(masks)
                lives = np.concatenate([part.mask() for part in self._settled[: len(parts)]])
                dead = np.flatnonzero(~lives[kept]).tolist()
                merged = Part(segment)
                self._settled = (merged.without(dead) if dead else merged, *self._settled[len(parts) :])
                self._merging = 0
                self._publish()
        except BaseException as error:  # kept for whoever waits for the merge
            with self._lock:
                self._failure, self._merging = error, 0

    def _large(self, drawn: Drawn) -> Segment:
        """The segment that everything is merged into."""
        return Segment.build(drawn, index=self._index, sample=self._sampled(drawn))

    def _sampled(self, drawn: Drawn) -> Mapping[Column, ColumnData] | None:
        if self._sample is None or not len(self._sample):
            return None
        return encode(self._sample[:SAMPLE], drawn.clauses.columns, self.schema).data

    def merge(self) -> None:
        """Bring everything into one segment now, and wait for it."""
        self._wait()
        with self._lock:
            self._may_write()
            size = len(self._draft)
            if size:
                self._settle(self._draft.drawn().keep(_mask(self._small_alive(size), size)))
                self._draft, self._new = Draft(), None
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
        """The present state as an immutable matcher, e.g. to save it."""
        view = self._current
        drawn = Drawn.concatenate([part.segment.drawn().keep(part.mask()) for part in view.parts])
        return Matcher.of(self._large(drawn), view.schema)

    # ------------------------------------------------------------ life

    @property
    def merging(self) -> bool:
        """A merge is under way."""
        return self._merging > 0

    def close(self) -> None:
        """Take no more changes, and wait for a merge that is under way; matching goes on."""
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
