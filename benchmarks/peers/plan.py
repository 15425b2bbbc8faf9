"""What a run measures, and how long that may take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import sigma_data
from benchmarks.peers.registry import PEERS
from benchmarks.peers.running import Limits

FILTERS = ("W1-3", "W1-30", "W2", "W3", "W4", "expressions", "routing", "routing-plain", "sigma")
SEQUENCES = ("sequences", "sequences-loose")
WORKLOADS = (*FILTERS, *SEQUENCES)
SEQUENCE_PEERS = ("esper", "flink-cep", "pycer")
_SIZES = {
    "W2": (1_000, 10_000, 100_000),  # a-tree alone would build a million of them for ten minutes
    "expressions": (1_000, 10_000, 100_000, 1_000_000),
    "routing": (1_000, 100_000),
    "routing-plain": (100_000,),
}
_MINUTES = 45.0  # the last case may take ten more
_FIRST = ("routing", "routing-plain", "sigma", *SEQUENCES)  # whatever becomes of the greatest sizes


@dataclass(frozen=True)
class Plan:
    """Which peers on which workloads at which sizes."""

    peers: tuple[str, ...]
    workloads: tuple[str, ...]
    quick: bool
    limits: Limits
    budget_s: float
    only: frozenset[int] = frozenset()  # sizes; none: all of them

    @property
    def events(self) -> int:
        """Events of a case."""
        return 300 if self.quick else 10_000

    def limits_at(self, size: int) -> Limits:
        """The same for everybody; many rules may take long to build."""
        longer = 1 if size < 100_000 else 3 if size < 1_000_000 else 30
        return replace(self.limits, build_s=longer * self.limits.build_s)

    def cases(self) -> list[tuple[str, int]]:
        """Workloads and sizes in the order of the run: small ones first, so that a budget cuts off the greatest."""
        found = [(workload, size) for workload in self.workloads for size in self.sizes(workload)]
        return sorted(found, key=lambda case: (case[0] not in _FIRST, case[1], case[0] != "expressions"))

    def sizes(self, workload: str) -> tuple[int, ...]:
        """Numbers of rules."""
        return tuple(size for size in self._sizes(workload) if not self.only or size in self.only)

    def _sizes(self, workload: str) -> tuple[int, ...]:
        if workload == "sigma":
            return (40,) if self.quick else (100_000,)  # as many as there are
        if workload in SEQUENCES:
            return (5,) if self.quick else (10, 100, 1_000)
        if self.quick:
            return (50,)
        return _SIZES.get(workload, (1_000, 100_000))


def parsed(arguments: Sequence[str] | None) -> tuple[Plan, argparse.Namespace]:
    """From the command line."""
    everybody = (*PEERS, *SEQUENCE_PEERS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Vedette beside its peers.")
    parser.add_argument("--peers", default=",".join(everybody), help="comma-separated (default: %(default)s)")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="comma-separated (default: %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=_MINUTES, metavar="MINUTES", help="no new case is begun after it (default: 45)"
    )
    parser.add_argument("--sizes", default="", help="comma-separated numbers of rules (default: all of a workload)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only shows that everything runs")
    parser.add_argument(
        "--json", type=Path, help="where the figures go (default: benchmarks/results/peers-<time>.json)"
    )
    parser.add_argument("--merge", type=Path, action="append", default=[], help="figures of a run just before this one")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md and its plots")
    given = parser.parse_args(arguments)
    peers, workloads = tuple(given.peers.split(",")), tuple(given.workloads.split(","))
    for word, known in [*((peer, everybody) for peer in peers), *((one, WORKLOADS) for one in workloads)]:
        if word not in known:
            parser.error(f"there is no {word!r}; there are {', '.join(known)}")
    limits = Limits(5.0, 0.1, 100) if given.quick else Limits()
    try:
        only = frozenset(int(float(size)) for size in given.sizes.split(",") if size)
    except ValueError:
        parser.error(f"--sizes {given.sizes}: these are no numbers")
    return Plan(peers, workloads, given.quick, limits, 60 * given.budget, only), given


def without_data(workload: str) -> str | None:
    """Why a workload cannot be measured here."""
    if workload == "sigma" and not sigma_data.is_there():
        return "the rules of Sigma and the recorded attacks are not here"
    return None
