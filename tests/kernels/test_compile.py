"""The cache of compiled kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba import config

from vedette.kernels import compile as compiling
from vedette.kernels.scan import scan
from vedette.kernels.tokens import contains_token


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_the_cache_of_every_kernel_depends_on_the_source_of_all() -> None:
    for function in (scan, contains_token):
        assert function._cache._cache_file._version.endswith(compiling._STAMP)  # type: ignore[attr-defined]


def test_the_stamp_follows_the_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("compile.py", "other.py"):
        (tmp_path / name).write_text("a = 1\n")
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compile.py"))
    before = compiling._source_stamp()
    assert compiling._source_stamp() == before
    (tmp_path / "other.py").write_text("a = 2\n")
    assert compiling._source_stamp() != before
