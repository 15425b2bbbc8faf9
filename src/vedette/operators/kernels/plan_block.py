"""The working state of planners for a block of events: open alternatives, needed evaluations, known predicates.

A problem has alternatives, each a set of predicates that all have to hold; a predicate belongs to one evaluation, which
decides all of its predicates at once. Of every event only the alternatives that passed the index are here, and their
predicates and evaluations: the block has numbers of its own for them, event after event, so that its size depends on
these and not on the number of subscriptions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

UNKNOWN, FAILS, HOLDS = -1, 0, 1  # of a predicate, for an event
OPEN, COMPLETE, SETTLED = 0, 1, 2  # of an alternative

# Columns. What is looked at together lies together.
E_ALTERNATIVE, E_PREDICATE, E_EVALUATION = 0, 1, 2  # the event's first
E_CURSOR, E_AT = 3, 4  # the alternative whose turn it is, and which of its predicates
E_BUCKET, E_DUES = 5, 6  # the first bucket that may have something in it; evaluations that have to be made
EVENT_WIDTH = 7
A_ID, A_ENTRY, A_MISSING, A_STATE = 0, 1, 2, 3  # which one of the problem; its first predicate; those not known to hold
P_ID, P_ASKED, P_ASKING, P_KNOWN, P_EVALUATION = 0, 1, 2, 3, 4  # ... where those who ask begin, how many are open
V_ID, V_MEMBER, V_MADE, V_NEXT = 0, 1, 2, 3  # ... where its predicates begin; the next one in its bucket

# Evaluations are ordered by what they promise, up to 4.4 %, and down to one 2 ** 32th of the best.
BUCKETS, PER_OCTAVE = 512, 16


class PlanProblem(NamedTuple):
    """A planner's problem, independent of events."""

    start: NDArray[np.int64]  # of every alternative, and the end
    predicate: NDArray[np.int32]  # of the alternatives, one after another, in the planner's order
    rank: NDArray[np.int32]  # when an alternative's turn comes
    by_rank: NDArray[np.int32]  # the alternatives in that order
    evaluation: NDArray[np.int32]  # of every predicate
    fails: NDArray[np.float64]  # how probably a predicate does not hold, above 0
    cost: NDArray[np.float64]  # of an evaluation, above 0
    weight: NDArray[np.float64]  # of an alternative: how much it is worth to settle it


class PlanBlock(NamedTuple):
    """Some events: a row each in `event`, and the rows of their alternatives, predicates and evaluations."""

    event: NDArray[np.int64]
    alternative: NDArray[np.int32]
    predicate: NDArray[np.int32]
    evaluation: NDArray[np.int32]
    predicate_of: NDArray[np.int32]  # of the alternatives' entries
    asked_by: NDArray[np.int32]  # the alternatives that ask for a predicate
    pressure: NDArray[np.float64]  # on a predicate: the weight of the open alternatives that ask for it
    member: NDArray[np.int32]  # the predicates of an evaluation
    due: NDArray[np.int32]  # per event a stack of evaluations that no schedule can do without
    best: NDArray[np.float64]  # per event, the logarithm of the greatest promise
    bucket: NDArray[np.int32]  # (events, BUCKETS): the first evaluation in each


