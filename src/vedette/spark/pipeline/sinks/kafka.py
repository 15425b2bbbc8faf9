"""Sink of a Kafka topic: one record for each notification, its value a JSON object."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.errors import DeliveryError
from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.routing import named
from vedette.spark.pipeline.sinks.base import Batch, Delivery
from vedette.spark.pipeline.sinks.rows import as_json


class TopicSink:
    """Writes records to a topic. Spark's writer has no transactions: a batch that is written again is there twice.

    The id of a notification is its record's header `id`, and the key unless another column is chosen; with it as key, a
    compacted topic forgets the second copy.
    """

    delivery: Delivery = "at least once"
    source = "kafka"  # what Spark calls its writer

    def __init__(
        self,
        name: str,
        *,
        servers: str,
        topic: str,
        key: str = "id",
        options: Mapping[str, str] | None = None,
        secrets: Mapping[str, SecretStr] | None = None,
    ) -> None:
        self.name = name
        self._servers = servers
        self._topic = topic
        self._key = key
        self._options = dict(options or {})
        self._secrets = dict(secrets or {})

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Check that Spark's connector is there."""
        looking = spark.read.format("kafka").option("kafka.bootstrap.servers", self._servers)
        try:
            looking.option("subscribe", self._topic).load().schema  # noqa: B018 - planned, and nothing is read
        except PySparkException as error:
            raise DeliveryError(
                f"the sink {self.name} needs Spark's Kafka connector, which this session does not have\n"
                "Hint: leave `jars` out of [spark] so that it is added by itself, or name it there"
            ) from error

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Send all records and wait until the brokers have them."""
        with described(notifications.sparkSession, batch.doing(f"write {self.name}")):
            writer = self.records(notifications).write.format(self.source).options(**self._options)
            writer = writer.options(**{name: value.get_secret_value() for name, value in self._secrets.items()})
            writer.option("kafka.bootstrap.servers", self._servers).option("topic", self._topic).mode("append").save()

    def records(self, notifications: DataFrame) -> DataFrame:
        """Rows as Spark's Kafka writer takes them: key, value, headers."""
        # Rows of a quarantine have no subscriber: they go by their id.
        key = self._key if self._key in notifications.columns else "id"
        identity = F.struct(F.lit("id").alias("key"), F.encode("id", "UTF-8").alias("value"))
        return notifications.select(
            named(key).cast("string").alias("key"),
            as_json(notifications).alias("value"),
            F.array(identity).alias("headers"),
        )
