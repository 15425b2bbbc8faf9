"""Correlations: which patterns they are, when these match, and which cannot be said."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from vedette.dialects import registry
from vedette.dialects.rule_results import RuleDocument, RuleResult, RuleTranslation
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import DialectError, NotSupported

Event = dict[str, Any]
_ACTIONS = ("failed", "denied", "ok")
BASE = "\n---\n".join(
    yaml.safe_dump(
        {
            "title": action.title(),
            "name": action,
            "logsource": {"product": "any"},
            "detection": {"selection": {"action": action}, "condition": "selection"},
        }
    )
    for action in _ACTIONS
)


def outcomes(*correlations: Mapping[str, Any], base: str = BASE) -> list[RuleResult]:
    """What becomes of correlations, beside the rules that they name."""
    documents = [base, *(yaml.safe_dump(_rule(each, number)) for number, each in enumerate(correlations))]
    return list(registry.translate_all("sigma", [RuleDocument("\n---\n".join(documents), "rules.yml")]))


def _rule(correlation: Mapping[str, Any], number: int) -> dict[str, Any]:
    named = {"name": correlation["name"]} if "name" in correlation else {}
    inside = {key: value for key, value in correlation.items() if key != "name"}
    return {"title": f"c{number}", **named, "correlation": {"timespan": "10s", **inside}}


def pattern(*correlations: Mapping[str, Any]) -> str:
    """The last of them in Vedette's language."""
    made = outcomes(*correlations)[-1].made
    assert isinstance(made, RuleTranslation), made
    return made.when


def count(least: int, **others: Any) -> dict[str, Any]:
    return {"type": "event_count", "rules": ["failed"], "condition": {"gte": least}, **others}


OTHER_PAIR = (
    "any(items(action)) ilike 'failed' and (host != $v1a or port != $v1b) and host is not null and port is not null"
)
EITHER = "([any(items(action)) ilike 'failed' and user = $g1] or [any(items(action)) ilike 'ok' and account = $g1])"
F, D, K = (f"[any(items(action)) ilike '{action}']" for action in _ACTIONS)


