"""The service is killed again and again while it is published to; nothing acknowledged may be lost.

python -m benchmarks.service.torture --kills 100

Three publishers go on all the time, and readers of three kinds. At the end every event that was acknowledged has to be
there, every match told once, every notification counted once, and every reader told of all that was delivered to it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.service.load import PATTERN, Promises, client_of, under_load
from benchmarks.service.proofs import broken, caught_up, counts, untold
from benchmarks.service.serving import Served
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings

READERS: Final = ("pull", "sse", "webhook")
_SETTINGS: Final = {
    "VEDETTE_LIMITS__QUEUE": "2000",  # so small that the webhook, which goes one by one, falls behind and drops
    "VEDETTE_WEBHOOKS__ALLOW_PRIVATE": "true",
    "VEDETTE_WEBHOOKS__PORTS": "any",
    "VEDETTE_WEBHOOKS__SCHEDULE": "[0.1, 0.1, 0.1, 0.1, 0.1, 0.1]",
}


def tortured(kills: int, seed: int, seconds: float, url: str | None = None) -> dict[str, Any]:
    """Kill so many times, at random moments; what was acknowledged, what became of it, what is broken.

    Without a `url` the database is a file that goes away.
    """
    chance, promises = random.Random(seed), Promises()
    with tempfile.TemporaryDirectory() as name:
        url = url or f"sqlite:///{name}/service.db"
        service = Served(Path(name), {**_SETTINGS, "VEDETTE_STORE__URL": url})
        service.start()
        begin, done = time.monotonic(), 0
        try:
            key = service.tenant()
            with client_of(service.url, key) as client:
                promises.subscribe(client, PATTERN)
            with under_load(service.url, key, promises, readers=READERS) as quiet:
                read = [id_ for _, id_ in promises.subscriptions[1:]]
                while done < kills and time.monotonic() - begin < seconds:
                    # Half of them soon after it began, half when it has been matching and telling for a while.
                    time.sleep(chance.random() * (0.8 if done % 2 else 4.0))
                    service.kill()
                    service.start()
                    done += 1
                quiet()
                _drained(service.url, key, promises)
        finally:
            service.stop()
        took = time.monotonic() - begin
        settings = ServiceSettings(
            store={"url": url},  # type: ignore[arg-type]
            limits={"queue": int(_SETTINGS["VEDETTE_LIMITS__QUEUE"])},  # type: ignore[arg-type]
        )
        with Service(settings) as left:
            caught_up(left)
            wrong = [*broken(left, promises), *untold(left, promises)]
            wrong += [f"{id_} was told nothing" for id_ in read if not promises.told[id_]]
            found = counts(left)
    return {
        "kills": done,
        "seconds": round(took, 1),
        "acknowledged": len(promises.events),
        **{f"notifications_{name}": value for name, value in found.items()},
        "told": {kind: len(set(promises.told[id_])) for kind, id_ in zip(READERS, read, strict=True)},
        "refused": {str(status): count for status, count in promises.refused.items()},
        "broken": wrong,
    }


def _drained(url: str, key: str, promises: Promises, seconds: float = 60.0) -> None:
    """Wait until readers have taken what waits, or for so long."""
    end = time.monotonic() + seconds
    with client_of(url, key) as client:
        while time.monotonic() < end:
            time.sleep(0.5)
            found = [client.get(f"/v1/subscriptions/{id_}").json() for _, id_ in promises.subscriptions[1:]]
            if all(one["notifications"]["due"] and not one["notifications"]["pending"] for one in found):
                return


def main() -> None:
    """Torture, print, and end with 1 if anything was lost or told wrongly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900.0, help="it ends after so long, however many there were")
    options = parser.parse_args()
    found = tortured(options.kills, options.seed, options.seconds)
    print(json.dumps(found, indent=2))
    raise SystemExit(1 if found["broken"] else 0)


if __name__ == "__main__":
    main()
