"""Spark Connect: a server that knows nothing of Vedette's folders, and a client without a Java of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.daemons import copies, daemon, free_port, travelled
from tests.spark.journey import matched_here

pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc to see mapped files in"),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server's workers keep snapshots."""
    return tmp_path_factory.mktemp("server-cache")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[str]:
    """The address of a server on two cores."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
    }
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    starting = daemon(
        folder,
        "server",
        "org.apache.spark.deploy.SparkSubmit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        *given,
        "spark-internal",
        VEDETTE_CACHE_DIR=str(cache),
        SPARK_DAEMON_MEMORY="1g",
    )
    with starting as running:
        running.wait_for("Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"


def test_a_client_matches_on_the_server(server: str, cache: Path, tmp_path: Path) -> None:
    found = travelled(server, tmp_path, VEDETTE_CACHE_DIR=str(tmp_path / "client"))
    assert found["matched"] == matched_here()

    workers = found["workers"]
    assert len({process for _, process, _, _ in workers}) > 1, "two workers took part"
    assert len({inode for _, _, inode, _ in workers}) == 1, "they share one copy in memory"
    assert {Path(path).parent for _, _, _, path in workers} == set(copies(cache))
    assert [path.name for path in copies(cache)] == [path.name for path in copies(tmp_path / "client")]


_CALLING = """
import sys
import vedette as vd
from vedette.spark import Calling, match
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()

@vd.operator(outputs=1, reads=("n",))
def half(event):
    return event["n"] // 2

calling = Calling(vd.Operators(half))
events = spark.createDataFrame([(number,) for number in range(8)], "n bigint")
found = match(events, [{"id": "s", "when": "n > 2 and half(?h) and ?h = 3"}], operators=calling)
print(sorted((row.n, row.bindings["h"]) for row in found.collect()), dict(calling.made))
"""


def test_operators_are_called_on_the_server_and_nothing_is_reported(server: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _CALLING, server],
        env={**os.environ, "VEDETTE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[(6, '3'), (7, '3')] {}\n", ran.stderr