@pytest.mark.parametrize(
    ("correlation", "expected"),
    [
        (count(3, **{"group-by": ["user"]}), f"{F} ; {F} ; {F} by user within 10 s"),
        (count(2, timespan="5m"), f"{F} ; {F} within 5 min"),
        (count(1), f"{F} within 10 s"),
        ({**count(0), "condition": {"gt": 1}}, f"{F} ; {F} within 10 s"),
        ({**count(0), "condition": {"gte": 1.5}}, f"{F} ; {F} within 10 s"),
        (
            count(2, rules=["failed", "denied"]),
            "[any(items(action)) ilike 'failed' or any(items(action)) ilike 'denied'] ; "
            "[any(items(action)) ilike 'failed' or any(items(action)) ilike 'denied'] within 10 s",
        ),
        (
            {"type": "value_count", "rules": "failed", "group-by": "user", "condition": {"field": "host", "gte": 3}},
            "[any(items(action)) ilike 'failed' and host = $v1] ; "
            "not [any(items(action)) ilike 'failed' and host != $v1] ; "
            "[any(items(action)) ilike 'failed' and host != $v1 and host = $v2] ; "
            "not [any(items(action)) ilike 'failed' and host != $v1 and host != $v2] ; "
            "[any(items(action)) ilike 'failed' and host != $v1 and host != $v2] by user within 10 s",
        ),
        (
            {"type": "value_count", "rules": ["failed"], "condition": {"field": "host", "gte": 1}},
            "[any(items(action)) ilike 'failed' and host is not null] within 10 s",
        ),
        (
            {"type": "value_count", "rules": ["failed"], "condition": {"field": ["host", "port"], "gte": 2}},
            "[any(items(action)) ilike 'failed' and host = $v1a and port = $v1b] ; "
            f"not [{OTHER_PAIR}] ; [{OTHER_PAIR}] within 10 s",
        ),
        ({"type": "temporal", "rules": ["failed", "ok"]}, f"{F} and {K} within 10 s"),
        ({"type": "temporal", "rules": ["failed"], "group-by": ["a", "b"]}, f"{F} by a, b within 10 s"),
        ({"type": "temporal_ordered", "rules": ["failed", "ok", "denied"]}, f"{F} ; {K} ; {D} within 10 s"),
        (
            {"type": "temporal", "rules": ["failed", "ok", "denied"], "condition": {"gte": 2}},
            f"({F} and {K}) or ({F} and {D}) or ({K} and {D}) within 10 s",
        ),
        ({"type": "temporal", "condition": "failed and (ok or denied)"}, f"{F} and ({K} or {D}) within 10 s"),
        ({"type": "temporal_ordered", "condition": "failed and (ok or denied)"}, f"{F} ; ({K} or {D}) within 10 s"),
        (
            {"type": "temporal", "condition": "(failed and ok) or (failed and denied)"},
            f"({F} and {K}) or ({F} and {D}) within 10 s",
        ),
        (
            {
                "type": "temporal",
                "rules": ["failed", "ok"],
                "group-by": ["who"],
                "aliases": {"who": {"failed": "user", "ok": "account"}},
            },
            "[any(items(action)) ilike 'failed' and user = $g1] and "
            "[any(items(action)) ilike 'ok' and account = $g1] within 10 s",
        ),
        (
            count(
                2,
                rules=["failed", "ok"],
                **{"group-by": ["who"], "aliases": {"who": {"failed": "user", "ok": "account"}}},
            ),
            " ; ".join(
                2
                * [
                    "([any(items(action)) ilike 'failed' and user = $g1] or "
                    "[any(items(action)) ilike 'ok' and account = $g1])"
                ]
            )
            + " within 10 s",
        ),
        (
            {
                "type": "temporal",
                "rules": ["failed", "ok"],
                "group-by": ["who"],
                "aliases": {"who": {"failed": "user", "ok": "user"}},
            },
            f"{F} and {K} by user within 10 s",
        ),
    ],
)
def test_a_correlation_is_a_pattern(correlation: Mapping[str, Any], expected: str) -> None:
    assert pattern(correlation) == expected


def test_a_correlation_of_correlations_is_a_pattern_in_a_pattern() -> None:
    brute = count(3, name="brute", **{"group-by": ["user"]})
    then = {"type": "temporal_ordered", "rules": ["brute", "ok"], "group-by": ["user"], "timespan": "1m"}
    f = "[any(items(action)) ilike 'failed']"
    assert pattern(brute, then) == (
        f"((e1:{f} ; e2:{f} ; e3:{f}) @ (t(e3) - t(e1) <= 10 s) ; e4:{K}) @ (t(e4) - t(e3) <= 1 min) by user"
    )
    either = {"type": "temporal", "rules": ["brute", "ok"], "group-by": ["user"], "timespan": "1m"}
    assert pattern(brute, either) == (
        f"((e1:{f} ; e2:{f} ; e3:{f}) @ (t(e3) - t(e1) <= 10 s) and e4:{K}) @ (t(e4) - t(e3) <= 1 min) by user"
    )


