"""How kernels are compiled: one decorator, one set of flags, one cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}


def kernel(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the GIL while it runs."""
    return _cached(njit(**_FLAGS)(function))


def inlined(function: Function) -> Function:
    """As `kernel`, for small helpers that are worth nothing when called."""
    return _cached(njit(inline="always", **_FLAGS)(function))


def _source_stamp() -> str:
    """What the machine code of every kernel depends on: the source of all of them."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _source_stamp()


def _cached(compiled: Function) -> Function:
    """Make the cache depend on all kernels, since they call each other.

    Numba looks only at the file that a function is in: after a change to another one it would go on running old
    code, or fail to read its own index. The version is what it compares before it reads anything else.
    """
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is not None:
        cache_file._version = f"{numba.__version__} {_STAMP}"
    return compiled
