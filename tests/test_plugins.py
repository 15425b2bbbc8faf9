"""Plug-ins are found by entry points, loaded when they are asked for, and one that is bad is alone with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.plugin_packages import installed, made_up
from vedette import plugins
from vedette.dialects import registry
from vedette.errors import InputError
from vedette.filters.index import index_class, names
from vedette.plugins import INDEXES

CODE = """
class Mine:
    name = "mine"
    build = match = match_one = arrays = restore = None

class Misnamed(Mine):
    name = "another"
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Installs a package that brings indexes."""
    with ExitStack() as stack:

        def install(name: str, points: dict[str, str], code: str = CODE) -> None:
            folder = made_up(tmp_path / name, name, {INDEXES: points}, code)
            stack.enter_context(installed(folder))
            stack.callback(sys.modules.pop, name, None)

        yield install


def test_those_of_others_stand_beside_vedettes_own(package: Callable[..., None]) -> None:
    before = names()
    assert before == ("clusters", "scan", "tree")
    package("made_up_mine", {"mine": "made_up_mine:Mine"})
    assert names() == ("clusters", "mine", "scan", "tree")
    assert "made_up_mine" not in sys.modules  # nothing is loaded before it is asked for
    assert index_class("mine").name == "mine"


def test_one_that_cannot_be_loaded_is_named_with_its_package(package: Callable[..., None]) -> None:
    points = {"gone": "made_up_bad:Gone", "number": "made_up_bad:len", "misnamed": "made_up_bad:Misnamed"}
    package("made_up_bad", points)
    package("made_up_broken", {"broken": "made_up_broken:Mine"}, "import no_such_package_at_all")
    for name, why in {
        "gone": "AttributeError: module 'made_up_bad' has no attribute 'Gone'",
        "number": "AttributeError",
        "misnamed": "TypeError: its `name` is 'another', which is not the name of its entry point",
        "broken": "ModuleNotFoundError: No module named 'no_such_package_at_all'",
    }.items():
        with pytest.raises(InputError, match=f"the index {name!r} cannot be loaded: {why}") as raised:
            index_class(name)
        assert f"of made_up_{'broken' if name == 'broken' else 'bad'} 1.0: mend that package" in str(raised.value)
    assert index_class("tree").name == "tree"


def test_what_lacks_a_part_of_its_interface_says_which(package: Callable[..., None]) -> None:
    package("made_up_half", {"half": "made_up_half:Half"}, "class Half:\n    name = 'half'\n    build = match = None\n")
    with pytest.raises(InputError, match="it has no `match_one` and no `arrays` and no `restore`"):
        index_class("half")


def test_one_name_of_two_packages_is_an_error_where_it_is_asked_for(package: Callable[..., None]) -> None:
    for name in ("made_up_one", "made_up_other"):
        package(name, {"mine": f"{name}:Mine"})
    with pytest.raises(InputError, match=r"there are 2 indexes 'mine': of made_up_other 1\.0 and of made_up_one 1\.0"):
        index_class("mine")
    assert "mine" in names()
    assert index_class("scan").name == "scan"


def test_a_name_of_vedettes_own_stays_what_it_is(package: Callable[..., None]) -> None:
    package("made_up_mine", {"tree": "made_up_mine:Mine"})
    assert index_class("tree").__module__.startswith("vedette.")


@pytest.mark.parametrize(("name", "hint"), [("Tre", "did you mean 'tree'?"), ("x", "are clusters, scan, tree")])
def test_an_unknown_name_is_told_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"there is no index {name!r}") as raised:
        index_class(name)
    assert hint in str(raised.value)


def test_dialects_whose_rules_are_files_go_on_without_one_that_is_bad(tmp_path: Path) -> None:
    folder = made_up(tmp_path, "made_up_dialect", {plugins.DIALECTS: {"made_up": "made_up_dialect"}})
    with installed(folder):
        assert registry.collecting() == ["sigma"]


def test_vedettes_own_are_found_without_looking_at_other_packages() -> None:
    code = """
import importlib.metadata, sys
import vedette as vd
assert "vedette.plugins" not in sys.modules
def refuse(**_): raise AssertionError("all that is installed was looked through")
importlib.metadata.entry_points = refuse
subscriptions = vd.Subscriptions({"n": "int"})
subscriptions.add("s", {"n": [1]}, dialect="eventbridge")
from vedette.filters.index import index_class
index_class("clusters"), index_class("scan")
assert not {"vedette.filters.tree", "vedette.dialects.sigma"} & set(sys.modules)
"""
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
