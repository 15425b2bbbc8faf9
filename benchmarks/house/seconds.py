"""How long `make check` and `make test` took when they were last measured; nothing is said of what was not."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import TypedDict

TARGETS = ("check", "test")


class Took(TypedDict):
    """One run that succeeded."""

    seconds: float
    cores: int
    load: float  # processes that wanted to run in the minute before it
    commit: str


def read_seconds(path: Path) -> dict[str, Took]:
    """Of each target the run that was measured last."""
    found: dict[str, Took] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def measure(target: str, root: Path, path: Path) -> None:
    """Run `make TARGET` in a checkout and keep how long it took."""
    load = os.getloadavg()[0]
    begin = time.perf_counter()
    status = subprocess.run(["make", target], cwd=root, check=False).returncode
    took = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"make {target} failed with exit status {status}: its seconds are not kept")
    kept = read_seconds(path)
    kept[target] = Took(seconds=round(took, 1), cores=os.cpu_count() or 1, load=round(load, 2), commit=commit_of(root))
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def commit_of(root: Path) -> str:
    """The commit that is checked out; with `+` where files differ from it."""
    head = _git(root, "rev-parse", "--short=7", "HEAD")
    return head + ("+" if _git(root, "status", "--porcelain", "--", "src") else "")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
