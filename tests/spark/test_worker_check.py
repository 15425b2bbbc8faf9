"""Executors that cannot run Vedette's tasks say so, where they are and what helps."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from vedette import __version__
from vedette.spark import worker_check

JOB = """
import vedette as vd

spark = vd.spark.session(master="local[1]", conf={"spark.driver.memory": "1g", "spark.ui.enabled": "false"})
try:
    vd.spark.match(spark.range(3), [{"id": "s", "when": "id > 1"}]).collect()
except Exception as error:
    print(error)
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python that has what is installed here, but for Vedette."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in map(Path, {sysconfig.get_path("purelib"), *(path for path in sys.path if "site-packages" in path)}):
        for one in path.iterdir():
            if "vedette" not in one.name and one.suffix != ".pth" and not (packages / one.name).exists():
                (packages / one.name).symlink_to(one)
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def test_an_executor_without_vedette_says_so(bare: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOB],
        env={**os.environ, "PYSPARK_PYTHON": str(bare)},
        capture_output=True,
        text=True,
        check=True,
    )
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("ModuleNotFoundError"))
    assert said.startswith("ModuleNotFoundError: there is no Vedette on ")
    assert f"Hint: install vedette {__version__} for the Python of the executors" in done.stdout


def test_one_that_has_another_vedette_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = cloudpickle.dumps(worker_check.in_worker(_passes))  # type: ignore[no-untyped-call]
    assert list(cloudpickle.loads(sent)(iter((1, 2)))) == [1, 2]
    monkeypatch.delattr(sys.modules[__name__], "_passes")
    with pytest.raises(ImportError, match=f"Vedette {__version__} on .*, cannot do this: .*_passes") as error:
        list(cloudpickle.loads(sent)(iter(())))
    assert "Hint: install vedette" in str(error.value)


def _passes(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
