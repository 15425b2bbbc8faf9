"""One Kafka broker in KRaft mode: its own controller, on loopback, with its data in the test's folder."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.connectors.maven import classpath
from tests.connectors.processes import free_ports, running, wait_until
from tests.connectors.topics import Topics

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@contextmanager
def broker(java: str, jars: list[Path], folder: Path) -> Iterator[Topics]:
    """Its topics, once it answers."""
    port, controller = free_ports(2)
    properties, log = folder / "server.properties", folder / "broker.log"
    properties.write_text(_PROPERTIES.format(port=port, controller=controller, data=folder / "data"))
    kafka = [java, "-Xmx512m", "-cp", classpath(jars)]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatted = subprocess.run(
        [*kafka, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    with (
        running([*kafka, "kafka.Kafka", str(properties)], log) as process,
        Topics.connected(java, jars, f"127.0.0.1:{port}") as topics,
    ):
        wait_until(topics.answers, "the Kafka broker does not answer", process, log)
        yield topics
