"""`vedette run`, as far as it goes without Spark; the rest is in tests/spark/pipeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.session import SUBSCRIPTIONS, vedette, write_lines

pytest.importorskip("pyspark")

PIPELINE = """
[subscriptions]
file = "subscriptions.jsonl"
[source]
type = "jsonl"
path = "events.jsonl"
[[sinks]]
type = "jsonl"
path = "out"
subscribers = ["alice", "ops-*"]
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    write_lines(tmp_path / "events.jsonl", [])
    path = tmp_path / "watch.toml"
    path.write_text(PIPELINE)
    return path


def test_a_good_file(pipeline: Path) -> None:
    result = vedette("run", "--check", pipeline)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "watch: the pipeline file is fine",
        "  source: jsonl, batch",
        "  sink jsonl: jsonl, for alice, ops-*",
        "  quarantine: none: rejected rows are counted",
    ]
    assert vedette("run", "--check", pipeline, "--quiet").stderr == ""


def test_a_bad_file_is_refused_before_anything_starts(pipeline: Path) -> None:
    pipeline.write_text(PIPELINE.replace('"jsonl"', '"jsnol"', 1).replace("path", "pth", 1))
    for arguments in (["--check"], []):
        result = vedette("run", pipeline, *arguments)
        assert result.exit_code == 1
        assert "watch.toml:5" in result.stderr
        assert "nothing was started" in result.stderr


def test_an_example_that_is_fine(tmp_path: Path) -> None:
    result = vedette("run", "--example")
    assert result.exit_code == 0
    (tmp_path / "example.toml").write_text(result.stdout)
    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    write_lines(tmp_path / "events.jsonl", [])
    assert vedette("run", "--check", tmp_path / "example.toml").exit_code == 0


def test_wrong_usage() -> None:
    result = vedette("run")
    assert result.exit_code == 2
    assert "--example" in result.stderr


def test_a_check_starts_neither_spark_nor_java(pipeline: Path) -> None:
    code = (
        "import sys; from vedette.cli.main import app\n"
        "try: app(['run', '--check', sys.argv[1]])\n"
        "finally: assert 'pyspark.sql.session' not in sys.modules and 'py4j' not in sys.modules, 'Spark was loaded'\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(pipeline)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
