"""What the service adds to matching where there are very many matches: the engine, notifications, the database.

python -m benchmarks.service.seam

One stream, 20,000 filters, 2,000 events that have about fifty matches each. Prints milliseconds, the best of some runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

import orjson

from vedette.engine.subscriptions import Subscriptions
from vedette.schema.schema import Schema
from vedette.service.journal import JournalEntry
from vedette.service.notification_rows import NotificationRows
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings
from vedette.service.stream_engine import EngineSubscription, JournalBatch, StreamEngine
from vedette.service.subscription_registry import Subscription

SYMBOLS: Final = 40  # few, so that there are many matches
MOMENT: Final = 1_700_000_000_000_000


def filters(random: Random, count: int) -> list[EngineSubscription]:
    """Filters of a symbol and a range of prices."""
    made = []
    for number in range(count):
        low = random.random() * 999
        when = f"symbol = 's{random.randrange(SYMBOLS)}' and price between {low:.2f} and {low + 100:.2f}"
        made.append(EngineSubscription(f"s_{number:024d}", when))
    return made


def best(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The shortest time of some runs, in milliseconds, and what the last one gave."""
    shortest, found = float("inf"), None
    for _ in range(runs):
        begin = time.perf_counter()
        found = work()
        shortest = min(shortest, time.perf_counter() - begin)
    return round(1000 * shortest, 1), found


def measured(subscriptions: int, events: int, runs: int) -> dict[str, Any]:
    """Each stage by itself."""
    random = Random(1)
    some, schema = filters(random, subscriptions), Schema({}, closed=False)
    published = [
        {"symbol": f"s{random.randrange(SYMBOLS)}", "price": round(random.random() * 1000, 2)} for _ in range(events)
    ]
    numbers = range(1, events + 1)
    batch = JournalBatch(numbers, [f"e{number}" for number in numbers], published, [MOMENT] * events, [""] * events)
    written = {
        number: JournalEntry(orjson.dumps(event), None) for number, event in zip(numbers, published, strict=True)
    }
    alone = Subscriptions(schema)
    alone.add_many(one._asdict() for one in some)
    matcher = alone.compile()
    found: dict[str, Any] = {}
    found["matching_alone_ms"], pairs = best(lambda: matcher.match_pairs(published), runs)
    found["matches"] = len(pairs.event)
    with StreamEngine(schema) as engine:
        engine.add_many(some)
        found["engine_ms"], told = best(lambda: engine.match(batch, []), runs)
    whose = {one.id: _subscription(number, one) for number, one in enumerate(some, 1)}
    found["notifications_ms"], rows = best(lambda: NotificationRows(whose.get, written, MOMENT).all([told]), runs)
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = {"store": {"url": f"sqlite:///{folder}/service.db"}, "limits": {"queue": 10_000_000}}
        with Service(ServiceSettings(**given)) as service:
            put = service.outbox.put
            found["database_ms"], _ = best(lambda: service.store.write(lambda c: put(c, rows, again=False)), 1)
    return found


def _subscription(number: int, one: EngineSubscription) -> Subscription:
    return Subscription(
        *(number, one.id, "acme", "default", None, "filter", one.when, None, None, None, None, {"type": "queue"}),
        *(1, 0, 0, 0, 1.0),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.seam", description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps(measured(options.subscriptions, options.events, options.runs), indent=2))


if __name__ == "__main__":
    main()
