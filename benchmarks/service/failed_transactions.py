"""Transactions fail one by one: random operations at the same time, of which a statement or a commit fails.

python -m benchmarks.service.failed_transactions --rounds 500

After each fault all that the service has in memory is held against its database, and against what a service would have
that begins anew; what was refused is done once more.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from benchmarks.service.faults import KINDS, Faults, compared
from benchmarks.service.operations import OPERATIONS, Unkept, World, letters, outcome
from vedette.service import clock, lane_flow
from vedette.service.errors import Conflict, NotFound, StoreFailed
from vedette.service.settings import ServiceSettings

_TOGETHER: Final = 6  # operations at the most
_STATEMENTS: Final = 8  # of an operation
_FRESH_EVERY: Final = 20  # rounds after which all that stands runs out


def failed(rounds: int, seed: int, seconds: float, url: str | None = None) -> dict[str, Any]:
    """So many rounds; which faults there were, what became of the operations, and where memory was wrong.

    Without a `url` the database is a file that goes away.
    """
    chance, done, wrong = random.Random(seed), Counter[str](), list[str]()
    moment = [clock.now()]
    before, lane_flow.PAUSE = lane_flow.PAUSE, 0.002  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as name:
        url = url or f"sqlite:///{Path(name) / 'service.db'}"
        settings = ServiceSettings(store={"url": url, "synchronous": "NORMAL"})  # type: ignore[arg-type]
        with Unkept(settings, now=lambda: moment[0]) as service:
            world = World(service, service.tenants.add("acme"), moment)
            world.ready()
            faults, begin, count = Faults(service.store.engine), time.monotonic(), 0
            try:
                while count < rounds and time.monotonic() - begin < seconds and not wrong:
                    if count % _FRESH_EVERY == 0:
                        world.clear()
                    count += 1
                    wrong += _round(world, faults, chance, done)
                    if count % _FRESH_EVERY == 0:
                        wrong += compared(service, anew=True)
            finally:
                faults.remove()
                lane_flow.PAUSE = before  # type: ignore[misc]
    return {
        "rounds": count,
        "seconds": round(time.monotonic() - begin, 1),
        **dict(sorted(done.items())),
        "broken": wrong,
    }


def _round(world: World, faults: Faults, chance: random.Random, done: Counter[str]) -> list[str]:
    names = chance.choices(sorted(OPERATIONS), k=chance.randint(1, _TOGETHER))
    some = [OPERATIONS[name](world) for name in names]
    world.rest()
    kind = chance.choice(KINDS)
    number = chance.randint(1, _STATEMENTS * len(some) if kind in ("statement", "connection") else 3)
    with ThreadPoolExecutor(len(some)) as threads, faults.at(kind, number):
        found = list(threads.map(outcome, some))
        if kind != "silent":
            world.matched()
    done[f"fault_{kind}" if faults.fired else "no_fault"] += 1
    world.rest()
    wrong = compared(world.service)
    for name, doing, refused in zip(names, some, found, strict=True):
        done["operations"] += 1
        if refused is None:
            continue
        done["refused"] += 1
        again = outcome(doing)
        if not isinstance(refused, StoreFailed) or not isinstance(again, NotFound | Conflict | None):
            wrong.append(f"{name} was refused: {refused}; and then: {again}")
    world.rest()
    wrong += compared(world.service)
    return wrong if letters(world) else [*wrong, "dead letters and dead notifications differ"]


def main() -> None:
    """Let them fail, print, and end with 1 if memory and database ever differed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.failed_transactions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0, help="it ends after so long, however many there were")
    options = parser.parse_args()
    found = failed(options.rounds, options.seed, options.seconds)
    print(json.dumps(found, indent=2))
    raise SystemExit(1 if found["broken"] else 0)


if __name__ == "__main__":
    main()
