"""Patterns and streams as in Muthusamy 2010, §6: sequences over a pool of events, met by partial and full matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.operators.calling import Calling
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.graph import Graph
from vedette.patterns.kernels import runs
from vedette.patterns.machines import PatternNumbering, draft, graph_of
from vedette.patterns.pattern_reader import PatternReader
from vedette.patterns.pattern_step import step
from vedette.schema.schema import Schema

IRRELEVANT = -1  # the event that no pattern asks for
MOST_IRRELEVANT = 100  # events of this kind in a row
_SPREAD = 6.0  # the deviation of a Gaussian is this part of the range it is drawn from
_OPEN = Schema({}, closed=False)
_SWEPT = (runs.NODES, runs.SWEPT_RUNS, runs.SWEPT_NODES)
UNCAPPED = 1 << 40  # partial matches of a partition: all of them


@dataclass(frozen=True)
class Sequences:
    """Patterns of so many steps, each for one event of the pool; some of the operators are `;`, the others `,`."""

    patterns: int = 1000
    length: int = 10
    pool: int = 50
    loose: int = 2
    gaussian: bool = False  # which events of the pool are asked for
    first: int = 0  # the number of the pool's first event
    seed: int = 2010

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """The events that each pattern asks for, in order."""
        random = np.random.default_rng(self.seed)
        return self.first + _drawn(random, self.pool, (self.patterns, self.length), gaussian=self.gaussian)

    def texts(self) -> list[str]:
        """The patterns, as they are subscribed to."""
        random = np.random.default_rng(self.seed + 1)
        gaps = np.argsort(random.random((self.patterns, self.length - 1)), axis=1) < self.loose
        return [
            f"[event = {steps[0]}]"
            + "".join(f"{' ;' if gap else ','} [event = {step}]" for gap, step in zip(loose, steps[1:], strict=True))
            for steps, loose in zip(self.steps.tolist(), gaps.tolist(), strict=True)
        ]

    def records(self, predict: Predict | None = None) -> list[PatternRecord]:
        """The patterns as subscriptions, perhaps forecast."""
        return [PatternRecord(f"p{number}", text, None, predict) for number, text in enumerate(self.texts())]


@dataclass(frozen=True)
class Stream:
    """Events that meet every pattern so often, in part and in full, with irrelevant events between the matches."""

    sequences: Sequences
    partial: int = 20  # partial matches of each pattern
    full: int = 20
    gaussian: bool = False  # how long partial matches are
    seed: int = 6

    def numbers(self, most: int | None = None) -> NDArray[np.int64]:
        """The events, each by its number; no more than `most`."""
        random = np.random.default_rng(self.seed)
        made = self.sequences
        quota = np.repeat(np.arange(made.patterns), self.partial + self.full)
        is_full = np.tile(np.arange(self.partial + self.full) < self.full, made.patterns)
        order = random.permutation(quota.size)
        part = 1 + _drawn(random, made.length - 1, (quota.size,), gaussian=self.gaussian)
        found: list[NDArray[np.int64]] = []
        size = 0
        for pattern, whole, length in zip(quota[order], is_full[order], part, strict=True):
            if most is not None and size >= most:
                break
            while random.random() < 0.5:
                found.append(np.full(random.integers(1, MOST_IRRELEVANT + 1), IRRELEVANT))
                size += found[-1].size
            found.append(made.steps[pattern, : made.length if whole else length])
            size += found[-1].size
        return np.concatenate(found)[:most]

    def events(self, most: int | None = None) -> pa.Table:
        """The same as an Arrow table."""
        return pa.table({"event": self.numbers(most)})


def graph(records: list[PatternRecord], *, merge: bool = True) -> tuple[Graph, PatternNumbering]:
    """The machines of patterns, without whatever a matcher has around them."""
    numbers = PatternNumbering()
    drafts = [draft(record, uid, _OPEN, numbers) for uid, record in enumerate(records)]
    return graph_of(drafts, numbers, merge=merge)[0], numbers


def read(numbers: PatternNumbering, events: pa.Table) -> PatternBatch:
    """Events as the step function sees them."""
    return PatternReader(numbers, _OPEN, Calling()).read(events, 0, 0, None)[0]


@dataclass(frozen=True)
class Work:
    """What events do to partial matches, on average."""

    transitions: float  # steps taken, for each event
    active: float  # partial matches that wait, at any time


def work(graph: Graph, batch: PatternBatch, state: runs.RunState | None = None, *, every: int = 64) -> Work:
    """Let the events happen to a state, which is given up, and look every now and then at its counters."""
    if state is None:
        state = runs.empty(graph.registers, graph.variables)
    taken = counted = 0
    active = []
    for begin in range(0, batch.size, every):
        piece = batch.slice(begin, min(begin + every, batch.size))
        nodes, *swept = (int(state.counters[each]) for each in _SWEPT)
        state, _ = step(graph, state, piece, cap=UNCAPPED, in_place=True)
        active.append(int(state.counters[runs.LIVE]))
        if swept == [int(state.counters[each]) for each in _SWEPT[1:]]:  # or steps that nobody needs are gone already
            taken += int(state.counters[runs.NODES]) - nodes
            counted += piece.size
    return Work(taken / max(1, counted), float(np.mean(active)))


def _drawn(random: np.random.Generator, values: int, shape: tuple[int, ...], *, gaussian: bool) -> NDArray[np.int64]:
    """Numbers from 0 below `values`: uniform, or from a Gaussian around their middle."""
    if not gaussian:
        return random.integers(0, values, shape)
    drawn = np.floor(random.normal(values / 2, values / _SPREAD, shape)).astype(np.int64)
    return np.clip(drawn, 0, values - 1)
