"""Write the results of a backtest to files: counts by subscription and day, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from vedette.io.backtest_samples import BacktestSample
from vedette.io.backtest_tally import UNTIMED, BacktestSummary, day_text
from vedette.io.output import output_format, written

_PARQUET = pa.schema(
    [("subscription", pa.string()), ("day", pa.string()), ("matches", pa.int64()), ("predictions", pa.int64())]
)
_PART = 1 << 16  # lines that are made at a time


def write_counts(place: str, summaries: Iterable[BacktestSummary], format: str | None = None) -> None:
    """Write one record for every subscription and day with outcomes: JSON lines, or Parquet."""
    records = _counts(summaries)
    if output_format(place, format) != "parquet":
        _write_lines(place, records)
        return
    with written(place) as stream, pq.ParquetWriter(stream, _PARQUET, store_schema=False) as writer:
        for part in _parts(records):
            writer.write_table(pa.Table.from_pylist(part, _PARQUET))


def write_samples(place: str, samples: Mapping[str, Sequence[BacktestSample]]) -> None:
    """Write one JSON line per sample, as `match` does, with the time of its event."""
    _write_lines(
        place,
        (
            {"event": sample.event, "subscription": id_, "time": moment_text(sample.time) or None, **sample.said}
            for id_, each in samples.items()
            for sample in each
        ),
    )


def moment_text(time: int) -> str:
    """A time as `2024-05-01T10:00:00Z`, with the digits after the seconds that it needs; empty for UNTIMED."""
    if time == UNTIMED:
        return ""
    whole, _, parts = str(np.datetime64(time, "us")).partition(".")
    parts = parts.rstrip("0")
    return f"{whole}.{parts}Z" if parts else f"{whole}Z"


def _write_lines(place: str, records: Iterable[Mapping[str, Any]]) -> None:
    """JSON lines with a space after commas and colons, as everywhere in Vedette."""
    with written(place) as stream:
        for part in _parts(records):
            stream.write("".join(f"{_line(record)}\n" for record in part).encode())


def write_text(place: str, text: str) -> None:
    """Write a text file, atomically."""
    with written(place) as stream:
        stream.write(text.encode())


def _line(said: Mapping[str, Any]) -> str:
    shown = (
        f"{_json(name)}: {_line(value) if isinstance(value, dict) else _json(value)}" for name, value in said.items()
    )
    return "{" + ", ".join(shown) + "}"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _counts(summaries: Iterable[BacktestSummary]) -> Iterator[dict[str, Any]]:
    for one in summaries:
        columns = (one.days.tolist(), one.matches.tolist(), one.predictions.tolist())
        for day, matches, predictions in zip(*columns, strict=True):
            yield {
                "subscription": one.subscription,
                "day": day_text(day),
                "matches": matches,
                "predictions": predictions,
            }


def _parts(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    part: list[Any] = []
    for record in records:
        part.append(record)
        if len(part) == _PART:
            yield part
            part = []
    if part:
        yield part
