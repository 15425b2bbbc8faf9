"""`vedette bench`: run the benchmarks of a checkout."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.cli.checkout import checkout, launch


def bench(arguments: Sequence[str]) -> int:
    """Hand the arguments on; the exit status of the benchmarks."""
    return launch(checkout("benchmarks", "__main__.py"), "benchmarks", arguments)
