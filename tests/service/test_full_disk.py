"""The disk of a service is full: refused with 507, nothing acknowledged is lost, it goes on when there is room.

The file system is a real one, with little room; `make torture` does the same (`benchmarks/service/full_disk.py`).
"""

from __future__ import annotations

import pytest

from benchmarks.service.full_disk import CannotMount, filled


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tmpfs", pytest.param("ext4", marks=pytest.mark.thorough)])
def test_a_full_disk(kind: str) -> None:
    try:
        found = filled(kind)
    except CannotMount as error:
        pytest.skip(f"no small file system: {error}")
    assert found["broken"] == []
    assert found["refused_with_507"] >= 20
    assert found["acknowledged"] > found["acknowledged_before_there_was_room"] > 0
