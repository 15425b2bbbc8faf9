"""Rules of one collection, translated together: correlations name other rules, and filters add exceptions to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from vedette.dialects.rules import Described, Document, Outcome, Rule, Translated
from vedette.dialects.sigma.converting import Collection
from vedette.dialects.sigma.describing import described, described_anyhow
from vedette.dialects.sigma.documents import Read, read_mapping, read_text
from vedette.errors import DialectError
from vedette.language import ast
from vedette.language.render import render


def translate_one(rule: Rule, pipelines: Sequence[Any]) -> ast.Expression:
    """What the rule says: the only one of its text that is told of by itself."""
    collection, read = _one(rule, pipelines)
    made = collection.expression(read)
    if isinstance(made, Exception):
        raise made
    return made


def describe_one(rule: Rule) -> Described:
    """What that rule says of itself."""
    _, read = _one(rule, ())
    return described_anyhow(read.content, None) if read.rule is None else described(read.rule, None)


def translate_documents(documents: Iterable[Document], pipelines: Sequence[Any]) -> Iterator[Outcome]:
    """One outcome for every rule, in the order in which they stand."""
    reads = [(read, document) for document in documents for read in read_text(document.text, document.place)]
    collection = Collection([read for read, _ in reads], pipelines)
    taken: dict[str, str] = {}
    for read, document in reads:
        said = described_anyhow(read.content, document.place)
        if read.rule is not None:
            said = described(read.rule, document.place)
        said = _with_id(said, read, document, taken)
        yield _outcome(collection, read, said, taken)


def _outcome(collection: Collection, read: Read, said: Described, taken: dict[str, str]) -> Outcome:
    if not collection.is_told(read):
        return Outcome(read.place, said, read.problem, read.text)
    first = taken.setdefault(said.id or read.place, read.place)
    if first != read.place:
        problem = DialectError(f"the id {said.id} is also that of {first}", hint="every rule has an id of its own")
        return Outcome(read.place, said, problem, read.text)
    made = collection.expression(read)
    if isinstance(made, Exception):
        return Outcome(read.place, said, made, read.text)
    return Outcome(read.place, said, Translated(render(made), said.origin, said.id), read.text)


def _with_id(said: Described, read: Read, document: Document, taken: dict[str, str]) -> Described:
    """A rule without an id is called by its file; by its place, where another is called so."""
    if said.id is not None:
        return said
    name = PurePath(document.place).stem
    return said._replace(id=name if read.place == document.place and name not in taken else read.place)


def _one(rule: Rule, pipelines: Sequence[Any]) -> tuple[Collection, Read]:
    place = "the rule"
    reads = list(read_text(rule, place)) if isinstance(rule, str) else [read_mapping(rule, place)]
    collection = Collection(reads, pipelines)
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
