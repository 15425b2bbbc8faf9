"""The examples of Muthusamy 2010: Tables 1 to 3, and Figures 2 to 7."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.composite.hosting import Told, check, told
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
