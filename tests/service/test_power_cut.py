"""The power goes: what was synced before an answer is there, and where it is not synced something is lost.

`make torture` does this at length (`benchmarks/service/power_cut.py`).
"""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.service.disk import OPENED, REMOVED, SECTOR, SYNCED, TRUNCATED, WRITTEN, Change, Disk, has_compiler
from benchmarks.service.power_cut import tried

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="there is no C compiler (cc), which the log needs")


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(("synchronous", "loses"), [("FULL", False), ("NORMAL", True)])
def test_only_what_is_synced_before_the_answer_survives(synchronous: str, loses: bool) -> None:
    found = tried(cuts=6, seconds=1.0, seed=3, synchronous=synchronous)
    assert found["cuts"] == 6
    assert found["acknowledged_per_cut"] > 0
    assert bool(found["broken"]) is loses, found


def change(kind: int, data: bytes = b"", offset: int = 0, path: str = "x") -> Change:
    return Change(0, 0, kind, path, offset, data)


def disk(*changes: Change) -> Disk:
    made = Disk()
    for one in changes:
        made.take(one)
    return made


def test_what_is_not_synced_may_be_gone() -> None:
    made = disk(change(OPENED), change(WRITTEN, b"old"), change(SYNCED), change(WRITTEN, b"new"), change(TRUNCATED))
    assert made.cut(Random(1), 0.0) == {"x": b"old"}
    assert made.cut(Random(1), 1.0) == made.whole() == {"x": b""}


def test_a_file_that_was_never_synced_may_not_be_there() -> None:
    assert disk(change(OPENED), change(WRITTEN, b"new")).cut(Random(1), 0.0) == {}


def test_a_file_that_was_removed_may_come_back_until_the_folder_is_synced() -> None:
    made = disk(change(WRITTEN, b"old"), change(SYNCED), change(REMOVED))
    assert made.cut(Random(1), 0.0) == {"x": b"old"}
    made.take(change(SYNCED, path="."))
    assert made.cut(Random(1), 0.0) == {}


def test_a_write_is_torn_at_sectors_of_the_file() -> None:
    made = disk(change(WRITTEN, bytes(3 * SECTOR)), change(SYNCED), change(WRITTEN, b"x" * 2 * SECTOR, offset=100))
    seen = {made.cut(Random(seed), 0.5)["x"] for seed in range(40)}
    assert len(seen) == 8  # of the three sectors that it touches each is there or not
    for file in seen:
        marks = {file[100:SECTOR], file[SECTOR : 2 * SECTOR], file[2 * SECTOR : 2 * SECTOR + 100]}
        assert all(set(mark) in ({0}, {ord("x")}) for mark in marks)


def test_a_write_that_has_only_begun_may_be_there_or_not() -> None:
    made = disk(change(WRITTEN, b"old"), change(SYNCED))
    begun = change(WRITTEN, b"new")
    assert {made.cut(Random(seed), 0.5, begun)["x"] for seed in range(20)} == {b"old", b"new"}
    assert made.whole() == {"x": b"old"}
