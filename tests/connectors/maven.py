"""Jars by their coordinates: Maven is asked once, and its answer kept for as long as the build file stays the same."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD_FILES = Path(__file__).with_name("jars")
CACHE = ROOT / ".cache" / "connectors"


def jars(name: str) -> list[Path]:
    """The jars that `jars/<name>.xml` names; a test that needs them is skipped where there is no Maven."""
    build_file = BUILD_FILES / f"{name}.xml"
    pyspark = version("pyspark")
    digest = hashlib.sha256(build_file.read_bytes() + pyspark.encode()).hexdigest()[:12]
    kept = CACHE / f"{name}-{digest}.txt"
    if kept.exists():
        paths = _paths(kept.read_text())
        if all(path.exists() for path in paths):  # else somebody has emptied Maven's own folder
            return paths
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("no Maven (mvn) on this machine, which fetches the jars of connectors")
    CACHE.mkdir(parents=True, exist_ok=True)
    asked = kept.with_suffix(f".{os.getpid()}")
    command = [
        *(maven, "-q", "-B", "-f", str(build_file), f"-Dpyspark.version={pyspark}"),
        *("dependency:build-classpath", "-Dmdep.includeScope=runtime", f"-Dmdep.outputFile={asked}"),
    ]
    with (CACHE / "lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # two Mavens that fetch into one folder may get in each other's way
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"Maven cannot fetch the jars of {build_file.name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    asked.replace(kept)
    return _paths(kept.read_text())


def classpath(paths: list[Path]) -> str:
    """As Java takes it."""
    return os.pathsep.join(map(str, paths))


def _paths(text: str) -> list[Path]:
    return [Path(word) for word in text.strip().split(os.pathsep) if word]
