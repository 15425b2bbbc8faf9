"""The probability that a partial match completes, by its marking, with events as they have been so far.

This is about one partial match by itself, advanced as well as possible by events that are drawn independently: each
kind of event by its share, whatever came before. It only decides which partial matches to keep when a partition has
too many: a forecast is about all partial matches of a partition, and uses its past.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.graph import Machine, NumberedAlternative
from vedette.patterns.shape import DONE, Marking, MarkingMove, must_go_on

_MOST = 1_000  # markings of one pattern that are considered


class PatternExpectations(NamedTuple):
    """A model's expectation of a pattern's events: the kinds of events with their shares, and the number of events."""

    symbol: NDArray[np.int64]  # bit i: the i-th of the filters that are observed holds
    share: NDArray[np.float64]
    within: int


def promises(machine: Machine, symbols: tuple[int, ...], expected: PatternExpectations) -> dict[Marking, float]:
    """Marking -> the probability of completing within so many events; `symbols` are the filters that are observed.

    Markings that were not considered count as certain. Variables and times are assumed to fit.
    """
    kinds = expected.symbol
    bit = {primitive: number for number, primitive in enumerate(symbols)}

    def happens(asked: Iterable[NumberedAlternative]) -> NDArray[np.bool_]:
        """The kinds of events that satisfy one of these."""
        mask = sum(1 << bit[primitive] for primitive in {each.primitive for each in asked})
        return np.asarray(kinds & mask != 0)

    def ending(absent: Iterable[int]) -> NDArray[np.bool_]:
        """The kinds of events that end the partial match."""
        return happens(asked for number in absent for asked in machine.absent[number])

    moves = _reached(machine)
    place = {marking: number for number, marking in enumerate(moves)}
    sure = len(place)
    stays = np.zeros((sure, kinds.size), np.bool_)
    moving = [np.zeros((3, 0), np.int64)]  # from where, with which kind of event, to where
    for marking, number in place.items():
        waits = machine.shape.waits(marking)
        stays[number] = False if must_go_on(marking) else ~ending(waits)
        for move in moves[marking]:
            by = np.flatnonzero(happens(machine.steps[move.position]) & ~ending(waits - move.absent))
            for each in move.markings:
                into = sure if each == DONE else place.get(each, sure)
                moving.append(np.stack([np.full_like(by, number), by, np.full_like(by, into)]))
    source, kind, target = np.concatenate(moving, axis=1)
    worth = np.append(np.zeros(sure), 1.0)
    for _ in range(expected.within):
        best = stays * worth[:sure, None]
        np.maximum.at(best, (source, kind), worth[target])
        worth[:sure] = best @ expected.share
    return dict(zip(place, worth.tolist(), strict=False))


def _reached(machine: Machine) -> dict[Marking, tuple[MarkingMove, ...]]:
    """The markings of a partial match, those nearest to the beginning first, and the moves from each."""
    shape = machine.shape
    waiting: dict[Marking, None] = {each: None for move in shape.moves(None) for each in move.markings}
    found: dict[Marking, tuple[MarkingMove, ...]] = {}
    while waiting and len(found) < _MOST:
        marking = next(iter(waiting))
        del waiting[marking]
        if marking == DONE:
            continue
        found[marking] = shape.moves(marking)
        waiting.update({each: None for move in found[marking] for each in move.markings if each not in found})
    return found
