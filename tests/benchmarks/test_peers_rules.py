"""Sequences and rules of Sigma say to everybody what they say; queries one by one are extrapolated."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks.peers import query_each, sequence_cases
from benchmarks.peers.cases import Case
from benchmarks.peers.protocol import Asked, Figures, read_matches
from benchmarks.peers.rules import All, CannotSay, Either, Not, Test
from benchmarks.peers.sequence_cases import WINDOW_MS, Sequence
from benchmarks.peers.sigma_rules import rule
from benchmarks.peers.translations import sequences
from benchmarks.peers.vedette_stream.driver import Vedette
from vedette.language.parser import parse_filter

ASKED = Asked("sequences", 1, 1, 1, 1.0, 0.01)


def completed(case: Case) -> list[list[int]]:
    """By looking at all combinations of earlier events of the same user."""
    found: list[list[int]] = []
    seen: dict[int, list[tuple[int, int]]] = defaultdict(list)  # kind and time, by user
    patterns = list(case.rules())
    for event in case.events:
        before = seen[event["user"]]
        now = (event["kind"], event["time"])
        pairs = [[*pair, now] for pair in combinations(before, 2)]
        direct = [[*before[-2:], now]]
        found.append([number for number, one in enumerate(patterns) if _holds(one, pairs if one.loose else direct)])
        before.append(now)
    return found


def _holds(pattern: Sequence, chains: list[list[tuple[int, int]]]) -> bool:
    return any(
        tuple(kind for kind, _ in chain) == pattern.kinds
        and (not pattern.loose or 1000 * (chain[-1][1] - chain[0][1]) <= WINDOW_MS)
        for chain in chains
    )


@pytest.mark.parametrize("workload", ["sequences", "sequences-loose"])
def test_the_stream_driver_finds_what_all_combinations_say(workload: str) -> None:
    case = sequence_cases.make(workload, 60, 900)
    driver = Vedette()
    driver.build([(number, sequences.vedette(one)) for number, one in enumerate(case.rules())], ASKED, lambda: False)
    lines = [json.dumps(event).encode() for event in case.events]
    found = driver.matched(lines)
    assert found == completed(case)
    assert sum(map(len, found)) > 2
    again = driver.match_all(driver.parse_all(b"\n".join(lines)))  # the same events once more, later
    assert len(again) >= sum(map(len, found)) - 60


def test_sequences_in_every_language() -> None:
    strict, loose = Sequence((1, 2, 3), loose=False), Sequence((1, 2, 3), loose=True)
    assert sequences.vedette(strict) == "[kind = 1] , [kind = 2] , [kind = 3] by user"
    assert sequences.vedette(loose) == "[kind = 1] ; [kind = 2] ; [kind = 3] by user within 1000500 ms"
    assert "pattern (s0 s1 s2) define s0 as s0.kind = 1" in sequences.esper(strict)
    assert "every s0=Happened(kind = 1) -> ((every s1=Happened(kind = 2, user = s0.user)" in sequences.esper(loose)
    assert json.loads(sequences.flink(strict)) == {"kinds": [1, 2, 3], "window_ms": None}


def test_a_rule_of_sigma_is_in_lower_case_and_looks_for_parts() -> None:
    text = "text(attrs.Image) iendswith '\\Cmd.exe' and not (text(channel) ilike 'A%b' or text(attrs.User) is null)"
    assert rule(parse_filter(text)) == All(
        (
            Test("f_image", "endswith", "\\cmd.exe"),
            Not(Either((Test("f_channel", "like", ("a", "b")), Test("f_user", "null", None)))),
        )
    )
    with pytest.raises(CannotSay):
        rule(parse_filter("text(attrs.Image) matches 'a+'"))


def test_queries_that_there_is_no_time_for_are_extrapolated(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("".join(f"{number}\tq{number}\n" for number in range(50_000)))
    asked, figures = Asked("expressions", 50_000, 50, 2, 1.0, 0.0001), Figures()
    query_each.measure(query_each.Tables(lambda _: [1], lambda _: None, lambda: None), asked, tmp_path, figures)
    assert figures.first is not None
    assert read_matches(tmp_path) == [[], list(range(figures.first))]
    assert figures.parsed_per_s is not None
