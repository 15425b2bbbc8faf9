"""A real cluster of three processes on this machine: a master, and two workers whose hosts do not see our folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.spark.daemons import copies, daemon, free_port, travelled
from tests.spark.journey import matched_here

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc to see mapped files in"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that has two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    address = f"spark://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        where = ("--host", "127.0.0.1", "--webui-port", "0")
        port = address.rpartition(":")[2]
        master = stack.enter_context(
            daemon(folder, "master", "org.apache.spark.deploy.master.Master", *where, "--port", port)
        )
        master.wait_for("I have been elected leader")
        size = ("--cores", "1", "--memory", "600m")
        worker = "org.apache.spark.deploy.worker.Worker"
        workers = [stack.enter_context(daemon(folder, f"worker{n}", worker, *where, *size, address)) for n in (1, 2)]
        for one in workers:
            one.wait_for("Successfully registered with master")
        yield address


def test_one_copy_reaches_a_host_and_all_its_workers_map_it(cluster: str, tmp_path: Path) -> None:
    driver, executors = tmp_path / "driver", tmp_path / "executors"
    found = travelled(cluster, tmp_path, VEDETTE_CACHE_DIR=str(driver), EXECUTORS_CACHE=str(executors))
    assert found["matched"] == matched_here()

    workers = found["workers"]
    assert len({folder for folder, _, _, _ in workers}) == 2, "both executors took part"
    assert len({inode for _, _, inode, _ in workers}) == 1, "they share one copy in memory"
    assert len(copies(executors)) == 1
    assert {Path(path).parent for _, _, _, path in workers} == set(copies(executors))
    assert [path.name for path in copies(driver)] == [path.name for path in copies(executors)]
