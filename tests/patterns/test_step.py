"""The step function compiles once: machine code for each kind of arrays would cost many seconds each time."""

from __future__ import annotations

from typing import Any

import pytest
from numba import config

from vedette.engine.subscriptions import Subscriptions
from vedette.patterns.kernels.run_moves import advance
from vedette.patterns.matcher import PatternMatcher


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_slices_and_what_was_saved_need_no_machine_code_of_their_own() -> None:
    subscriptions = Subscriptions({"x": "int", "y": "int", "k": "int"})
    subscriptions.add("p", "[x = $n and y = $m] ; [x > $n and y > $m] within 9 s by k")
    matcher = PatternMatcher(list(subscriptions.patterns.values()), subscriptions.schema, lateness=3)
    events = [{"id": f"e{n}", "time": n, "x": n, "y": n, "k": n % 2} for n in range(20)]
    told = len(matcher.process(events, ids=[each["id"] for each in events]).matches.event)  # held back ones are cut off
    again = PatternMatcher.from_bytes(matcher.to_bytes())  # of arrays that cannot be written
    told += len(again.finish().matches.event)
    assert told > 10
    compiled: Any = advance
    assert len(compiled.signatures) == 1
