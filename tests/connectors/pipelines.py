"""Pipelines as users run them: a file, and `vedette run` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.connectors.processes import running

VEDETTE = str(Path(sys.executable).with_name("vedette"))


def write(folder: Path, jars: Iterable[Path], **parts: Any) -> Path:
    """A pipeline file; tables and lists of tables are given as Python has them."""
    spark = {
        "master": "local[2]",
        "jars": [str(path) for path in jars],
        "conf": {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"},
    }
    said = [
        f"{name} = {_toml(value)}" for name, value in {**parts, "spark": spark}.items()
    ]  # inline tables all: shorter to make, and TOML still
    path = folder / "pipeline.toml"
    path.write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
    return path


def run(pipeline: Path, environment: Mapping[str, str] | None = None) -> str:
    """To its end, which must be a good one; what it said."""
    done = subprocess.run(
        [VEDETTE, "run", str(pipeline)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        cwd=pipeline.parent,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout + done.stderr


@contextmanager
def started(pipeline: Path, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """While the block lasts; what it says goes to `run.log` beside the file."""
    with running([VEDETTE, "run", str(pipeline)], log_of(pipeline), environment=environment) as process:
        yield process


def log_of(pipeline: Path) -> Path:
    """What started pipelines have said, one after the other."""
    return pipeline.with_name("run.log")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All that a JSONL sink has written; what is hidden is not there yet, and may be gone while one looks at it."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = _visible(folders)
        for name in _visible(names):
            found += [json.loads(line) for line in Path(place, name).read_text().splitlines()]
    return found


def _visible(names: list[str]) -> list[str]:
    return sorted(name for name in names if name[0] not in "._")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
