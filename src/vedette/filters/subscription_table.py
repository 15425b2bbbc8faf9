"""The table of a segment's subscriptions: ids, texts, subscribers and origins."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.errors import UnknownSubscription
from vedette.filters.origins import NO_ORIGIN, Origin
from vedette.lazy import once

_SLICE = 8192  # ids that are read before other threads get a turn
_FIELDS = pa.schema(
    [
        pa.field("id", pa.large_string(), nullable=False),
        pa.field("when", pa.large_string()),
        pa.field("subscriber", pa.large_string()),
    ]
)
_WITH_ORIGINS = pa.schema([*_FIELDS, *(pa.field(name, pa.large_string()) for name in ("origin", "dialect", "rule"))])


@dataclass(frozen=True)
class SubscriptionTable:
    """Columns `id`, `when` and `subscriber`, by ordinal: the order of addition.

    If some have an origin, there are also `origin` (JSON), `dialect` and `rule`; otherwise these columns do not exist.
    """

    table: pa.RecordBatch

    @classmethod
    def of(
        cls,
        ids: Sequence[str] | pa.Array,
        texts: Sequence[str] | pa.Array | None = None,
        subscribers: Sequence[str | None] | pa.Array | None = None,
        origins: Mapping[int, Origin] | None = None,
    ) -> SubscriptionTable:
        """Make a table from lists or Arrow arrays; texts and subscribers may be unknown; `origins` is by ordinal."""
        columns = [_strings(values, len(ids)) for values in (ids, texts, subscribers)]
        if not origins:
            return cls(pa.RecordBatch.from_arrays(columns, schema=_FIELDS))
        rows = [origins.get(ordinal, NO_ORIGIN) for ordinal in range(len(ids))]
        columns += [pa.array(column, pa.large_string()) for column in zip(*rows, strict=True)]
        return cls(pa.RecordBatch.from_arrays(columns, schema=_WITH_ORIGINS))

    @classmethod
    def concatenate(cls, parts: Iterable[SubscriptionTable]) -> SubscriptionTable:
        """The rows of all parts, in their order."""
        batches = [part.table for part in parts]
        if not batches:
            return cls.of([])
        fields = max((batch.schema for batch in batches), key=len)
        columns = [
            pa.concat_arrays([batch.column(i) if i < batch.num_columns else _unknown(batch) for batch in batches])
            for i in range(len(fields))
        ]
        return cls(pa.RecordBatch.from_arrays(columns, schema=fields))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def ids(self) -> pa.LargeStringArray:
        """The id of every subscription."""
        ids = self.table.column(0)
        assert isinstance(ids, pa.LargeStringArray)
        return ids

    def keep(self, chosen: NDArray[np.bool_]) -> SubscriptionTable:
        """The table with only the chosen rows."""
        kept = self.table.filter(pa.array(chosen))
        if kept.num_columns > len(_FIELDS) and all(column.null_count == len(kept) for column in kept.columns[3:]):
            kept = kept.select(_FIELDS.names)  # without origins the columns go, as if there had never been any
        return SubscriptionTable(kept)

    def text(self, ordinal: int) -> str | None:
        """The text of a subscription; None if subscriptions came as columns of constants."""
        found: str | None = self.table.column(1)[ordinal].as_py()
        return found

    def subscriber(self, ordinal: int) -> str | None:
        """The subscriber, if known."""
        found: str | None = self.table.column(2)[ordinal].as_py()
        return found

    @property
    def has_origins(self) -> bool:
        """Whether some subscriptions have an origin."""
        return bool(self.table.num_columns > len(_FIELDS))

    def origin(self, ordinal: int) -> Origin:
        """The origin of a subscription, as far as known."""
        if not self.has_origins:
            return NO_ORIGIN
        return Origin(*(column[ordinal].as_py() for column in self.table.columns[3:]))

    def told(self) -> dict[str, str]:
        """Id -> the facts that its notifications carry (JSON), for subscriptions that have some."""
        if not self.has_origins:
            return {}
        facts = self.table.column(3)
        some = facts.is_valid()
        return dict(zip(self.ids.filter(some).to_pylist(), facts.filter(some).to_pylist(), strict=True))

    def ordinal(self, id_: str) -> int:
        """The ordinal of an id; of a repeated id, the last."""
        found = np.flatnonzero(pc.equal(self.ids, id_).to_numpy(zero_copy_only=False))
        if not len(found):
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        return int(found[-1])

    @property
    def has_texts(self) -> bool:
        """Whether every subscription has its text."""
        return int(self.table.column(1).null_count) == 0

    def digest(self) -> bytes:
        """A hash of the whole table; equal for the same subscriptions in the same order, wherever they are stored."""
        found = hashlib.sha256()
        for column in self.table.columns:
            _, offsets, data = column.buffers()
            bounds = np.zeros(1)
            if offsets:
                bounds = np.frombuffer(memoryview(offsets), np.int64, len(column) + 1, column.offset * 8)
            lengths = np.diff(bounds)
            if column.null_count:  # null differs from the empty text
                lengths[~column.is_valid().to_numpy(zero_copy_only=False)] = -1
            found.update(lengths.astype("<i8").data)
            if data is not None:
                found.update(memoryview(data)[int(bounds[0]) : int(bounds[-1])])
        return found.digest()

    @once
    def ordinals(self) -> dict[str, int]:
        """Id -> ordinal; of a repeated id, the last."""
        found: dict[str, int] = {}
        for begin in range(0, len(self), _SLICE):
            found.update(zip(self.ids[begin : begin + _SLICE].to_pylist(), itertools.count(begin), strict=False))
        return found

    @once
    def _read(self) -> list[str | None]:
        return [None] * len(self)

    def names(self, ordinals: list[int]) -> list[str]:
        """The ids of a few ordinals; each is read from the array once."""
        read = self._read
        found = [read[ordinal] for ordinal in ordinals]
        if None in found:
            for place, ordinal in enumerate(ordinals):
                if found[place] is None:
                    found[place] = read[ordinal] = self.ids[ordinal].as_py()
        return cast("list[str]", found)


def _unknown(batch: pa.RecordBatch) -> pa.Array:
    return pa.nulls(batch.num_rows, pa.large_string())


def _strings(values: Sequence[str | None] | pa.Array | None, size: int) -> pa.Array:
    if values is None:
        return pa.nulls(size, pa.large_string())
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.large_string())
    return pa.array(values, pa.large_string())
