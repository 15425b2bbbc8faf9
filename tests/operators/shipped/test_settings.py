"""What is optional is loaded when it is asked for, and named when it is missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.operators.shipped.asking import Asker
from vedette.operators.operator import Operator
from vedette.operators.shipped import geo, lookup, model, text

PACKAGES = ("shapely", "rapidfuzz", "sqlalchemy", "onnxruntime")
LAZY = f"""
import sys
from vedette.operators.shipped import geo, lookup, model, text
for module in (geo, lookup, model, text):
    list(module.operators({{}}))
print([name for name in {PACKAGES} if name in sys.modules])
"""


def test_nothing_optional_is_loaded_before_it_is_asked_for() -> None:
    found = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_entry_points_lead_to_operators() -> None:
    found: list[Operator] = []
    for entry in entry_points(group="vedette.operators"):
        if entry.value.startswith("vedette."):
            found += entry.load()({})
    names = ["cesql", "distanceFrom", "locIn", "locWithin", "lookup", "mentions", "model", "similar"]
    assert sorted(each.name for each in found) == names


def test_a_missing_package_is_named_when_a_subscription_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in PACKAGES else there(name))
    asker = Asker([*text.operators({}), *lookup.operators({}), *model.operators({})])
    for call, package in {
        "similar(title, 'x')": "rapidfuzz",
        "lookup('t', 1, 'x')": "sqlalchemy",
        "model('m')": "onnxruntime",
    }.items():
        with pytest.raises(ValueError, match=f"needs {package}, which is not installed: pip install 'vedette"):
            asker.check(call)
    asker.check("mentions(title, 'x')")  # which needs none of them


def test_relative_paths_begin_in_the_folder_of_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = Path(__file__).parent
    monkeypatch.chdir(tmp_path)
    assert list(geo.operators({"places": "places.geojson", "_folder": here}))
    monkeypatch.chdir(here)
    assert list(geo.operators({"places": "places.geojson"}))
    assert list(geo.operators({"places": str(here / "places.geojson"), "_folder": tmp_path}))