@pytest.mark.parametrize(
    ("correlation", "message"),
    [
        (
            {**count(0), "condition": {"eq": 3}},
            r"`eq: 3`: a pattern tells when events have come.*\nHint: `gte` and `gt`",
        ),
        ({**count(0), "condition": {"lt": 3}}, "`lt: 3`"),
        ({**count(0), "condition": {"lte": 3}}, "`lte: 3`"),
        ({**count(0), "condition": {"neq": 3}}, "`neq: 3`"),
        ({**count(0), "condition": {"gte": 0}}, "holds without any event"),
        (count(1001), "event_count of 1,001: each of them is a step of the pattern, and 1000 are the most"),
        ({**count(6), "type": "value_count", "condition": {"gte": 51, "field": "x"}}, "value_count of 51"),
        ({**count(6), "type": "value_count", "condition": {"gte": 7, "field": ["x", "y"]}}, "value_count of 7"),
        ({**count(6), "type": "value_sum", "condition": {"gte": 6, "field": "x"}}, "value_sum computes"),
        ({**count(6), "type": "value_avg", "condition": {"gte": 6, "field": "x"}}, "value_avg computes"),
        ({**count(6), "type": "value_percentile", "condition": {"gte": 6, "field": "x"}}, "value_percentile computes"),
        ({**count(6), "type": "value_median", "condition": {"gte": 6, "field": "x"}}, "value_median computes"),
        ({"type": "temporal", "condition": "failed and not ok"}, "`not` of a rule"),
        ({"type": "temporal", "rules": ["failed", "ok"], "condition": {"gte": 3}}, "3 of 2 rules"),
    ],
)
def test_what_no_pattern_can_say(correlation: Mapping[str, Any], message: str) -> None:
    made = outcomes(correlation)[-1].made
    assert isinstance(made, NotSupported)
    assert re.search(message, str(made)), made


def test_correlations_that_cannot_be_one_in_another() -> None:
    brute = count(3, name="brute", **{"group-by": ["user"]})
    for outer, message in (
        ({"type": "temporal", "rules": ["brute", "ok"], "group-by": ["host"]}, "group events by different fields"),
        ({"type": "event_count", "rules": ["brute"], "condition": {"gte": 2}}, "not matches of another correlation"),
        ({"type": "temporal", "condition": "brute or ok", "group-by": ["user"]}, "it is open whose times"),
    ):
        made = outcomes(brute, outer)[-1].made
        assert isinstance(made, NotSupported)
        assert message in str(made)
    open_end = {"type": "temporal", "rules": ["failed", "ok"], "name": "any_order"}
    made = outcomes(open_end, {"type": "temporal_ordered", "rules": ["any_order", "denied"]})[-1].made
    assert "is open" in str(made)


@pytest.mark.parametrize(
    ("correlation", "message"),
    [
        ({"type": "juggling", "rules": ["failed"]}, "'juggling' is no valid Sigma correlation type"),
        (count(2, rules=["nobody"]), "Rule 'nobody' not found"),
        (count(2, timespan="soon"), "Timespan 'soon' is invalid"),
        ({"type": "event_count", "rules": ["failed"]}, "without condition"),
        ({"type": "value_count", "rules": ["failed"], "condition": {"gte": 2}}, "without field reference"),
        (
            count(2, rules=["failed", "ok"], **{"group-by": ["who"], "aliases": {"who": {"failed": "user"}}}),
            "the alias 'who' says nothing of the rule 'ok'",
        ),
        ({"type": "temporal", "condition": "failed and ("}, "Failed to parse"),
    ],
)
def test_what_is_no_correlation(correlation: Mapping[str, Any], message: str) -> None:
    made = outcomes(correlation)[-1].made
    assert isinstance(made, DialectError)
    assert message in str(made)


def test_rules_that_only_serve_a_correlation_are_not_told_of() -> None:
    silent = outcomes(count(2))
    assert [outcome.made is None for outcome in silent] == [True, False, False, False]
    loud = outcomes(count(2, generate=True))
    assert all(isinstance(outcome.made, RuleTranslation) for outcome in loud)


def test_a_correlation_says_whose_fault_it_is() -> None:
    wrong = BASE.replace("action: failed", "action|shout: failed")
    made = outcomes(count(2), base=wrong)[-1].made
    assert isinstance(made, DialectError)
    assert "the rule 'failed', which it names: Unknown modifier" in str(made)
    unsayable = BASE.replace("action: failed", "action|re: (?<=a)b")
    made = outcomes(count(2), base=unsayable)[-1].made
    assert isinstance(made, NotSupported)
    assert "the rule 'failed', which it names" in str(made)


def test_correlations_that_name_each_other_in_a_circle() -> None:
    one = {"type": "temporal", "rules": ["two", "ok"], "name": "one"}
    two = {"type": "temporal", "rules": ["one", "ok"], "name": "two"}
    made = outcomes(one, two, {"type": "temporal", "rules": ["one"]})
    assert all("names itself" in str(outcome.made) for outcome in made[-1:])


