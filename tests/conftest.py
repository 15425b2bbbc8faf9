"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import quick_java, seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first example of a test may have to compile kernels, so there are no deadlines.
settings.register_profile("vedette", deadline=None, max_examples=seeds.EXAMPLES)
settings.load_profile("vedette")

quick_java.use()


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its option
def pytest_configure(config: pytest.Config) -> None:
    """Give Hypothesis the run's seed, too; and hear Ctrl-C, to which shells deafen what they start in the background.

    What tests start and interrupt would be deaf to it as well.
    """
    if config.getoption("--hypothesis-seed", None) is None:
        config.option.hypothesis_seed = str(seeds.SEED)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they need; thorough ones only where `-m` names them, long ones first."""
    for item in items:
        folders = item.path.relative_to(Path(__file__).parent).parts[:-1]
        for need in ("spark", "service", "browser"):
            if need in folders or need in getattr(item, "fixturenames", ()):
                item.add_marker(need)
    if "thorough" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
        items[:] = [item for item in items if item.get_closest_marker("thorough") is None]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """All modules and tests are there to stay: whoever looks for garbage later need not look at them every time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end all of it goes."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Whoever sees a random test fail has to be able to see it again."""
    terminalreporter.write_line(f"Random tests: SEED={seeds.SEED} repeats them.")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small Spark for all tests of a process: two cores, little memory, nothing written into the checkout."""
    from vedette.spark.spark_session import session

    home = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.daemon.module": "tests.spark.warm_workers",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "local"),
        # Derby, which Hive's metastore and the tests of JDBC use, writes where it is started.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home / 'derby'}",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        started = session(app="vedette-tests", master="local[2]", conf=conf)
    yield started
    started.stop()
