"""Translates the rules of a collection together: correlations refer to other rules, filters add exceptions to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from vedette.dialects.rule_results import Rule, RuleDescription, RuleDocument, RuleResult, RuleTranslation
from vedette.dialects.sigma.conversion import RuleCollection
from vedette.dialects.sigma.description import described, described_anyhow
from vedette.dialects.sigma.yaml_documents import SigmaDocument, read_mapping, read_text
from vedette.errors import DialectError
from vedette.language import ast
from vedette.language.render import render


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
