"""The versions of PySpark that Vedette runs on; it knows nothing of Spark itself, so that it can speak of any."""

from __future__ import annotations

import re
from typing import Final

from vedette.errors import NotSupported

OLDEST: Final = (3, 5)
NEWEST: Final = (4, 3)


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
