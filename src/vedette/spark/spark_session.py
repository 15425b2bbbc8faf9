"""The running Spark session, or a new one with settings that suit matching."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from vedette.errors import StartError
from vedette.spark.java import find_java, java_home
from vedette.spark.java_noise import without_noise

_log = logging.getLogger("vedette.spark")


def session(*, app: str = "vedette", master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The running session, classic or Connect, or a new one: on this machine unless `master` says otherwise.

    A new one on this machine prints nothing but errors, is reached from this machine alone (its web pages too, whose
    address is `sparkContext.uiWebUrl`), and takes a Java from a Python package if there is no other. Where Spark is
    configured already, by spark-submit or by a folder of settings, that counts; what `conf` says always counts.
    """
    wanted = dict(conf or {})
    found = running()
    if found is not None:
        _apply(found, master, wanted)
        return found
    builder, environment, cores = SparkSession.builder.appName(app), {}, None
    remote = master if master is not None and master.startswith("sc://") else os.environ.get("SPARK_REMOTE")
    if remote is not None:
        builder = builder.remote(remote)
    elif master is not None or not configured_elsewhere():
        builder = builder.master(master or "local[*]")
        cores = local_cores(master or "local[*]")
        wanted = for_a_new_java(wanted, local=cores is not None)
    if cores is not None:
        environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    if _starts_java(remote):
        environment["JAVA_HOME"] = str(java_home())
        environment["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    try:
        with _environment(environment), without_noise() if _starts_java(remote) else nullcontext():
            started = builder.config(map={**wanted}).getOrCreate()
        for name, value in for_queries(cores).items():
            if not _is_set(started, name, wanted):
                started.conf.set(name, value)
    except (PySparkException, Py4JError) as error:
        raise _did_not_start(error, environment.get("JAVA_HOME")) from error
    return started


def running() -> SparkSession | None:
    """The session of this process, if there is one."""
    try:
        found = SparkSession.active()
    except PySparkException:
        return None
    if not is_remote():
        try:
            _ = found.sparkContext.defaultParallelism
        except AttributeError:  # a context that was stopped leaves its session behind
            return None
    return found


def _apply(running: SparkSession, master: str | None, wanted: Mapping[str, str]) -> None:
    """Change the settings of a running session, and warn of those that cannot be changed."""
    fixed = []
    for name, value in wanted.items():
        if running.conf.get(name, None) == value:
            continue
        if running.conf.isModifiable(name):
            running.conf.set(name, value)
        else:
            fixed.append(name)
    if master is not None and not is_remote() and running.sparkContext.master != master:
        fixed.append("spark.master")
    if fixed:
        _log.warning(
            "a Spark session is running already, and goes on without these settings: %s\n"
            "Hint: stop() it first if they matter",
            ", ".join(sorted(fixed)),
        )


def _did_not_start(error: Exception, java: str | None) -> StartError:
    cause = getattr(error, "java_exception", None)
    reason = str(cause.getMessage() if cause is not None else error).strip().split("\n", 1)[0]
    hint = "Hint: Spark and Java say on standard error what is wrong: a setting, a master, the memory"
    return StartError(
        f"Spark did not start: {reason}\n{hint}{'' if java is None else f'; Java is {find_java().executable}'}"
    )


def _starts_java(remote: str | None) -> bool:
    """Whether a Java is started here: not by a client of Connect, nor below spark-submit, which has one."""
    client = remote is not None and remote.startswith("sc://")
    return not client and "PYSPARK_GATEWAY_PORT" not in os.environ and os.name == "posix"


def _is_set(started: SparkSession, name: str, wanted: Mapping[str, str]) -> bool:
    """Whether a setting was made: here, or in the configuration that Spark found."""
    return name in wanted or (not is_remote() and started.sparkContext.getConf().contains(name))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables that only the process started now shall see, as a context."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|\d+)(?:,.*)?\])?$")
_GIB = 1 << 30
_MOST_SHARDS = 64
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def configured_elsewhere() -> bool:
    """Whether Spark is configured already: by spark-submit, arguments of a shell, a folder of settings."""
    return bool({"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & set(os.environ)) or _in_folder("spark-defaults.conf")


def local_cores(master: str) -> int | None:
    """Number of cores that a local master uses; None for a cluster."""
    found = _LOCAL.match(master)
    if found is None:
        return None
    cores = found["cores"]
    if cores != "*":
        return int(cores or 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_a_new_java(conf: Mapping[str, str], *, local: bool) -> dict[str, str]:
    """Settings to start Spark's Java with: only errors on the terminal, and enough memory for all of the work."""
    settings = {"spark.ui.showConsoleProgress": "false", **conf}
    options = settings.get("spark.driver.extraJavaOptions", "")
    if "log4j2." not in options and not _in_folder("log4j2.properties") and not _in_folder("log4j2.xml"):
        quiet = Path(str(files("vedette.spark") / "log4j2.properties")).as_uri()
        settings["spark.driver.extraJavaOptions"] = f"{options} -Dlog4j2.configurationFile={quiet}".lstrip()
    if local and "SPARK_DRIVER_MEMORY" not in os.environ:
        settings.setdefault("spark.driver.memory", _heap())
    return settings


def for_queries(cores: int | None) -> dict[str, str]:
    """Settings for queries, unless they were set otherwise."""
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


def shards_of(spark: SparkSession) -> int:
    """The number of shards: Spark's partitions of a shuffle, at most 64; a few per core in our own sessions."""
    return max(1, min(_MOST_SHARDS, int(str(spark.conf.get("spark.sql.shuffle.partitions")))))
