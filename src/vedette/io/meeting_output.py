"""Write the pairs of a meeting to a file, atomically."""

from __future__ import annotations

import math

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vedette.io.output import written

_SLICE = 1 << 20  # rows that are made into text at once
_TEXT = pa.large_string()
_SIDES = ("publication", "subscription")


def write_meetings(table: pa.Table, place: str, format: str) -> None:
    """Write a table of `publication`, `subscription` and perhaps `rank` and `score`, as JSON lines or Parquet."""
    with written(place) as stream:
        if format == "parquet":
            pq.write_table(table, stream)
        else:
            ids = {side: _quoted(table.column(side)) for side in _SIDES}
            for begin in range(0, table.num_rows, _SLICE):
                rows = _lines(
                    table.slice(begin, _SLICE), {side: each.slice(begin, _SLICE) for side, each in ids.items()}
                )
                # The texts of an Arrow array lie in memory one after the other, without gaps.
                text = rows.buffers()[2]
                assert text is not None
                stream.write(memoryview(text))


def _lines(table: pa.Table, ids: dict[str, pa.Array]) -> pa.Array:
    parts: list[pa.Scalar | pa.Array] = [
        _text('{"publication": '),
        ids["publication"],
        _text(', "subscription": '),
        ids["subscription"],
    ]
    if "rank" in table.column_names:
        ranks = table.column("rank").combine_chunks().cast(_TEXT)
        scores = pa.array([_number(score) for score in table.column("score").to_pylist()], _TEXT)
        parts += [_text(', "rank": '), ranks, _text(', "score": '), scores]
    return pc.binary_join_element_wise(*parts, _text("}\n"), _text(""))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _quoted(ids: pa.ChunkedArray) -> pa.Array:
    """Ids as JSON strings, each encoded once, since there are fewer of them than rows."""
    encoded = ids.combine_chunks().dictionary_encode()
    quoted = pa.array([orjson.dumps(each).decode() for each in encoded.dictionary.to_pylist()], _TEXT)
    return quoted.take(encoded.indices)


def _number(score: float | None) -> str:
    """A number for JSON, which has neither infinity nor NaN: they become texts."""
    if score is None:
        return "null"
    return repr(score) if math.isfinite(score) else f'"{score}"'
