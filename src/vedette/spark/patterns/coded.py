"""Coded events: what patterns have read of events, as columns that Spark can shuffle and sort, or as packets.

What was read of an event is one value of bytes, since Spark takes long for lists: how many partitions (none or one) and
columns there are, the partition, the values that variables are compared with, which of these are known, and the numbers
of the filters that the event satisfies. A packet is the coded events of one shard in one value: Spark hands rows to an
operator that keeps state one column of objects after the other, and a few large values cost it next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SnapshotError
from vedette.patterns.event_batch import PatternBatch
from vedette.spark.readers import ARRIVAL, ID

# Where an event goes, and in which order it is followed there; what it is called; what was read of it.
GROUP, SHARD, TIME, TIMED, READ = "group", "shard", "time", "timed", "read"
FIELDS: Final = (
    (GROUP, "int"),
    (SHARD, "int"),
    (TIME, "bigint"),
    (ARRIVAL, "bigint"),
    (TIMED, "boolean"),
    (ID, "string"),
    (READ, "binary"),
)
CODED: Final = pa.schema(
    [
        (GROUP, pa.int32()),
        (SHARD, pa.int32()),
        (TIME, pa.int64()),
        (ARRIVAL, pa.int64()),
        (TIMED, pa.bool_()),
        (ID, pa.string()),
        (READ, pa.binary()),
    ]
)
_HEAD: Final = 4  # bytes: how many partitions, and how many columns, two each
_PAIR: Final = 16  # bytes of a partition or a value


def columns_of(
    batch: PatternBatch, timed: NDArray[np.bool_], ids: pa.Array, arrival: NDArray[np.int64], place: tuple[int, Any]
) -> dict[str, pa.Array]:
    """The coded columns of some events; `place` is their group and the shard of each. The batch has one key at most."""
    group, shard = place
    size = batch.size
    return {
        GROUP: pa.array(np.full(size, group, np.int32)),
        SHARD: pa.array(shard),
        TIME: pa.array(batch.time),
        ARRIVAL: pa.array(arrival),
        TIMED: pa.array(timed),
        ID: ids,
        READ: _written(batch),
    }


def batch_of(columns: pa.RecordBatch, first: int) -> tuple[PatternBatch, NDArray[np.bool_]]:
    """The reverse: events of one group, numbered from `first`, and which of them have a time."""
    size = columns.num_rows
    keys, values, known, start, primitive = _opened(columns.column(READ))
    return (
        PatternBatch(
            np.arange(first, first + size),
            columns.column(TIME).to_numpy(zero_copy_only=False).astype(np.int64),
            start,
            primitive,
            keys,
            np.ones((len(keys), size), np.bool_),  # events without a key are not here
            values,
            known,
        ),
        columns.column(TIMED).to_numpy(zero_copy_only=False).astype(np.bool_),
    )


def keys_of(read: pa.Array) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which events have a partition, of whatever group they are, and the partitions of these."""
    begins, data = _buffers(read)
    keyed = data[begins[:-1]] > 0
    at = begins[:-1][keyed, None] + np.arange(_HEAD, _HEAD + _PAIR)
    return keyed, data[at].view("<i8").reshape(-1, 2).astype(np.int64)


def places_of(batch: pa.RecordBatch) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Begin and end of the rows of each shard, with its group and number."""
    group, shard = (batch.column(name).to_numpy() for name in (GROUP, SHARD))
    if not len(group):
        return
    changes = np.flatnonzero((group[1:] != group[:-1]) | (shard[1:] != shard[:-1])) + 1
    ends: NDArray[np.int64] = np.concatenate([[0], changes, [len(group)]])
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield begin, end, (int(group[begin]), int(shard[begin]))


def _written(batch: PatternBatch) -> pa.Array:
    size, partitions, columns = batch.size, len(batch.keyed), len(batch.known)
    head = np.tile(np.array([partitions, columns], "<u2").view(np.uint8), (size, 1))
    pairs = [
        np.ascontiguousarray(each.transpose(1, 0, 2), "<i8").view(np.uint8).reshape(size, _PAIR * len(each))
        for each in (batch.key, batch.value)
    ]
    fixed = np.concatenate([head, *pairs, batch.known.T.astype(np.uint8)], axis=1)
    width = fixed.shape[1]
    counts = np.diff(batch.start)
    begins = np.zeros(size + 1, np.int64)
    np.cumsum(width + 4 * counts, out=begins[1:])
    data = np.zeros(int(begins[-1]), np.uint8)
    data[begins[:-1, None] + np.arange(width)] = fixed
    tails = np.repeat(begins[:-1] + width - 4 * batch.start[:-1], counts) + 4 * np.arange(len(batch.primitive))
    data[tails[:, None] + np.arange(4)] = np.ascontiguousarray(batch.primitive, "<i4").view(np.uint8).reshape(-1, 4)
    offsets = pa.py_buffer(begins.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), size, [None, offsets, pa.py_buffer(data)])


def _opened(read: pa.Array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Partitions, values, which are known, and the filters with their begins."""
    size = len(read)
    begins, data = _buffers(read)
    partitions, columns = data[begins[0] : begins[0] + _HEAD].view("<u2").tolist() if size else (0, 0)
    width = _HEAD + _PAIR * (partitions + columns) + columns
    fixed = data[begins[:-1, None] + np.arange(width)]
    middle = _HEAD + _PAIR * partitions
    end = middle + _PAIR * columns
    keys, values = (
        np.ascontiguousarray(part).view("<i8").astype(np.int64).reshape(size, count, 2).transpose(1, 0, 2)
        for part, count in ((fixed[:, _HEAD:middle], partitions), (fixed[:, middle:end], columns))
    )
    counts = (np.diff(begins) - width) // 4
    start = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    tails = np.repeat(begins[:-1] + width - 4 * start[:-1], counts) + 4 * np.arange(int(start[-1]))
    primitive = data[tails[:, None] + np.arange(4)].view("<i4").reshape(-1).astype(np.int32)
    known = np.ascontiguousarray(fixed[:, end:].T).astype(np.bool_)
    return np.ascontiguousarray(keys), np.ascontiguousarray(values), known, start, primitive


