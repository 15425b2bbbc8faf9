"""What a rule of Sigma says of events: asked of the oracle, of a matcher event by event, and of a matcher at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from vedette.dialects import registry
from vedette.engine.subscriptions import Subscriptions
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse

Event = Mapping[str, Any]


def rule(detection: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """A rule with this detection; where it names only one part, that is the condition."""
    named = [name for name in detection if name != "condition"]
    whole = {"condition": named[0], **detection} if len(named) == 1 else dict(detection)
    return {"title": "made up", "logsource": {"product": "any"}, "detection": whole, **others}


def selection(fields: Any, condition: str = "selection", **others: Any) -> dict[str, Any]:
    """A rule with one detection, under this condition."""
    return rule({"selection": fields, "condition": condition}, **others)


def read(text: str) -> dict[str, Any]:
    """A rule from the YAML of its selection."""
    return selection(yaml.safe_load(text))


def said(given: Any, pipelines: Sequence[Any] = ()) -> str:
    """The rule in Vedette's language."""
    return registry.translate("sigma", given, pipelines=pipelines).when


def answers(given: Any, events: Sequence[Event], pipelines: Sequence[Any] = ()) -> list[bool]:
    """Whether the rule holds for each event; all ways to ask agree."""
    text = said(given, pipelines)
    slowly = [evaluate(check(parse(text)), event) is True for event in events]
    subscriptions = Subscriptions()
    subscriptions.add("r", text)
    matcher = subscriptions.compile()
    assert [matcher.match(event) == ["r"] for event in events] == slowly, text
    at_once = set(matcher.match_batch(list(events))["event"].to_pylist())
    assert [row in at_once for row in range(len(events))] == slowly, text
    return slowly
