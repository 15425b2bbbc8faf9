"""How drivers come to be: each registry's ordinary client fetches and builds, into an ignored folder, once."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "peers"
LONGEST_S = 900  # that a registry's client may take
_MODULES = {"rule_engine": "rule_engine", "cel_python": "celpy", "duckdb": "duckdb", "spark_sql": "pyspark"}


class Missing(Exception):
    """A peer cannot be had on this machine; the message says why."""


@dataclass(frozen=True)
class Built:
    """A command that takes a folder as its last argument."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def python(name: str) -> Built:
    """A module of ours that drives a package from PyPI."""
    module = _MODULES.get(name)
    if module is not None and importlib.util.find_spec(module) is None:
        raise Missing(f"the Python package {module} is not installed (pip install 'vedette[peers,bench,spark]')")
    return Built((sys.executable, "-m", f"benchmarks.peers.{name}.driver"))


def pypi(package: str) -> None:
    """Whether pip knows a package at all."""
    if importlib.util.find_spec(package) is None:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--quiet", package]
        _client(command, f"pip cannot install {package}")


def java(name: str) -> Built:
    """`<name>/pom.xml` names the jars, Maven fetches them, javac compiles the driver and what all drivers share."""
    maven, compiler, runtime = (_tool(tool) for tool in ("mvn", "javac", "java"))
    sources = sorted([*(HERE / "java").glob("*.java"), *(HERE / name).glob("*.java")])
    pom = HERE / name / "pom.xml"
    kept = _kept(name, [pom, *sources])
    classpath = kept / "classpath.txt"
    if not classpath.exists():
        asked = kept / "asked.txt"
        _client(
            [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={asked}"],
            f"Maven cannot fetch the jars of {name}",
        )
        compile_ = [compiler, "-nowarn", "-cp", asked.read_text(), "-d", str(kept), *map(str, sources)]
        _client(compile_, f"the driver of {name} does not compile")
        asked.replace(classpath)
    main = next(path.stem for path in sources if path.parent.name == name and path.stem.endswith("Driver"))
    jars = os.pathsep.join((str(kept), classpath.read_text()))
    opened = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
    return Built((runtime, "-Xmx12g", "-Xss8m", *opened, "-cp", jars, main))


def go(name: str) -> Built:
    """`<name>/go.mod` names the module; fetched and built by go, with what all drivers share."""
    tool, folder = _tool("go"), HERE / name
    kept = _kept(name, sorted([*(HERE / "golang").glob("*.go"), *folder.glob("*.go"), folder / "go.mod"]))
    binary = kept / name
    if not binary.exists():
        _client([tool, "build", "-mod=mod", "-o", str(binary), "."], f"go cannot fetch and build {name}", folder)
    return Built((str(binary),), {"GOMAXPROCS": "1"})


def cargo(name: str) -> Built:
    """`<name>/Cargo.toml` names the crate; fetched and built by cargo."""
    tool, folder = _tool("cargo"), HERE / name
    kept = _kept(name, sorted([*(folder / "src").glob("*.rs"), folder / "Cargo.toml"]))
    binary = kept / "release" / name
    if not binary.exists():
        command = [tool, "build", "--quiet", "--release", "--manifest-path", str(folder / "Cargo.toml")]
        _client([*command, "--target-dir", str(kept)], f"cargo cannot fetch and build {name}")
    return Built((str(binary),))


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name} on this machine")
    return found


def _kept(name: str, sources: Sequence[Path]) -> Path:
    """A folder that what was built of these sources stays in."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    folder = CACHE / f"{name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _client(command: Sequence[str], otherwise: str, folder: Path = ROOT) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"{otherwise} within {LONGEST_S} s") from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Missing(f"{otherwise}: {without_addresses(' / '.join(said[-2:]))[-300:]}")


def without_addresses(said: str) -> str:
    """What a client said; where it asked is the machine's own affair, and no part of a record."""
    return re.sub(r"\b\w+://[^\s:]+", "the registry", said)
