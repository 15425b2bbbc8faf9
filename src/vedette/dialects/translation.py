"""`vedette.translate`: one rule of another dialect, in Vedette's language."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.dialects import registry
from vedette.dialects.rules import Rule, Translated


def translate(rule: Rule, *, dialect: str, pipelines: Sequence[str] = ()) -> Translated:
    """What a rule says: `when` is its text, `origin` and `id` what it says of itself; `str()` of it is the text.

    DialectError if the rule is wrong, NotSupported if it is right and cannot be said. `pipelines` are those of pySigma.
    """
    return registry.translate(dialect, rule, pipelines=pipelines)
