"""The patterns that are forecast, and their keys in a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vedette.filters.pattern_records import PatternRecord, Predict
from vedette.language import ast
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.patterns.forecast_parts import SplitNode, leaves, split

PatternRecords: TypeAlias = (
    Mapping[int, PatternRecord] | Iterable[PatternRecord]
)  # by number, or in the order of numbers


@dataclass(frozen=True, slots=True)
class ForecastPattern:
    """A pattern that is forecast."""

    id: str
    name: str  # text and features in canonical form: what a model knows it by
    within: int
    threshold: float
    aged: bool  # it has time conditions, so the age of a partial match matters
    window: int | None = None  # microseconds
    tree: SplitNode | None = None  # how it is made of parts, which are observed apart

    @property
    def parts(self) -> int:
        """The number of parts that are observed separately."""
        return 0 if self.tree is None else len(list(leaves(self.tree)))


def forecast_patterns(records: PatternRecords) -> dict[int, ForecastPattern]:
    """Number of a pattern -> its forecast options, for those that have any."""
    numbered = records.items() if isinstance(records, Mapping) else enumerate(records)
    return {number: _watched(record, record.predict) for number, record in numbered if record.predict is not None}


def _watched(record: PatternRecord, asked: Predict) -> ForecastPattern:
    tree = parse(record.text)
    name = "\n".join([render(tree), *(render(parse(feature)) for feature in asked.features)])
    whole = tree if isinstance(tree, ast.Composite) else None
    return ForecastPattern(
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
        case ast.TimedPattern():
            return True
        case ast.Sequence(parts=parts) | ast.PatternAnd(parts=parts) | ast.PatternOr(parts=parts):
            return any(_conditioned(part) for part in parts)
        case ast.Repeat(part=part):
            return _conditioned(part)
    return False
