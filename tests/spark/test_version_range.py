"""Which versions of PySpark are taken, and what is said of others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vedette.errors import NotSupported
from vedette.spark.version_range import check_version


@pytest.mark.parametrize("found", ["3.5.0", "3.5.9+vendor.2", "4.0.0.dev3", "4.3.7", "of our own"])
def test_versions_that_are_taken(found: str) -> None:
    check_version(found)


@pytest.mark.parametrize("found", ["3.4.4", "4.4.0", "5.0.0"])
def test_versions_that_are_not(found: str) -> None:
    with pytest.raises(NotSupported) as error:
        check_version(found)
    assert str(error.value) == (
        f"vedette.spark needs PySpark 3.5 to 4.3, and found {found}\n"
        "Hint: pip install 'pyspark[sql]>=3.5,<4.4', or choose a runtime of your platform with such a Spark"
    )


def test_it_is_said_before_anything_of_spark_is_needed() -> None:
    code = """
import sys, types, vedette as vd
sys.modules["pyspark"] = found = types.ModuleType("pyspark")
found.__version__, found.__spec__ = "3.3.1", __import__("importlib.machinery").machinery.ModuleSpec("pyspark", None)
try:
    vd.spark.session()
except vd.NotSupported as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("vedette.spark needs PySpark 3.5 to 4.3, and found 3.3.1\nHint: ")
