"""`vedette bench`: run the benchmarks of a checkout."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.cli.checkout import checkout, launch


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks with these arguments; return their exit status."""
    return launch(checkout("benchmarks", "__main__.py"), "benchmarks", arguments)
