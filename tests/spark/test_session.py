"""The session that users get: quiet, of this machine alone, and never against what somebody else set up."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import vedette as vd
from vedette.spark.spark_session import for_a_new_java, local_cores, session

PYTHON = Path(sys.executable)
TELL = """
import json, os
import vedette as vd

def same(batches):
    yield from batches

def told(spark, *names):
    from pyspark.sql.utils import is_remote
    found = {name: spark.conf.get(name, None) for name in names}
    if not is_remote():
        found["master"], found["web"] = spark.sparkContext.master, spark.sparkContext.uiWebUrl
    found["rows"] = spark.range(100).mapInArrow(same, "id long").count()
    print(json.dumps(found))
"""
NAMES = ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone", "spark.sql.execution.arrow.maxRecordsPerBatch")


def _run(script: str, folder: Path, *command: str, **environment: str) -> tuple[Any, str]:
    """What a script tells, and what stands on standard error."""
    path = folder / "script.py"
    path.write_text(TELL + script)
    done = subprocess.run(
        [*(command or [sys.executable]), path],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_new_one_is_quiet_and_of_this_machine_alone(tmp_path: Path) -> None:
    script = """
before = {name: os.environ.get(name) for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
spark = vd.spark.session(master="local[3]", conf={"spark.driver.memory": "1g"})
assert vd.spark.session().sparkContext is spark.sparkContext
assert {name: os.environ.get(name) for name in before} == before
told(spark, *NAMES)
patterns = [{"id": "p", "when": "[value >= 0]"}]  # followed over a stream, for which Spark starts talkative processes
os.mkdir("in")
open("in/events.json", "w").write('{"time": "2024-01-01T00:00:00Z", "value": 1}')
events = spark.readStream.schema("time timestamp, value int").json("in")
found = vd.spark.match(events, patterns).writeStream.format("noop").option("checkpointLocation", "state")
found.trigger(availableNow=True).start().awaitTermination()
listening = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().rpcEnv().address().host()
assert listening in ("localhost", "127.0.0.1"), listening
""".replace("*NAMES", f"*{NAMES!r}")
    found, noise = _run(script, tmp_path)
    assert noise == ""
    assert found.pop("web").startswith(("http://localhost:", "http://127.0.0.1:"))
    assert found == {**dict(zip(NAMES, ("6", "UTC", "20000"), strict=True)), "master": "local[3]", "rows": 100}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "script.py", "state"]


def test_what_a_folder_of_settings_says_counts(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        "spark.master local[1]\nspark.sql.shuffle.partitions 7\nspark.ui.enabled false\nspark.driver.memory 1g\n"
    )
    found, _ = _run(f"told(vd.spark.session(), *{NAMES!r})", tmp_path, SPARK_CONF_DIR=str(conf))
    assert found == {
        **dict(zip(NAMES, ("7", "UTC", "20000"), strict=True)),
        "master": "local[1]",
        "web": None,
        "rows": 100,
    }


def test_what_spark_submit_says_counts(tmp_path: Path) -> None:
    submit = ("--master", "local[1]", "--driver-memory", "1g", "--conf", "spark.sql.session.timeZone=Europe/Rome")
    found, _ = _run(
        f"told(vd.spark.session(), *{NAMES!r})",
        tmp_path,
        *(str(PYTHON.parent / "spark-submit"), *submit),
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    assert found["master"] == "local[1]"
    assert found["spark.sql.session.timeZone"] == "Europe/Rome"
    assert found["spark.sql.execution.arrow.maxRecordsPerBatch"] == "20000"


def test_a_session_of_connect_is_taken(tmp_path: Path) -> None:
    script = f"""
spark = vd.spark.session(app="connected")
assert "connect" in type(spark).__module__
assert vd.spark.session() is spark
from pathlib import Path
Path("subscriptions.jsonl").write_text('{{"id": "s", "when": "n > 1"}}')
Path("events").mkdir()
Path("watch.toml").write_text('''
subscriptions = {{ file = "subscriptions.jsonl" }}
source = {{ type = "jsonl", path = "events" }}
sinks = [{{ name = "out", type = "jsonl", path = "out" }}]
''')
try:
    vd.spark.run(vd.spark.load("watch.toml"))
except vd.NotSupported as error:
    assert "this one is of Spark Connect" in str(error)
else:
    raise AssertionError("a pipeline ran on Connect")
told(spark, *{NAMES!r})
"""
    found, _ = _run(script, tmp_path, SPARK_REMOTE="local[1]", SPARK_LOCAL_IP="127.0.0.1")
    assert found["rows"] == 100
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.sql.execution.arrow.maxRecordsPerBatch"] == "20000"


def test_the_one_that_is_running_is_taken(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        again = session(master="local[2]", conf={"spark.driver.memory": "1g"})
    assert again.sparkContext is spark.sparkContext
    assert caplog.records == []


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_times_mean_the_same_in_every_zone_of_a_session(zone: str, spark: SparkSession) -> None:
    subscriptions = vd.Subscriptions({"naive": "timestamp", "sent": "timestamp", "day": "date"})
    subscriptions.add("naive", "naive >= timestamp '2024-03-10 02:30:00' and naive < timestamp '2024-03-10 02:31:00'")
    subscriptions.add("sent", "sent >= timestamp '2024-03-10T02:30:00Z' and sent < timestamp '2024-03-10T02:31:00Z'")
    subscriptions.add("day", "day = date '2024-03-10'")
    local = subscriptions.compile().match(
        {
            "naive": dt.datetime(2024, 3, 10, 2, 30),
            "sent": dt.datetime(2024, 3, 10, 2, 30, tzinfo=dt.UTC),
            "day": dt.date(2024, 3, 10),
        }
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        events = spark.sql(
            "select timestamp_ntz'2024-03-10 02:30:00' as naive, timestamp'2024-03-10 02:30:00Z' as sent, "
            "date'2024-03-10' as day"
        )
        found = [row.subscription for row in vd.spark.match(events, subscriptions).collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found == local == ["naive", "sent", "day"]


def test_settings_for_the_one_that_is_running_are_made_or_said_to_be_too_late(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert before is not None
    try:
        with caplog.at_level(logging.WARNING):
            session(master="local[7]", conf={"spark.sql.shuffle.partitions": "5", "spark.driver.memory": "77g"})
        assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
        assert "without these settings: spark.driver.memory, spark.master" in caplog.text
        assert "Hint: stop() it first" in caplog.text
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[4,2]", 4), ("local-cluster[2,1,1024]", None), ("spark://host:7077", None)],
)
def test_cores_of_a_master(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


def test_all_cores_are_those_that_this_process_may_use() -> None:
    assert local_cores("local[*]") == len(os.sched_getaffinity(0))


def test_what_users_say_of_java_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DRIVER_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    options = "spark.driver.extraJavaOptions"
    made = for_a_new_java({options: "-Da=b", "spark.driver.memory": "3g"}, local=True)
    assert made["spark.driver.memory"] == "3g"
    assert made[options].startswith("-Da=b -Dlog4j2.configurationFile=file:/")
    assert for_a_new_java({options: "-Dlog4j2.x=y"}, local=True)[options] == "-Dlog4j2.x=y"
    assert "spark.driver.memory" not in for_a_new_java({}, local=False)
    (tmp_path / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    assert set(for_a_new_java({}, local=True)) == {"spark.ui.showConsoleProgress"}


def test_a_java_that_does_not_come_up_is_said() -> None:
    code = """
import vedette as vd
try:
    vd.spark.session(master="local[1]", conf={"spark.driver.memory": "nonsense"})
except vd.StartError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Spark did not start: [JAVA_GATEWAY_EXITED]")
    assert "Hint: Spark and Java say on standard error what is wrong" in done.stdout
    assert "nonsense" in done.stderr


def test_without_pyspark_the_extra_is_named() -> None:
    code = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pyspark" else found(name, *more)
import vedette as vd
try:
    vd.spark.session()
except vd.NotInstalled as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("Hint: pip install 'vedette[spark]'")


def test_what_the_package_shows_is_sorted_and_there() -> None:
    assert vd.spark.__all__ == sorted(vd.spark.__all__)
    for name in vd.spark.__all__:
        assert callable(getattr(vd.spark, name))
    assert dir(vd.spark) == vd.spark.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        vd.spark.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "first", ["vedette.spark.dataframe_match", "vedette.spark.spark_session", "vedette.spark.texts"]
)
def test_the_package_shows_functions_whatever_is_imported_first(first: str) -> None:
    code = f"import {first}, vedette\nprint(vedette.spark.match.__name__, vedette.spark.session.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["match", "session"]


def test_a_worker_loads_what_matches_and_nothing_else() -> None:
    code = """
import vedette.spark.texts, sys
absent = ("vedette.spark.dataframe_match", "vedette.cli", "pydantic", "sqlalchemy", "typer")
print([name for name in absent if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
