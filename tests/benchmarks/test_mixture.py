"""The benchmark of mixtures asks every host the same, and puts the time of the parts beside the whole."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.mixture import Place, Sizes, hosts, measure, sets, shown

SIZES = Sizes(filters=20, calls=50, patterns=10, events=100, single=100, published=100)


@pytest.mark.parametrize("name", ["single", "live", "command line", "service"])
def test_hosts_tell_as_much_as_a_batch(name: str, tmp_path: Path) -> None:
    records = sets(SIZES)["mixture"]
    with ExitStack() as open_:
        place = Place(tmp_path, SIZES, open_)
        batch, host = (hosts()[each](place, records, open_) for each in ("batch", name))
        assert host[0]() == batch[0]() > 0
        assert host[1] == batch[1] == SIZES.events


def test_parts_stand_beside_the_whole(tmp_path: Path) -> None:
    ticks = iter(range(10_000))
    with ExitStack() as open_:
        place = Place(tmp_path, SIZES, open_)
        row = measure("batch", hosts()["batch"], place, sets(SIZES), 1, lambda: float(next(ticks)))
    assert (row.filters, row.calls, row.patterns, row.mixture) == (1, 1, 1, 1)
    assert row.ratio == pytest.approx(1 / 3)
    assert [column.header for column in shown([row]).columns][-1] == "mixture / its parts"
