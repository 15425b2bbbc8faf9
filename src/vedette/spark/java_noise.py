"""Passes on what Spark's Java says on standard error, without lines that only tell that all is well.

Where patterns are followed over a stream, Spark starts a Python process on the driver's host, which prints how it is
getting on; Java copies this to its own standard error, and no setting of Spark's keeps it from that.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NO_NEWS = b"Streaming TransformWithStateInPandas Python worker"
_PATIENCE_S = 2.0  # for the last words of a Java that did not come up


@contextmanager
def without_noise() -> Iterator[None]:
    """What is started inside the context is heard by a thread, which passes it on."""
    sys.stderr.flush()
    own = os.dup(2)
    heard, said = os.pipe()
    os.dup2(said, 2)
    os.close(said)
    passing = threading.Thread(target=_pass_on, args=(heard, own), name="java-stderr", daemon=True)
    passing.start()
    try:
        yield
    except BaseException:
        os.dup2(own, 2)
        passing.join(_PATIENCE_S)
        raise
    else:
        os.dup2(own, 2)


def _pass_on(heard: int, to: int) -> None:
    """Whole lines, until nobody is left who could say something."""
    dropped = False
    with open(heard, "rb", buffering=0) as source, open(to, "wb", buffering=0) as target:
        kept = b""
        while some := source.read(1 << 16):
            *lines, kept = (kept + some).split(b"\n")
            for line in lines:
                # An empty line follows each of them.
                dropped, before = _NO_NEWS in line, dropped
                if not dropped and not (before and not line):
                    with suppress(OSError):  # a terminal that is closed: Java must not wait for us
                        target.write(line + b"\n")
        with suppress(OSError):
            target.write(kept)
