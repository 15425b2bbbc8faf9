"""docs/benchmarks.md: the last run, the machine, the plots, and where Vedette loses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.losses import losses, reasons
from benchmarks.peers.plots import write_plots
from benchmarks.peers.record import OURS, Record
from benchmarks.peers.registry import PEERS
from benchmarks.peers.report import COLUMNS, cells, ordered, workloads
from benchmarks.peers.sequence_cases import SEMANTICS

DOCS = Path(__file__).resolve().parents[2] / "docs"
_PLOTS = "benchmarks"  # the folder of plots, beside the page

WORKLOADS = {
    "W1-3": "Equality over 30 attributes of 3 values; about 100 matches for each event (Aguilera 1999).",
    "W1-30": "The same with 30 values.",
    "W2": "Stock quotes: `symbol = 'KQZA' and price < 31.5 and volume between 900 and 2400`.",
    "W3": "Ranges only: 3 to 5 of 10 numeric attributes.",
    "W4": "Mixed: 100 attributes of which an event has 20, texts and numbers, equality and ranges.",
    "expressions": "`and`, `or`, `not`, nested, seven tests over 20 attributes; about 1 rule in 10,000 matches.",
    "routing": "hypermatch's published workload, rebuilt from its description: six conditions on each rule, a wildcard "
    "among them; every event matches ten rules.",
    "routing-plain": "The same without the wildcard.",
    "sigma": "Detection rules of Sigma on recorded Windows events, both in lower case; without regular expressions, "
    "networks and keywords, which most peers cannot say.",
    **SEMANTICS,
}

_HOW = """\
Same machine, same rules, same events, one run, one core; every engine in a process of its own. A row counts only if
its matches are Vedette's, for the first events of each case; otherwise it is void, and says so.

- *Parsed in*: events are in the engine's own form already. *JSON in*: texts, parsing counted.
- *Events/s*: in batches where an engine has a way for many at once (Vedette, lucene-monitor, DuckDB, Spark SQL), else
  one after another. *One event*: always one call for one event.
- *x slower*: Vedette's events/s over the peer's; below 1 the peer is faster.
- *B/rule*: growth of the heap (Java, Go) or of the process (others) while rules are added.
- "(n of m rules)": the others cannot be said in the peer's language; it is compared on these, and has less to do.
"""


def write_page(record: Record, docs: Path = DOCS) -> Path:
    """The page and its plots; where the page is."""
    plots = write_plots(record, docs / _PLOTS)
    path = docs / "benchmarks.md"
    path.write_text("\n".join(_lines(record, plots)) + "\n", encoding="utf-8")
    return path


def _lines(record: Record, plots: dict[str, str]) -> Iterator[str]:
    yield "# Vedette beside its peers\n"
    yield "Written by `make bench-peers ARGS=--docs`; do not edit.\n"
    yield _HOW
    yield "## The run\n"
    pieces = "" if record.pieces == 1 else f", in {record.pieces} pieces one after another"
    yield f"{record.began}, {record.seconds / 60:.0f} minutes{pieces}.\n"
    yield from (f"- {what}: {said}" for what, said in record.machine.items())
    versions = {row.peer: row.figures.version for row in record.rows if row.figures.version}
    yield "- versions: " + ", ".join(f"{peer} {version}" for peer, version in sorted(versions.items()))
    if record.missing or record.notes:
        yield "\nLeft out:\n"
        yield from (f"- {name}: {why}" for name, why in record.missing.items())
        yield from (f"- {note}" for note in record.notes)
    yield "\n## Where Vedette loses\n"
    found = losses(record)
    yield from found or ["Nowhere in this run."]
    if why := reasons(record):
        yield "\nWhy:\n"
        yield from why
    for workload in workloads(record):
        yield f"\n## {workload}\n"
        yield WORKLOADS.get(workload, "") + "\n"
        if workload in plots:
            yield f"![µs for an event against the number of rules, {workload}]({_PLOTS}/{plots[workload]})\n"
        yield from _table(record, workload)
        yield from _notes(record, workload)


def _table(record: Record, workload: str) -> Iterator[str]:
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + "|".join("---" if name == "peer" else "---:" for name in COLUMNS) + "|"
    for row in ordered(record, workload):
        said = [cell.replace("|", "\\|") for cell in cells(record, row)]
        yield "| " + " | ".join(f"**{cell}**" if row.peer == OURS and cell else cell for cell in said) + " |"


def _notes(record: Record, workload: str) -> Iterator[str]:
    rows = [row for row in ordered(record, workload) if row.counts]
    said = [f"- {row.peer} at {row.size:,}: {note}" for row in rows for note in row.figures.notes if row.peer != OURS]
    how = [f"- {peer}: {PEERS[peer].how}" for peer in dict.fromkeys(r.peer for r in rows) if _has_how(peer)]
    if said or how:
        yield ""
        yield from how + said


def _has_how(peer: str) -> bool:
    return peer in PEERS and bool(PEERS[peer].how)
