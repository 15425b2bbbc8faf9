"""The versions of PySpark that Vedette runs on; it knows nothing of Spark itself, so that it can speak of any."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

from vedette.errors import NotSupported

OLDEST: Final = (3, 5)
NEWEST: Final = (4, 3)


def installed_version() -> str:
    """The version of the PySpark that is there, without importing it; empty if its files do not say."""
    spec = importlib.util.find_spec("pyspark")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        said = Path(folder) / "version.py"
        if said.is_file() and (found := re.search(r"__version__\b[^=\n]*=\s*[\"']([^\"']+)", said.read_text())):
            return found[1]
    return ""


def check_version(found: str) -> None:
    """NotSupported unless Vedette runs on this PySpark; a version that is written in no known way is let pass."""
    read = re.match(r"(\d+)\.(\d+)", found)
    if read is None or OLDEST <= (int(read[1]), int(read[2])) <= NEWEST:
        return
    oldest, newest, beyond = (f"{major}.{minor}" for major, minor in (OLDEST, NEWEST, (NEWEST[0], NEWEST[1] + 1)))
    raise NotSupported(
        f"vedette.spark needs PySpark {oldest} to {newest}, and found {found}\n"
        f"Hint: pip install 'pyspark[sql]>={oldest},<{beyond}', or choose a runtime of your platform with such a Spark"
    )
