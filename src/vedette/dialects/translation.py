"""`vedette.translate`: translates one rule of another dialect into Vedette's language."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.dialects import registry
from vedette.dialects.rule_results import Rule, RuleTranslation


def translate(rule: Rule, *, dialect: str, pipelines: Sequence[str] = ()) -> RuleTranslation:
    """Translate a rule: `when` is its text, `origin` and `id` are the rule's own facts; `str()` gives the text.

    DialectError if the rule is wrong, NotSupported if it is valid but has no translation. `pipelines` are pySigma's.
    """
    return registry.translate(dialect, rule, pipelines=pipelines)
