"""`python -m benchmarks.micro.probes`: many string tests over the distinct values of a batch, beside what people use.

All in one run and on the same strings; peers that are too slow for all of them get a sample. What is reported is the
time per value, and how many times as long each peer takes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from benchmarks import clock
from benchmarks.clock import seconds
from vedette.filters.probes.probe_table import ProbeTable
from vedette.language.normalform import TextProbe
from vedette.schema.columns import Column, TextColumn
from vedette.schema.types import STRING

VALUES = 65_536
PATTERNS = 10_000
LENGTH = 80
VOCABULARY = 20_000

# So many values are put to the peers that ask every pattern for every value.
PYTHON_SAMPLE = 64
DUCKDB_SAMPLE = 256


@dataclass(frozen=True)
class Texts:
    """Distinct strings of words, frequent and rare ones, and patterns of which few are found."""

    values: list[bytes]
    patterns: list[str]

    @property
    def column(self) -> TextColumn:
        """The values as a column of a batch, each of them once."""
        return TextColumn(np.arange(len(self.values), dtype=np.int32), self.values)


def texts(values: int = VALUES, patterns: int = PATTERNS, seed: int = 1) -> Texts:
    """Made-up text: word lengths and frequencies are roughly those of a language."""
    random = Random(seed)
    words = ["".join(random.choices("etaoinshrdlucmfwypvbgk", k=random.randint(2, 9))) for _ in range(VOCABULARY)]
    frequency = [1 / (rank + 1) for rank in range(VOCABULARY)]
    made: dict[bytes, None] = {}
    while len(made) < values:
        text = " ".join(random.choices(words, frequency, k=LENGTH // 4))
        made[text[:LENGTH].encode()] = None
    wanted: dict[str, None] = {}
    while len(wanted) < patterns:
        pattern = " ".join(random.choices(words, k=random.choice((1, 2, 2))))[:14]
        if len(pattern) >= 5:
            wanted[pattern] = None
    return Texts(list(made), list(wanted))


def run(values: int = VALUES, patterns: int = PATTERNS, repetitions: int = 5) -> dict[str, Any]:
    """Nanoseconds per value, what they are divided into, and the peers' times as multiples of ours."""
    made = texts(values, patterns)
    _check_ours(made)
    tests: dict[str, Callable[[str], TextProbe]] = {
        "contains": lambda pattern: TextProbe("contains", pattern),
        "contains, ignoring case": lambda pattern: TextProbe("contains", pattern, True),
        "endswith": lambda pattern: TextProbe("endswith", pattern),
        "like a%b": lambda pattern: TextProbe("like", f"%{pattern[:4]}%{pattern[4:]}%"),
        "matches": lambda pattern: TextProbe("matches", f"{pattern[:-1]}[a-z]"),
    }
    result: dict[str, Any] = {"values": values, "patterns": patterns, "clock": clock.used()}
    result["ours"] = {name: _ours(made, test, repetitions) for name, test in tests.items()}
    result["peers"] = _peers(made, result["ours"]["contains"])
    return result


def _found_by_python(made: Texts) -> list[int]:
    """How many of the patterns are in each of the first values."""
    sample = [value.decode() for value in made.values[:PYTHON_SAMPLE]]
    return [sum(pattern in value for pattern in made.patterns) for value in sample]


def _check_ours(made: Texts) -> None:
    """Refuse to measure what is wrong."""
    tokens = [frozenset((TextProbe("contains", pattern),)) for pattern in made.patterns]
    found = ProbeTable.build(Column("text", STRING), tokens).evaluate(made.column)
    sizes = np.append(np.diff(found.start), 0)[found.sets]
    if sizes[:PYTHON_SAMPLE].tolist() != _found_by_python(made):
        raise RuntimeError("the probes do not find what Python finds")


def _ours(made: Texts, test: Callable[[str], TextProbe], repetitions: int) -> dict[str, float]:
    tokens = [frozenset((test(pattern),)) for pattern in made.patterns]
    column = Column("text", STRING)
    table = ProbeTable.build(column, tokens)
    table.evaluate(made.column)  # compiles the kernels
    build = seconds(lambda: ProbeTable.build(column, tokens), repetitions)
    # A new table every time: what earlier batches left in a cache does not count.
    fresh = iter([ProbeTable.build(column, tokens) for _ in range(repetitions)])
    batch = seconds(lambda: next(fresh).evaluate(made.column), repetitions)
    found = table.evaluate(made.column)
    return {
        "build_ms": 1e3 * build,
        "ns_per_value": 1e9 * batch / len(made.values),
        "ns_per_byte": 1e9 * batch / sum(map(len, made.values)),
        "found_per_value": len(found.tokens) / len(made.values),
    }


def _peers(made: Texts, ours: dict[str, float]) -> dict[str, Any]:
    """Times as multiples of ours; a peer that is not installed says so."""
    expected = _found_by_python(made)
    peers: dict[str, Any] = {}
    for name, module, measure in (
        ("python in", None, _python),
        ("duckdb contains join", "duckdb", _duckdb),
        ("pyahocorasick", "ahocorasick", _pyahocorasick),
    ):
        if module is not None and importlib.util.find_spec(module) is None:
            peers[name] = "not installed"
            continue
        taken, found = measure(made)
        if found[: len(expected)] != expected[: len(found)]:
            raise RuntimeError(f"{name} does not find what Python finds")
        peers[name] = {"ns_per_value": 1e9 * taken, "times_ours": 1e9 * taken / ours["ns_per_value"]}
    return peers


def _python(made: Texts) -> tuple[float, list[int]]:
    """Every pattern in every value, one after another."""
    sample = [value.decode() for value in made.values[:PYTHON_SAMPLE]]
    found: list[int] = []

    def ask() -> None:
        found[:] = [len([pattern for pattern in made.patterns if pattern in value]) for value in sample]

    return seconds(ask, 3) / len(sample), found


def _duckdb(made: Texts) -> tuple[float, list[int]]:
    """A join of values and patterns on `contains`, on one thread."""
    import duckdb
    import pyarrow as pa

    sample = [value.decode() for value in made.values[:DUCKDB_SAMPLE]]
    connection = duckdb.connect(config={"threads": 1})
    connection.register("value", pa.table({"id": range(len(sample)), "text": sample}))
    connection.register("pattern", pa.table({"pattern": made.patterns}))
    connection.execute("create table v as from value; create table p as from pattern")
    query = "select v.id, p.pattern from v join p on contains(v.text, p.pattern)"
    taken = seconds(lambda: connection.sql(query).to_arrow_table(), 3)
    found = [0] * len(sample)
    for (value,) in connection.execute(f"select id from ({query})").fetchall():
        found[value] += 1
    return taken / len(sample), found


def _pyahocorasick(made: Texts) -> tuple[float, list[int]]:
    """An automaton in C whose matches are collected in Python, as its users do."""
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for number, pattern in enumerate(made.patterns):
        automaton.add_word(pattern, number)
    automaton.make_automaton()
    sample = [value.decode() for value in made.values]
    found: list[int] = []

    def ask() -> None:
        found[:] = [len({number for _, number in automaton.iter(value)}) for value in sample]

    return seconds(ask, 3) / len(sample), found


def main() -> None:
    """Print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=VALUES)
    parser.add_argument("--patterns", type=int, default=PATTERNS)
    parser.add_argument("--cpu", action="store_true", help="count processor time, where others use the machine too")
    options = parser.parse_args()
    if options.cpu:
        clock.use("cpu")
    print(json.dumps(run(options.values, options.patterns), indent=2))


if __name__ == "__main__":
    main()
