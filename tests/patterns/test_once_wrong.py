"""Patterns that were once answered wrongly, each the smallest that showed it, held against the oracle."""

from __future__ import annotations

from typing import Any

import pytest

from tests.patterns.generate import SCHEMA
from tests.patterns.hosting import check, told
from tests.patterns.oracle import expected

_LATER = "timestamp '1970-01-01T00:00:08Z'"


@pytest.mark.parametrize(
    ("text", "events", "answers"),
    [
        pytest.param(
            f"a:[kind = 'a'] or [kind = 'b'] @ (t(a) > {_LATER})",
            [{"kind": "a", "time": 3}],
            1,
            id="a condition of the other branch of an or",
        ),
        pytest.param(
            f"(a:[true] @ (t(c) - t(b) = 0 s and t(a) <= {_LATER}) ; b:[true]) ; (c:[u < v] or [true])",
            [{}, {"time": 13}, {}],
            1,
            id="the time of a step that takes no part, after others have gone",
        ),
        pytest.param(
            "(a:[true] @ (t(a) - t(b) < 1 s) ; b:[true] , c:[true] @ (t(c) - t(d) < 1 s)) or d:[kind = 'b']",
            [{}, {}, {"time": 24}],
            1,
            id="the time of a step in the other branch of an or",
        ),
        pytest.param(
            "((a:[true]{1,2}) @ (t(a) > timestamp '1970-01-01T00:00:04Z')){2}",
            [{}, {"time": 6}],
            0,
            id="a repetition of a repetition",
        ),
        pytest.param(
            "([u = $m] @ (t(b) - t(a) <= 4 s) and a:[true]) and (b:[true] ; [true]){1,2}",
            [{}, {"u": 0}, {"time": 18, "u": 0}, {}],
            1,
            id="two times that are known, one of which a repetition may replace",
        ),
        pytest.param(
            "a:[kind = 'a'] @ (t(c) - t(b) <= 4 s) and b:[u > 0] and ([true] @ (t(a) - t(b) < 1 s) and c:[kind = 'a'])",
            [{"kind": "a"}, {"time": 12, "kind": "a"}, {}, {"time": 13, "kind": "a"}, {"u": 2}],
            1,
            id="two partial matches, each with the better of two times",
        ),
        pytest.param(
            "([true] and a:[true] @ (t(a) - t(b) <= 3 s)){1,2} and b:[true]",
            [{}, {}, {"time": 11}],
            1,
            id="a repetition that need not come in time, since it need not come",
        ),
        pytest.param(
            "[s = $z and r = $n] ; [s = $z and s != $n]",
            [{"s": "x", "r": "x", "time": 0}, {"s": "x"}],
            0,
            id="another variable compared with what the stream is partitioned by",
        ),
        pytest.param(
            "[kind = 'a'] ; [kind = 'b'] within 1 s",
            [{"kind": "a", "time": -10}, {"kind": "b"}],
            1,
            id="no time, after events of long ago",
        ),
    ],
)
def test_it_is_right_now(text: str, events: list[dict[str, Any]], answers: int) -> None:
    assert len(expected(text, events, SCHEMA)) == answers
    for merge in (True, False):
        check([text], events, told([text], events, merge=merge))
