"""Compiles kernels: one decorator, one set of flags, one cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import njit

from vedette.kernels import kernel_cache

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}


def kernel(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the GIL while it runs."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """As `kernel`, for small helpers that must be inlined to be of use."""
    return _compiled(function, inline="always")


def _compiled(function: Function, **more: Any) -> Function:
    """The compiled function, cached on disk if possible, else in memory."""
    flags = {**_FLAGS, **more}
    try:
        return _cached(njit(**flags)(function))
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    if kernel_cache.fall_back():
        return _cached(njit(**flags)(function))
    kernel_cache.warn_once(kernel_cache.NOT_KEPT)
    return njit(**{**flags, "cache": False})(function)


def _source_stamp() -> str:
    """A hash of the source of all kernels: those here, and those of every ability, which call each other."""
    package = Path(__file__).parent.parent
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(package.glob("**/kernels/*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _source_stamp()


def _cached(compiled: Function) -> Function:
    """Make the cache depend on all kernels, since they call each other.

    Numba checks only the file that a function is in: after a change to another one it would keep running old
    code, or fail to read its own index. The version is what it compares before it reads anything else.
    """
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is not None:
        cache_file._version = f"{numba.__version__} {_STAMP}"
        compiled._cache = kernel_cache.KernelCache(compiled._cache)  # type: ignore[attr-defined]
    return compiled
