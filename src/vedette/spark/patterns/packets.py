"""Coded events of one place in one value: what is shuffled, and handed to the operator that keeps state.

Spark hands rows to such an operator one column of objects after the other; a few large values cost it next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from vedette.errors import SnapshotError
from vedette.spark.patterns.coded import ARRIVAL, GROUP, SHARD

# Where a packet goes, the greatest time in what it was read from (Spark's watermark follows it), and what is in it.
PLACE, AT, PACKET = "place", "at", "packet"
PACKETS = f"`{PLACE}` string, `{AT}` timestamp, `{PACKET}` binary"
CLOCK = ""  # the place of packets that say only what time it is
REJECTED = "!"  # the place of rows that are handed on as they are: what was set aside while it was read
TELLS = "tells"  # a column: it is here that an event is told of if it is late, and at no other place

_SQUEEZED = b"vedette shard 1 lz4\n"
_SCHEMA = pa.schema([(PLACE, pa.string()), (AT, pa.timestamp("us", "UTC")), (PACKET, pa.binary())])


def place_name(keys: Iterable[str], learns: bool, shard: int) -> str:
    """The name of a shard: it does not depend on which other patterns there are."""
    return f"{'~' if learns else '/'}{shard} {' '.join(keys)}"


def keys_of_place(place: str) -> tuple[tuple[str, ...], bool]:
    """By which attributes the patterns of a place are partitioned, and whether their forecasts learn."""
    return tuple(place.partition(" ")[2].split()), place.startswith("~")


def written(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def opened(data: bytes) -> pa.Table:
    """What `written` wrote."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def squeezed(data: bytes) -> bytes:
    """The bytes in less room, behind a line that says how many there are."""
    return b"%s%d\n%s" % (_SQUEEZED, len(data), pa.compress(data, codec="lz4", asbytes=True))


def unsqueezed(data: bytes) -> bytes:
    """What was squeezed; SnapshotError if it is something else, or damaged."""
    size, newline, _ = data[len(_SQUEEZED) :][:24].partition(b"\n")
    if not data.startswith(_SQUEEZED) or not newline or not size.isdigit():
        raise SnapshotError("these bytes are not the state of patterns that this version can read")
    begin = len(_SQUEEZED) + len(size) + 1
    try:
        return bytes(pa.decompress(data[begin:], int(size), codec="lz4", asbytes=True))
    except (OSError, ValueError) as error:
        raise SnapshotError(f"the state of patterns is damaged: {error}") from None


def told_once(groups: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The coded events of all groups; those of one group tell of an event if it is late."""
    told = np.zeros(0, np.int64)
    for coded in groups:
        arrival = coded.column(ARRIVAL).to_numpy()
        yield coded.append_column(TELLS, pa.array(~np.isin(arrival, told)))
        told = np.concatenate([told, arrival])


def by_shard(coded: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
    """The rows of one group, cut into those of each shard, in the order in which they are."""
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
    """Rows that Spark can shuffle; `at` is in microseconds."""
    places, values = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(places, pa.string()),
            pa.array([at] * len(places), pa.timestamp("us", "UTC")),
            pa.array(values, pa.binary()),
        ],
        schema=_SCHEMA,
    )
