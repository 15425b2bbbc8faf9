"""Which subscriptions of a compiled set others cover, and the two levels that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from vedette.covering.boxes import MOST_BOXES
from vedette.covering.breadth import breadth
from vedette.covering.cover_set import Answer, CoveringSet
from vedette.covering.covers import BUDGET, Method
from vedette.covering.gates import NOT_COVERED, TOGETHER, Plan, plan_of_covers
from vedette.covering.levels import Levels
from vedette.errors import InputError, NotSupported
from vedette.kernels.bundles import CodedBatch
from vedette.matching.made_up import SAMPLE, made_up_events
from vedette.matching.records import Records
from vedette.matching.segment import Segment
from vedette.matching.templates import Templates
from vedette.matching.view import Events
from vedette.schema.encode import encode
from vedette.schema.schema import Schema

_STRIDE = 256  # subscriptions between two words on how far it is
_WORTH_LEVELS = 0.02  # of the conjunctions: if fewer are covered, a second level saves nothing
_TOO_WIDE = 0.5  # of the events: below what so many match, too many are asked about
_TOO_WIDE_MADE_UP = 0.95  # events that are made up lie where many ask for them

Told = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Decided:
    """What was found of a set, and how: the answers of those that are covered."""

    answers: Mapping[str, Answer]
    method: Method = "auto"
    budget: int = BUDGET


def decided(
    records: Records, schema: Schema, *, method: Method = "auto", budget: int = BUDGET, told: Told | None = None
) -> CoveringSet:
    """Every subscription decided, wide ones first; `told` hears how many are done."""
    if method == "sampling":
        raise InputError(
            "sampling may take one for covered that is not, and what it should hear of would be lost\n"
            "Hint: the methods are auto, pairwise and exact"
        )
    templates = Templates(schema, MOST_BOXES)
    forms = {id_: templates.normal_form(text) for id_, text in _texts(records)}
    found = CoveringSet(schema, method=method, budget=budget)
    for number, id_ in enumerate(sorted(forms, key=lambda each: -breadth(forms[each]))):
        found.add(id_, forms[id_])
        if told is not None and number % _STRIDE == 0:
            told(number)
    return found


def decided_before(records: Records, schema: Schema, known: Decided) -> CoveringSet:
    """The same from what is known of those that are covered."""
    templates = Templates(schema, MOST_BOXES)
    found = CoveringSet(schema, method=known.method, budget=known.budget)
    for id_, text in _texts(records):
        found.add_decided(id_, templates.normal_form(text), known.answers.get(id_))
    return found


def _texts(records: Records) -> list[tuple[str, str]]:
    if not records.has_texts:
        raise NotSupported(
            "subscriptions that came without their texts cannot be compared\nHint: leave covering out for these"
        )
    return list(zip(records.ids.to_pylist(), records.table.column(1).to_pylist(), strict=True))


def plan_of(segment: Segment, answers: Mapping[str, Answer]) -> Plan:
    """Who stands on which level. One that is covered by somebody who is not in the segment stays on the first."""
    ordinals = segment.records.ordinals
    owner = segment.owner if len(segment.owner) else np.arange(segment.conjunctions, dtype=np.int32)
    single = np.bincount(owner, minlength=len(segment)) == 1
    below = np.full(len(segment), NOT_COVERED, np.int32)
    alone, helping = np.zeros(len(segment), np.bool_), np.zeros(len(segment), np.bool_)
    for id_, answer in answers.items():
        if id_ not in ordinals or not all(other in ordinals for other in answer.by):
            continue
        by = [ordinals[other] for other in answer.by]
        if len(by) == 1 and single[by[0]]:
            below[ordinals[id_]] = by[0]
            alone[by] = True
        else:
            below[ordinals[id_]] = TOGETHER
            helping[by] = True
    return plan_of_covers(owner, below, alone, helping)


def with_levels(segment: Segment, schema: Schema, found: Decided, sample: Events | None) -> Segment:
    """The segment with two levels beside its index, if enough is covered."""
    coded, trusted = _coded(segment, schema, sample), sample is not None
    most = _TOO_WIDE if trusted else _TOO_WIDE_MADE_UP
    plan = plan_of(segment, _below_narrow_ones(segment, schema, found, coded, most))
    if len(plan.covered) <= _WORTH_LEVELS * segment.conjunctions:
        return segment
    levels = Levels.over(segment.index, segment.table, len(segment.codebook.ranks), coded, plan, trusted=trusted)
    return replace(segment, index=levels)


def _below_narrow_ones(
    segment: Segment, schema: Schema, found: Decided, sample: CodedBatch, most: float
) -> Mapping[str, Answer]:
    """Who is covered by whom, if those that too many events match cover nobody: to ask below these would save nothing.

    What they cover is decided again, among itself.
    """
    matched = segment.index.match(sample).conjunction
    owner = segment.owner[matched] if len(segment.owner) else matched
    share = np.bincount(owner, minlength=len(segment)) / max(sample.ranks.shape[1], 1)
    wide = set(segment.records.keep(share > most).ids.to_pylist())
    again = {id_ for id_, answer in found.answers.items() if not wide.isdisjoint(answer.by)}
    if not again:
        return found.answers
    chosen = np.array([id_ in again and id_ not in wide for id_ in segment.records.ids.to_pylist()], np.bool_)
    among = decided(segment.records.keep(chosen), schema, method=found.method, budget=found.budget)
    return {id_: answer for id_, answer in found.answers.items() if id_ not in again} | dict(among.covered)


def _coded(segment: Segment, schema: Schema, sample: Events | None) -> CodedBatch:
    if sample is None or not len(sample):
        return made_up_events(segment.codebook, segment.table)
    encoded = encode(sample[:SAMPLE], segment.codebook.columns, schema)
    return segment.codebook.code(encoded.data, encoded.size)
