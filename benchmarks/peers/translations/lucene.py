"""A tree as JSON, of which the driver of lucene-monitor makes queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.peers.rules import All, Either, Not, Rule, Test, without_not


def text(rule: Rule, kinds: Mapping[str, str]) -> str:
    """Negation is at tests only, where the driver asks that the attribute is there."""
    return json.dumps(_tree(without_not(rule), kinds))


def _tree(rule: Rule, kinds: Mapping[str, str]) -> dict[str, Any]:
    match rule:
        case All(parts):
            return {"all": [_tree(part, kinds) for part in parts]}
        case Either(parts):
            return {"any": [_tree(part, kinds) for part in parts]}
        case Not():
            raise TypeError("negation is at tests only by now")
        case Test():
            said = {"field": rule.field, "kind": kinds[rule.field], "op": rule.op, "value": rule.value}
            return {"not": said} if rule.negated else said
