"""The examples of Muthusamy 2010: Tables 1 to 3, and Figures 2 to 7."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.patterns.hosting import Told, check, records, told
from vedette.patterns.kernels import runs
from vedette.patterns.matcher import PatternMatcher
from vedette.schema.schema import Schema

LOGINS = Schema.of({"time": "timestamp", "status": "string", "ip": "ip"})
KINDS = Schema.of({"time": "timestamp", "k": "string"})


def timeline(kinds: str, times: list[int] | None = None) -> list[dict[str, Any]]:
    """Events of one kind each, at these seconds, or one second apart."""
    return [{"k": kind, "time": time} for kind, time in zip(kinds, times or range(len(kinds)), strict=True)]


def step(kind: str, label: str = "") -> str:
    """A step for one kind."""
    return f"{label}:[k = '{kind}']" if label else f"[k = '{kind}']"


# ---------------------------------------------------------------- Table 1


TABLE_1 = [
    {"time": f"2007-02-14T{time}Z", "status": status, "ip": ip}
    for time, status, ip in [
        ("12:38:10", "denied", "128.100.2.15"),
        ("12:42:10", "denied", "128.100.2.15"),
        ("12:42:10", "denied", "128.100.2.15"),
        ("12:43:28", "success", "128.100.2.15"),
        ("12:43:56", "logoff", "128.100.2.15"),
        ("12:45:28", "success", "128.100.5.10"),
    ]
]


def login(status: str, label: str) -> str:
    """A step of one status, from the address that all steps have."""
    return f"{label}:[ip = $x and status = '{status}']"


INTRUSION = (
    f"{login('denied', 's1')} ; {login('denied', 's2')} ; {login('denied', 's3')} @ (t(s3) - t(s1) < 5 min)"
    f" ; {login('success', 's4')}"
)


def test_table_1_is_an_intrusion_by_its_first_four_events() -> None:
    assert told([INTRUSION], TABLE_1, schema=LOGINS) == [Told(0, 3, frozenset({(0, 0), (1, 1), (2, 2), (3, 3)}))]


def test_of_two_events_at_one_time_the_one_that_arrived_first_is_first() -> None:
    """Table 1 has two events at 12:42:10: the third denial takes the third step, and cannot come before the second."""
    ordered = [dict(event, status=status) for event, status in zip(TABLE_1, "abcdef", strict=True)]
    texts = ["[status = 'b'] , [status = 'c']", "[status = 'c'] ; [status = 'b']"]
    assert [(one.pattern, one.event) for one in told(texts, ordered, schema=LOGINS)] == [(0, 2)]


def test_a_denial_too_early_and_one_from_elsewhere_make_no_intrusion() -> None:
    early = [dict(TABLE_1[0], time="2007-02-14T12:37:10Z"), *TABLE_1[1:]]
    elsewhere = [dict(TABLE_1[0], ip="128.100.5.10"), *TABLE_1[1:]]
    assert told([INTRUSION], early, schema=LOGINS) == []
    assert told([INTRUSION], elsewhere, schema=LOGINS) == []


@pytest.mark.parametrize(
    ("statuses", "completing"),
    [
        (["denied", "denied", "success", "logoff"], 3),
        (["denied", "success", "passwd", "logoff"], 3),
        (["denied", "success", "success", "passwd", "logoff"], 4),
        (["denied", "success", "logoff", "passwd"], None),
    ],
)
def test_an_account_that_is_compromised(statuses: list[str], completing: int | None) -> None:
    """The second example of section 3.2, which joins sequences by `or`."""
    text = (
        f"{login('denied', 's1')} ; (({login('denied', 's2')} ; {login('success', 's3')} @ (t(s3) - t(s1) < 1 h))"
        f" or ({login('success', 's4')} , {login('passwd', 's5')})) ; {login('logoff', 's6')}"
    )
    events = [{"time": time, "status": status, "ip": "10.0.0.1"} for time, status in enumerate(statuses)]
    assert [one.event for one in told([text], events, schema=LOGINS)] == ([] if completing is None else [completing])


# ---------------------------------------------------------------- Figures 2 and 3, Table 2


def instances(matcher: PatternMatcher) -> list[tuple[int, int]]:
    """The partial matches, as (state that it stands in, number of its first event), the oldest first."""
    kept = matcher.state.runs[: matcher.state.counters[runs.RUNS]]
    alive = kept[kept[:, runs.R_ALIVE] != 0]
    return sorted(zip(alive[:, runs.R_DEPTH].tolist(), alive[:, runs.R_FIRST].tolist(), strict=True), reverse=True)


FIGURE_2 = (
    f"{step('F', 'n1')} , {step('F', 'n2')} , {step('F', 'n3')} @ (t(n3) - t(n1) < 5 s) , {step('S', 'n4')}"  # d = 5 s
)


def test_table_2_has_one_instance_more_with_every_failure() -> None:
    matcher = PatternMatcher(records([FIGURE_2]), KINDS)
    stood = []
    for event in timeline("FFF"):
        matcher.process([event])
        stood.append(instances(matcher))
    assert stood == [[(1, 0)], [(2, 0), (1, 1)], [(3, 0), (2, 1), (1, 2)]]


def test_figure_2_ends_with_a_success_right_after_three_failures_in_time() -> None:
    assert [one.event for one in told([FIGURE_2], timeline("FFFS"), schema=KINDS)] == [3]
    assert told([FIGURE_2], timeline("FFFxS"), schema=KINDS) == []
    assert told([FIGURE_2], timeline("FFFS", [0, 1, 5, 6]), schema=KINDS) == []
    (one,) = told([FIGURE_2], timeline("FFFFS", [0, 4, 5, 6, 7]), schema=KINDS)
    assert sorted(one.witness) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_figure_3_keeps_every_time_at_which_a_state_was_reached() -> None:
    """The second success takes the step anew (the secondary link): it is the one that is in time."""
    text = f"{step('F')} ; {step('S', 's1')} ; {step('F')} ; {step('S', 's2')} @ (t(s2) - t(s1) < 5 s)"
    (one,) = told([text], timeline("FSSxFS", [0, 1, 4, 5, 6, 8]), schema=KINDS)
    assert sorted(one.witness) == [(0, 0), (1, 2), (2, 4), (3, 5)]


# ---------------------------------------------------------------- Figures 4, 5 and 6


def states(texts: list[str], *, merge: bool = True) -> int:
    """How many states partial matches may stand in. The beginning and the end of a machine need none."""
    matcher = PatternMatcher(records(texts), KINDS, merge=merge)
    matcher.graph.expand_all()
    return len(matcher.graph)


def test_figure_4_has_a_state_for_each_of_its_steps() -> None:
    """m steps make m + 1 states: the first of them is the beginning, the last the end."""
    text = (
        f"{step('F')} , {step('F')} , {step('S', 's1')} ; {step('F')} , {step('S')}"
        f" ; {step('F', 'f2')} @ (t(f2) - t(s1) < 9 s) , {step('S')}"
    )
    assert states([text]) == 7 + 1 - 2
    for kinds, times, completing in [
        ("FFSxFSxFS", None, [8]),
        ("FFSxFSxFS", [0, 1, 2, 3, 4, 5, 6, 11, 12], []),
        ("FxFSFSFS", None, []),
        ("FFSFSFxFS", None, [8]),
    ]:
        assert [one.event for one in told([text], timeline(kinds, times), schema=KINDS)] == completing


@pytest.mark.parametrize(
    ("kinds", "completing"),
    [
        ("1234567", [6]),
        ("1452368", [6]),
        ("12345x6y78", [8, 9]),
        ("1243567", []),  # s3 is not the very next one after s2
        ("2345167", []),  # the child machines start when the master has reached s1
        ("1236745", []),  # and the master waits for both of them
    ],
)
def test_figure_5_joins_two_state_machines_by_a_boolean_one(kinds: str, completing: list[int]) -> None:
    text = (
        f"{step('1')} ; (({step('2')} , {step('3')}) and ({step('4')} , {step('5')}))"
        f" ; {step('6')} ; ({step('7')} or {step('8')})"
    )
    assert [one.event for one in told([text], timeline(kinds), schema=KINDS)] == completing


def test_figure_6_merges_what_begins_alike() -> None:
    a, b, c, d = (step(kind) for kind in "abcd")
    texts = [f"{a} ; {b} ; {c}", f"{a} ; {b} ; {d}", a]
    assert (states(texts), states(texts, merge=False)) == (2, 4)  # M1, M2; and again for the second pattern
    assert states([*texts, *texts]) == 2
    events = timeline("abdacb")
    completing = [(1, 2), (2, 0), (2, 3), (0, 4)]
    for merge in (True, False):
        found = told(texts, events, schema=KINDS, merge=merge)
        assert sorted((one.pattern, one.event) for one in found) == sorted(completing)


def test_patterns_that_differ_in_a_condition_or_a_window_are_kept_apart() -> None:
    texts = [
        f"{step('a', 'x')} ; {step('b', 'y')} @ (t(y) - t(x) < 2 s)",
        f"{step('a', 'x')} ; {step('b', 'y')} @ (t(y) - t(x) < 3 s)",
        f"{step('a')} ; {step('b')} within 1 s",
        f"{step('a')} ; {step('b')} within 4 s",
    ]
    events = timeline("abbbb", [0, 1, 2, 3, 4])
    check(texts, events, told(texts, events, schema=KINDS), schema=KINDS)


# ---------------------------------------------------------------- Figure 7


FIGURE_7 = (
    f"{step('1', 's1')} ; {step('2', 's2')} @ (t(s2) - t(s1) < 3 s)"
    f" ; {step('3', 's3')} @ (t(s3) - t(s1) < 6 s) @ (t(s3) - t(s2) > 3 s)"
)


def test_figure_7_is_matched_by_the_events_at_3_4_and_8() -> None:
    events = timeline("11122233", [1, 2, 3, 4, 5, 6, 7, 8])
    (one,) = told([FIGURE_7], events, schema=KINDS)
    assert [events[number]["time"] for _, number in sorted(one.witness)] == [3, 4, 8]


# ---------------------------------------------------------------- Table 3


TABLE_3 = (
    f"{step('1', 's1')} ; (({step('2', 's2')} ; {step('3', 's3')}) and ({step('4', 's4')} , {step('5', 's5')}))"
    f" ; {step('6', 's6')} ; ({step('7', 's7')} or {step('8', 's8')})"
)
CASES = {
    "within one state machine": ("s2", "s3"),
    "from the master to a child": ("s1", "s2"),
    "from a child to the master": ("s4", "s6"),
    "between children of one Boolean machine": ("s3", "s4"),
    "between children of different Boolean machines": ("s3", "s7"),
}
APART = {("s2", "s3"): 3, ("s1", "s2"): 1, ("s4", "s6"): 3, ("s3", "s4"): 2, ("s3", "s7"): 2}  # in "1245367"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", ["<", "<=", "=", "!=", ">=", ">"])
def test_the_five_places_of_a_time_condition(case: str, op: str) -> None:
    """In the fourth case the dependent step comes first: the length of time is absolute there."""
    referencing, dependent = CASES[case]
    length = APART[referencing, dependent]
    text = f"({TABLE_3}) @ (t({dependent}) - t({referencing}) {op} {length} s)"
    completing = [one.event for one in told([text], timeline("1245367"), schema=KINDS)]
    assert completing == ([6] if op in ("<=", "=", ">=") else [])
    instead = [one.event for one in told([text], timeline("1245368"), schema=KINDS)]
    assert instead == ([6] if dependent == "s7" else completing)  # s7 takes no part


@pytest.mark.parametrize("seed", range(10))
def test_all_five_places_on_random_streams(seed: int) -> None:
    random = Random(seed)
    texts = [TABLE_3]
    for referencing, dependent in CASES.values():
        texts += [
            f"({TABLE_3}) @ (t({dependent}) - t({referencing}) {op} {random.randint(1, 4)} s)" for op in ("<", ">=")
        ]
    texts.append(f"({TABLE_3}) @ ({' and '.join(f't({b}) - t({a}) < 4 s' for a, b in CASES.values())})")
    for _ in range(10):
        kinds = list("1245367")
        for _ in range(5):
            kinds.insert(random.randrange(len(kinds) + 1), random.choice("12345678"))
        times = sorted(random.randrange(12) for _ in kinds)
        events = timeline("".join(kinds), times)
        check(texts, events, told(texts, events, schema=KINDS), schema=KINDS)
