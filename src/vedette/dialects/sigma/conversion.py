"""Converts pySigma's rules to expressions: applies filters, resolves references, converts referenced rules first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaError, SigmaRuleNotFoundError
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule

from vedette.dialects.rule_results import Refusal
from vedette.dialects.sigma.backend import VedetteBackend
from vedette.dialects.sigma.pipelines import pipeline_of
from vedette.dialects.sigma.refusals import refusal
from vedette.dialects.sigma.truth import some
from vedette.dialects.sigma.yaml_documents import RULE_ERRORS, SigmaDocument
from vedette.errors import DialectError
from vedette.language import ast

_Rule: TypeAlias = SigmaRule | SigmaCorrelationRule


class RuleCollection:
    """Rules that may refer to each other; each is converted lazily."""

    def __init__(self, reads: Sequence[SigmaDocument], pipelines: Sequence[Any]) -> None:
        self._backend = VedetteBackend(pipeline_of(pipelines))
        self._backend.init_processing_pipeline()
        self._reads = {id(read.rule): read for read in reads if read.rule is not None}
        self._made: dict[int, ast.Expression | Refusal | None] = {}  # None: in progress
        rules: list[SigmaRule | SigmaCorrelationRule | SigmaFilter] = [
            read.rule for read in reads if read.rule is not None and _is_rule(read)
        ]
        self._named = SigmaCollection(rules, resolve_references=False)
        for read in reads:
            if isinstance(read.rule, SigmaFilter):
                self._apply(read, read.rule)
        for read in reads:
            if isinstance(read.rule, SigmaCorrelationRule) and read.problem is None:
                self._resolve(read, read.rule, reads)

    def is_told(self, read: SigmaDocument) -> bool:
        """Whether a rule notifies by itself: it is not a filter, and does not only serve a correlation."""
        return read.problem is None and _is_rule(read) and read.rule is not None and read.rule._output

    def expression(self, read: SigmaDocument) -> ast.Expression | Refusal:
        """The expression of a rule, or why it cannot be translated."""
        if read.problem is not None:
            return read.problem
        key = id(read.rule)
        if key not in self._made:
            self._made[key] = None
            self._made[key] = self._converted(read)
        made = self._made[key]
        if made is None:
            return DialectError("the correlation names itself, or one that names it", hint="let it name other rules")
        return made

    def _converted(self, read: SigmaDocument) -> ast.Expression | Refusal:
        rule = read.rule
        try:
            if isinstance(rule, SigmaRule):
                self._backend.convert_rule(rule)
                found = rule.get_conversion_result()
                if not found:
                    return DialectError("nothing is left of the rule: pipelines have dropped all that it asks")
                return some(found)
            if not isinstance(rule, SigmaCorrelationRule):
                raise TypeError(f"not a rule: {rule}")
            for reference in rule.referenced_rules:
                below = self.expression(self._reads[id(reference.rule)])
                if isinstance(below, Exception):
                    return _because_of(reference, below)
            self._backend.convert_correlation_rule(rule)
            return rule.get_conversion_result()[0]  # type: ignore[no-any-return]
        except RULE_ERRORS as error:
            return refusal(error)

    def _apply(self, read: SigmaDocument, one: SigmaFilter) -> None:
        """Add a filter's exceptions to the rules that it refers to, or that have its log source."""
        try:
            if not isinstance(one.filter.rules, str):
                for reference in one.filter.rules:
                    reference.resolve(self._named)
            for rule in self._named.rules:
                one.apply_on_rule(rule)
        except RULE_ERRORS as error:
            read.problem = refusal(error)

    def _resolve(self, read: SigmaDocument, rule: SigmaCorrelationRule, reads: Sequence[SigmaDocument]) -> None:
        try:
            rule.resolve_rule_references(self._named)
        except SigmaRuleNotFoundError as error:
            read.problem = refusal(error)
            names = [reference.reference for reference in rule.referenced_rules]
            for other in reads:
                if other.problem is not None and isinstance(other.content, dict):
                    for name in (other.content.get("id"), other.content.get("name")):
                        if name in names:
                            read.problem = _because_of(SigmaRuleReference(name), other.problem)
                            return
        except SigmaError as error:
            read.problem = refusal(error)


def _is_rule(read: SigmaDocument) -> bool:
    return read.problem is None and isinstance(read.rule, SigmaRule | SigmaCorrelationRule)


def _because_of(reference: SigmaRuleReference, problem: Refusal) -> Refusal:
    if isinstance(problem, DialectError):
        return DialectError(f"the rule {reference.reference!r}, which it names: {problem.message}", hint=problem.hint)
    return type(problem)(f"the rule {reference.reference!r}, which it names: {problem}")
