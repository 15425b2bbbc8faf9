"""Every Spark that Vedette runs on: an environment of its own for each, and the engine's contract, run in all of them.

    python -m tests.sparks                  # all of them, classic and Connect: `make test-sparks`
    python -m tests.sparks 4.1.4 3.5.9      # some

An environment has its PySpark; all else, a Java too, comes from the one that runs this, which stands behind it. It is
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
CONTRACT = ("tests/contract/test_every_host.py", "-k")
CLASSIC, CONNECT = "on_spark", "on_spark and not pipeline"  # pipelines do not run on Connect
SERVER = {"SPARK_REMOTE": "local[2]", "SPARK_LOCAL_IP": "127.0.0.1"}
# Spark 3.5 warns of itself; a server of Connect, that what it was started with cannot be set again.
OWN_WARNINGS = ("-W", "ignore:distutils:DeprecationWarning", "-W", "ignore:Failed to set:UserWarning")


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


def passes(version: str, chosen: str, variables: dict[str, str]) -> bool:
    """Whether the contract holds for these hosts on this Spark; what the tests say is shown."""
    python, begin = environment(version), time.monotonic()
    path = [str(python.parent), *os.environ.get("PATH", "").split(os.pathsep)]
    what = f"Spark {version}, {'Connect' if variables else 'classic'}"
    print(f"--- {what}", flush=True)
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", *OWN_WARNINGS, *CONTRACT, chosen],
        env={**os.environ, "PATH": os.pathsep.join(path), **variables},
        cwd=ROOT,
        check=False,
    )
    print(f"--- {what}: {'FAILED' if done.returncode else 'passed'}, {time.monotonic() - begin:.0f} s", flush=True)
    return done.returncode == 0


def main(versions: list[str]) -> int:
    """Run the contract on all of these versions; the number of runs that failed."""
    failed = 0
    for version in versions or VERSIONS:
        failed += not passes(version, CLASSIC, {})
        if int(version.split(".")[0]) >= 4:  # the package of 3.5 comes without the server of Connect
            failed += not passes(version, CONNECT, SERVER)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
