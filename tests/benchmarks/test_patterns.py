"""The benchmark of patterns: its workload is the paper's, and it says only what was found in every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import patterns
from benchmarks.__main__ import main
from benchmarks.pattern_workloads import IRRELEVANT, Sequences, Stream, graph, read, work
from benchmarks.patterns import FORMS, PatternRow, Sizes, coded, measure, measure_streams, merging
from experiments.muthusamy import output
from vedette.patterns.matcher import PatternMatcher


def test_patterns_ask_for_events_of_the_pool_with_so_many_loose_operators() -> None:
    made = Sequences(patterns=30, length=6, pool=7, loose=2)
    for text, steps in zip(made.texts(), made.steps.tolist(), strict=True):
        assert text.count(";") == 2
        assert text.count("],") == 3
        assert [int(part.split("]")[0]) for part in text.split("= ")[1:]] == steps
        assert all(0 <= step < 7 for step in steps)


def test_a_gaussian_asks_mostly_for_the_middle_of_the_pool() -> None:
    middle = [np.mean(abs(Sequences(gaussian=gaussian).steps - 24.5) < 9) for gaussian in (False, True)]
    assert middle[0] == pytest.approx(0.36, abs=0.03)
    assert middle[1] == pytest.approx(0.72, abs=0.03)


def test_a_stream_holds_all_full_matches_and_half_of_its_runs_are_irrelevant() -> None:
    made = Sequences(patterns=8, length=4, pool=40, loose=0)
    stream = Stream(made, partial=5, full=3)
    numbers = stream.numbers()
    found = PatternMatcher(made.records()).process(stream.events()).matches
    assert np.bincount(found.pattern, minlength=8).min() >= 3
    asked = int((numbers != IRRELEVANT).sum())
    assert 8 * (3 * 4 + 5 * 1) <= asked <= 8 * (3 * 4 + 5 * 3)
    assert stream.numbers(most=100).tolist() == numbers[:100].tolist()


def test_work_counts_steps_and_those_that_wait() -> None:
    """a ; b ; c once: three steps, and those after a and after ab wait for ever."""
    made = Sequences(patterns=1, length=3, loose=2)
    assert len(set(made.steps[0].tolist())) == 3
    one, numbers = graph(made.records())
    events = pa.table({"event": [IRRELEVANT, *made.steps[0].tolist()]})
    done = work(one, read(numbers, events), every=1)
    assert done.transitions == 3 / 4
    assert done.active == (0 + 1 + 2 + 2) / 4


def test_events_are_coded_as_the_matcher_reads_them() -> None:
    made = Sequences(patterns=20, length=5, pool=10)
    matcher = PatternMatcher(made.records())
    events = Stream(made).events(300)
    _, numbers = graph(made.records())
    ours, theirs = coded(matcher, made, events), read(numbers, events)
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.primitive.tolist() == theirs.primitive.tolist()


def test_all_forms_find_the_same_and_merging_saves_states() -> None:
    rows = merging(60, 800, repetitions=1)
    assert [row.form for row in rows] == list(FORMS)
    assert len({row.matches for row in rows}) == 1
    assert rows[0].matches > 0
    assert rows[0].states < rows[1].states == rows[2].states
    assert rows[0].active < rows[1].active == rows[2].active


def test_forms_that_differ_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    row = PatternRow(1, 1, "merged", 1, 1.0, 1, 1, 1, 1.0, 1.0, 1.0, 1.0, 1.0)
    rows = iter([row, replace(row, matches=2.0), row])
    monkeypatch.setattr(patterns, "measure", lambda *_, **__: next(rows))
    with pytest.raises(ArithmeticError, match="differ"):
        merging(1, 1, repetitions=1)


def test_patterns_that_no_event_is_about_take_no_part() -> None:
    few, many = (measure(patterns, 500, touched=20, repetitions=1) for patterns in (20, 80))
    assert (few.active, few.transitions, few.matches) == (many.active, many.transitions, many.matches)
    assert few.states < many.states  # the first steps of all


def test_a_stream_about_few_patterns_is_as_long_as_any() -> None:
    assert measure(2, 20_000, repetitions=1).events == 20_000


def test_missing_data_are_left_out_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(output, "DATA", tmp_path)
    found = patterns.Patterns()
    measure_streams(found, Sizes.of([10], quick=True))
    assert not found.streams
    assert [note.split(":")[1].split()[:2] for note in found.notes] == [["heat", "waves"], ["logins", "are"]]


def test_the_command_on_tiny_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    main(["--quick", "--workload", "patterns", "--sizes", "20,40", "--json", str(path)])
    figures = json.loads(path.read_text())
    assert figures["indexes"] == []
    assert [row["patterns"] for row in figures["patterns"]["workload"]] == [20, 40]
    assert [(row["patterns"], row["touched"]) for row in figures["patterns"]["growth"]] == [
        (4, 4),
        (12, 4),
        (40, 4),
        (40, 1),
        (40, 40),
    ]
    assert [row["form"] for row in figures["patterns"]["merging"]] == list(FORMS)
    printed = capsys.readouterr().out
    for word in ("a pool of 50", "what the cost of an event grows with", "machines apart"):
        assert word in printed
