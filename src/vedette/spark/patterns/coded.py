"""Events that patterns have read, as columns that Spark can shuffle and sort, and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch

# Where an event goes, and in which order it is followed there; what it is called; what was read of it.
GROUP, SHARD, TIME, ARRIVAL, TIMED, ID = "group", "shard", "time", "arrival", "timed", "id"
PRIMITIVE, KEY, VALUE, KNOWN = "primitive", "key", "value", "known"
FIELDS: Final = (
    (GROUP, "int"),
    (SHARD, "int"),
    (TIME, "bigint"),
    (ARRIVAL, "bigint"),
    (TIMED, "boolean"),
    (ID, "string"),
    (PRIMITIVE, "array<int>"),
    (KEY, "array<bigint>"),
    (VALUE, "array<bigint>"),
    (KNOWN, "array<boolean>"),
)


def columns_of(
    batch: Batch, timed: NDArray[np.bool_], ids: pa.Array, arrival: NDArray[np.int64], place: tuple[int, Any]
) -> dict[str, pa.Array]:
    """The columns of some events; `place` is their group and the shard of each. The batch has one key at most."""
    group, shard = place
    size = batch.size
    return {
        GROUP: pa.array(np.full(size, group, np.int32)),
        SHARD: pa.array(shard),
        TIME: pa.array(batch.time),
        ARRIVAL: pa.array(arrival),
        TIMED: pa.array(timed),
        ID: ids,
        PRIMITIVE: pa.ListArray.from_arrays(batch.start.astype(np.int32), batch.primitive),
        KEY: _lists(batch.key.transpose(1, 0, 2).reshape(size, -1)),
        VALUE: _lists(batch.value.transpose(1, 0, 2).reshape(size, -1)),
        KNOWN: _lists(batch.known.T),
    }


def batch_of(columns: pa.RecordBatch, first: int) -> tuple[Batch, NDArray[np.bool_]]:
    """The events again, numbered from `first`, and which of them have a time."""
    size = columns.num_rows
    primitive = columns.column(PRIMITIVE)
    lengths = np.diff(primitive.offsets.to_numpy())
    key, value, known = (_rows(columns.column(name), size) for name in (KEY, VALUE, KNOWN))
    return (
        Batch(
            np.arange(first, first + size),
            columns.column(TIME).to_numpy(zero_copy_only=False).astype(np.int64),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
            primitive.flatten().to_numpy(zero_copy_only=False).astype(np.int32),
            np.ascontiguousarray(key.astype(np.int64).reshape(size, -1, 2).transpose(1, 0, 2)),
            np.ones((key.shape[1] // 2, size), np.bool_),  # who has no key is not here
            np.ascontiguousarray(value.astype(np.int64).reshape(size, -1, 2).transpose(1, 0, 2)),
            np.ascontiguousarray(known.astype(np.bool_).T),
        ),
        columns.column(TIMED).to_numpy(zero_copy_only=False).astype(np.bool_),
    )


def _lists(rows: NDArray[Any]) -> pa.Array:
    size, width = rows.shape
    ends = np.arange(size + 1, dtype=np.int32) * np.int32(width)
    return pa.ListArray.from_arrays(ends, pa.array(np.ascontiguousarray(rows).reshape(-1)))


def _rows(lists: pa.Array, size: int) -> NDArray[Any]:
    flat: NDArray[Any] = lists.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(size, len(flat) // size if size else 0)
