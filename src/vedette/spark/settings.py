"""Which settings suit matching on this machine, and is Spark configured by somebody else already?"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|\d+)(?:,.*)?\])?$")
_GIB = 1 << 30
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def configured_elsewhere() -> bool:
    """Whether somebody set Spark up: a job that was submitted, arguments of a shell, a folder of settings."""
    return bool({"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & set(os.environ)) or _in_folder("spark-defaults.conf")


def local_cores(master: str) -> int | None:
    """How many cores a master of this machine alone uses; None for a cluster."""
    found = _LOCAL.match(master)
    if found is None:
        return None
    cores = found["cores"]
    if cores != "*":
        return int(cores or 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_a_new_java(conf: Mapping[str, str], *, local: bool) -> dict[str, str]:
    """What Spark's Java is started with: nothing on the terminal but errors, and enough memory for all of the work."""
    settings = {"spark.ui.showConsoleProgress": "false", **conf}
    options = settings.get("spark.driver.extraJavaOptions", "")
    if "log4j2." not in options and not _in_folder("log4j2.properties") and not _in_folder("log4j2.xml"):
        quiet = Path(str(files("vedette.spark") / "log4j2.properties")).as_uri()
        settings["spark.driver.extraJavaOptions"] = f"{options} -Dlog4j2.configurationFile={quiet}".lstrip()
    if local and "SPARK_DRIVER_MEMORY" not in os.environ:
        settings.setdefault("spark.driver.memory", _heap())
    return settings


def for_queries(cores: int | None) -> dict[str, str]:
    """What queries run with, unless somebody said otherwise."""
    settings = {
        # Naive times are UTC in Vedette: so they are in what Spark makes of texts and times.
        "spark.sql.session.timeZone": "UTC",
        # A batch of Arrow has a fixed price, which 10,000 rows, Spark's own, still feel.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        # The only store in which an operator may keep more than one value: patterns over streams need it.
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        # What a micro-batch changed is written, and not all files of the store, which cost more than the work itself.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    if cores is not None:
        # 200, Spark's own, make a small streaming job crawl.
        settings["spark.sql.shuffle.partitions"] = str(2 * cores)
    return settings


def _heap() -> str:
    """A quarter of the memory, from 1 to 8 GiB: subscriptions are not in it, but mapped by Python's workers."""
    memory = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _CGROUP_LIMITS:
        try:
            memory.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not this kind of machine, or "max"
            continue
    return f"{max(1, min(8, min(memory) // 4 // _GIB))}g"


def _in_folder(name: str) -> bool:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (Path(home) / "conf" if home else None)
    return folder is not None and (Path(folder) / name).is_file()
