"""Sequences over a stream, in semantics that all engines for patterns share.

An event has a user, a kind and a time; streams of different users are apart. A pattern asks for three kinds in order.
What is compared is which event completes which pattern: engines that tell every combination of earlier events tell
such a pair several times, Vedette once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.peers.cases import Case, Event

SEMANTICS = {
    "sequences": "Three kinds of events directly after one another in the stream of one user (`,`); 100 users, 20 "
    "kinds. Esper: `match_recognize` with `all matches` and `after match skip to next row`; Flink: `next`, no skip.",
    "sequences-loose": "Three kinds of events one somewhere after another in the stream of one user (`;`), any of "
    "them, within 1,000.5 s, which are about ten events of that user. Esper: `every a -> every b -> every c`; Flink: "
    "`followedByAny`. A pattern counts once for each event that completes it.",
}
WINDOW_MS = 1_000_500  # between two seconds, so that nobody's idea of a boundary matters
_USERS, _KINDS, _STEPS = 100, 20, 3


@dataclass(frozen=True, slots=True)
class Sequence:
    """Kinds of events, in order."""

    kinds: tuple[int, ...]
    loose: bool


def make(workload: str, size: int, events: int) -> Case:
    """The same case whenever it is asked for; one event a second."""
    kinds = dict.fromkeys(("user", "kind", "time"), "int")
    rules = partial(_sequences, size, loose=workload == "sequences-loose")
    return Case(workload, size, kinds, "user", rules, _events(events, 2), _events(16, 77))


def _sequences(size: int, *, loose: bool) -> Iterator[Sequence]:
    random = np.random.default_rng([1, 13])
    for _ in range(size):
        yield Sequence(tuple(random.permutation(_KINDS)[:_STEPS].tolist()), loose)


def _events(count: int, seed: int) -> list[Event]:
    random = np.random.default_rng([seed, 13])
    users, kinds = random.integers(0, _USERS, count).tolist(), random.integers(0, _KINDS, count).tolist()
    return [
        {"user": user, "kind": kind, "time": time} for time, (user, kind) in enumerate(zip(users, kinds, strict=True))
    ]
