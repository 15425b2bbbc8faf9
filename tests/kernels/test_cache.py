"""Kernels run where nothing can be written, a read-only package and no home; and no folder of others is trusted."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from numba import config

import vedette
from vedette.kernels import kernel_cache
from vedette.kernels.compile import kernel

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
NOBODY = 65534
_SCRIPT = """
import sys
from vedette.kernels.compile import inlined, kernel
from vedette.filters.kernels import tokens

@inlined
def twice(x):
    return 2 * x

@kernel
def answer(x):
    return twice(x) + 2

print(answer(20), vars(sys.modules["numba"].config)["CACHE_DIR"])
"""


@pytest.fixture(scope="module")
def read_only() -> Iterator[Path]:
    """The package, where nobody can write to it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        without = shutil.ignore_patterns("__pycache__")
        for folder in ("kernels", "filters/kernels"):
            shutil.copytree(Path(vedette.__file__).parent / folder, place / "vedette" / folder, ignore=without)
        for file in ("__init__.py", "version.py", "errors.py", "filters/__init__.py"):
            shutil.copy(Path(vedette.__file__).parent / file, place / "vedette" / file)
        (place / "script.py").write_text(_SCRIPT)
        folders = [place, *(each for each in place.rglob("*") if each.is_dir())]
        for each in folders:
            each.chmod(0o555)
        yield place
        for each in folders:
            each.chmod(0o755)


def confined(place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script without a home, and without root's right to write where permissions do not allow it."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "HOME": str(place), **more}
    command = [sys.executable, str(place / "script.py")]
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv (util-linux) is needed: this runs as root")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)


def test_a_read_only_machine_compiles_in_memory_and_says_so_once(read_only: Path) -> None:
    done = confined(read_only)
    assert (done.returncode, done.stdout.split()) == (0, ["42"]), done.stderr
    assert done.stderr.count("every process compiles them anew") == 1
    assert "Hint: set NUMBA_CACHE_DIR" in done.stderr


def test_a_worker_of_spark_keeps_them_in_a_folder_of_spark(read_only: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        done = confined(read_only, SPARK_LOCAL_DIRS=name)
        kept = Path(name) / "vedette-kernels"
        assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["42", str(kept)], "")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
        assert [file.name for file in kept.rglob("script.answer*.nbi")]


# ---------------------------------------------------------------- which folders are trusted


@pytest.fixture
def no_locator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba finds no place; nobody was warned yet."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserProvidedCacheLocator])
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache, "_told", set())


def test_folders_that_others_could_write_to_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(place: Path) -> bool:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"/nonexistent,{place}")
        return kernel_cache.spark_folder() == place / "vedette-kernels"

    for name, mode, trusted in (("own", 0o700, True), ("open", 0o777, False), ("sticky", 0o1777, True)):
        place = tmp_path / name
        place.mkdir()
        place.chmod(mode)
        assert used(place) is trusted
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "vedette-kernels").mkdir()
    (planted / "vedette-kernels").chmod(0o755)  # others can read it, and could perhaps write to it before
    assert not used(planted)
    (planted / "vedette-kernels").rmdir()
    (planted / "vedette-kernels").symlink_to(tmp_path / "own" / "vedette-kernels")
    assert not used(planted)
    if os.getuid() == 0:
        (planted / "vedette-kernels").unlink()
        (planted / "vedette-kernels").mkdir(mode=0o700)
        os.chown(planted / "vedette-kernels", NOBODY, NOBODY)
        assert not used(planted)


@pytest.mark.usefixtures("no_locator")
def test_many_kernels_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        kernel(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(lambda x: x + 2)(1) == 3


def test_a_disk_that_is_full_does_not_take_a_kernel_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_told", set())

    @kernel
    def more(x: float) -> float:
        return x + 1

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(more._cache._cache, "_save_overload", full)  # type: ignore[attr-defined]
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert more(1) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert more(1.5) == 2.5


def test_other_mistakes_are_not_taken_for_a_missing_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr("vedette.kernels.compile.njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        kernel(lambda x: x)
    assert numba.config.CACHE_DIR == config.CACHE_DIR
