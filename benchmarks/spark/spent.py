"""CPU seconds of this process and of all that it has started: Spark's Java, and the Python workers of that.

On a machine where others are busy, too, time on the clock says little of a way, and least of one that uses all cores.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _OF_ENDED = 1, 11, 15  # places in /proc/PID/stat, behind the name: times of itself, then of its dead


def spent() -> float:
    """So far; what a process has used that ended counts once somebody has waited for it."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[_PARENT])
        seconds[pid] = sum(map(int, fields[_USER:_OF_ENDED])) / _TICK
    me, times = os.getpid(), os.times()
    own = time.process_time() + times.children_user + times.children_system
    return own + sum(each for pid, each in seconds.items() if _descends(pid, me, parents))


def _descends(pid: int, from_: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == from_:
            return True
    return False
