"""`make bench-service`: durable events a second, latency, and many readers, against a real process over loopback."""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx

from benchmarks.service.serving import Served, served
from benchmarks.service.wire import Wire, request

SYMBOLS = 1_000
_PUBLISHERS = 8
_CONNECTIONS = 32  # of those who publish single events


def events(random: Random, count: int) -> bytes:
    """A batch of events as JSON."""
    made = [
        {
            "symbol": f"s{random.randrange(SYMBOLS)}",
            "price": round(random.random() * 1000, 2),
            "volume": random.randrange(1000),
        }
        for _ in range(count)
    ]
    return json.dumps(made).encode()


async def subscribed(client: httpx.AsyncClient, count: int) -> None:
    """So many subscriptions, of which an event matches about one in ten thousand."""
    random = Random(1)
    limit = asyncio.Semaphore(16)

    async def one() -> None:
        low = random.random() * 999
        when = f"symbol = 's{random.randrange(SYMBOLS)}' and price between {low:.2f} and {low + 100:.2f}"
        async with limit:
            answer = await client.post("/v1/subscriptions", json={"when": when})
            answer.raise_for_status()

    await asyncio.gather(*(one() for _ in range(count)))


async def throughput(port: int, key: str, seconds: float) -> dict[str, float]:
    """Events a second that are on the disk, in batches of 100, from 8 publishers; and that are matched."""
    random = Random(2)
    requests = [request(events(random, 100), key) for _ in range(64)]
    end, done = time.perf_counter() + seconds, 0

    async def publisher(number: int) -> None:
        nonlocal done
        turn = number
        async with Wire(port) as wire:
            while time.perf_counter() < end:
                await wire.send(requests[turn % len(requests)])
                done += 100
                turn += _PUBLISHERS

    begin = time.perf_counter()
    await asyncio.gather(*(publisher(number) for number in range(_PUBLISHERS)))
    accepted = time.perf_counter() - begin
    await matched(port)
    return {"events_per_second": done / accepted, "matched_per_second": done / (time.perf_counter() - begin)}


async def matched(port: int) -> None:
    """Wait until all that was accepted has been matched, and what it tells is on the disk, too."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60.0, trust_env=False) as client:
        while True:
            lines = (await client.get("/metrics")).text.splitlines()
            if all(float(line.split()[-1]) <= 0 for line in lines if line.startswith("vedette_events_behind ")):
                return
            await asyncio.sleep(0.05)


async def latency(port: int, key: str, rate: float, seconds: float) -> dict[str, float]:
    """Milliseconds from when a single event was due, at a fixed rate, to when it is acknowledged."""
    random = Random(3)
    requests = [request(events(random, 1), key) for _ in range(1_000)]
    took: list[float] = []
    due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

    async def publisher() -> None:
        async with Wire(port) as wire:
            while (one := await due.get()) is not None:
                await wire.send(one[1])
                took.append((time.perf_counter() - one[0]) * 1000)

    publishers = [asyncio.create_task(publisher()) for _ in range(_CONNECTIONS)]
    begin = time.perf_counter()
    for number in range(int(rate * seconds)):
        moment = begin + number / rate
        await asyncio.sleep(max(0.0, moment - time.perf_counter()))
        due.put_nowait((moment, requests[number % len(requests)]))
    for _ in publishers:
        due.put_nowait(None)
    await asyncio.gather(*publishers)
    lasted = time.perf_counter() - begin
    took.sort()
    return {
        "rate": len(took) / lasted,
        "p50_ms": statistics.median(took),
        "p99_ms": took[int(len(took) * 0.99)],
        "worst_ms": took[-1],
    }


async def readers(served_: Served, key: str, count: int) -> dict[str, float]:
    """Memory and health with so many silent and so many stalled readers of server-sent events."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=served_.url, headers=headers, timeout=60.0, trust_env=False) as client:
        loud = (await client.post("/v1/subscriptions", json={"when": "loud = 1"})).json()["id"]
        quiet = (await client.post("/v1/subscriptions", json={"when": "quiet = 1"})).json()["id"]
        before = served_.memory()
        streams = []
        for number in range(2 * count):
            reader, writer = await asyncio.open_connection("127.0.0.1", served_.port, limit=1024)
            id_ = quiet if number % 2 else loud
            writer.write(
                f"GET /v1/subscriptions/{id_}/stream HTTP/1.1\r\nHost: x\r\n"
                f"Authorization: Bearer {key}\r\n\r\n".encode()
            )
            await writer.drain()
            streams.append((reader, writer))
        body = json.dumps([{"loud": 1, "text": "x" * 1000} for _ in range(100)]).encode()
        slowest = 0.0
        for _ in range(20):
            await client.post("/v1/events", content=body, headers={"Content-Type": "application/json"})
            begin = time.perf_counter()
            (await client.get("/livez")).raise_for_status()
            slowest = max(slowest, time.perf_counter() - begin)
        after = served_.memory()
        counts = (await client.get(f"/v1/subscriptions/{loud}")).json()["notifications"]
        for _, writer in streams:
            writer.close()
    return {
        "readers": 2 * count,
        "kb_per_connection": (after - before) / 1024 / (2 * count),
        "slowest_health_ms": slowest * 1000,
        **{name: counts[name] for name in ("due", "delivered", "pending", "dropped")},
    }


def floor(folder: Path, seconds: float) -> float:
    """Events a second that SQLite alone writes in batches of 100, each synced: the limit without groups."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, body BLOB)")
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        connection.execute("BEGIN")
        rows = [(f"{done + n}", b"x" * 80) for n in range(100)]
        connection.executemany("INSERT INTO events (id, body) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
        done += 100
    connection.close()
    return done / seconds


async def measured(quick: bool) -> dict[str, Any]:
    """All parts, one after the other."""
    subscriptions, seconds, many = (200, 2.0, 20) if quick else (10_000, 20.0, 1_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder, VEDETTE_LIMITS__QUEUE=1_000) as service:
            key = service.tenant()
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx.AsyncClient(
                base_url=service.url, headers=headers, timeout=60.0, trust_env=False
            ) as client:
                begin = time.perf_counter()
                await subscribed(client, subscriptions)
                found: dict[str, Any] = {"subscriptions": subscriptions, "subscribing_s": time.perf_counter() - begin}
            await throughput(service.port, key, 2.0)  # warm
            found["throughput"] = await throughput(service.port, key, seconds)
            found["latency"] = await latency(service.port, key, 50.0 if quick else 500.0, seconds)
            found["readers"] = await readers(service, key, many)
        found["sqlite_alone_events_per_second"] = floor(folder, 2.0)
    found["throughput"]["of_sqlite_alone"] = (
        found["throughput"]["events_per_second"] / found["sqlite_alone_events_per_second"]
    )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    print(json.dumps(asyncio.run(measured(parser.parse_args().quick)), indent=2))


if __name__ == "__main__":
    main()
