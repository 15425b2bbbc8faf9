"""How promising a partial match is, by where it stands: how probably it completes, as events have been so far.

This is about one partial match by itself, moved on as well as can be by events that are drawn as they were seen: each
kind of event by its share, whatever came before. It says who goes first when a partition has too many, no more: a
forecast is about all partial matches of a partition, and knows the past.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.composite.graph import Asked, Machine
from vedette.composite.shape import DONE, Marking, Move, must_go_on

_MOST = 1_000  # markings of one pattern that are looked at


class Expected(NamedTuple):
    """What a model expects of the events that a pattern sees: kinds of them with their shares, and how many count."""

    symbol: NDArray[np.int64]  # bit i: the i-th of the filters that are observed holds
    share: NDArray[np.float64]
    within: int


def promises(machine: Machine, symbols: tuple[int, ...], expected: Expected) -> dict[Marking, float]:
    """Marking -> the probability of completing within so many events; `symbols` are the filters that are observed.

    What has not been looked at counts as sure. Variables and times are taken to fit.
    """
    kinds = expected.symbol
    bit = {primitive: number for number, primitive in enumerate(symbols)}

    def happens(asked: Iterable[Asked]) -> NDArray[np.bool_]:
        """The kinds of events that satisfy one of these."""
        mask = sum(1 << bit[primitive] for primitive in {each.primitive for each in asked})
        return np.asarray(kinds & mask != 0)

    def ending(absent: Iterable[int]) -> NDArray[np.bool_]:
        """The kinds of events that must not happen."""
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


def _reached(machine: Machine) -> dict[Marking, tuple[Move, ...]]:
    """Where a partial match may stand, what is nearest to its beginning first, and what may happen to it there."""
    shape = machine.shape
    waiting: dict[Marking, None] = {each: None for move in shape.moves(None) for each in move.markings}
    found: dict[Marking, tuple[Move, ...]] = {}
    while waiting and len(found) < _MOST:
        marking = next(iter(waiting))
        del waiting[marking]
        if marking == DONE:
            continue
        found[marking] = shape.moves(marking)
        waiting.update({each: None for move in found[marking] for each in move.markings if each not in found})
    return found
