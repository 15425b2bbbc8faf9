"""The cache of compiled kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from numba import config

from vedette.filters.kernels.scan import scan
from vedette.filters.kernels.tokens import contains_token
from vedette.kernels import compile as compiling


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_the_cache_of_every_kernel_depends_on_the_source_of_all() -> None:
    kernels: tuple[Any, ...] = (scan, contains_token)  # Numba says nothing of what it makes
    for function in kernels:
        assert function._cache._cache_file._version.endswith(compiling._STAMP)


def test_the_stamp_follows_the_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compile_, other = tmp_path / "kernels" / "compile.py", tmp_path / "filters" / "kernels" / "other.py"
    for file in (compile_, other):
        file.parent.mkdir(parents=True)
        file.write_text("a = 1\n")
    monkeypatch.setattr(compiling, "__file__", str(compile_))
    before = compiling._source_stamp()
    assert compiling._source_stamp() == before
    other.write_text("a = 2\n")
    assert compiling._source_stamp() != before
