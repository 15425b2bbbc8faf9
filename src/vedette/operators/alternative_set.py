"""Alternatives, predicates and evaluations by number, as planners and rounds use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from vedette.language.ast import Comparator, Comparison, Literal, Variable
from vedette.operators.evaluation import Evaluation
from vedette.operators.kernels.plan_block import PlanBlock, PlanProblem, build, copies
from vedette.operators.kernels.plan_moves import begin
from vedette.operators.predicate_numbering import PlannedAlternative, Predicate

NO_BOUND, BELOW, UP_TO, ABOVE, FROM = range(5)  # how a predicate's only variable is compared with a number
_BOUNDS: Final = {Comparator.LT: BELOW, Comparator.LE: UP_TO, Comparator.GT: ABOVE, Comparator.GE: FROM}
_EXACT = 2**53  # integers up to it are the same as floats


@dataclass(frozen=True, slots=True)
class AlternativeSet:
    """A set of alternatives, ready for planning."""

    alternatives: Sequence[PlannedAlternative]
    family: NDArray[np.int64]  # (n, 2): the first alternative of its subscription, and the end
    bound: NDArray[np.bool_]  # whether its subscription reports bindings
    evaluations: Sequence[Evaluation]
    predicates: Sequence[Predicate]
    positive: NDArray[np.bool_]  # by predicate
    binds: NDArray[np.bool_]  # by predicate: whether its operator finds values
    compared: NDArray[np.int8]  # by predicate: NO_BOUND, or how its only value is compared with ...
    limit: NDArray[np.float64]  # ... this number

    @staticmethod
    def of(
        alternatives: Sequence[PlannedAlternative],
        family: NDArray[np.int64],
        bound: NDArray[np.bool_],
        evaluations: Sequence[Evaluation],
        predicates: Sequence[Predicate],
    ) -> AlternativeSet:
        """Derive the arrays by predicate from the predicates."""
        limits = [_limit(each) for each in predicates]
        return AlternativeSet(
            alternatives,
            family,
            bound,
            evaluations,
            predicates,
            np.array([each.positive for each in predicates], np.bool_),
            np.array([evaluations[each.evaluation].operator.outputs > 0 for each in predicates], np.bool_),
            np.array([how for how, _ in limits], np.int8),
            np.array([limit for _, limit in limits], np.float64),
        )


def _limit(predicate: Predicate) -> tuple[int, float]:
    """`p(?0) and ?0 > 50` as a comparison with a number, so that many such predicates are decided at once."""
    if not predicate.positive or len(predicate.constraints) != 1 or len(predicate.pattern.outputs) != 1:
        return NO_BOUND, 0.0
    only = predicate.constraints[0]
    node = only.node
    if not only.positive or not isinstance(node, Comparison) or node.op not in _BOUNDS:
        return NO_BOUND, 0.0
    if not isinstance(node.left, Variable) or not isinstance(node.right, Literal):
        return NO_BOUND, 0.0
    value = node.right.value
    return (_BOUNDS[node.op], float(value)) if is_exact(value) else (NO_BOUND, 0.0)


def is_exact(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number that a float represents exactly, and that has an order."""
    if type(value) is float:
        return value == value  # noqa: PLR0124 - NaN is not
    return type(value) is int and -_EXACT <= value <= _EXACT


class PlanTemplate:
    """A planner's problem, and a block of one event that asks for all alternatives, to be copied."""

    def __init__(self, problem: PlanProblem, planner: int) -> None:
        self.problem, self.planner = problem, planner
        self._whole: PlanBlock | None = None

    def block(self, start: NDArray[np.int64], alternatives: NDArray[np.int32]) -> PlanBlock:
        """A block of events, whose alternatives are start[i] .. start[i + 1], ready for `advance`."""
        events, everything = len(start) - 1, len(self.problem.rank)
        if len(alternatives) < events * everything:
            block: PlanBlock = build(self.problem, start, alternatives)
            begin(self.problem, block, self.planner)
            return block
        if self._whole is None:
            self._whole = build(self.problem, start[:2], alternatives[:everything])
            begin(self.problem, self._whole, self.planner)
        copied: PlanBlock = copies(self._whole, events)
        return copied
