"""A Java that starts quickly, for tests that start many: `make quick-java` makes it, and conftest has them all use it.

A Spark that lives for a few seconds spends most of them loading classes and compiling them well. Here a script in front
of the real Java asks for the first compiler alone, and for classes from an archive that one small pipeline has left
behind. Where there is no archive, or Java finds that it does not fit, it is slower and otherwise the same.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from vedette.errors import NotInstalled
from vedette.spark.java import Java, find_java

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "java"
# What Java says of an archive that does not fit would stand between what tests compare.
OPTIONS = ("-XX:TieredStopAtLevel=1", "-Xlog:disable", "-Xlog:all=error:stderr")
_SCRIPT = """\
#!/bin/sh
case "$*" in
  *-XX:+Use*GC*) ;;
  *) set -- -XX:+UseSerialGC "$@" ;;
esac
exec {command} "$@"
"""


def use() -> None:
    """Have this process, and all that it starts, use it; where there is no Java, nothing changes."""
    try:
        java = find_java()
    except NotInstalled:
        return
    if not java.executable.is_relative_to(CACHE):  # else the process that started this one has done so
        os.environ["JAVA_HOME"] = str(_launcher(java, "quick", f"-XX:SharedArchiveFile={_archive(java)}"))


def make_archive() -> None:
    """Run a small pipeline and keep the classes that it has loaded."""
    from tests.spark.pipeline.processes import VEDETTE
    from tests.spark.pipeline.workplace import Workplace

    java = find_java()
    archive = _archive(java)
    if archive.exists():
        return
    made = archive.with_suffix(f".{os.getpid()}")
    home = _launcher(java, "learning", f"-XX:ArchiveClassesAtExit={made}")
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(Path(folder))
        place.subscribe({"id": "all", "when": "number >= 0"})
        place.publish("events.jsonl", [{"id": f"e{number}", "number": number} for number in range(10)])
        place.describe(
            mode="available-now",
            checkpoint="state",
            quarantine={"type": "jsonl", "path": "bad"},
            sinks=[{"name": kind, "type": kind, "path": kind} for kind in ("jsonl", "parquet")],
        )
        # Java writes the archive at its very end: what it says has to be waited for, not only the pipeline.
        done = subprocess.run(
            [VEDETTE, "run", str(place.pipeline)],
            env={**os.environ, "JAVA_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if done.returncode == 0 and made.exists():
        made.replace(archive)
    else:
        print(f"No archive of classes could be made, so tests take longer:\n{done.stdout}", file=sys.stderr)


def _archive(java: Java) -> Path:
    """One for each Java and each Spark."""
    said = subprocess.run([java.executable, "-version"], capture_output=True, check=True).stderr
    of = b"\n".join([str(java.executable).encode(), said, version("pyspark").encode(), " ".join(OPTIONS).encode()])
    return CACHE / f"{hashlib.sha256(of).hexdigest()[:12]}.jsa"


def _launcher(java: Java, name: str, *options: str) -> Path:
    """A folder whose `bin/java` is the real one with these options, too."""
    home = CACHE / name
    (home / "bin").mkdir(parents=True, exist_ok=True)
    command = shlex.join([str(java.executable), *OPTIONS, *options])
    handle, beside = tempfile.mkstemp(dir=home / "bin")
    with os.fdopen(handle, "w") as file:
        file.write(_SCRIPT.format(command=command))
    os.chmod(beside, 0o755)
    os.replace(beside, home / "bin" / "java")
    return home


if __name__ == "__main__":
    make_archive()
