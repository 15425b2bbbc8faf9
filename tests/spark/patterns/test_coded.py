"""What was read of events is the same after it was written as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.seeds import some
from vedette.patterns.event_batch import PatternBatch
from vedette.spark.patterns.coded import GROUP, READ, SHARD, batch_of, columns_of, keys_of


def made(random: np.random.Generator, size: int, partitions: int, columns: int) -> PatternBatch:
    counts = random.integers(0, 4, size)
    start = np.concatenate([[0], np.cumsum(counts)])
    whole = np.iinfo(np.int64)
    known = random.random((columns, size)) < 0.5
    return PatternBatch(
        np.arange(size),
        random.integers(whole.min, whole.max, size),
        start,
        random.integers(0, 2**31 - 1, int(start[-1])).astype(np.int32),
        random.integers(whole.min, whole.max, (partitions, size, 2)),
        np.ones((partitions, size), np.bool_),
        random.integers(whole.min, whole.max, (columns, size, 2)) * known[:, :, None],
        known,
    )


@pytest.mark.parametrize("seed", some(50))
def test_there_and_back(seed: int) -> None:
    random = np.random.default_rng(seed)
    size, partitions, columns = int(random.integers(0, 40)), int(random.integers(0, 2)), int(random.integers(0, 4))
    batch = made(random, size, partitions, columns)
    timed = random.random(size) < 0.8
    coded = pa.RecordBatch.from_pydict(
        columns_of(batch, timed, pa.nulls(size, pa.string()), np.arange(size), (3, np.zeros(size, np.int32)))
    )
    begin = int(random.integers(0, size + 1))
    coded, batch = coded.slice(begin), batch.slice(begin, size)
    found, known = batch_of(coded, begin)
    assert (known == timed[begin:]).all()
    assert coded.column(GROUP).to_pylist() == [3] * (size - begin)
    assert coded.column(SHARD).null_count == 0
    for name, array in batch.arrays().items():
        if size - begin or name not in ("key", "keyed", "value", "known"):  # of no events nothing is known
            assert np.array_equal(found.arrays()[name], array), name
    keyed, keys = keys_of(coded.column(READ))
    assert keyed.all() == bool(partitions) or not len(keyed)
    assert np.array_equal(keys, batch.key[0] if partitions else np.zeros((0, 2), np.int64))
