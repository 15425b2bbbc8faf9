"""The service is abused over raw sockets by nobody it knows; a tenant who behaves has to be served meanwhile.

python -m benchmarks.service.raw_sockets --seconds 5

Half-sent requests, endless headers, slowloris, slow bodies, garbage, readers who do not read, and many connections,
each from a process of its own, over loopback, bounded in number and time. The tenant's latency under each of them is
told beside its latency alone. It ends with 1 if the tenant was refused, could not connect, or the service took much
memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.service.__main__ import latency
from benchmarks.service.serving import Served
from benchmarks.service.wire import Wire, request

RATE: Final = 100.0  # events a second of the tenant
MOST_MB: Final = 300  # that the service may take beyond what it had
_GET: Final = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
_POST: Final = b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n"
_PAUSE: Final = 0.05  # seconds before somebody who was ended connects again
Abuse = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Half a request, and then nothing."""
    writer.write(_GET)
    await reader.read()


async def headers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A header that does not end."""
    writer.write(_GET + b"X-Endless: ")
    while not writer.is_closing():
        writer.write(b"x" * 65_536)
        await writer.drain()


async def slowloris(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A header, letter by letter."""
    writer.write(_GET + b"X-Slow: ")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.2)


async def bodies(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body, letter by letter."""
    writer.write(_POST)
    while not writer.is_closing():
        writer.write(b"1")
        await writer.drain()
        await asyncio.sleep(0.2)


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What is no HTTP."""
    writer.write(random.randbytes(1_000))
    await reader.read()


async def stalled(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Many requests for something long, and no answer is read."""
    writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 200)
    await writer.drain()
    await asyncio.sleep(3600)


async def many(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """A connection, and nothing else."""
    await asyncio.sleep(3600)


KINDS: Final[dict[str, tuple[Abuse, int]]] = {  # and how many at a time
    "half": (half, 300),
    "headers": (headers, 20),
    "slowloris": (slowloris, 300),
    "bodies": (bodies, 300),
    "garbage": (garbage, 50),
    "stalled": (stalled, 50),
    "many": (many, 1_500),
}


async def abused(port: int, kind: str, seconds: float, most: int | None = None) -> dict[str, int]:
    """Abuse a service of this machine for so long; how often it was connected to, and how connections ended."""
    abuse, at_a_time = KINDS[kind]
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds

    async def one() -> None:
        while (left := end - time.monotonic()) > 0:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
            except OSError:
                counts["not connected"] += 1
                await asyncio.sleep(_PAUSE)
                continue
            counts["connected"] += 1
            try:
                await asyncio.wait_for(abuse(reader, writer), left)
                counts["ended"] += 1
            except TimeoutError:
                counts["open at the end"] += 1
            except OSError:
                counts["ended"] += 1
            finally:
                writer.transport.abort()
            await asyncio.sleep(_PAUSE)

    await asyncio.gather(*(one() for _ in range(min(most or at_a_time, at_a_time))))
    return dict(counts)


def measured(seconds: float) -> dict[str, Any]:
    """The latency of a tenant alone, and under each kind of abuse; what is broken."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        service = Served(Path(name), {"VEDETTE_LIMITS__HEADER_SECONDS": "2", "VEDETTE_LIMITS__BODY_SECONDS": "2"})
        service.start()
        try:
            key = service.tenant()
            asyncio.run(latency(service.port, key, RATE, 1.0))  # warm
            found: dict[str, Any] = {"alone": asyncio.run(latency(service.port, key, RATE, seconds))}
            before = service.memory()
            for kind in KINDS:
                command = [sys.executable, "-m", __spec__.name, "--abuse", kind, "--port", str(service.port)]
                abuser = subprocess.Popen([*command, "--seconds", str(seconds + 1)], stdout=subprocess.PIPE, text=True)
                time.sleep(0.5)  # it has begun
                try:
                    found[kind] = asyncio.run(latency(service.port, key, RATE, seconds))
                    asyncio.run(_connect(service.port, key))
                except (OSError, RuntimeError, asyncio.IncompleteReadError, TimeoutError) as error:
                    wrong.append(f"under {kind} the tenant was not served: {error!r}")
                finally:
                    said, _ = abuser.communicate(timeout=seconds + 60)
                found.setdefault(kind, {})["abuse"] = json.loads(said)
                grown = (service.memory() - before) >> 20
                found[kind]["memory_mb"] = grown
                if grown > MOST_MB:
                    wrong.append(f"under {kind} the service took {grown} MB")
        finally:
            service.stop()
    return {"raw_sockets": found, "broken": wrong}


async def _connect(port: int, key: str) -> None:
    """Somebody who is known gets a new connection, and is served on it."""
    async with asyncio.timeout(10), Wire(port) as wire:
        await wire.send(request(b'{"x": 1}', key))


def main() -> None:
    """Abuse, print, and end with 1 if the tenant suffered more than waiting."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.raw_sockets", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each kind of abuse")
    parser.add_argument("--abuse", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.abuse:
        with contextlib.suppress(KeyboardInterrupt):
            print(json.dumps(asyncio.run(abused(options.port, options.abuse, options.seconds))))
        return
    found = measured(options.seconds)
    print(json.dumps(found, indent=2))
    raise SystemExit(1 if found["broken"] else 0)


if __name__ == "__main__":
    main()
