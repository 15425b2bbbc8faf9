"""Which versions of PySpark are taken, and what is said of others."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vedette.errors import NotSupported
from vedette.spark.version_range import check_version, installed_version


@pytest.mark.parametrize("found", ["3.5.0", "3.5.9+vendor.2", "4.0.0.dev3", "4.3.7", "of our own"])
def test_versions_that_are_taken(found: str) -> None:
    check_version(found)


def test_the_version_is_read_without_importing_spark() -> None:
    assert installed_version() == importlib.metadata.version("pyspark")


@pytest.mark.parametrize("found", ["3.4.4", "4.4.0", "5.0.0"])
def test_versions_that_are_not(found: str) -> None:
    with pytest.raises(NotSupported) as error:
        check_version(found)
    assert str(error.value) == (
        f"vedette.spark needs PySpark 3.5 to 4.3, and found {found}\n"
        "Hint: pip install 'pyspark[sql]>=3.5,<4.4', or choose a runtime of your platform with such a Spark"
    )


def test_it_is_said_before_anything_of_spark_is_imported(tmp_path: Path) -> None:
    other = tmp_path / "pyspark"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('this Spark must not be imported')\n")
    (other / "version.py").write_text('__version__: str = "3.3.1"\n')
    code = """
import vedette as vd
try:
    vd.spark.session()
except vd.NotSupported as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.startswith("vedette.spark needs PySpark 3.5 to 4.3, and found 3.3.1\nHint: ")
