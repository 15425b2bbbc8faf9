"""All rules of Sigma over recorded attacks in one pass, beside a query for each rule in DuckDB and in Spark SQL."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from rich.table import Table

from benchmarks import clock, sigma_data
from benchmarks.peers.rule_queries import Asked, NotSql, Query, fields, on_duckdb, on_spark
from benchmarks.tables import table
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions

BATCH = 65_536
_SAMPLE = 4_096  # events that the index is laid out for
AIM_EVENTS, AIM_RATIO = 50_000, 50.0


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    events: int | None  # None: all
    peer_events: int
    duckdb_rules: int
    spark_rules: int

    @classmethod
    def of(cls, *, quick: bool) -> Sizes:
        """For a run that takes long, or one that only shows that it runs."""
        return cls(20_000, 2_000, 10, 0) if quick else cls(None, 50_000, 200, 40)


@dataclass(frozen=True)
class OnePass:
    """All rules over all events."""

    rules: int
    events: int
    matches: int
    translate_s: float  # from YAML to texts of the language
    add_s: float  # from texts to normal forms
    compile_s: float
    match_s: float  # from Arrow tables to pairs
    encode_s: float  # the part of it that reads columns

    @property
    def events_per_s(self) -> float:
        """On one core."""
        return self.events / self.match_s


@dataclass(frozen=True)
class QueryPerRule:
    """What all rules take as one query each, by a sample of rules; both in seconds of the same clock."""

    peer: str
    events: int
    sampled: int
    rules: int
    prepare_s: float  # once for all rules: the columns that they speak of
    sample_s: float
    ours_s: float  # all rules, the same events, reading columns included
    matches: int  # of the sampled rules: the same for both

    @property
    def all_s(self) -> float:
        """What all rules would take."""
        return self.prepare_s + self.sample_s * self.rules / self.sampled

    @property
    def ratio(self) -> float:
        """How many times as long as ours."""
        return self.all_s / self.ours_s


@dataclass
class SigmaFigures:
    """What was measured."""

    passes: list[OnePass] = field(default_factory=list)
    queries: list[QueryPerRule] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """For a person."""
        return [
            table(
                f"Rules of Sigma over recorded attacks, in one pass (aim: {AIM_EVENTS:,} events/s)",
                self.passes,
                {
                    "rules": lambda r: f"{r.rules:,}",
                    "events": lambda r: f"{r.events:,}",
                    "events/s": lambda r: f"{r.events_per_s:,.0f}",
                    "reading columns": lambda r: f"{r.encode_s / r.match_s:.0%}",
                    "pairs, as known": lambda r: f"{r.matches:,}",
                    "translate s": lambda r: f"{r.translate_s:.1f}",
                    "add s": lambda r: f"{r.add_s:.1f}",
                    "compile s": lambda r: f"{r.compile_s:.1f}",
                },
            ),
            table(
                f"... beside a query for each rule (aim: {AIM_RATIO:.0f} times as long)",
                self.queries,
                {
                    "peer": lambda r: r.peer,
                    "events": lambda r: f"{r.events:,}",
                    "rules asked": lambda r: f"{r.sampled:,}",
                    "prepare s": lambda r: f"{r.prepare_s:.1f}",
                    "ms each": lambda r: f"{1e3 * r.sample_s / r.sampled:.1f}",
                    "all rules s": lambda r: f"{r.all_s:,.0f}",
                    "ours s": lambda r: f"{r.ours_s:.2f}",
                    "times as long": lambda r: f"{r.ratio:,.0f}",
                    "pairs, as ours": lambda r: f"{r.matches:,}",
                },
            ),
        ]


def measure_sigma(figures: SigmaFigures, sizes: Sizes) -> None:
    """One pass over everything, then the peers on a part of it."""
    if not sigma_data.is_there():
        figures.notes.append("Note: the rules of Sigma and the recorded attacks are not here, so they are left out")
        return
    documents = sigma_data.documents()
    begin = clock.now()
    rules = sigma_data.translate(documents)
    translated = clock.now()
    subscriptions = Subscriptions()
    for rule in rules:
        subscriptions.add(rule.id, rule.when)
    added = clock.now()
    events = sigma_data.events()
    every = max(1, len(events) // (sizes.events or len(events)))
    events = _thinned(events, every)
    matcher = subscriptions.compile(sample=_thinned(events, max(1, len(events) // _SAMPLE)))
    compiled = clock.now()
    _check(matcher, events, every)
    figures.passes.append(
        OnePass(
            rules=len(rules),
            events=len(events),
            matches=sum(1 for row, _ in sigma_data.expected() if row % every == 0),
            translate_s=translated - begin,
            add_s=added - translated,
            compile_s=compiled - added,
            match_s=_seconds(matcher.match_rows, events, clock.now),
            encode_s=_seconds(matcher.encode, events, clock.now),
        )
    )
    few = _thinned(events, max(1, len(events) // sizes.peer_events))
    _measure_peers(figures, sizes, rules, matcher, few)


def _measure_peers(
    figures: SigmaFigures, sizes: Sizes, rules: list[sigma_data.SigmaRule], matcher: Engine, events: pa.Table
) -> None:
    found = _pairs(matcher, events)
    wall = _seconds(matcher.match_rows, events, time.perf_counter)
    ours = _seconds(matcher.match_rows, events, clock.now)
    said = _said(rules)
    columns = fields(said.values())

    def duckdb(queries: list[Query], *, flat: bool) -> Asked:
        return on_duckdb(events, columns, queries, clock.now, flat=flat)

    # What Spark spends is not time of this process: there the clock is that on the wall, for both.
    peers: tuple[tuple[str, int, float, Callable[[list[Query]], Asked]], ...] = (
        ("DuckDB, events as they are", sizes.duckdb_rules, ours, partial(duckdb, flat=False)),
        ("DuckDB, a column for each field", sizes.duckdb_rules, ours, partial(duckdb, flat=True)),
        ("Spark SQL, a column for each field", sizes.spark_rules, wall, lambda q: _on_spark(events, columns, q)),
    )
    for peer, count, ours_s, ask in peers:
        if not count:
            continue
        sample = list(said)[:: max(1, len(said) // count)]
        asked = ask([said[rule] for rule in sample])
        for rule, theirs in zip(sample, asked.found, strict=True):
            if theirs != found.get(rule, 0):
                raise ArithmeticError(f"{peer} finds {theirs:,} events for {rule}, and we find {found.get(rule, 0):,}")
        times = (asked.prepare_s, asked.queries_s, ours_s)
        figures.queries.append(QueryPerRule(peer, len(events), len(sample), len(rules), *times, sum(asked.found)))


def _said(rules: list[sigma_data.SigmaRule]) -> dict[str, Query]:
    """The rules that can be said in SQL."""
    said = {}
    for rule in rules:
        with contextlib.suppress(NotSql):
            said[rule.id] = Query(rule.tree)
    return said


def _on_spark(events: pa.Table, columns: list[str], queries: list[Query]) -> Asked:
    from benchmarks.spark.data import started

    with started("local[1]") as spark:
        return on_spark(spark, events, columns, queries, time.perf_counter)


def _check(matcher: Engine, events: pa.Table, every: int) -> None:
    """The pairs that are known, and no others."""
    known: dict[str, int] = {}
    for row, rule in sigma_data.expected():
        if row % every == 0:
            known[rule] = known.get(rule, 0) + 1
    found = _pairs(matcher, events)
    if found != known:
        wrong = sorted(rule for rule in {*found, *known} if found.get(rule) != known.get(rule))
        raise ArithmeticError(f"not the matches that are known: {len(wrong)} rules, such as {wrong[0]}")


def _pairs(matcher: Engine, events: pa.Table) -> dict[str, int]:
    """How many events each rule matches."""
    ids = matcher.ids.to_pylist()
    counts = np.zeros(len(ids), np.int64)
    for batch in _batches(events):
        counts += np.bincount(matcher.match_rows(batch).subscription, minlength=len(ids))
    return {ids[number]: int(counts[number]) for number in np.flatnonzero(counts)}


def _seconds(action: Callable[[pa.Table], object], events: pa.Table, now: Callable[[], float]) -> float:
    begin = now()
    for batch in _batches(events):
        action(batch)
    return now() - begin


def _batches(events: pa.Table) -> list[pa.Table]:
    return [events.slice(first, BATCH) for first in range(0, len(events), BATCH)]


def _thinned(events: pa.Table, every: int) -> pa.Table:
    return events if every == 1 else events.take(pa.array(range(0, len(events), every)))
