"""What lives long is not looked at again and again, and garbage goes all the same."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from vedette.service.garbage_collection import GarbageCollection


class Thing:
    """Something that may be part of a circle."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.collect()


def test_what_survived_one_look_is_left_alone() -> None:
    collector, before = GarbageCollection(), gc.get_freeze_count()
    collector.install()
    try:
        gc.collect(0)
        assert gc.get_freeze_count() == before  # only a look at everything is dear
        thing = Thing()
        gc.collect()
        assert gc.get_freeze_count() > before
        there = weakref.ref(thing)
        del thing
        gc.collect()
        assert there() is not None  # nobody looks at it any more
    finally:
        collector.remove()
    gc.collect()
    assert there() is None


def test_once_in_a_while_everything_is_looked_at() -> None:
    collector = GarbageCollection(thaw_seconds=0.0)
    collector.install()
    try:
        thing = Thing()
        gc.collect()
        there = weakref.ref(thing)
        del thing
        gc.collect()
        assert there() is None
    finally:
        collector.remove()
