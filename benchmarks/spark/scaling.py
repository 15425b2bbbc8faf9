"""(c) One core beside two, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.timing import in_turns

AIM = 1.6
ROOT = Path(__file__).resolve().parents[2]


def measure(plan: Plan) -> Result:
    """Spark with one task at a time and with two: on as many cores as tasks, and with both cores at hand for one."""
    cores = sorted(os.sched_getaffinity(0))
    result = Result("c", f"W2, {plan.filters:,} filters, {plan.events:,} events")
    if len(cores) < 2:
        result.notes.append("not measured: there is only one core")
        return result
    with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
        events = data.write_events(Path(folder) / "events", plan.events)
        seconds = {}
        for tasks, allowed in ((1, cores[:1]), (1, cores[:2]), (2, cores[:2])):
            took = seconds[tasks, len(allowed)] = _child(plan, events, tasks, allowed)
            result.rows.append(
                {"master": f"local[{tasks}]", "cores": len(allowed), "s": took, "events/s": plan.events / took}
            )
    result.ratios += [
        Ratio("two cores, times as fast as one", seconds[1, 1] / seconds[2, 2], AIM),
        Ratio("local[2], times as fast as local[1] with two cores at hand", seconds[1, 2] / seconds[2, 2], AIM),
    ]
    result.notes.append(
        "local[1] with two cores at hand uses both: Spark reads and writes on one while Python matches on the other"
    )
    return result


def _child(plan: Plan, events: Path, tasks: int, cores: list[int]) -> float:
    given = {"plan": asdict(plan), "events": str(events), "tasks": tasks, "cores": cores}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.scaling", json.dumps(given)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def _alone(given: str) -> None:
    """What the process does."""
    from vedette.spark.dataframe_match import match
    from vedette.spark.snapshots import ship

    said = json.loads(given)
    os.sched_setaffinity(0, said["cores"])
    plan = Plan(**said["plan"])
    # The collector that Java chooses depends on the number of cores it sees: here it is always the same.
    with data.started(f"local[{said['tasks']}]", **{"spark.driver.extraJavaOptions": "-XX:+UseG1GC"}) as spark:
        events = spark.read.parquet(said["events"])
        shipped = ship(data.engine(plan.filters), spark)
        seconds = in_turns({"match": lambda: data.to_nowhere(match(events, shipped))}, plan.repetitions)
    print(seconds["match"])


if __name__ == "__main__":
    _alone(sys.argv[1])
