"""A service in a process of its own, as people run it, on a port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

ADMIN = "admin-of-the-benchmark"


class Served:
    """A service that runs, or ran."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], port: int | None = None, checkout: Path | None = None
    ) -> None:
        self.folder = folder
        self._checkout = checkout  # whose code it runs; None: the one that measures
        self.port = port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 300.0) -> None:
        """Start it, and wait until it is ready: the first time on a machine its loops are compiled."""
        environment = os.environ | {
            "VEDETTE_SERVER__ADMIN_KEY": ADMIN,
            "VEDETTE_STORE__URL": f"sqlite:///{self.folder / 'service.db'}",
            "VEDETTE_SERVER__PORT": str(self.port),
            "VEDETTE_TELEMETRY__LEVEL": "warning",
            **self._settings,
        }
        if self._checkout is not None:
            environment["PYTHONPATH"] = str(self._checkout.resolve() / "src")
        log = (self.folder / "service.log").open("ab")
        command = [sys.executable, "-m", "vedette", "serve"]
        self._process = subprocess.Popen(command, env=environment, cwd=self.folder, stderr=log, stdout=log)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the service ended: {(self.folder / 'service.log').read_text()[-2000:]}")
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2.0, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise RuntimeError("the service is not ready")

    def kill(self) -> None:
        """End it at once, as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)

    def memory(self) -> int:
        """The bytes that its process holds."""
        assert self._process is not None
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def cpu(self) -> float:
        """The seconds of CPU that it has used, with the processes that it started."""
        assert self._process is not None
        parents: dict[int, int] = {}
        used: dict[int, float] = {}
        for one in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = one.read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            pid = int(one.parent.name)
            parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        mine = [self._process.pid]
        for pid in mine:  # grows while it is walked
            mine += [child for child, parent in parents.items() if parent == pid]
        return sum(used[pid] for pid in mine)

    def tenant(self, name: str = "bench") -> str:
        """A tenant's key."""
        answer = httpx.post(
            f"{self.url}/v1/tenants",
            json={"name": name, "limits": {"requests": 1e9}},
            headers={"Authorization": f"Bearer {ADMIN}"},
            trust_env=False,
        )
        answer.raise_for_status()
        return str(answer.json()["key"])


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Served]:
    """A service, as long as it is needed."""
    made = Served(folder, {name: str(value) for name, value in settings.items()})
    made.start()
    try:
        yield made
    finally:
        made.stop()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
