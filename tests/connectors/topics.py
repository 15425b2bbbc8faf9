"""Messages in and out of a broker through Kafka's own Java client, so that neither end is checked with itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import py4j
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.connectors.maven import classpath

_BYTES = "org.apache.kafka.common.serialization.ByteArray"


@dataclass(frozen=True)
class Message:
    """One message of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Topics:
    """The topics of one broker."""

    def __init__(self, gateway: Any, servers: str) -> None:
        self.servers = servers
        self._gateway = gateway
        self._clients = gateway.jvm.org.apache.kafka.clients
        self._admin: Any = None
        self._producer: Any = None

    @classmethod
    @contextmanager
    def connected(cls, java: str, jars: list[Path], servers: str) -> Iterator[Topics]:
        """Through a Java process that ends with the block, and with this process whatever becomes of it."""
        port, token = launch_gateway(
            jarpath=str(_py4j_jar()),
            classpath=classpath(jars),
            javaopts=["-Xmx256m"],
            java_path=java,
            die_on_exit=True,
            enable_auth=True,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
        try:
            yield cls(gateway, servers)
        finally:
            gateway.shutdown()

    def answers(self) -> bool:
        """Whether the broker answers."""
        try:
            self._administrate().listTopics().names().get(1, self._gateway.jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "TimeoutException":
                raise
            return False
        return True

    def create(self, name: str, partitions: int = 1) -> str:
        """A topic that was not there; its name."""
        short = self._gateway.jvm.java.lang.Short.parseShort("1")
        topic = self._clients.admin.NewTopic(name, partitions, short)
        self._administrate().createTopics([topic]).all().get()
        return name

    def put(self, topic: str, values: Iterable[bytes | str | None], *, partition: int | None = None) -> None:
        """Messages without keys, all acknowledged when this returns."""
        producer = self._produce()
        for value in values:
            data = value.encode() if isinstance(value, str) else value
            if partition is None:
                record = self._clients.producer.ProducerRecord(topic, data)
            else:
                record = self._clients.producer.ProducerRecord(topic, partition, None, data)
            producer.send(record)
        producer.flush()

    def get(self, topic: str) -> list[Message]:
        """Everything that is in the topic now, by partition and offset."""
        consumer = self._clients.consumer.KafkaConsumer(
            {
                "bootstrap.servers": self.servers,
                "key.deserializer": f"{_BYTES}Deserializer",
                "value.deserializer": f"{_BYTES}Deserializer",
                "isolation.level": "read_committed",
            }
        )
        try:
            partition_of = self._gateway.jvm.org.apache.kafka.common.TopicPartition
            places = [partition_of(topic, info.partition()) for info in consumer.partitionsFor(topic)]
            consumer.assign(places)
            consumer.seekToBeginning(places)
            ends = {place.partition(): end for place, end in consumer.endOffsets(places).items()}
            second = self._gateway.jvm.java.time.Duration.ofSeconds(1)
            found: list[Message] = []
            while any(consumer.position(place) < ends[place.partition()] for place in places):
                taken = consumer.poll(second)
                for place in places:
                    for record in taken.records(place):
                        key, value = record.key(), record.value()
                        found.append(Message(record.partition(), record.offset(), _bytes(key), _bytes(value)))
            return sorted(found, key=lambda message: (message.partition, message.offset))
        finally:
            consumer.close()

    def _administrate(self) -> Any:
        if self._admin is None:
            self._admin = self._clients.admin.AdminClient.create(self._properties({}))
        return self._admin

    def _produce(self) -> Any:
        if self._producer is None:
            serializers = {f"{end}.serializer": f"{_BYTES}Serializer" for end in ("key", "value")}
            self._producer = self._clients.producer.KafkaProducer(self._properties({"acks": "all", **serializers}))
        return self._producer

    def _properties(self, more: dict[str, str]) -> Any:
        made = self._gateway.jvm.java.util.Properties()
        for name, value in {"bootstrap.servers": self.servers, **more}.items():
            made.setProperty(name, value)
        return made


def _bytes(given: Any) -> bytes | None:
    return None if given is None else bytes(given)


def _py4j_jar() -> Path:
    """pyspark brings it."""
    import pyspark

    return next((Path(pyspark.__file__).parent / "jars").glob(f"py4j-{py4j.version.__version__}.jar"))
