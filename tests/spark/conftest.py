"""One small Spark for all tests of a process: two cores, little memory, nothing written into the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on `local[2]`, as users get it, with its files in a folder that pytest clears away."""
    from vedette.spark.session import session

    home = tmp_path_factory.mktemp("spark")
    started = session(
        app="vedette-tests",
        master="local[2]",
        conf={
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.local.dir": str(home / "local"),
            # Derby, which Hive's metastore and the tests of JDBC use, writes where it is started.
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={home / 'derby'}",
        },
    )
    yield started
    started.stop()
