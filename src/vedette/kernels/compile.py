"""How kernels are compiled: one decorator, one set of flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the GIL while it runs."""
    compiled: Function = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function)
    return compiled


def inlined(function: Function) -> Function:
    """As `kernel`, for small helpers that are worth nothing when called."""
    compiled: Function = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False, inline="always")(function)
    return compiled