@kernel
def build(problem: PlanProblem, start: NDArray[np.int64], alternatives: NDArray[np.int32]) -> PlanBlock:
    """Build a block of events, whose alternatives are start[i] .. start[i + 1], with nothing known yet.

    The buckets are empty.
    """
    events = len(start) - 1
    theirs_from, theirs, evaluation_of = problem.start, problem.predicate, problem.evaluation
    # The numbers of this event's predicates and evaluations; a stamp says whether they are of this event.
    stamp, number = np.full(len(evaluation_of), -1, np.int32), np.zeros(len(evaluation_of), np.int32)
    stamp_v, number_v = np.full(len(problem.cost), -1, np.int32), np.zeros(len(problem.cost), np.int32)

    event_rows = np.zeros((events + 1, EVENT_WIDTH), np.int64)
    entries = 0
    for event in range(events):
        predicates = evaluations = 0
        for place in range(start[event], start[event + 1]):
            one = alternatives[place]
            entries += theirs_from[one + 1] - theirs_from[one]
            for at in range(theirs_from[one], theirs_from[one + 1]):
                predicate = theirs[at]
                if stamp[predicate] != event:
                    stamp[predicate] = event
                    predicates += 1
                    if stamp_v[evaluation_of[predicate]] != event:
                        stamp_v[evaluation_of[predicate]] = event
                        evaluations += 1
        event_rows[event + 1, E_ALTERNATIVE] = event_rows[event, E_ALTERNATIVE] + start[event + 1] - start[event]
        event_rows[event + 1, E_PREDICATE] = event_rows[event, E_PREDICATE] + predicates
        event_rows[event + 1, E_EVALUATION] = event_rows[event, E_EVALUATION] + evaluations
    sizes = event_rows[events]

    alternative = np.zeros((sizes[E_ALTERNATIVE] + 1, 4), np.int32)
    predicate_rows = np.zeros((sizes[E_PREDICATE] + 1, 5), np.int32)
    evaluation_rows = np.zeros((sizes[E_EVALUATION] + 1, 4), np.int32)
    predicate_of = np.empty(entries, np.int32)
    pressure = np.zeros(sizes[E_PREDICATE], np.float64)
    stamp[:] = -1
    stamp_v[:] = -1
    marks = np.zeros(len(problem.rank), np.bool_)
    entry = row = 0
    for event in range(events):
        predicates, evaluations = event_rows[event, E_PREDICATE], event_rows[event, E_EVALUATION]
        event_rows[event, E_CURSOR] = row
        for one in _by_rank(problem.rank, problem.by_rank, alternatives[start[event] : start[event + 1]], marks):
            alternative[row, A_ID] = one
            alternative[row, A_MISSING] = theirs_from[one + 1] - theirs_from[one]
            for at in range(theirs_from[one], theirs_from[one + 1]):
                predicate = theirs[at]
                if stamp[predicate] != event:
                    stamp[predicate] = event
                    number[predicate] = predicates
                    whose = evaluation_of[predicate]
                    if stamp_v[whose] != event:
                        stamp_v[whose] = event
                        number_v[whose] = evaluations
                        evaluation_rows[evaluations, V_ID] = whose
                        evaluations += 1
                    predicate_rows[predicates, P_ID] = predicate
                    predicate_rows[predicates, P_KNOWN] = UNKNOWN
                    predicate_rows[predicates, P_EVALUATION] = number_v[whose]
                    evaluation_rows[number_v[whose] + 1, V_MEMBER] += 1
                    predicates += 1
                predicate_of[entry] = number[predicate]
                predicate_rows[number[predicate], P_ASKING] += 1
                pressure[number[predicate]] += problem.weight[one]
                entry += 1
            row += 1
            alternative[row, A_ENTRY] = entry
    asked_by, member = _turned_round(alternative, predicate_rows, evaluation_rows, predicate_of)
    due = np.empty(sizes[E_EVALUATION], np.int32)
    best = np.zeros(events, np.float64)
    bucket = np.full((events, BUCKETS), -1, np.int32)
    return PlanBlock(
        event_rows,
        alternative,
        predicate_rows,
        evaluation_rows,
        predicate_of,
        asked_by,
        pressure,
        member,
        due,
        best,
        bucket,
    )


