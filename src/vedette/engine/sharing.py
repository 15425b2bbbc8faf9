"""Split the state of a stream into shares, which may be in other processes, and merge them again.

Of n shares the first has all that does not split by key: filters, offers, patterns without partitions, and forecasts,
which learn from all partitions of their pattern. The others have the partial matches of all other patterns, each for
some keys. Every share gets every batch; together their outcomes are those of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vedette.engine.state import PatternState, StreamState
from vedette.errors import InputError
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.shares import Share


def split(state: StreamState, shares: int) -> list[StreamState]:
    """Split into this many independent states; the whole stays as it is."""
    if shares < 2:
        raise InputError(f"{shares} shares\nHint: at least 2, of which the first has what does not split by key")
    if state.share is not None:
        raise InputError("a share is not split again\nHint: merge all of them, and split the whole")
    return [_share(state, Share(number, shares)) for number in range(shares)]


def _share(whole: StreamState, share: Share) -> StreamState:
    followed = None
    if whole.followed is not None:
        patterns = whole.patterns.shared(share)
        if share.is_first:
            followed = replace(whole.followed.copy(), patterns=patterns)
        else:
            forecaster = Forecaster({}, whole.engine.model, learn=whole.terms.learn)
            followed = PatternState(patterns, forecaster, whole.telling.copy())
    counts = dict(whole.counts) if share.is_first else {**dict.fromkeys(whole.counts, 0), "events": whole.events}
    offers = None if whole.offers is None or not share.is_first else whole.offers.copy()
    return StreamState(whole.engine, whole.terms, followed, whole.named, counts, offers, share)


def merged(states: Sequence[StreamState]) -> StreamState:
    """Merge all shares, in any order, each of which has had the same batches."""
    shares = sorted(states, key=lambda state: (-1, -1) if state.share is None else state.share)
    if not shares or [state.share for state in shares] != [Share(at, len(shares)) for at in range(len(shares))]:
        raise InputError("these are not all shares of one state\nHint: hand in everything that `split` gave")
    first = shares[0]
    if any(state.engine is not first.engine or state.events != first.events for state in shares):
        raise InputError("shares that are not equally far, or of several sets\nHint: hand every batch to all of them")
    followed = None
    if first.followed is not None:
        patterns = first.engine.machines.again(lateness=first.terms.lateness, cap=first.terms.cap)
        patterns.put_together([state.patterns for state in shares])
        own = first.followed.copy()
        patterns.expect(own.forecaster.expected())
        for state in shares[1:]:
            own.telling.take_in(state.telling)
        followed = replace(own, patterns=patterns)
    counts = {name: sum(state.counts[name] for state in shares) for name in first.counts} | {"events": first.events}
    offers = None if first.offers is None else first.offers.copy()
    named = next((state.named for state in shares if state.named is not None), None)
    return StreamState(first.engine, first.terms, followed, named, counts, offers)
