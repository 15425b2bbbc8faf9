"""Which patterns are forecast, and by what name a model knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vedette.composite.splitting import Split, leaves, split
from vedette.language import ast
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.matching.patterns import PatternRecord, Predict

Records: TypeAlias = Mapping[int, PatternRecord] | Iterable[PatternRecord]  # by number, or in the order of numbers


@dataclass(frozen=True, slots=True)
class Watched:
    """A pattern that is forecast."""

    id: str
    name: str  # text and features in canonical form: what a model knows it by
    within: int
    threshold: float
    aged: bool  # it speaks of time, so how old a partial match is matters
    window: int | None = None  # microseconds
    tree: Split | None = None  # how it is made of parts, which are observed apart

    @property
    def parts(self) -> int:
        """How many parts are observed apart."""
        return 0 if self.tree is None else len(list(leaves(self.tree)))


def watched(records: Records) -> dict[int, Watched]:
    """Number of a pattern -> what is asked of its forecasts, for those of which something is."""
    numbered = records.items() if isinstance(records, Mapping) else enumerate(records)
    return {number: _watched(record, record.predict) for number, record in numbered if record.predict is not None}


def _watched(record: PatternRecord, asked: Predict) -> Watched:
    tree = parse(record.text)
    name = "\n".join([render(tree), *(render(parse(feature)) for feature in asked.features)])
    whole = tree if isinstance(tree, ast.Composite) else None
    return Watched(
        record.id,
        name,
        asked.within,
        asked.threshold,
        _speaks_of_time(tree),
        None if whole is None else whole.within,
        None if whole is None else split(whole),
    )


def _speaks_of_time(tree: ast.Expression) -> bool:
    """Whether a pattern has a window or a time condition, so that a partial match can grow too old."""
    return isinstance(tree, ast.Composite) and (tree.within is not None or _conditioned(tree.pattern))


def _conditioned(pattern: ast.Pattern) -> bool:
    match pattern:
        case ast.Conditioned():
            return True
        case ast.Sequence(parts=parts) | ast.Every(parts=parts) | ast.Either(parts=parts):
            return any(_conditioned(part) for part in parts)
        case ast.Repeat(part=part):
            return _conditioned(part)
    return False
