"""The rules of SigmaHQ that come with recorded events: 202 of 202 fire on them, and no other rule does."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.contract.sigma import shared, translated
from vedette.dialects.rule_results import RuleTranslation
from vedette.engine.subscriptions import Subscriptions


def events() -> list[dict[str, Any]]:
    with gzip.open(shared("sigma_regression/events.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.filterwarnings("ignore:the events have no")
def test_every_rule_fires_on_the_events_recorded_for_it() -> None:
    known = json.loads(shared("sigma_regression/reference_all_windows_rules.json").read_text(encoding="utf-8"))
    own = json.loads(shared("sigma_regression/expected_per_rule.json").read_text(encoding="utf-8"))
    assert len(own) == 202
    subscriptions = Subscriptions()
    for outcome in translated(["windows"], {rule for _, rule in known}):
        assert isinstance(outcome.made, RuleTranslation)
        assert outcome.made.id is not None
        subscriptions.add(outcome.made.id, outcome.made.when)
    matcher = subscriptions.compile()
    found = {(event["_id"], rule) for event in events() for rule in matcher.match(event)}
    assert found == {(event, rule) for event, rule in known}
    for rule in own:
        matched = [event for event in range(*rule["event_ids"]) if (event, rule["rule_id"]) in found]
        assert matched == rule["reference_match_ids"]
        assert len(matched) >= (rule["upstream_min_match_count"] or 1)