def _buffers(read: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where the values begin, and all of their bytes."""
    _, offsets, data = read.buffers()
    if not len(read) or offsets is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    begins = np.frombuffer(memoryview(offsets), np.int32, len(read) + 1, 4 * read.offset).astype(np.int64)
    return begins, np.frombuffer(memoryview(data or b""), np.uint8)


# Where a packet goes, the greatest time in what it was read from (Spark's watermark follows it), and what is in it.
PLACE, AT, PACKET = "place", "at", "packet"
PACKETS = f"`{PLACE}` string, `{AT}` timestamp, `{PACKET}` binary"
CLOCK = ""  # the place of packets that say only what time it is
REJECTED = "!"  # the place of rows that are handed on as they are: what was set aside while it was read
TELLS = "tells"  # a column: this shard reports the event if it is late, and no other one

_SQUEEZED = b"vedette shard 1 lz4\n"
_SCHEMA = pa.schema([(PLACE, pa.string()), (AT, pa.timestamp("us", "UTC")), (PACKET, pa.binary())])


def place_name(keys: Iterable[str], learns: bool, shard: int) -> str:
    """The name of a shard, which does not depend on other patterns."""
    return f"{'~' if learns else '/'}{shard} {' '.join(keys)}"


def keys_of_place(place: str) -> tuple[tuple[str, ...], bool]:
    """By which attributes the patterns of a shard are partitioned, and whether their forecasts learn."""
    return tuple(place.partition(" ")[2].split()), place.startswith("~")


def written(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def opened(data: bytes) -> pa.Table:
    """The table that `written` wrote."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def squeezed(data: bytes) -> bytes:
    """The bytes, compressed, after a line with their number."""
    return b"%s%d\n%s" % (_SQUEEZED, len(data), pa.compress(data, codec="lz4", asbytes=True))


def unsqueezed(data: bytes) -> bytes:
    """The reverse; SnapshotError for other or damaged bytes."""
    size, newline, _ = data[len(_SQUEEZED) :][:24].partition(b"\n")
    if not data.startswith(_SQUEEZED) or not newline or not size.isdigit():
        raise SnapshotError("these bytes are not the state of patterns that this version can read")
    begin = len(_SQUEEZED) + len(size) + 1
    try:
        return bytes(pa.decompress(data[begin:], int(size), codec="lz4", asbytes=True))
    except (OSError, ValueError) as error:
        raise SnapshotError(f"the state of patterns is damaged: {error}") from None


def told_once(groups: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The coded events of all groups; only the first group that has an event reports it if it is late."""
    told = np.zeros(0, np.int64)
    for coded in groups:
        arrival = coded.column(ARRIVAL).to_numpy()
        yield coded.append_column(TELLS, pa.array(~np.isin(arrival, told)))
        told = np.concatenate([told, arrival])


def by_shard(coded: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
    """The rows of one group, by shard, in their order."""
    shard = coded.column(SHARD).to_numpy()
    rest = pa.Table.from_batches([coded.drop_columns([GROUP, SHARD])])
    if not len(shard):
        return
    order = np.argsort(shard, kind="stable")
    numbers, begins = np.unique(shard[order], return_index=True)
    sorted_ = rest.take(pa.array(order))
    for number, begin, end in zip(numbers.tolist(), begins.tolist(), [*begins[1:].tolist(), len(shard)], strict=True):
        yield number, sorted_.slice(begin, end - begin)


def packets(rows: Iterable[tuple[str, bytes]], at: int | None) -> pa.RecordBatch:
    """Packets as rows that Spark can shuffle; `at` is in microseconds."""
    places, values = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(places, pa.string()),
            pa.array([at] * len(places), pa.timestamp("us", "UTC")),
            pa.array(values, pa.binary()),
        ],
        schema=_SCHEMA,
    )
