"""The Spark session that is running, or a new one with settings that suit matching."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from vedette.errors import StartError
from vedette.spark.java import find_java, java_home
from vedette.spark.settings import configured_elsewhere, for_a_new_java, for_queries, local_cores

_log = logging.getLogger("vedette.spark")


def session(*, app: str = "vedette", master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is running, classic or Connect, or a new one: on this machine unless `master` says otherwise.

    A new one on this machine says nothing but errors, is reached from this machine alone (its web pages too, whose
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
        with _environment(environment):
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
    # A context that was stopped leaves its session behind.
    stopped = not is_remote() and getattr(found.sparkContext, "_jsc", None) is None
    return None if stopped else found


def _apply(running: SparkSession, master: str | None, wanted: Mapping[str, str]) -> None:
    """Set what can be set in a session that is running, and say what cannot."""
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
    """Whether somebody set it: here, or in the configuration that Spark found."""
    return name in wanted or (not is_remote() and started.sparkContext.getConf().contains(name))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that only what is started now shall see."""
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
