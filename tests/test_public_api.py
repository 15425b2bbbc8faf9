"""What `import vedette` promises."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

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
        ("import vedette; vedette.Subscriptions", ["shapely", "re2", "duckdb", "pandas", "rich", "typer", "pyspark"]),
    ],
)
def test_heavy_parts_are_imported_when_they_are_needed(statement: str, absent: list[str]) -> None:
    code = f"{statement}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
