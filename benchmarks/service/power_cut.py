"""The power goes, a hundred times: only what was synced is kept, and nothing acknowledged may be lost.

python -m benchmarks.service.power_cut --cuts 100

A real service is published to while all that it does to its files is logged (`writes.c`). For random moments of the log
the files are made as they would be on the disk (`disk.py`), and the service starts on them. The control is the same
with `store.synchronous = "NORMAL"`, which does not sync before it answers: it has to lose something.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.service.disk import Change, Disk, changes, compiled, has_compiler, logging
from benchmarks.service.load import PATTERN, Promises, client_of, under_load
from benchmarks.service.proofs import broken, caught_up
from benchmarks.service.serving import Served
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings

DATABASE: Final = "service.db"
SHARES: Final = (0.0, 0.0, 0.25, 0.5, 0.75, 1.0)  # of what was not synced; 1: all of it, as when a process is killed


def recorded(folder: Path, seconds: float, synchronous: str = "FULL") -> tuple[Path, Promises]:
    """Publish to a service for a while; the log of what it did to its files, and what it promised meanwhile."""
    data, log = folder / "data", folder / "writes.log"
    data.mkdir()
    settings = logging(compiled(folder), data, log) | {
        "VEDETTE_STORE__URL": f"sqlite:///{data / DATABASE}",
        "VEDETTE_STORE__SYNCHRONOUS": synchronous,
    }
    service, promises = Served(folder, settings), Promises()
    service.start()
    try:
        key = service.tenant()
        with client_of(service.url, key) as client:
            promises.subscribe(client, PATTERN)
        with under_load(service.url, key, promises, readers=("pull",)):
            time.sleep(seconds)
        _check_log(log, data)
    finally:
        service.stop()
    return log, promises


def _check_log(log: Path, data: Path, seconds: float = 30.0) -> None:
    """The log gives the files byte for byte; else something was written that it did not see."""
    end = time.monotonic() + seconds
    while True:
        size, disk = log.stat().st_size, Disk()
        there = {path.name: path.read_bytes() for path in data.iterdir() if not path.name.endswith("-shm")}
        for change in changes(log):
            disk.take(change)
        if log.stat().st_size == size and disk.whole() == there:
            return
        if time.monotonic() > end:  # else the service is not idle yet: once more
            raise RuntimeError("the log of writes does not give the files as they are")
        time.sleep(0.2)


def cut(log: Path, promises: Promises, folder: Path, cuts: int, seed: int) -> dict[str, Any]:
    """Cut the power at so many moments, one in each part of the log; what was broken."""
    chance = Random(seed)
    total = sum(1 for _ in changes(log))
    moments = [chance.randrange(1 + n * (total - 1) // cuts, 1 + (n + 1) * (total - 1) // cuts) for n in range(cuts)]
    found: list[str] = []
    disk, number, heard = Disk(), 0, 0
    wanted = iter(moments)
    moment = next(wanted, None)
    for place, change in enumerate(changes(log)):
        if place == moment:
            number += 1
            share = SHARES[number % len(SHARES)]
            files = disk.cut(chance, share, change)
            heard += sum(at <= change.begin for at, _ in promises.events)
            wrong = _after(files, folder / f"cut-{number}", promises, change)
            found += [f"cut {number} after {place} of {total} changes, keeping {share:.0%}: {one}" for one in wrong]
            moment = next(wanted, None)
        disk.take(change)
    return {
        "cuts": number,
        "changes": total,
        "acknowledged_per_cut": round(heard / max(number, 1)),
        "broken": len(found),
        "examples": found[:5],
    }


def _after(files: dict[str, bytes], folder: Path, promises: Promises, change: Change) -> list[str]:
    """What is broken once the service has started on these files; what was heard before the change had to be kept."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    # The files are as they are on the disk: what is written from here on need not be synced.
    settings = ServiceSettings(store={"url": f"sqlite:///{folder / DATABASE}", "synchronous": "NORMAL"})  # type: ignore[arg-type]
    try:
        with Service(settings) as service:
            caught_up(service)
            return broken(service, promises, until=change.begin)
    except Exception as error:
        return [f"the service does not start: {type(error).__name__}: {error}"]
    finally:
        for path in folder.iterdir():
            path.unlink()


def tried(cuts: int, seconds: float, seed: int, synchronous: str) -> dict[str, Any]:
    """One run and its cuts."""
    with tempfile.TemporaryDirectory() as name:
        log, promises = recorded(Path(name), seconds, synchronous)
        begin = time.monotonic()
        found = cut(log, promises, Path(name), cuts, seed)
        return {
            "synchronous": synchronous,
            "acknowledged": len(promises.events),
            "log_mb": round(log.stat().st_size / 1e6, 1),
            **found,
            "seconds": round(time.monotonic() - begin, 1),
        }


def main() -> None:
    """Cut, print, and end with 1 if anything was lost, or if the control lost nothing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.power_cut", description=__doc__)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0, help="of publishing")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not has_compiler():
        print("power cuts are left out: there is no C compiler (cc) on this machine")
        return
    real = tried(options.cuts, options.seconds, options.seed, "FULL")
    control = tried(options.cuts, options.seconds, options.seed, "NORMAL")
    print(json.dumps({"power_cut": real, "control": control}, indent=2))
    if real["broken"] or not control["broken"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
