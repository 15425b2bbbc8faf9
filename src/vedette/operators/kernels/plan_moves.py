"""Moves of planners for many events: take the results of evaluations, and choose the next ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel
from vedette.operators.kernels.plan_block import (
    A_ENTRY,
    A_ID,
    A_MISSING,
    A_STATE,
    BUCKETS,
    COMPLETE,
    E_ALTERNATIVE,
    E_AT,
    E_BUCKET,
    E_CURSOR,
    E_DUES,
    E_EVALUATION,
    FAILS,
    HOLDS,
    OPEN,
    P_ASKED,
    P_ASKING,
    P_EVALUATION,
    P_ID,
    P_KNOWN,
    PER_OCTAVE,
    SETTLED,
    UNKNOWN,
    V_ID,
    V_MADE,
    V_MEMBER,
    V_NEXT,
    PlanBlock,
    PlanProblem,
)

NAIVE, SEQUENTIAL, SUBORDER, ADAPTIVE = 0, 1, 2, 3
FIRST = -2  # chosen for an event that has not begun
NONE = -1  # nothing more is needed


@kernel
def begin(problem: PlanProblem, block: PlanBlock, planner: int) -> None:
    """Begin the adaptive planner: put evaluations into buckets by promise, and find those that are due at once."""
    if planner != ADAPTIVE:
        return
    alternative, predicate, evaluation, member = block.alternative, block.predicate, block.evaluation, block.member
    bucket, predicate_of, due = block.bucket, block.predicate_of, block.due
    fails, cost = problem.fails, problem.cost
    promise = np.zeros(len(evaluation), np.float64)
    for event in range(len(block.best)):
        own = block.event[event]
        low, high = own[E_EVALUATION], block.event[event + 1, E_EVALUATION]
        most = 0.0
        for one in range(low, high):
            for at in range(evaluation[one, V_MEMBER], evaluation[one + 1, V_MEMBER]):
                promise[one] += block.pressure[member[at]] * fails[predicate[member[at], P_ID]]
            promise[one] /= cost[evaluation[one, V_ID]]
            most = max(most, promise[one])
        best = np.log2(most) if most > 0 else 0.0
        block.best[event] = best
        for one in range(high - 1, low - 1, -1):
            place = min(BUCKETS - 1, int((best - np.log2(promise[one])) * PER_OCTAVE))
            evaluation[one, V_NEXT] = bucket[event, place]
            bucket[event, place] = one
        for row in range(own[E_ALTERNATIVE], block.event[event + 1, E_ALTERNATIVE]):
            if alternative[row, A_MISSING] == 1 and own[E_DUES] < high - low:
                due[low + own[E_DUES]] = predicate[predicate_of[alternative[row, A_ENTRY]], P_EVALUATION]
                own[E_DUES] += 1


@kernel
def advance(
    problem: PlanProblem,
    block: PlanBlock,
    planner: int,
    chosen: NDArray[np.int32],
    start: NDArray[np.int64],
    holds: NDArray[np.bool_],
    completed: NDArray[np.int32],
    truth: NDArray[np.bool_],
    made: NDArray[np.int64],
) -> int:
    """Take the results of the chosen evaluations and choose the next; return how many alternatives are complete now.

    `chosen` has an evaluation per event (FIRST before the first, NONE when it needs no more), whose predicate k holds
    if holds[start[event] + k]. Where `truth` has all results (a row per event, by the problem's predicates), events are
    taken to their end at once, and what they evaluated is counted in `made`.

    It is one function, since a call with these arrays costs more than most of its steps.
    """
    event_rows, alternative, predicate, evaluation = block.event, block.alternative, block.predicate, block.evaluation
    predicate_of, asked_by, member, due, bucket = (
        block.predicate_of,
        block.asked_by,
        block.member,
        block.due,
        block.bucket,
    )
    fails, cost, weight, pressure = problem.fails, problem.cost, problem.weight, block.pressure
    known_truth = len(truth) > 0
    complete = 0
    for event in range(len(chosen)):
        own = event_rows[event]
        low, high = own[E_EVALUATION], event_rows[event + 1, E_EVALUATION]
        end = event_rows[event + 1, E_ALTERNATIVE]
        one = chosen[event]
        while one != NONE:
            # ------------------------------------------------ what it found
            if one >= 0:
                evaluation[one, V_MADE] = 1
                made[event] += 1
                begin = evaluation[one, V_MEMBER]
                for place in range(begin, evaluation[one + 1, V_MEMBER]):
                    asked = member[place]
                    if predicate[asked, P_KNOWN] != UNKNOWN:
                        continue
                    if known_truth:
                        good = truth[event, predicate[asked, P_ID]]
                    else:
                        good = holds[start[event] + place - begin]
                    predicate[asked, P_KNOWN] = HOLDS if good else FAILS
                    for at in range(predicate[asked, P_ASKED], predicate[asked + 1, P_ASKED]):
                        row = asked_by[at]
                        if alternative[row, A_STATE] != OPEN:
                            continue
                        if not good:
                            alternative[row, A_STATE] = SETTLED
                            worth = weight[alternative[row, A_ID]]
                            for entry in range(alternative[row, A_ENTRY], alternative[row + 1, A_ENTRY]):
                                predicate[predicate_of[entry], P_ASKING] -= 1
                                pressure[predicate_of[entry]] -= worth
                            continue
                        alternative[row, A_MISSING] -= 1
                        if alternative[row, A_MISSING] == 0:
                            alternative[row, A_STATE] = COMPLETE
                            completed[complete] = row
                            complete += 1
                        elif alternative[row, A_MISSING] == 1 and planner == ADAPTIVE and own[E_DUES] < high - low:
                            # Only one predicate is missing: whatever the others' results, it has to be evaluated.
                            for entry in range(alternative[row, A_ENTRY], alternative[row + 1, A_ENTRY]):
                                if predicate[predicate_of[entry], P_KNOWN] == UNKNOWN:
                                    due[low + own[E_DUES]] = predicate[predicate_of[entry], P_EVALUATION]
                                    own[E_DUES] += 1
                                    break
            # ------------------------------------------------ what comes next
            one = NONE
            if planner == ADAPTIVE:
                while own[E_DUES] > 0 and one == NONE:
                    own[E_DUES] -= 1
                    candidate = due[low + own[E_DUES]]
                    for at in range(evaluation[candidate, V_MEMBER], evaluation[candidate + 1, V_MEMBER]):
                        if predicate[member[at], P_KNOWN] == UNKNOWN and predicate[member[at], P_ASKING] > 0:
                            one = candidate
                            break
                while one == NONE and own[E_BUCKET] < BUCKETS:
                    candidate = bucket[event, own[E_BUCKET]]
                    if candidate == NONE:
                        own[E_BUCKET] += 1
                        continue
                    promise = 0.0
                    if evaluation[candidate, V_MADE] == 0:
                        for at in range(evaluation[candidate, V_MEMBER], evaluation[candidate + 1, V_MEMBER]):
                            if predicate[member[at], P_ASKING] > 0:  # what is left of a sum of weights may not be 0
                                promise += pressure[member[at]] * fails[predicate[member[at], P_ID]]
                    # Promises only fall, so what was the best may be due in a later bucket.
                    later = 0
                    if promise > 0:
                        promise /= cost[evaluation[candidate, V_ID]]
                        later = min(BUCKETS - 1, int((block.best[event] - np.log2(promise)) * PER_OCTAVE))
                        if later <= own[E_BUCKET]:
                            one = candidate
                            break
                    bucket[event, own[E_BUCKET]] = evaluation[candidate, V_NEXT]
                    if promise > 0:
                        evaluation[candidate, V_NEXT] = bucket[event, later]
                        bucket[event, later] = candidate
            else:
                # One alternative after another. Naive: until it is known, whatever is settled otherwise. Sequential
                # (Algorithm 1): all of its predicates that anybody undecided asks for. Sub-order: until it is settled.
                while own[E_CURSOR] < end:
                    row = own[E_CURSOR]
                    if (
                        planner == NAIVE
                        or alternative[row, A_STATE] == OPEN
                        or (planner == SEQUENTIAL and own[E_AT] > 0)
                    ):
                        for entry in range(alternative[row, A_ENTRY] + own[E_AT], alternative[row + 1, A_ENTRY]):
                            asked = predicate_of[entry]
                            known = predicate[asked, P_KNOWN]
                            if known == UNKNOWN and (planner != SEQUENTIAL or predicate[asked, P_ASKING] > 0):
                                one = predicate[asked, P_EVALUATION]
                                own[E_AT] = entry - alternative[row, A_ENTRY] + (planner == SEQUENTIAL)
                                break
                            if known == FAILS and planner == NAIVE:
                                break
                        if one != NONE:
                            break
                    own[E_CURSOR] += 1
                    own[E_AT] = 0
            if not known_truth:
                break
        chosen[event] = one
    return complete


@kernel
def settle(problem: PlanProblem, block: PlanBlock, rows: NDArray[np.int64]) -> None:
    """Settle these alternatives: they need nothing more."""
    for row in rows:
        if block.alternative[row, A_STATE] == OPEN:
            block.alternative[row, A_STATE] = SETTLED
            for entry in range(block.alternative[row, A_ENTRY], block.alternative[row + 1, A_ENTRY]):
                block.predicate[block.predicate_of[entry], P_ASKING] -= 1
                block.pressure[block.predicate_of[entry]] -= problem.weight[block.alternative[row, A_ID]]
