"""A tenant asks for what never ends, while another one publishes and is told: how long that takes, and how long alone.

python -m benchmarks.service.endless --seconds 10
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np

from benchmarks.service.serving import Served

_AT_ONCE: Final = 45
_LEAST: Final = 0.25  # seconds: so late may be told whatever the latency alone
# Read by the processes that compute for requests; only they are made to loop, by a text that says so.
_PLANTED: Final = """
import sys
from vedette.operators.operator import operator

@operator(reads=("n",))
def odd(event):
    return event["n"] % 2 == 1

computed = sys.modules.get("vedette.service.compute_process")
if computed is not None and "vedette.service.http.app" not in sys.modules:
    def planted(task):
        def run(grounds, given):
            while "endless" in str(given):
                pass
            return task(grounds, given)
        return run
    computed.TASKS = {name: planted(task) for name, task in computed.TASKS.items()}
"""


def _latencies(client: httpx.Client, subscription: str, seconds: float) -> list[float]:
    """From publishing an event to hearing of it."""
    found: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        client.post("/v1/events", json={"x": 1}).raise_for_status()
        while True:
            some = client.get(f"/v1/subscriptions/{subscription}/notifications", params={"limit": 1000})
            if some.raise_for_status().json()["notifications"]:
                break
        found.append(time.perf_counter() - begin)
    return found


def _hostile(url: str, key: str, ended: threading.Event, answers: list[int]) -> None:
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/v1/subscriptions:test", {"when": "x = 'endless'", "events": [{"x": 1}], "recent": True}),
        ("/v1/filters:parse", {"when": "x = 'endless'"}),
        ("/v1/subscriptions", {"when": "[x = 'endless'] ; [x = 1]", "predict": {"within": 10_000}}),
        ("/v1/subscriptions:test", {"when": "[x = 1] ; [x = 2]", "predict": {"within": 10**9}, "events": [{"x": 1}]}),
        ("/v1/offers", {"when": "x = 'endless'"}),
    ]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as client:
        for number in range(1 << 30):
            if ended.is_set():
                return
            path, body = bodies[number % len(bodies)]
            with suppress(httpx.HTTPError):
                answers.append(client.post(path, json=body).status_code)


def measured(seconds: float) -> dict[str, Any]:
    """Latencies alone and beside what never ends, and what became of that."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "planted.py").write_text(_PLANTED)
        planted = {"VEDETTE_OPERATORS": str(Path(name) / "planted.py"), "VEDETTE_COMPUTING__SECONDS": "1"}
        service = Served(Path(name), planted)
        service.start()
        try:
            good, bad = service.tenant("good"), service.tenant("bad")
            headers = {"Authorization": f"Bearer {good}"}
            with httpx.Client(base_url=service.url, headers=headers, timeout=60, trust_env=False) as client:
                made = client.post("/v1/subscriptions", json={"when": "x = 1"}).raise_for_status().json()
                _latencies(client, made["id"], 1.0)
                alone = _latencies(client, made["id"], seconds)
                ended, answers = threading.Event(), list[int]()
                with ThreadPoolExecutor(_AT_ONCE) as threads:
                    for _ in range(_AT_ONCE):
                        threads.submit(_hostile, service.url, bad, ended, answers)
                    time.sleep(1.0)
                    beside = _latencies(client, made["id"], seconds)
                    goes_on = client.post("/v1/filters:parse", json={"when": "x = 1"}).status_code
                    ended.set()
                begin = time.perf_counter()
            service.stop()
            stopping = time.perf_counter() - begin
        finally:
            service.stop()
    middle, worst = float(np.median(alone)), float(np.quantile(beside, 0.99))
    return {
        "alone_ms": {"median": 1e3 * middle, "p99": 1e3 * float(np.quantile(alone, 0.99))},
        "beside_ms": {"median": 1e3 * float(np.median(beside)), "p99": 1e3 * worst},
        "events": [len(alone), len(beside)],
        "hostile_answers": {str(status): answers.count(status) for status in sorted(set(answers))},
        "others_are_answered": goes_on,
        "stopping_seconds": stopping,
        "kept": float(np.median(beside)) <= max(2 * middle, _LEAST) and goes_on == 200,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    found = measured(parser.parse_args().seconds)
    print(json.dumps(found, indent=2))
    if not found["kept"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