@kernel
def _by_rank(
    rank: NDArray[np.int32], by_rank: NDArray[np.int32], alternatives: NDArray[np.int32], marks: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Sort by the planner's order; `marks` is clean working memory, and is left clean."""
    ordered = True
    for place in range(1, len(alternatives)):
        if rank[alternatives[place - 1]] > rank[alternatives[place]]:
            ordered = False
            break
    if ordered:
        return alternatives
    if len(alternatives) * 16 < len(rank):
        return alternatives[np.argsort(rank[alternatives])]
    for one in alternatives:
        marks[rank[one]] = True
    made, count = np.empty(len(alternatives), np.int32), 0
    for place in range(len(marks)):
        if marks[place]:
            made[count] = by_rank[place]
            count += 1
            marks[place] = False
    return made


@kernel
def _turned_round(
    alternative: NDArray[np.int32],
    predicate: NDArray[np.int32],
    evaluation: NDArray[np.int32],
    predicate_of: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Invert the relations: predicates -> alternatives that need them, evaluations -> their predicates."""
    predicates, evaluations = len(predicate) - 1, len(evaluation) - 1
    asked_by = np.empty(len(predicate_of), np.int32)
    for row in range(predicates):
        predicate[row + 1, P_ASKED] = predicate[row, P_ASKED] + predicate[row, P_ASKING]
    filled = predicate[:, P_ASKED].copy()
    for row in range(len(alternative) - 1):
        for at in range(alternative[row, A_ENTRY], alternative[row + 1, A_ENTRY]):
            asked_by[filled[predicate_of[at]]] = row
            filled[predicate_of[at]] += 1
    member = np.empty(predicates, np.int32)
    for row in range(evaluations):
        evaluation[row + 1, V_MEMBER] += evaluation[row, V_MEMBER]
    filled = evaluation[:, V_MEMBER].copy()
    for row in range(predicates):
        whose = predicate[row, P_EVALUATION]
        member[filled[whose]] = row
        filled[whose] += 1
    return asked_by, member


@kernel
def copies(one: PlanBlock, events: int) -> PlanBlock:
    """Copies of a block of one event, as many as asked for."""
    alternatives, predicates, evaluations = len(one.alternative) - 1, len(one.predicate) - 1, len(one.evaluation) - 1
    entries = len(one.predicate_of)
    event = np.zeros((events + 1, EVENT_WIDTH), np.int64)
    alternative = np.empty((events * alternatives + 1, 4), np.int32)
    predicate = np.empty((events * predicates + 1, 5), np.int32)
    evaluation = np.empty((events * evaluations + 1, 4), np.int32)
    best = np.full(events, one.best[0])
    bucket = np.empty((events, BUCKETS), np.int32)
    due = np.empty(events * evaluations, np.int32)
    pressure = np.empty(events * predicates, np.float64)
    # What never changes is shared with the original, where numbers are the same.
    predicate_of, asked_by, member = one.predicate_of, one.asked_by, one.member
    if events > 1:
        predicate_of = np.empty(events * entries, np.int32)
        asked_by = np.empty(events * entries, np.int32)
        member = np.empty(events * predicates, np.int32)
    for k in range(events):
        first_a, first_p, first_v = k * alternatives, k * predicates, k * evaluations
        event[k] = one.event[0]
        event[k, E_ALTERNATIVE] = event[k, E_CURSOR] = first_a
        event[k, E_PREDICATE] = first_p
        event[k, E_EVALUATION] = first_v
        alternative[first_a : first_a + alternatives] = one.alternative[:alternatives]
        predicate[first_p : first_p + predicates] = one.predicate[:predicates]
        evaluation[first_v : first_v + evaluations] = one.evaluation[:evaluations]
        due[first_v : first_v + evaluations] = one.due
        pressure[first_p : first_p + predicates] = one.pressure
        bucket[k] = one.bucket[0]
        if k > 0:
            for row in range(first_a, first_a + alternatives):
                alternative[row, A_ENTRY] += k * entries
            for row in range(first_p, first_p + predicates):
                predicate[row, P_ASKED] += k * entries
                predicate[row, P_EVALUATION] += first_v
            for row in range(first_v, first_v + evaluations):
                evaluation[row, V_MEMBER] += first_p
                evaluation[row, V_NEXT] += first_v if evaluation[row, V_NEXT] >= 0 else 0
                due[row] += first_v
            for place in range(BUCKETS):
                bucket[k, place] += first_v if bucket[k, place] >= 0 else 0
        if events > 1:
            predicate_of[k * entries : (k + 1) * entries] = one.predicate_of + first_p
            asked_by[k * entries : (k + 1) * entries] = one.asked_by + first_a
            member[k * predicates : (k + 1) * predicates] = one.member + first_p
    event[events, E_ALTERNATIVE] = events * alternatives
    event[events, E_PREDICATE] = events * predicates
    event[events, E_EVALUATION] = events * evaluations
    alternative[events * alternatives, A_ENTRY] = events * entries
    predicate[events * predicates, P_ASKED] = events * entries
    evaluation[events * evaluations, V_MEMBER] = events * predicates
    return PlanBlock(
        event, alternative, predicate, evaluation, predicate_of, asked_by, pressure, member, due, best, bucket
    )
