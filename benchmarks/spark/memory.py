"""(e) What two workers on one host hold of a million filters: one copy, or two?"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from vedette.spark.dataframe_match import match
from vedette.spark.snapshots import ship

_MIB = 1 << 20


@dataclass(frozen=True)
class Share:
    """What a process holds, in bytes; of files shared with others, `pss` is its share and `rss` is all."""

    pid: int
    rss: int
    pss: int
    file_rss: int  # of the snapshot's files
    file_pss: int
    file_private: int


def measure(plan: Plan) -> Result:
    """Two executors with a Python worker each; Linux says which pages of the snapshot they share."""
    with (
        data.started("local-cluster[2,1,1024]", **{"spark.executor.memory": "1g"}) as spark,
        tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder,
    ):
        shipped = ship(data.engine(plan.memory_filters), spark)
        name = Path(shipped.folder).name
        size = sum(path.stat().st_size for path in Path(shipped.folder).rglob("*") if path.is_file())
        path = data.write_events(Path(folder) / "events", plan.memory_events)
        found = match(spark.read.parquet(str(path)), shipped).select(F.count("*")).collect()[0][0]
        # The driver maps the same files, so that without it a part of them would belong to nobody.
        driver = share_of(os.getpid(), name)
        workers = [share for share in (share_of(pid, name) for pid in _python_workers()) if share is not None]
    shares = {f"Python worker {number}": share for number, share in enumerate(workers, 1)}
    if driver is not None:
        shares["driver"] = driver
    return _result(plan, size, found, shares)


def _result(plan: Plan, size: int, found: int, shares: dict[str, Share]) -> Result:
    result = Result("e", f"W2, {plan.memory_filters:,} filters, two executors, MiB")
    for process, share in shares.items():
        result.rows.append(
            {
                "process": process,
                "all it maps (RSS)": share.rss / _MIB,
                "its share (PSS)": share.pss / _MIB,
                "of the snapshot": share.file_rss / _MIB,
                "its share of that": share.file_pss / _MIB,
                "its own of that": share.file_private / _MIB,
            }
        )
    held = sum(share.file_pss for share in shares.values())
    most = max((share.file_rss for share in shares.values()), default=0)
    result.notes.append(
        f"the snapshot's files are {size / _MIB:,.0f} MiB; {len(shares)} processes map up to {most / _MIB:,.0f} MiB of "
        f"them, and all of it together takes {held / _MIB:,.0f} MiB of memory; {found:,} matches"
    )
    if most:
        result.ratios.append(Ratio(f"copies in memory for {len(shares)} processes", held / most))
    return result


def share_of(pid: int, snapshot: str) -> Share | None:
    """From /proc; None for a process that does not map the snapshot, or has ended."""
    totals = {"Rss": 0, "Pss": 0}
    files = {"Rss": 0, "Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    of_snapshot = False
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        word, _, rest = line.partition(" ")
        if not word.endswith(":"):  # the first line of a mapping: addresses, rights, …, the file
            of_snapshot = f"/{snapshot}/" in line
            continue
        name, kilobytes = word[:-1], rest.split()
        if name in totals:
            totals[name] += int(kilobytes[0]) * 1024
        if name in files and of_snapshot:
            files[name] += int(kilobytes[0]) * 1024
    if not files["Rss"]:
        return None
    private = files["Private_Clean"] + files["Private_Dirty"]
    return Share(pid, totals["Rss"], totals["Pss"], files["Rss"], files["Pss"], private)


def _python_workers() -> list[int]:
    """Processes of Spark's Python workers, on this host and of this user."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark.daemon" in command or b"pyspark.worker" in command:
            found.append(int(folder.name))
    return sorted(found)
