"""The disk is full: publishing is refused with 507, nothing acknowledged is lost, and it goes on with room.

python -m benchmarks.service.full_disk

The service's files lie on a small file system of its own, a tmpfs or an ext4 in a file. Mounting them takes root.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.service.load import PATTERN, Promises, client_of, under_load
from benchmarks.service.proofs import broken, caught_up, counts
from benchmarks.service.serving import Served
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings

SIZE_MB: Final = 24
BALLAST_MB: Final = 10  # what is removed to make room
TEXT: Final = 5_000  # characters in every event: a disk is full soon
KINDS: Final = ("tmpfs", "ext4")


class CannotMount(Exception):
    """Why this machine cannot have such a file system here."""


@contextmanager
def small_disk(folder: Path, kind: str) -> Iterator[Path]:
    """A file system with little room."""
    place = folder / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        raise CannotMount("only root can mount a file system")
    if kind == "tmpfs":
        _run("mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(place))
    else:
        image = folder / "image"
        image.write_bytes(b"")
        os.truncate(image, SIZE_MB << 20)
        _run("mkfs.ext4", "-q", "-m", "0", str(image))
        _run("mount", "-o", "loop", str(image), str(place))
    try:
        yield place
    finally:
        _run("umount", str(place))


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise CannotMount(f"there is no {command[0]} on this machine") from None
    except subprocess.CalledProcessError as error:
        raise CannotMount(f"{command[0]}: {error.stderr.strip()}") from None


def filled(kind: str, refusals: int = 20) -> dict[str, Any]:
    """Publish until there is no room, and on; make room, and go on. What was promised, and what is broken."""
    promises, wrong = Promises(), []
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name), kind) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(os.urandom(BALLAST_MB << 20))
        settings = {"VEDETTE_STORE__URL": f"sqlite:///{disk / 'service.db'}", "VEDETTE_LIMITS__QUEUE": "1000000"}
        service = Served(Path(name), settings)
        service.start()
        try:
            key = service.tenant()
            with client_of(service.url, key) as client, under_load_soon(service.url, key, promises, client) as quiet:
                _until(lambda: promises.refused.get(507, 0) >= refusals, "the disk does not get full")
                before = len(promises.events)
                wrong += _unhealthy(client, promises)
                service.kill()
                service.start()  # on a disk that is full
                wrong += _unhealthy(client, promises)
                ballast.unlink()
                _until(lambda: len(promises.events) > before + 20, "it does not go on when there is room")
                quiet()
        finally:
            service.stop()
        with Service(ServiceSettings(store={"url": f"sqlite:///{disk / 'service.db'}"})) as left:  # type: ignore[arg-type]
            caught_up(left)
            wrong += broken(left, promises)
            found = counts(left)
    others = {status: count for status, count in promises.refused.items() if status != 507}
    if others:
        wrong.append(f"publishing was also refused otherwise: {others}")
    return {
        "kind": kind,
        "acknowledged": len(promises.events),
        "acknowledged_before_there_was_room": before,
        "refused_with_507": promises.refused.get(507, 0),
        **{f"notifications_{name}": value for name, value in found.items()},
        "broken": wrong,
    }


@contextmanager
def under_load_soon(url: str, key: str, promises: Promises, client: httpx.Client) -> Iterator[Callable[[], None]]:
    """Publishers of large events, a pattern, and a reader who pulls."""
    promises.subscribe(client, PATTERN)
    with under_load(url, key, promises, readers=("pull",), text=TEXT) as quiet:
        yield quiet


def _unhealthy(client: httpx.Client, promises: Promises) -> list[str]:
    """What does not answer while the disk is full, though it only reads."""
    id_ = promises.subscriptions[0][1]
    paths = ("/livez", "/readyz", "/metrics", "/v1/subscriptions", f"/v1/subscriptions/{id_}/notifications")
    answers = {path: client.get(path).status_code for path in paths}
    return [f"{path} answers {status} while the disk is full" for path, status in answers.items() if status != 200]


def _until(done: Callable[[], bool], otherwise: str, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(otherwise)
        time.sleep(0.02)


def main() -> None:
    """Fill, print, and end with 1 if anything was lost."""
    argparse.ArgumentParser(prog="python -m benchmarks.service.full_disk", description=__doc__).parse_args()
    found = []
    for kind in KINDS:
        try:
            found.append(filled(kind))
        except CannotMount as error:
            print(f"a full {kind} is left out: {error}")
    print(json.dumps({"full_disk": found}, indent=2))
    raise SystemExit(1 if any(one["broken"] for one in found) else 0)


if __name__ == "__main__":
    main()
