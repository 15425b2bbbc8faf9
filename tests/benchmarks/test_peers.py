"""The peers' harness: rules say the same in every language, wrong answers void a row, and nothing is left running."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers import cases, comparing, running
from benchmarks.peers.__main__ import main
from benchmarks.peers.building import Built, Missing
from benchmarks.peers.protocol import Figures
from benchmarks.peers.record import Record, Row, merged, no_time
from benchmarks.peers.registry import OURS, PEERS, Peer
from benchmarks.peers.report import cells
from benchmarks.peers.rules import All, CannotSay, Either, Not, Rule, Test, conjunctions, without_not
from benchmarks.peers.translations import a_tree, event_patterns, hypermatch, sql, vedette
from tests.waiting import until
from vedette.engine.subscriptions import Subscriptions

LIMITS = running.Limits(10.0, 0.02, 60)
QUICK = [  # each is a process of its own: those that start fast, and few of them
    ("duckdb", "W4"),
    ("duckdb", "expressions"),
    ("rule-engine", "routing"),
    ("cel-python", "W1-3"),
]
NESTED = All((Test("a", "=", 1), Not(Either((Test("b", "between", (2, 3)), Test("c", "startswith", "x"))))))


def run(name: str, case: cases.Case) -> running.Outcome:
    """A peer on a case, or a skip that says why not."""
    peer = PEERS[name]
    try:
        return running.run(peer, peer.build(), case, LIMITS)
    except Missing as why:
        pytest.skip(f"{name}: {why}")


@pytest.mark.parametrize(("name", "workload"), QUICK)
def test_a_peer_finds_what_vedette_finds(name: str, workload: str) -> None:
    case = cases.make(workload, 40, 30)
    outcome = run(name, case)
    assert outcome.figures.failed is None
    assert comparing.difference(matched(case), outcome.matches, outcome.said) is None
    assert len(outcome.said) == 40
    assert outcome.figures.parsed_per_s is not None
    assert outcome.figures.parsed_per_s > 0


def test_vedettes_own_driver_finds_what_its_matcher_finds() -> None:
    case = cases.make("W2", 300, 60)
    outcome = running.run(OURS, OURS.build(), case, LIMITS)
    assert outcome.matches == matched(case)
    assert sum(map(len, outcome.matches)) > 0
    assert None not in (outcome.figures.text_us, outcome.figures.parsed_us, outcome.figures.text_per_s)


def matched(case: cases.Case) -> list[list[int]]:
    """By the matcher, in this process."""
    types = {name: "list<string>" if kind == "strings" else kind for name, kind in case.kinds.items()}
    subscriptions = Subscriptions(types)
    for number, rule in enumerate(case.rules()):
        subscriptions.add(str(number), vedette.text(rule))
    matcher = subscriptions.compile()
    return [sorted(map(int, matcher.match(event))) for event in case.events]


def test_the_workloads_match_as_often_as_they_say() -> None:
    found = [len(ids) for ids in matched(cases.make("routing", 200, 40))]
    assert set(found) == {10}
    expressions = matched(cases.make("expressions", 3_000, 100))
    assert 0 < sum(map(len, expressions)) / 100 / 3_000 < 1e-3


def test_negation_is_only_at_tests_and_numbers_are_turned_round() -> None:
    assert without_not(NESTED) == All(
        (
            Test("a", "=", 1),
            All((Either((Test("b", "<", 2), Test("b", ">", 3))), Test("c", "startswith", "x", negated=True))),
        )
    )
    assert without_not(Not(Not(Test("a", "<", 1)))) == Test("a", "<", 1)
    assert without_not(Not(Test("a", "<", 1, negated=True))) == Test("a", "<", 1)


def test_conjunctions_and_their_limit() -> None:
    assert conjunctions(NESTED) == [
        (Test("a", "=", 1), Test("b", "<", 2), Test("c", "startswith", "x", negated=True)),
        (Test("a", "=", 1), Test("b", ">", 3), Test("c", "startswith", "x", negated=True)),
    ]
    many = All(tuple(Either((Test("a", "=", n), Test("b", "=", n))) for n in range(8)))
    with pytest.raises(CannotSay, match="64"):
        conjunctions(many)


def test_translations() -> None:
    kinds = {"a": "int", "b": "float", "c": "string"}
    assert vedette.text(NESTED) == "a = 1 and not (b between 2 and 3 or c startswith 'x')"
    assert [json.loads(text) for text in event_patterns.event_ruler(NESTED, "a")] == [
        {"a": [1], "b": [{"numeric": [op, bound]}], "c": [{"anything-but": {"prefix": "x"}}]}
        for op, bound in (("<", 2), (">", 3))
    ]
    assert json.loads(hypermatch.text(Test("b", "<", 2), "a")) == {"b": {"lt": 2}}
    assert a_tree.text(Not(Test("b", "<", 1e-7)), kinds, "a") == "b >= 0.0000001"
    assert a_tree.text(All(()), kinds, "a") == "a is not null"
    assert sql.duckdb(Test("c", "contains", "50%'")) == "c LIKE '%50!%''%' ESCAPE '!'"


@pytest.mark.parametrize(
    ("translate", "rule"),
    [
        (lambda rule: event_patterns.quamina(rule, "a"), Test("b", "<", 2)),
        (
            lambda rule: event_patterns.event_ruler(rule, "a"),
            All((Test("c", "contains", "x"), Test("c", "contains", "y"))),
        ),
        (lambda rule: a_tree.text(rule, {"c": "string"}, "c"), Test("c", "contains", "x")),
    ],
)
def test_what_a_peer_cannot_say_is_told(translate: object, rule: Rule) -> None:
    assert callable(translate)
    with pytest.raises(CannotSay):
        translate(rule)


def test_a_wrong_answer_voids_a_row_and_rules_that_were_not_said_do_not() -> None:
    assert comparing.difference([[1, 2], [3]], [[1], [3]], {1, 3}) is None
    said = comparing.difference([[1, 2], [3]], [[1], [3, 4]], {1, 2, 3, 4})
    assert said is not None
    assert said.startswith("1 matches are missing and 1 too many in 2 events (event 0, rule 2: not found")
    row = Row("W2", 10, "x", Figures(parsed_per_s=9.0), 10, 10, 1, void=said)
    assert cells(Record(rows=[row]), row)[2].startswith("void, wrong answers: 1 matches")


def test_a_driver_that_hangs_or_fails_is_ended_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases.make("W2", 5, 5)
    limits = running.Limits(0.0, 0.02, 5)
    peer = Peer("hangs", "sh", OURS.translate, lambda: Built(()))
    script = "sleep 1000 & echo $! > " + str(tmp_path / "child") + "; wait"
    monkeypatch.setattr(running, "_START_S", 3)
    outcome = running.run(peer, Built(("sh", "-c", script)), case, limits)
    assert outcome.figures.failed is not None
    assert "not done after 3 s" in outcome.figures.failed
    until(lambda: not _runs(int((tmp_path / "child").read_text())), 30)  # killed; that it ends takes a moment
    failed = running.run(peer, Built(("sh", "-c", "echo no luck; exit 3")), case, limits).figures.failed
    assert failed == "the driver ended with 3: no luck"


def _runs(process: int) -> bool:
    """One that has ended has no words left, though nobody may have asked for its end yet."""
    try:
        return bool((Path("/proc") / str(process) / "cmdline").read_bytes())
    except OSError:
        return False


def test_pieces_of_a_run_are_merged_and_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    first = Record({"cpu": "x"}, "2026", 1.0, rows=[Row("W2", 1, "vedette", Figures(parsed_us=(1.0, 2.0)))])
    first.notes = [no_time("W2", 2), no_time("W2", 3)]
    first.write(tmp_path / "first.json")
    assert Record.read(tmp_path / "first.json") == first
    rows = [Row("W2", 1, "vedette", Figures(build_s=3.0)), Row("W2", 2, "vedette", Figures(build_s=4.0))]
    both = merged([first, Record({"cpu": "x"}, "2027", 2.0, rows=rows, notes=["n"])])
    assert (both.pieces, both.seconds, both.began) == (2, 3.0, "2026")
    assert both.notes == ["W2 at 3: no time was left", "n"]
    assert [row.figures.build_s for row in both.rows] == [3.0, 4.0]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "peers.json"
    main(["--quick", "--workloads", "W2", "--peers", "rule-engine", "--json", str(path)])
    record = Record.read(path)
    assert [(row.peer, row.counts) for row in record.rows] == [("vedette", True), ("rule-engine", True)]
    assert "rule-engine" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--peers", "nobody"])
