"""Decide which subscriptions of a compiled set others cover, and build the two levels of its index.

Filters that are decided first can cover those decided later, so broad ones go first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from vedette.covering.boxes import MOST_BOXES
from vedette.covering.cover_judge import BUDGET, Method
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.covering.gates import NOT_COVERED, TOGETHER, GatePlan, plan_of_covers
from vedette.covering.level_index import LevelIndex
from vedette.errors import InputError, NotSupported
from vedette.filters.segment import Segment
from vedette.filters.subscription_table import SubscriptionTable
from vedette.filters.subscription_view import Events
from vedette.filters.synthetic_sample import SAMPLE, made_up_events
from vedette.filters.templates import Templates
from vedette.kernels.bundles import CodedBatch
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.valuesets import AnyKey, AnySet
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.keys import NumberKey
from vedette.schema.schema import Schema

_BITS = 64.0
_PREFIX = 8  # bytes of a text that are looked at
_LEAST, _MOST = -(2**63), 2**63
_TEST = 8.0  # bits that a test without an order is taken to cut off


def breadth(form: NormalForm) -> float:
    """The binary logarithm of the share of events that a filter matches, if events were spread evenly."""
    return max((_of_conjunction(one) for one in form.conjunctions), default=-math.inf)


def _of_conjunction(one: Conjunction) -> float:
    values = sum(_of_values(column, values) for column, values in one.values)
    return values - _TEST * sum(1 if probe.positive else len(probe.tests) for _, probe in one.probes)


def _of_values(column: Column, values: AnySet) -> float:
    textual = column.type.kind.textual
    width = float(values.null)
    for one in values.intervals:
        low = _number(one.low, _LEAST if not textual else 0)
        high = _number(one.high, _MOST if not textual else 2**64)
        width += float(max(high - low, 1))
    return math.log2(max(width, 1.0)) - _BITS


def _number(key: AnyKey | None, unbounded: int) -> NumberKey:
    if key is None:
        return unbounded
    return int.from_bytes(key[:_PREFIX].ljust(_PREFIX, b"\0")) if isinstance(key, bytes) else key


_STRIDE = 256  # subscriptions between two words on how far it is
_WORTH_LEVELS = 0.02  # of the conjunctions: if fewer are covered, a second level saves nothing
_TOO_WIDE = 0.5  # of the events: below what so many match, too many are asked about
_TOO_WIDE_MADE_UP = 0.95  # events that are made up lie where many ask for them

ProgressListener = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CoverDecisions:
    """The decisions for a set, and how they were made: the answers of the covered ones."""

    answers: Mapping[str, CoverAnswer]
    method: Method = "auto"
    budget: int = BUDGET


def cover_all(
    records: SubscriptionTable,
    schema: Schema,
    *,
    method: Method = "auto",
    budget: int = BUDGET,
    told: ProgressListener | None = None,
) -> CoveringSet:
    """Decide every subscription, broad ones first; `told` is called with the number decided so far."""
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


def decided_before(records: SubscriptionTable, schema: Schema, known: CoverDecisions) -> CoveringSet:
    """The decisions, restored from the answers of the covered ones."""
    templates = Templates(schema, MOST_BOXES)
    found = CoveringSet(schema, method=known.method, budget=known.budget)
    for id_, text in _texts(records):
        found.add_decided(id_, templates.normal_form(text), known.answers.get(id_))
    return found


def _texts(records: SubscriptionTable) -> list[tuple[str, str]]:
    if not records.has_texts:
        raise NotSupported(
            "subscriptions that came without their texts cannot be compared\nHint: leave covering out for these"
        )
    return list(zip(records.ids.to_pylist(), records.table.column(1).to_pylist(), strict=True))


def plan_of(segment: Segment, answers: Mapping[str, CoverAnswer]) -> GatePlan:
    """The level of each subscription. One covered by a subscription outside the segment stays on the first."""
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


def with_levels(segment: Segment, schema: Schema, found: CoverDecisions, sample: Events | None) -> Segment:
    """The segment with two levels beside its index, if enough is covered."""
    coded, trusted = _coded(segment, schema, sample), sample is not None
    most = _TOO_WIDE if trusted else _TOO_WIDE_MADE_UP
    plan = plan_of(segment, _below_narrow_ones(segment, schema, found, coded, most))
    if len(plan.covered) <= _WORTH_LEVELS * segment.conjunctions:
        return segment
    levels = LevelIndex.over(segment.index, segment.table, len(segment.codebook.ranks), coded, plan, trusted=trusted)
    return replace(segment, index=levels)


def _below_narrow_ones(
    segment: Segment, schema: Schema, found: CoverDecisions, sample: CodedBatch, most: float
) -> Mapping[str, CoverAnswer]:
    """The covers, without those of subscriptions that match too many events: a level below them would save nothing.

    Subscriptions that only these covered are decided again, among themselves.
    """
    matched = segment.index.match(sample).conjunction
    owner = segment.owner[matched] if len(segment.owner) else matched
    share = np.bincount(owner, minlength=len(segment)) / max(sample.ranks.shape[1], 1)
    wide = set(segment.records.keep(share > most).ids.to_pylist())
    again = {id_ for id_, answer in found.answers.items() if not wide.isdisjoint(answer.by)}
    if not again:
        return found.answers
    chosen = np.array([id_ in again and id_ not in wide for id_ in segment.records.ids.to_pylist()], np.bool_)
    among = cover_all(segment.records.keep(chosen), schema, method=found.method, budget=found.budget)
    return {id_: answer for id_, answer in found.answers.items() if id_ not in again} | dict(among.covered)


def _coded(segment: Segment, schema: Schema, sample: Events | None) -> CodedBatch:
    if sample is None or not len(sample):
        return made_up_events(segment.codebook, segment.table)
    encoded = encode(sample[:SAMPLE], segment.codebook.columns, schema)
    return segment.codebook.code(encoded.data, encoded.size)
