"""Servers and connectors, each started or fetched once, and only for tests that ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors import maven
from tests.connectors.broker import broker
from tests.connectors.postgres import Restarting, postgres
from tests.connectors.topics import Topics
from vedette.spark.java import find_java


@pytest.fixture(scope="session")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topics]:
    """Those of a running Kafka broker."""
    jars = maven.jars("broker")
    with broker(str(find_java().executable), jars, tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture(scope="session")
def server() -> Iterator[Restarting]:
    """A running PostgreSQL."""
    with postgres() as found:
        yield found


@pytest.fixture(scope="session")
def kafka_jars() -> list[Path]:
    """For Spark."""
    return maven.jars("kafka")


@pytest.fixture(scope="session")
def postgresql_jars() -> list[Path]:
    """For Spark."""
    return maven.jars("postgresql")


@pytest.fixture(scope="session")
def delta_jars() -> list[Path]:
    """For Spark."""
    return maven.jars("delta")