def test_a_correlation_and_its_rules_are_one_subscription() -> None:
    text = BASE.partition("---")[0] + "---\n" + yaml.safe_dump(_rule(count(2), 0))
    subscriptions = Subscriptions()
    subscriptions.add("twice", text, dialect="sigma")
    stream = StreamMatcher(subscriptions)
    found = stream.process([{"action": "failed", "time": second} for second in range(3)])
    assert found["event"].to_pylist() == [1, 2]


# ---------------------------------------------------------------- against what the correlations say of a stream


def completions(correlation: Mapping[str, Any], events: list[Event]) -> set[int]:
    subscriptions = Subscriptions()
    subscriptions.add("c", pattern(correlation))
    return set(StreamMatcher(subscriptions).process(events)["event"].to_pylist())


def stream(seed: int) -> list[Event]:
    chance = random.Random(seed)
    time, events = 0, []
    for _ in range(60):
        time += chance.choice((0, 1, 1, 2, 5))
        event = {"time": time, "action": chance.choice(_ACTIONS), "user": chance.choice("uv")}
        if chance.random() < 0.8:
            event["host"] = chance.choice("abc")
        events.append(event)
    return events


def recent(events: list[Event], last: int, *, span: int = 10) -> list[Event]:
    """Those of the same user up to an event, within the timespan."""
    now = events[last]
    return [one for one in events[: last + 1] if one["user"] == now["user"] and now["time"] - one["time"] <= span]


def failed(event: Event) -> bool:
    return bool(event["action"] == "failed")


def _several(least: int) -> Callable[[list[Event]], bool]:
    return lambda past: failed(past[-1]) and sum(map(failed, past)) >= least


def _hosts(least: int) -> Callable[[list[Event]], bool]:
    """The event brings the last of so many different values, counted from some event on."""

    def enough(past: list[Event]) -> bool:
        hosts = [one["host"] for one in past if failed(one) and "host" in one]
        brings = failed(past[-1]) and "host" in past[-1]
        return brings and any(
            hosts[-1] not in hosts[start:-1] and len(set(hosts[start:])) == least for start in range(len(hosts))
        )

    return enough


def _all_of(*actions: str) -> Callable[[list[Event]], bool]:
    return lambda past: past[-1]["action"] in actions and set(actions) <= {one["action"] for one in past}


def _in_order(*actions: str) -> Callable[[list[Event]], bool]:
    def found(past: list[Event]) -> bool:
        chosen = itertools.combinations([one["action"] for one in past[:-1]], len(actions) - 1)
        return past[-1]["action"] == actions[-1] and actions[:-1] in set(chosen)

    return found


@pytest.mark.parametrize(
    ("correlation", "complete"),
    [
        (count(3), _several(3)),
        ({**count(0), "condition": {"gt": 1}}, _several(2)),
        ({"type": "value_count", "rules": ["failed"], "condition": {"field": "host", "gte": 2}}, _hosts(2)),
        ({"type": "value_count", "rules": ["failed"], "condition": {"field": "host", "gte": 3}}, _hosts(3)),
        ({"type": "temporal", "rules": ["failed", "ok"]}, _all_of("failed", "ok")),
        ({"type": "temporal", "rules": ["failed", "ok", "denied"]}, _all_of("failed", "ok", "denied")),
        ({"type": "temporal_ordered", "rules": ["failed", "ok"]}, _in_order("failed", "ok")),
        ({"type": "temporal_ordered", "rules": ["denied", "failed", "ok"]}, _in_order("denied", "failed", "ok")),
    ],
)
def test_a_correlation_is_complete_when_it_says(
    correlation: Mapping[str, Any], complete: Callable[[list[Event]], bool]
) -> None:
    for seed in range(5):
        events = stream(seed)
        expected = {last for last in range(len(events)) if complete(recent(events, last))}
        assert completions({**correlation, "group-by": ["user"]}, events) == expected
