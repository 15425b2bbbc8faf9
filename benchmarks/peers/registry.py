"""Which peers there are: how a rule is said to them, how they are built, and what they cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.building import Built, cargo, go, java, python
from benchmarks.peers.cases import Case
from benchmarks.peers.translations import a_tree, cel, event_patterns, hypermatch, lucene, rule_engine, sql, vedette

Translate = Callable[[Any, Case], list[str]]  # of a Rule, or of a sequence


@dataclass(frozen=True)
class Peer:
    """One engine."""

    name: str
    language: str
    translate: Translate
    build: Callable[[], Built]  # raises Missing where it cannot be had
    most: int = 100_000  # rules beyond which it is not tried: it is far over the limits there
    how: str = ""  # what its row means, where that is not obvious


OURS = Peer("vedette", "Python", lambda rule, _: [vedette.text(rule)], lambda: python("vedette_matcher"), 1_000_000)

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            "event-ruler",
            "Java",
            lambda rule, case: event_patterns.event_ruler(rule, case.always),
            lambda: java("event_ruler"),
            how="one pattern for each conjunction of a rule",
        ),
        Peer(
            "lucene-monitor",
            "Java",
            lambda rule, case: [lucene.text(rule, case.kinds)],
            lambda: java("lucene_monitor"),
            how="events/s in batches of up to 256 documents, its own presearcher",
        ),
        Peer(
            "quamina",
            "Go",
            lambda rule, case: event_patterns.quamina(rule, case.always),
            lambda: go("quamina"),
            how="takes JSON only",
        ),
        Peer(
            "hypermatch",
            "Go",
            lambda rule, case: [hypermatch.text(rule, case.always)],
            lambda: go("hypermatch"),
            1_000_000,
        ),
        Peer(
            "a-tree",
            "Rust",
            lambda rule, case: [a_tree.text(rule, case.kinds, case.always)],
            lambda: cargo("a_tree"),
            1_000_000,
        ),
        Peer("rule-engine", "Python", lambda rule, _: [rule_engine.text(rule)], lambda: python("rule_engine"), 10_000),
        Peer(
            "cel-python", "Python", lambda rule, case: [cel.text(rule, case.kinds)], lambda: python("cel_python"), 1_000
        ),
        Peer(
            "duckdb",
            "C++",
            lambda rule, _: [sql.duckdb(rule)],
            lambda: python("duckdb"),
            how="the fastest of four joins for W1 - W4, else a query for each rule",
        ),
        Peer(
            "spark-sql",
            "Scala",
            lambda rule, _: [sql.spark(rule)],
            lambda: python("spark_sql"),
            10_000,
            how="a join for W1 - W4, else a query for each rule",
        ),
    )
}
