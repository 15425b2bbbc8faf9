"""Makes what a pipeline file asks for: the session, the store of subscriptions, the checkpoint's storage."""

from __future__ import annotations

from pyspark.sql import SparkSession

from vedette.errors import NotInstalled, PipelineError, VedetteError
from vedette.spark.pipeline.config import Pipeline, SubscriptionsConfig
from vedette.spark.pipeline.connectors import DELTA
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.remote_storage import RemoteStorage
from vedette.spark.pipeline.spark_failures import explained
from vedette.spark.pipeline.storage import LocalStorage, Storage
from vedette.spark.spark_session import session
from vedette.spark.stores import DatabaseStore, FileStore, ServiceStore, SubscriptionStore, TableStore


def conf_of(pipeline: Pipeline) -> dict[str, str]:
    """The settings of Spark: those of the file, its connectors, and what these need."""
    given = pipeline.spark
    parts = [pipeline.source, *pipeline.sinks, *([] if pipeline.quarantine is None else [pipeline.quarantine])]
    needed = [part.connector() for part in parts]
    if pipeline.subscriptions.format == "delta":
        needed.append(DELTA)
    packages, conf = list(given.packages), dict[str, str]()
    for each in needed:
        if each is None:
            continue
        conf |= each.conf
        if not given.jars and not any(f":{each.artifact}" in package for package in packages):
            packages.append(each.package)
    if packages:
        conf["spark.jars.packages"] = ",".join(packages)
    if given.jars:
        conf["spark.jars"] = ",".join(given.jars)
    secrets = {name: value.get_secret_value() for name, value in given.secret_conf().items()}
    return {**conf, **given.conf, **secrets}


def session_of(pipeline: Pipeline) -> SparkSession:
    """The running session, or a new one as the file describes it."""
    try:
        return session(app=f"vedette {pipeline.name}", master=pipeline.spark.master, conf=conf_of(pipeline))
    except VedetteError:
        raise
    except Exception as error:
        reason = explained(error)
        if "unresolved dependency" in str(error) or "spark.jars.packages" in str(error):
            raise NotInstalled(
                f"Spark could not fetch the connectors of the pipeline: {reason}\n"
                "Hint: fetch them yourself and name the files as `jars` of [spark]"
            ) from error
        raise PipelineError(
            f"Spark did not start: {reason}\nHint: see [spark] in the pipeline file; --debug shows everything"
        ) from error


def store_of(config: SubscriptionsConfig, spark: SparkSession | None) -> SubscriptionStore:
    """The store of subscriptions; only tables and folders need a session."""
    if config.rules is not None:
        path = local(config.rules)
        if path is None:
            raise PipelineError(
                f"the subscriptions {config.rules} are not on this machine\n"
                "Hint: name a folder of Parquet files that Spark can read as `path`, or copy the file here"
            )
        return FileStore(path, written=config.written)
    if config.service is not None:
        key = None if config.key is None else config.key.get_secret_value()
        return ServiceStore(config.service, key=key, stream=config.stream or "default")
    if config.database is not None:
        return DatabaseStore(_with_password(config), table=str(config.table), written=config.written)
    if spark is None:
        raise ValueError("a table of Spark needs a session")
    format = config.format or "parquet"
    return TableStore(spark, table=config.table, path=config.path, format=format, written=config.written)


def _with_password(config: SubscriptionsConfig) -> str:
    from sqlalchemy.engine import make_url

    url = make_url(str(config.database))
    if config.password is not None:
        url = url.set(password=config.password.get_secret_value())
    return url.render_as_string(hide_password=False)


def storage_of(checkpoint: str, spark: SparkSession) -> Storage:
    """The storage in the checkpoint's folder, beside Spark's own files."""
    path = local(checkpoint)
    return RemoteStorage(spark, checkpoint) if path is None else LocalStorage(path)
