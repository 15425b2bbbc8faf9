"""Matching with and without covering, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks import clock, forms
from benchmarks.covering_workloads import COVERING
from benchmarks.tables import short, table
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.kernels.match_rows import MatchRows
from vedette.schema.encode import EncodedEvents

_SAMPLE = 4096
_FEW = 50  # single events between two turns


@dataclass(frozen=True)
class CoveringRow:
    """What was measured; times in microseconds."""

    workload: str
    subscriptions: int
    covered: int
    decide_s: float  # who is covered, and both levels
    compile_s: float  # without covering
    matches_per_event: float
    reached: float  # of the events
    in_levels: bool
    flat_us: float  # per event of a batch, encoded before
    covering_us: float
    one_flat_us: float
    one_covering_us: float
    extra_bytes: float  # per subscription
    bytes: float

    @property
    def ratio(self) -> float:
        """How many times as fast batches are."""
        return self.flat_us / self.covering_us

    @property
    def one_ratio(self) -> float:
        """How many times as fast single events are."""
        return self.one_flat_us / self.one_covering_us


@dataclass
class CoveringFigures:
    """All rows."""

    matching: list[CoveringRow] = field(default_factory=list)

    def tables(self) -> Iterable[Table]:
        """For a person."""
        yield table(
            "Matching with covering, and without; events encoded before",
            self.matching,
            _COLUMNS,
            lambda row: row.workload,
        )


_COLUMNS: dict[str, Callable[[CoveringRow], str]] = {
    "workload": lambda r: r.workload,
    "subscriptions": lambda r: f"{r.subscriptions:,}",
    "covered": lambda r: f"{r.covered / r.subscriptions:.0%}",
    "matches/event": lambda r: short(r.matches_per_event),
    "reached": lambda r: f"{r.reached:.0%}" if r.extra_bytes else "",
    "way": lambda r: "levels" if r.in_levels else "flat",
    "us/event without": lambda r: short(r.flat_us),
    "with": lambda r: short(r.covering_us),
    "x": lambda r: f"{r.ratio:.2f}",
    "one event us without": lambda r: short(r.one_flat_us),
    "with, one": lambda r: short(r.one_covering_us),
    "x, one": lambda r: f"{r.one_ratio:.2f}",
    "compile s": lambda r: f"{r.compile_s:.1f}",
    "cover s": lambda r: f"{r.decide_s:.1f}",
    "bytes": lambda r: f"{r.bytes:.0f}",
    "of levels": lambda r: f"{r.extra_bytes:.0f}",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    subscriptions: tuple[int, ...]
    events: int
    singles: int
    turns: int

    @classmethod
    def of(cls, *, quick: bool) -> Sizes:
        """For a look, or for a table."""
        return cls((2_000,), 4_096, 300, 5) if quick else cls((20_000, 100_000), 16_384, 2_000, 15)


def measure_covering(figures: CoveringFigures, sizes: Sizes, name: str) -> None:
    """One workload at every size."""
    figures.matching += [measure(name, size, sizes) for size in sizes.subscriptions]


def measure(name: str, size: int, sizes: Sizes) -> CoveringRow:
    """Both matchers, in turns, so that whatever else the machine does is the same for both."""
    made = COVERING[name]
    constraints = made.subscriptions(size)
    subscriptions = Subscriptions(forms.schema(constraints.attributes))
    for number, text in enumerate(forms.texts(constraints)):
        subscriptions.add(f"s{number}", text)
    sample = forms.arrow(made.events(_SAMPLE, 77))
    begin = clock.now()
    flat = subscriptions.compile(sample=sample)
    compiled = clock.now()
    covering = CoveringMatcher.compile(subscriptions, sample=sample)
    decided = clock.now()
    events = forms.arrow(made.events(sizes.events, 2))
    rows = flat.match_rows(events, ordered=True)
    _compare(name, rows, covering.match_rows(events, ordered=True))
    batches = _turns(flat, covering, flat.encode(events), sizes.turns)
    dicts = forms.dicts(made.events(sizes.singles, 3))
    ones = _singles(flat, covering, dicts)
    saved = covering.savings
    flat_us, covering_us = (time / sizes.events * 1e6 for time in batches)
    one_flat_us, one_covering_us = (time * 1e6 for time in ones)
    return CoveringRow(
        workload=name,
        subscriptions=size,
        covered=saved.covered,
        decide_s=(decided - compiled) - (compiled - begin),
        compile_s=compiled - begin,
        matches_per_event=len(rows.subscription) / sizes.events,
        reached=saved.reached / max(saved.events, 1),
        in_levels=saved.in_levels,
        flat_us=flat_us,
        covering_us=covering_us,
        one_flat_us=one_flat_us,
        one_covering_us=one_covering_us,
        extra_bytes=saved.extra_bytes / size,
        bytes=flat.nbytes / size,
    )


def _turns(flat: Engine, covering: CoveringMatcher, encoded: EncodedEvents, turns: int) -> tuple[float, float]:
    """The median times of both."""
    times: tuple[list[float], list[float]] = [], []
    matchers: tuple[Engine | CoveringMatcher, ...] = flat, covering
    for _ in range(turns):
        for matcher, found in zip(matchers, times, strict=True):
            begin = clock.now()
            matcher.match_rows(encoded)
            found.append(clock.now() - begin)
    return median(times[0]), median(times[1])


def _singles(flat: Engine, covering: CoveringMatcher, dicts: list[dict[str, Any]]) -> tuple[float, float]:
    """The median times per event of both, a few events at a time; all of them once before."""
    times: tuple[list[float], list[float]] = [], []
    matchers: tuple[Engine | CoveringMatcher, ...] = flat, covering
    for turn in range(3):
        for begin in range(0, len(dicts), _FEW):
            some = dicts[begin : begin + _FEW]
            for matcher, found in zip(matchers, times, strict=True):
                since = clock.now()
                for event in some:
                    matcher.match(event)
                if turn:
                    found.append((clock.now() - since) / len(some))
    return median(times[0]), median(times[1])


def _compare(name: str, wanted: MatchRows, found: MatchRows) -> None:
    if not (np.array_equal(wanted.start, found.start) and np.array_equal(wanted.subscription, found.subscription)):
        raise ArithmeticError(f"{name}: covering finds other matches")
