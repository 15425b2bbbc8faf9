"""All cases of a plan, one peer after another; every answer is compared with Vedette's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

from benchmarks.peers import cases, comparing, running, sequence_cases, sequences
from benchmarks.peers.building import Built, Missing
from benchmarks.peers.plan import SEQUENCE_PEERS, SEQUENCES, WORKLOADS, Plan, without_data
from benchmarks.peers.protocol import Figures
from benchmarks.peers.record import Record, Row, no_time
from benchmarks.peers.registry import OURS, PEERS, Peer
from benchmarks.peers.rules import CannotSay

Tell = Callable[[str], None]
Peers = Mapping[str, tuple[Peer, Built]]
Makes = Callable[[str, int, int], cases.Case]


def build(peers: Mapping[str, Peer], names: Iterable[str], record: Record, tell: Tell) -> Peers:
    """The drivers that can be had; why others cannot goes into the record."""
    found: dict[str, tuple[Peer, Built]] = {}
    for name in (name for name in names if name in peers):
        tell(f"building the driver of {name}")
        try:
            found[name] = peers[name], peers[name].build()
        except Missing as why:
            record.missing[name] = str(why)
    return found


def steps(plan: Plan) -> int:
    """How many rows there may be."""
    return sum(len(plan.sizes(workload)) * (1 + len(_names(plan, workload))) for workload in plan.workloads)


def _names(plan: Plan, workload: str) -> list[str]:
    return [name for name in plan.peers if (name in SEQUENCE_PEERS) is (workload in SEQUENCES)]


def measure(plan: Plan, record: Record, tell: Tell, done: Callable[[], None]) -> None:
    """Fills the record, row by row."""
    begin = time.monotonic()

    @cache
    def of(kind: str) -> Peers:
        return build(sequences.PEERS if kind == "sequences" else PEERS, plan.peers, record, tell)

    engines: dict[str, tuple[Makes, Peer, Peers]] = {}
    for workload in plan.workloads:
        why = without_data(workload)
        if why is not None:
            record.missing[workload] = why
        elif workload in SEQUENCES:
            engines[workload] = (sequence_cases.make, sequences.OURS, of("sequences"))
        else:
            engines[workload] = (cases.make, OURS, of("filters"))
    for workload, size in plan.cases():
        if workload not in engines:
            continue
        if time.monotonic() - begin > plan.budget_s:
            record.notes.append(no_time(workload, size))
            continue
        tell(f"{workload} at {size:,}: rules and events")
        make, we, peers = engines[workload]
        compared(plan, make(workload, size, plan.events), we, peers, record, tell, done)
        record.seconds = time.monotonic() - begin
    record.rows.sort(key=lambda row: (WORKLOADS.index(row.workload), row.size))


def compared(
    plan: Plan,
    case: cases.Case,
    we: Peer,
    peers: Peers,
    record: Record,
    tell: Tell,
    done: Callable[[], None],
) -> None:
    """The rows of one case: ours, then those of the peers that there are."""
    tell(f"{case.workload} at {case.size:,}: {we.name}")
    limits = _limits(plan, case)
    ours = running.run(we, we.build(), case, limits)
    total = sum(map(len, ours.matches))
    record.rows.append(Row(case.workload, case.size, we.name, ours.figures, len(ours.said), len(ours.said), total))
    done()
    for name in _names(plan, case.workload):
        if name in peers:
            tell(f"{case.workload} at {case.size:,}: {name}")
            late = too_late(record, case, name)
            skipped = Row(case.workload, case.size, name, Figures(failed=late))
            record.rows.append(_row(*peers[name], case, ours, limits) if late is None else skipped)
        done()


def too_late(record: Record, case: cases.Case, peer: str) -> str | None:
    """Why a peer is not tried: it did not end with fewer rules of the same kind."""
    for row in record.rows:
        if (row.workload, row.peer) == (case.workload, peer) and "not done after" in (row.figures.failed or ""):
            return f"not tried: {row.figures.failed} at {row.size:,}"
    return None


def _limits(plan: Plan, case: cases.Case) -> running.Limits:
    """Few events complete a sequence, and statements take long to compile: more of both than for filters."""
    limits = plan.limits_at(case.size)
    if case.workload not in SEQUENCES:
        return limits
    return replace(limits, build_s=3 * limits.build_s, checked=plan.events)


def _row(peer: Peer, built: Built, case: cases.Case, ours: running.Outcome, limits: running.Limits) -> Row:
    if case.size > peer.most and case.workload != "sigma":
        return Row(case.workload, case.size, peer.name, Figures(failed=f"not tried beyond {peer.most:,} rules"))
    try:
        outcome = running.run(peer, built, case, limits)
    except CannotSay as why:
        return Row(case.workload, case.size, peer.name, Figures(failed=f"cannot say: {why}"))
    figures = outcome.figures
    void = None
    if figures.failed is None:
        compared = sorted(outcome.said)[: figures.first]
        void = comparing.difference(ours.matches, outcome.matches, set(compared))
    if outcome.unsaid:
        left = sum(outcome.unsaid.values())
        most = max(outcome.unsaid, key=lambda reason: outcome.unsaid[reason])
        figures.notes.append(f"{left:,} rules cannot be said (mostly: {most})")
    total = sum(map(len, outcome.matches))
    return Row(case.workload, case.size, peer.name, figures, len(outcome.said), len(ours.said), total, void)
