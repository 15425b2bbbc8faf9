"""The engine as tests run it: what it tells of a stream, in a form that an oracle can be asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from tests.patterns.generate import SCHEMA
from tests.patterns.oracle import Answer, Witness, expected
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.matcher import PatternMatcher, PatternOutcome
from vedette.schema.schema import Schema


class Told(NamedTuple):
    """One match: which pattern, by which event, with which witness."""

    pattern: int
    event: int
    witness: Witness


def records(texts: Iterable[str], prefix: str = "p") -> list[PatternRecord]:
    """Patterns under ids of their own."""
    return [PatternRecord(f"{prefix}{number}", text) for number, text in enumerate(texts)]


def matches(outcome: PatternOutcome) -> list[Told]:
    """The matches of one call, in its order."""
    found = outcome.matches
    spans = zip(found.start[:-1].tolist(), found.start[1:].tolist(), strict=True)
    witnesses = [
        frozenset(zip(found.position[begin:end].tolist(), found.taken[begin:end].tolist(), strict=True))
        for begin, end in spans
    ]
    return [Told(*one) for one in zip(found.pattern.tolist(), found.event.tolist(), witnesses, strict=True)]


def told(
    texts: Sequence[str],
    events: Sequence[Mapping[str, Any]] | pa.Table,
    *,
    batches: Iterable[tuple[int, int]] | None = None,
    schema: Schema = SCHEMA,
    **options: Any,
) -> list[Told]:
    """All matches of some patterns in a stream that comes in these batches, or as one."""
    matcher = PatternMatcher(records(texts), schema, **options)
    found = []
    for begin, end in batches or [(0, len(events))]:
        batch = events.slice(begin, end - begin) if isinstance(events, pa.Table) else events[begin:end]
        found += matches(matcher.process(batch))
    return found + matches(matcher.finish())


def answers(text: str, found: Iterable[Told], known: Mapping[Answer, set[Witness]]) -> list[Answer]:
    """The answers that witnesses stand for; AssertionError for one that is none."""
    by_witness = {(answer[0], witness): answer for answer, witnesses in known.items() for witness in witnesses}
    for one in found:
        assert (one.event, one.witness) in by_witness, f"{text}\nis not matched at {one.event} by {sorted(one.witness)}"
    return [by_witness[one.event, one.witness] for one in found]


def check(
    texts: Sequence[str],
    events: Sequence[Mapping[str, Any]],
    found: Sequence[Told],
    *,
    schema: Schema = SCHEMA,
    lateness: int | None = None,
) -> None:
    """Every answer that the oracle knows was told, once, with a valid witness, and no other was."""
    for number, text in enumerate(texts):
        known = expected(text, events, schema, lateness=lateness)
        got = answers(text, [one for one in found if one.pattern == number], known)
        shown = "\n".join(map(str, events))
        assert sorted(map(str, got)) == sorted(map(str, known)), f"{text}\n{shown}"
