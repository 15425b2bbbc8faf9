"""All experiments, one after another, each in a process of its own; then one page of them.

python -m experiments OUT [--quick]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from experiments.report.page import build

NAMES = ("aguilera1999", "ouksel2006", "tomasic2006", "liu2007", "muthusamy2010")


def run_all(out: Path, quick: bool) -> int:
    """The exit status of the first that fails; 0, and the page is written, if none does."""
    for number, name in enumerate(NAMES, 1):
        print(f"[{number} of {len(NAMES)}] {name}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        command = [sys.executable, "-m", f"experiments.{name}", str(out), *(["--quick"] if quick else [])]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1]) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                process.wait()  # it was interrupted as well
                raise
        if status:
            return status
        print(f"{name} took {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print(f"The report: {build(out, NAMES)}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    arguments = parser.parse_args()
    sys.exit(run_all(arguments.out.resolve(), arguments.quick))
