"""Subscriptions from files: JSON lines, YAML, Parquet."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from vedette.errors import FileError
from vedette.filters.origins import DESCRIBING
from vedette.io.byte_sources import InputSource, source_of, split
from vedette.io.jsonl_events import json_error
from vedette.io.parquet_events import ParquetEvents
from vedette.io.rule_files import rules_of
from vedette.io.subscription_rows import (
    KEYS,
    PLAINLY,
    SUBSCRIPTION,
    RecordRole,
    RejectedSubscription,
    SourceLine,
    SubscriptionRows,
    Written,
)
from vedette.io.yaml_text import yaml_records

FORMATS = ("jsonl", "yaml", "parquet")


def read_subscriptions(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    now: dt.datetime | None = None,
    role: RecordRole = SUBSCRIPTION,
    written: Written = PLAINLY,
) -> SubscriptionRows:
    """The subscriptions of a file or of standard input (`-`: JSON lines unless `format` says else).

    Those that expired before `now` are left out. Bad records do not stop the others. Publications that are
    constraints are read in the same way. Rules of the dialect that they are `written` in may be a folder of files.
    """
    moment = now or dt.datetime.now(dt.UTC)
    if written.dialect is not None:
        rules = rules_of(source, format, moment, written)
        if rules is not None:
            return rules
    return SubscriptionFile(source_of(source, format, FORMATS), moment, role, written)


class SubscriptionFile(SubscriptionRows):
    """The subscriptions of a file."""

    def __init__(
        self, source: InputSource, now: dt.datetime, role: RecordRole = SUBSCRIPTION, written: Written = PLAINLY
    ) -> None:
        self.source = source
        self._parquet: ParquetEvents | None = None
        if source.format == "parquet":
            self._parquet = ParquetEvents(source)
        super().__init__(source.name, self._in_file(), now, role, written)

    @property
    def progress(self) -> float | None:
        """How much has been read, from 0 to 1; None if that cannot be told."""
        return self._parquet.progress if self._parquet is not None else self.source.progress

    def _in_file(self) -> Iterator[SourceLine]:
        if self._parquet is not None:
            return _from_parquet(self._parquet)
        if self.source.format == "yaml":
            return ((line, record, None) for line, record in yaml_records(self.source))
        return self._from_json()

    def _from_json(self) -> Iterator[SourceLine]:
        loads = orjson.loads
        for some in split(self.source.blocks()):
            for line, raw in enumerate(some.lines, some.first):
                try:
                    record = loads(raw)
                except orjson.JSONDecodeError as error:
                    if raw.strip():
                        self.cut_off = line if error.pos >= len(raw) else None
                        reason = f"{json_error(error)}\nHint: one JSON object a line"
                        self.rejects.append(RejectedSubscription(line, reason, raw.decode("utf-8", "replace")))
                    continue
                self.cut_off = None
                yield line, record, raw


def _from_parquet(events: ParquetEvents) -> Iterator[SourceLine]:
    line = 0
    for chunk in events.chunks(65_536):
        table: Any = chunk.events
        try:
            rows = table.to_pylist()
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, times beyond Python's
            where = f"rows {line + 1} to {line + len(chunk)} hold what cannot be read ({error})"
            raise FileError(f"{events.source.name}: {where}\nHint: write the file again") from None
        for row in rows:
            line += 1
            yield line, record_of(row), None


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of a table says: a column that is null says nothing, and an object may come as a text."""
    record = {name: value for name, value in row.items() if value is not None}
    for key in ("predict", "origin"):
        value = record.get(key)
        if isinstance(value, str):  # a table has one type a column
            record[key] = _object_of(value)
        elif isinstance(value, dict):
            record[key] = {name: part for name, part in value.items() if part is not None}
    return record


def columns_of(there: Sequence[str], written: Written = PLAINLY) -> list[str]:
    """Those columns of a table that say something of subscriptions; others are left where they are."""
    wanted = KEYS if written.dialect is None and "dialect" not in there else (*KEYS, *DESCRIBING)
    return [name for name in wanted if name in there]


def _object_of(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
