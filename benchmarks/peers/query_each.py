"""A query for each rule, for engines that know tables: as many as there is time for, all of them by extrapolation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.protocol import Asked, Figures, read_rules, write_matches


@dataclass(frozen=True)
class Tables:
    """What an engine can do; a condition is a rule as SQL."""

    few: Callable[[str], list[int]]  # the numbers of events for which it holds, among those that are compared
    every: Callable[[str], object]  # the same of all events
    load: Callable[[], object]  # the events from JSON once more


def measure(tables: Tables, asked: Asked, folder: Path, figures: Figures) -> None:
    """What is compared first, then how long it takes."""
    rules = read_rules(folder)
    found: list[list[int]] = [[] for _ in range(asked.checked)]
    tables.few(rules[0][1])
    done, begin = 0, time.perf_counter()
    for id_, where in rules:
        for event in tables.few(where):
            found[event].append(id_)
        done += 1
        if time.perf_counter() - begin > 5 * asked.match_s:
            break
    each = (time.perf_counter() - begin) / done
    write_matches(folder, found)
    figures.checked, figures.first = asked.checked, done if done < len(rules) else None
    tables.every(rules[0][1])
    sample = rules[:: max(1, int(each * len(rules) / asked.match_s))]
    timed, begin = 0, time.perf_counter()
    for _, where in sample:
        tables.every(where)
        timed += 1
        if time.perf_counter() - begin > 3 * asked.match_s:
            break
    took = (time.perf_counter() - begin) * len(rules) / timed
    begin = time.perf_counter()
    tables.load()
    loading = time.perf_counter() - begin
    figures.parsed_per_s, figures.text_per_s = asked.events / took, asked.events / (took + loading)
    figures.parsed_us = (1e6 * each * len(rules), 1e6 * each * len(rules))
    figures.notes.append(
        f"{timed:,} of {len(rules):,} queries timed on {asked.events:,} events; one event is what {asked.checked} take"
    )
