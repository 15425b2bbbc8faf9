"""`make torture`: the service is killed again and again while it is published to; nothing acknowledged may be lost.

python -m benchmarks.service.torture --kills 100
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sqlite3
import tempfile
import threading
import time
from pathlib import Path

import httpx

from benchmarks.service.serving import Served


def publish(url: str, key: str, acknowledged: set[str], ending: threading.Event, number: int) -> None:
    """Publish batches of a few events until it ends; remember the ids that were acknowledged."""
    turn = 0
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, timeout=5.0, trust_env=False) as client:
        while not ending.is_set():
            turn += 1
            events = [{"id": f"{number}-{turn}-{n}", "x": n % 3} for n in range(5)]
            try:
                answer = client.post("/v1/events", json=events)
            except httpx.HTTPError:
                time.sleep(0.02)
                continue
            if answer.status_code == 202:
                acknowledged.update(event["id"] for event in events)


def tortured(kills: int, seed: int, seconds: float) -> dict[str, int]:
    """Kill so many times, at random moments; what was acknowledged, what is there, what is told."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        service = Served(folder, {"VEDETTE_LIMITS__QUEUE": "10000000"})
        service.start()
        key = service.tenant()
        headers = {"Authorization": f"Bearer {key}"}
        made = httpx.post(
            f"{service.url}/v1/subscriptions", json={"when": "x = 1"}, headers=headers, trust_env=False
        ).json()
        pattern = httpx.post(
            f"{service.url}/v1/subscriptions", json={"when": "[x = 1] , [x = 2]"}, headers=headers, trust_env=False
        ).json()
        acknowledged: set[str] = set()
        ending = threading.Event()
        threads = [
            threading.Thread(target=publish, args=(service.url, key, acknowledged, ending, number))
            for number in range(3)
        ]
        for thread in threads:
            thread.start()
        end, done = time.monotonic() + seconds, 0
        while done < kills and time.monotonic() < end:
            time.sleep(chance.random() * 0.8)
            service.kill()
            service.start()
            done += 1
        ending.set()
        for thread in threads:
            thread.join()
        time.sleep(3.0)
        counts = httpx.get(
            f"{service.url}/v1/subscriptions/{made['id']}", headers=headers, timeout=30.0, trust_env=False
        ).json()["notifications"]
        told = httpx.get(
            f"{service.url}/v1/subscriptions/{pattern['id']}", headers=headers, timeout=30.0, trust_env=False
        ).json()["notifications"]
        service.stop()
        found = checked(folder / "service.db", acknowledged)
    return {
        "kills": done,
        **found,
        **{f"filter_{name}": counts[name] for name in ("due", "delivered", "dead", "dropped", "pending")},
        "pattern_due": told["due"],
    }


def checked(path: Path, acknowledged: set[str]) -> dict[str, int]:
    """What the database says: everything acknowledged is there, every match is told once."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT number, id, json_extract(body, '$.x') FROM events ORDER BY number").fetchall()
    there = {row[1] for row in rows}
    due = sum(row[2] == 1 for row in rows)
    follows = sum(one[2] == 1 and other[2] == 2 for one, other in itertools.pairwise(rows))
    kinds = dict(
        connection.execute("SELECT subscription, count(*) FROM notifications GROUP BY subscription").fetchall()
    )
    connection.close()
    return {
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - there),
        "events": len(rows),
        "filter_expected": due,
        "filter_told": kinds.get(1, 0),
        "pattern_expected": follows,
        "pattern_told": kinds.get(2, 0),
    }


def main() -> None:
    """Torture, print, and end with 1 if anything was lost or told wrongly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900.0, help="it ends after so long, however many there were")
    options = parser.parse_args()
    found = tortured(options.kills, options.seed, options.seconds)
    print(json.dumps(found, indent=2))
    right = (
        found["lost"] == 0
        and found["filter_told"] == found["filter_expected"] == found["filter_due"]
        and found["pattern_told"] == found["pattern_expected"]
    )
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
