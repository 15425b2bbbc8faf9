"""Translates the rules of a collection together: correlations refer to other rules, filters add exceptions to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaError, SigmaRuleNotFoundError
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule

from vedette.dialects.rule_results import Refusal, Rule, RuleDescription, RuleDocument, RuleResult, RuleTranslation
from vedette.dialects.sigma.backend import VedetteBackend
from vedette.dialects.sigma.pipelines import pipeline_of
from vedette.dialects.sigma.refusals import refusal
from vedette.dialects.sigma.truth import some
from vedette.dialects.sigma.yaml_documents import RULE_ERRORS, SigmaDocument, read_mapping, read_text
from vedette.errors import DialectError
from vedette.language import ast
from vedette.language.render import render

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


def translate_one(rule: Rule, pipelines: Sequence[Any]) -> ast.Expression:
    """Translate the only rule of a text that notifies by itself."""
    collection, read = _one(rule, pipelines)
    made = collection.expression(read)
    if isinstance(made, Exception):
        raise made
    return made


def describe_one(rule: Rule) -> RuleDescription:
    """That rule's own facts."""
    _, read = _one(rule, ())
    return described_anyhow(read.content, None) if read.rule is None else described(read.rule, None)


def translate_documents(documents: Iterable[RuleDocument], pipelines: Sequence[Any]) -> Iterator[RuleResult]:
    """Translate the rules of all documents; one result for every rule, in their order."""
    reads = [(read, document) for document in documents for read in read_text(document.text, document.place)]
    collection = RuleCollection([read for read, _ in reads], pipelines)
    taken: dict[str, str] = {}
    for read, document in reads:
        said = described_anyhow(read.content, document.place)
        if read.rule is not None:
            said = described(read.rule, document.place)
        said = _with_id(said, read, document, taken)
        yield _outcome(collection, read, said, taken)


def _outcome(
    collection: RuleCollection, read: SigmaDocument, said: RuleDescription, taken: dict[str, str]
) -> RuleResult:
    if not collection.is_told(read):
        return RuleResult(read.place, said, read.problem, read.text)
    first = taken.setdefault(said.id or read.place, read.place)
    if first != read.place:
        problem = DialectError(f"the id {said.id} is also that of {first}", hint="every rule has an id of its own")
        return RuleResult(read.place, said, problem, read.text)
    made = collection.expression(read)
    if isinstance(made, Exception):
        return RuleResult(read.place, said, made, read.text)
    return RuleResult(read.place, said, RuleTranslation(render(made), said.origin, said.id), read.text)


def _with_id(
    said: RuleDescription, read: SigmaDocument, document: RuleDocument, taken: dict[str, str]
) -> RuleDescription:
    """The description with an id: a rule without one gets its file's name, or its place if that name is taken."""
    if said.id is not None:
        return said
    name = PurePath(document.place).stem
    return said._replace(id=name if read.place == document.place and name not in taken else read.place)


def _one(rule: Rule, pipelines: Sequence[Any]) -> tuple[RuleCollection, SigmaDocument]:
    place = "the rule"
    reads = list(read_text(rule, place)) if isinstance(rule, str) else [read_mapping(rule, place)]
    collection = RuleCollection(reads, pipelines)
    told = [read for read in reads if collection.is_told(read)]
    wrong = next((read.problem for read in reads if read.problem is not None), None)
    if wrong is not None:
        raise wrong
    if len(told) != 1:
        raise DialectError(
            f"{len(told) or 'no'} rules in this text, where one is expected",
            hint="a correlation may stand with the rules that it names; others are added one by one",
        )
    return collection, told[0]
