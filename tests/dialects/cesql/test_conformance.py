"""All conformance cases, through the evaluator and through the engine."""

from __future__ import annotations

import pytest

import vedette as vd
from tests.dialects.cesql.conformance import CASES, Case, cases
from vedette.dialects.cesql import evaluate, parse
from vedette.errors import DialectError

MISSING = pytest.mark.skip(reason="the conformance cases of CloudEvents SQL are not among the shared data")
FOUND = cases()


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name) for case in FOUND] or [pytest.param(None, marks=MISSING)]
)
def test_a_case_has_its_value_and_its_error(case: Case) -> None:
    if case.error == "parse":
        with pytest.raises(DialectError):
            parse(case.expression)
        return
    found = evaluate(case.expression, case.event)
    assert [problem.kind.value for problem in found.problems] == ([] if case.error is None else [case.error])
    assert (type(found.value), found.value) == (type(case.result), case.result)


@pytest.mark.skipif(not FOUND, reason="the conformance cases of CloudEvents SQL are not among the shared data")
def test_as_filters_all_cases_pass_the_events_they_are_true_for() -> None:
    assert len(FOUND) == CASES
    subscriptions, events = vd.Subscriptions(), []
    kept = [case for case in FOUND if case.error != "parse"]
    for number, case in enumerate(kept):
        subscriptions.add(str(number), case.expression, dialect="cesql")
        events.append(case.event)
    with subscriptions.compile() as engine:
        found = {(row["event"], row["subscription"]) for row in engine.match_batch(events).to_pylist()}
    own = {number for number, name in found if str(number) == name}
    assert own == {number for number, case in enumerate(kept) if case.passes}
    # And every expression against the events of all other cases.
    wanted = {
        (place, str(number))
        for number, case in enumerate(kept)
        for place, event in enumerate(events)
        if evaluate(case.expression, event).holds
    }
    assert found == wanted
