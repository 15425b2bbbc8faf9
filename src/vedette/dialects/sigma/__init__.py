"""The dialect `sigma`: detection rules, read by pySigma and translated into Vedette's language (extra `sigma`).

pySigma is loaded when the first rule is translated, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vedette.dialects.rule_results import Rule, RuleDescription, RuleDocument, RuleResult
from vedette.errors import NotInstalled
from vedette.language import ast


def translate(rule: Rule, pipelines: Sequence[Any] = ()) -> ast.Expression:
    """Translate a rule; the text of a correlation includes the rules that it refers to."""
    _check_installed()
    from vedette.dialects.sigma.collection import translate_one

    return translate_one(rule, pipelines)


def describe(rule: Rule) -> RuleDescription:
    """The rule's own facts: its id, and title, level, status, author, tags, logsource and references."""
    _check_installed()
    from vedette.dialects.sigma.collection import describe_one

    return describe_one(rule)


def translate_all(documents: Iterable[RuleDocument], pipelines: Sequence[Any] = ()) -> Iterator[RuleResult]:
    """Translate every rule of a collection, in their order."""
    _check_installed()
    from vedette.dialects.sigma.collection import translate_documents

    return translate_documents(documents, pipelines)


def _check_installed() -> None:
    try:
        import sigma.collection  # noqa: F401
    except ImportError:
        raise NotInstalled("rules of Sigma are read by pySigma\nHint: pip install 'vedette[sigma]'") from None
