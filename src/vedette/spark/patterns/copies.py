"""Which events are copies of others that came before? Remembers ids as long as a copy can still be in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class Copies:
    """The ids of events, and when these were."""

    def __init__(self, ids: Any = None, times: NDArray[np.int64] | None = None) -> None:
        self._ids = pa.array([], pa.string()) if ids is None else ids
        self._times = np.zeros(0, np.int64) if times is None else times

    def __len__(self) -> int:
        return len(self._times)

    def fresh(self, ids: Any, time: NDArray[np.int64], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the events that are asked for come for the first time; those without an id always do."""
        named = asked & pc.is_valid(ids).to_numpy(zero_copy_only=False)
        mine = ids.filter(pa.array(named))
        places = np.flatnonzero(named)
        fresh = asked.copy()
        first = np.zeros(len(mine), np.bool_)
        first[np.unique(mine.dictionary_encode().indices.to_numpy(), return_index=True)[1]] = True
        if len(self._ids):
            first &= ~pc.is_in(mine, value_set=self._ids).to_numpy(zero_copy_only=False)
        fresh[places[~first]] = False
        self._ids = pa.concat_arrays([self._ids, mine.filter(pa.array(first))])
        self._times = np.concatenate([self._times, time[places[first]]])
        return fresh

    def forget(self, before: int) -> None:
        """A copy of what was before this moment is late, and need not be known."""
        kept = self._times >= before
        if not kept.all():
            self._ids, self._times = self._ids.filter(pa.array(kept)), self._times[kept]

    def table(self) -> pa.Table:
        """All of them."""
        return pa.table({"id": self._ids, "time": pa.array(self._times)})

    @staticmethod
    def of(table: pa.Table) -> Copies:
        """What `table` gave."""
        return Copies(table.column("id").combine_chunks(), table.column("time").to_numpy().astype(np.int64))
