"""Bits flipped in the database of a service that is stopped, then started and read: nothing wrong may be served.

Each flip is in a copy of its own. They are tried in processes, so that one that ends its process is seen. What is
served has to be what an undamaged copy serves; what is missing has to have been said, in the log or by a refusal.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.damage.flips import flip_in_file
from vedette.errors import VedetteError
from vedette.service.incoming_events import EventLimits, read
from vedette.service.journal import Journal
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings
from vedette.service.storage.database_scrub import database_damages
from vedette.service.storage.store import Store
from vedette.service.subscription_registry import SubscriptionRequest

_MEASURES: Final = EventLimits(event_bytes=1 << 18, batch_events=1_000, depth=32)
_TEXTS: Final = ("x = 1", "x > 20 and s = 'a'", "[x = 1] ; [x = 2] ; [x = 30]")
_SECONDS: Final = 10.0  # that matching may take
_AT_ONCE: Final = 50  # flips in one process


def flipped(count: int, seed: int) -> dict[str, Any]:
    """So many flips; what became of them, and of each that went wrong what it was."""
    chance, outcomes, wrong = random.Random(seed), Counter[str](), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder)
        size = (folder / "service.db").stat().st_size
        right = served(folder, "right")
        (folder / "right.json").write_bytes(orjson.dumps(right))
        flips = [(chance.randrange(size), 1 << chance.randrange(8)) for _ in range(count)]
        while flips:
            some, flips = flips[:_AT_ONCE], flips[_AT_ONCE:]
            done = _in_a_process(folder, some)
            for (place, bit), (outcome, reason) in zip(some, done, strict=False):
                outcomes[outcome] += 1
                if outcome in ("wrong", "crashed", "raw error"):
                    wrong.append(f"byte {place}, bit {bit}: {outcome}: {reason}")
            flips = some[len(done) :] + flips  # after one that ended its process
    return {"flips": count, "bytes": size, **outcomes, "broken": wrong}


def _settings(folder: Path, name: str) -> ServiceSettings:
    return ServiceSettings(store={"url": f"sqlite:///{folder}/{name}.db"}, limits={"validity": 86400.0})  # type: ignore[arg-type]


def made(folder: Path) -> None:
    """A database with what there is: matched events and waiting notifications, and events that nobody matched yet."""
    some = [{"id": f"e{n}", "x": n % 40, "s": "ab"[n % 2], "text": "lorem ipsum " * 5} for n in range(600)]
    settings = _settings(folder, "service")
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        for text in _TEXTS:
            service.registry.subscribe(tenant, SubscriptionRequest(text))
        service.registry.subscribe(tenant, SubscriptionRequest("x = 1", want=True))
        service.market.offer(tenant, "default", "x in (1, 5)")
        service.journal.publish("default", read(orjson.dumps(some[:400]), "application/json", {}, _MEASURES)).result(60)
        _caught_up(service)
    store = Store(settings.store.url)
    store.start()
    Journal(store).publish("default", read(orjson.dumps(some[400:]), "application/json", {}, _MEASURES)).result(60)
    store.close()
    with closing(sqlite3.connect(folder / "service.db")) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _caught_up(service: Service) -> None:
    end = time.monotonic() + _SECONDS * (1 if service.pump.warm else 30)
    while service.pump.behind > 0 and service.pump.failure is None and time.monotonic() < end:
        time.sleep(0.005)


def served(folder: Path, name: str) -> dict[str, Any]:
    """All notifications of all subscriptions, after a copy of the database was started: id -> what it says."""
    if not (folder / f"{name}.db").exists():
        shutil.copyfile(folder / "service.db", folder / f"{name}.db")
    with Service(_settings(folder, name)) as service:
        _caught_up(service)
        if service.pump.failure is not None:
            raise RuntimeError(service.pump.failure)
        found: dict[str, Any] = {}
        for one in service.registry.standing("default"):
            for each in service.outbox.pending(one.number, 0, 10_000):
                said = orjson.loads(each.body)
                said.pop("time")  # when it was made
                found[f"{one.id} {each.id}"] = said
    return found


# ---------------------------------------------------------------- in a process of its own


def _in_a_process(folder: Path, flips: list[tuple[int, int]]) -> list[tuple[str, str]]:
    """What became of flips, one after the other, up to one that ended the process, if there is one."""
    command = [sys.executable, "-m", "benchmarks.damage.databases", str(folder), json.dumps(flips)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    done = [(outcome, reason) for outcome, reason in map(json.loads, ended.stdout.splitlines())]
    if len(done) < len(flips):
        done.append(("crashed", f"the process ended with {ended.returncode}: {ended.stderr[-300:]}"))
    return done


class _Heard(logging.Handler):
    """Whether something was said of damage."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.states = False  # damaged, so that patterns began anew

    def emit(self, record: logging.LogRecord) -> None:
        if "damaged" in record.getMessage() or "database" in record.getMessage() or "cannot stand" in record.msg:
            self.said.append(record.getMessage())
            self.states |= getattr(record, "table", "") == "progress"


def tried(folder: Path, place: int, bit: int, right: dict[str, Any]) -> tuple[str, str]:
    """Flip a bit in a copy, start a service on it, and read everything: what became of it, and why."""
    copy = folder / "copy.db"
    for left in folder.glob("copy.db*"):
        left.unlink()
    shutil.copyfile(folder / "service.db", copy)
    flip_in_file(copy, place, bit)
    heard = _Heard()
    logger = logging.getLogger("vedette")
    logger.addHandler(heard)
    try:
        try:
            scrubbed = [str(each) for each in database_damages(f"sqlite:///{copy}")]
        except VedetteError as error:
            scrubbed = [str(error)]
        try:
            found = served(folder, "copy")
        except VedetteError as error:
            return "refused", str(error)
        except Exception as error:
            return "raw error", f"{type(error).__name__}: {error}; scrub: {scrubbed[:1]}"
    finally:
        logger.removeHandler(heard)
    # Patterns that begin anew complete later, or with other steps: that was said.
    other = [id_ for id_, said in found.items() if right.get(id_) != said and not (heard.states and "steps" in said)]
    missing = right.keys() - found.keys()
    if missing and not other and not heard.said and scrubbed:
        return "missing, said by scrub alone", scrubbed[0]
    if other or (missing and not heard.said):
        return "wrong", f"{len(other)} other, {len(missing)} missing; said: {heard.said[:1]}; scrub: {scrubbed[:1]}"
    if missing:
        return "set aside", heard.said[0]
    return ("right, said by the service or scrub" if heard.said or scrubbed else "right, in what nobody reads"), ""


def main() -> None:
    """Try flips, a line of JSON for each."""
    folder = Path(sys.argv[1])
    right = orjson.loads((folder / "right.json").read_bytes())
    for place, bit in json.loads(sys.argv[2]):
        print(json.dumps(tried(folder, place, bit, right)), flush=True)


if __name__ == "__main__":
    main()
