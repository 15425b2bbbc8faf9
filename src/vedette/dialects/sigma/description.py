"""The rule's own facts: its id, and the facts that its notifications carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sigma.correlations import SigmaCorrelationRule
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule

from vedette.dialects.rule_results import RuleDescription

_TEXTS: Final = ("title", "name", "author", "description")
_LISTS: Final = ("references", "falsepositives", "fields")
_SOURCE: Final = ("product", "category", "service")


def described(rule: SigmaRule | SigmaCorrelationRule | SigmaFilter, file: str | None) -> RuleDescription:
    """The facts of a rule, as far as present, as plain data for JSON."""
    said: dict[str, Any] = {name: value for name in _TEXTS if (value := getattr(rule, name))}
    said |= {name: getattr(rule, name).name.lower() for name in ("level", "status") if getattr(rule, name) is not None}
    said |= {name: [str(one) for one in value] for name in _LISTS if (value := getattr(rule, name))}
    said |= {name: value.isoformat() for name in ("date", "modified") if (value := getattr(rule, name)) is not None}
    if rule.tags:
        said["tags"] = [str(tag) for tag in rule.tags]
    if not isinstance(rule, SigmaCorrelationRule):
        source = {name: getattr(rule.logsource, name) for name in _SOURCE}
        said["logsource"] = {name: value for name, value in source.items() if value is not None}
    if file is not None:
        said["file"] = file
    return RuleDescription(None if rule.id is None else str(rule.id), said)


def described_anyhow(content: Any, file: str | None) -> RuleDescription:
    """The facts of a rule that cannot be read, as far as they can be known."""
    said: dict[str, Any] = {}
    name = None
    if isinstance(content, Mapping):
        name = content.get("id")
        said = {key: content[key] for key in ("title", "author") if isinstance(content.get(key), str)}
    if file is not None:
        said["file"] = file
    return RuleDescription(name if isinstance(name, str) else None, said)
