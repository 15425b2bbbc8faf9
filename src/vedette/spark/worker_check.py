"""Has a worker without Vedette say so, in one sentence, instead of how a task could not be unpickled.

A task is a function of Vedette's, which Python's pickle names and the worker imports. Here it travels as bytes inside a
function that pickle writes out in full, and that needs nothing but Python.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from vedette import __version__


class _Pickled:
    """A function that is pickled as bytes, at the moment when Spark pickles what holds it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (cloudpickle.dumps(self.function),)  # type: ignore[no-untyped-call]


def in_worker(function: Callable[[Iterator[Any]], Iterator[Any]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function over batches of Spark, as a task that tells of a worker which cannot run it."""
    held: Any = _Pickled(function)
    wanted = __version__

    # Nothing here may name anything of Vedette's: in the worker, it may not be there. Spark sees by these type hints
    # what kind of function it is.
    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        import pickle
        import sys
        from importlib.util import find_spec

        where = f"on {platform.node()}, where Spark runs {sys.executable}"
        hint = (
            f"Hint: install vedette {wanted} for the Python of the executors, or send an environment that has it, "
            "with spark.archives"
        )
        if find_spec("vedette") is None:
            raise ModuleNotFoundError(f"there is no Vedette {where}\n{hint}")
        if isinstance(held, bytes):
            try:
                found = pickle.loads(held)  # noqa: S301 - it comes from our own driver
            except (AttributeError, ImportError, TypeError) as error:
                import vedette

                raise ImportError(f"Vedette {vedette.__version__} {where}, cannot do this: {error}\n{hint}") from error
        else:
            found = held.function
        try:
            yield from found(batches)
        except Exception as error:
            if type(error).__module__ == "vedette.errors":  # Spark shows the trace with the message, which says it all
                raise error.with_traceback(None) from None
            raise

    return run
