"""The common attributes of a correlation's events (`group-by`), which rules may name differently (`aliases`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaCorrelationRuleError
from sigma.rule import SigmaRule

from vedette.language import ast

SigmaAnyRule: TypeAlias = SigmaRule | SigmaCorrelationRule


@dataclass(frozen=True)
class CorrelationGroups:
    """Attributes that partition the stream, and join variables for attributes that differ between rules."""

    by: tuple[str, ...] = ()
    variables: Mapping[int, list[tuple[str, str]]] = field(default_factory=dict)  # identity of a rule -> path, variable

    def tests(self, rule: SigmaAnyRule) -> list[ast.Filter]:
        """The filters by which an event of the rule is in the group."""
        return [compared(path, ast.Comparator.EQ, variable) for path, variable in self.variables.get(id(rule), ())]


def groups_of(rule: SigmaCorrelationRule) -> CorrelationGroups:
    """The groups of a correlation whose references are resolved."""
    by: dict[str, None] = {}
    variables: dict[int, list[tuple[str, str]]] = {}
    for number, name in enumerate(rule.group_by or (), 1):
        paths = [_path(rule, name, reference) for reference in rule.referenced_rules]
        if len(set(paths)) == 1:
            by[paths[0]] = None
            continue
        for reference, path in zip(rule.referenced_rules, paths, strict=True):
            variables.setdefault(id(reference.rule), []).append((path, f"g{number}"))
    return CorrelationGroups(tuple(by), variables)


def compared(path: str, op: ast.Comparator, variable: str) -> ast.Filter:
    """A comparison of an attribute with a join variable."""
    return ast.Comparison(ast.Attribute(path), op, ast.JoinVariable(variable))


def _path(rule: SigmaCorrelationRule, name: str, reference: SigmaRuleReference) -> str:
    alias = rule.aliases.aliases.get(name)
    if alias is None:
        return name
    paths = {known.reference: path for known, path in alias.mapping.items()}
    for known in (reference.reference, str(reference.rule.id), reference.rule.name):
        if known in paths:
            return paths[known]
    raise SigmaCorrelationRuleError(f"the alias {name!r} says nothing of the rule {reference.reference!r}")
