"""The service beside that of another checkout, e.g. of an older version: the same load on both in turns, and ratios.

python -m benchmarks.service.compare OTHER_CHECKOUT

Both run all the time, each with a database of its own, and are tried one after the other, a few times: subscribing,
batches of events from eight publishers, and single events at a fixed rate. Prints for each figure the medians, and the
median of the ratios of all turns (this one / the other). CPU is that of the service's processes, which says most where
others use the machine, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service.__main__ import latency, subscribed, throughput
from benchmarks.service.serving import Served

Figures = dict[str, float]


async def subscribing(served: Served, key: str, count: int) -> Figures:
    """Milliseconds for each of so many subscriptions, which come from 16 connections."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60.0, trust_env=False) as client:
        begin, used = time.perf_counter(), served.cpu()
        await subscribed(client, count)
        took, used = time.perf_counter() - begin, served.cpu() - used
    return {"subscribing_ms": 1e3 * took / count, "subscribing_cpu_ms": 1e3 * used / count}


async def publishing(served: Served, key: str, seconds: float) -> Figures:
    """Durable events a second, and the CPU of an event until it has been matched."""
    begin, used = time.perf_counter(), served.cpu()
    found = await throughput(served.port, key, seconds)
    events = found["matched_per_second"] * (time.perf_counter() - begin)
    return {**found, "event_cpu_us": 1e6 * (served.cpu() - used) / events}


async def waiting(served: Served, key: str, rate: float, seconds: float) -> Figures:
    """Milliseconds until a single event is acknowledged, and its CPU."""
    used = served.cpu()
    found = await latency(served.port, key, rate, seconds)
    return {
        "single_p50_ms": found["p50_ms"],
        "single_p99_ms": found["p99_ms"],
        "single_cpu_us": 1e6 * (served.cpu() - used) / (rate * seconds),
    }


def compared(other: Path, turns: int, subscriptions: int, rate: float, seconds: float) -> dict[str, Figures]:
    """The figures of both, by name."""
    with tempfile.TemporaryDirectory() as name, _both(Path(name), other) as two:
        keys = [one.tenant() for one in two]
        for one, key in zip(two, keys, strict=True):  # what is compiled or loaded at first is not measured
            asyncio.run(subscribing(one, key, 16))
            asyncio.run(throughput(one.port, key, 2.0))
        stages: tuple[Callable[[Served, str], Coroutine[Any, Any, Figures]], ...] = (
            lambda one, key: subscribing(one, key, subscriptions // turns),
            lambda one, key: publishing(one, key, seconds),
            lambda one, key: waiting(one, key, rate, seconds),
        )
        found: list[dict[str, list[float]]] = [{}, {}]
        for stage in stages:
            for turn in range(turns):
                for which in (turn % 2, 1 - turn % 2):
                    for figure, value in asyncio.run(stage(two[which], keys[which])).items():
                        found[which].setdefault(figure, []).append(value)
    return {
        figure: {
            "this": statistics.median(mine),
            "other": statistics.median(found[1][figure]),
            "ratio": statistics.median(a / b for a, b in zip(mine, found[1][figure], strict=True)),
        }
        for figure, mine in found[0].items()
    }


@contextmanager
def _both(folder: Path, other: Path) -> Iterator[list[Served]]:
    """This checkout's service and the other's."""
    two: list[Served] = []
    try:
        for name, checkout in (("this", Path(__file__).parents[2]), ("other", other)):
            (folder / name).mkdir()
            two.append(Served(folder / name, {"VEDETTE_LIMITS__QUEUE": "1000"}, checkout=checkout))
            two[-1].start()
        yield two
    finally:
        for one in two:
            one.stop()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.compare", description=__doc__)
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--subscriptions", type=int, default=2_000)
    parser.add_argument("--rate", type=float, default=500.0, help="single events a second")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn")
    options = parser.parse_args()
    figures = compared(options.other, options.turns, options.subscriptions, options.rate, options.seconds)
    print(json.dumps({name: {key: round(value, 3) for key, value in one.items()} for name, one in figures.items()}))


if __name__ == "__main__":
    main()
