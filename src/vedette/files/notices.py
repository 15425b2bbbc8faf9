"""What a match of a pattern, or a forecast, says beyond the ids of event and subscription."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

MATCH, PREDICTION = "match", "prediction"
COLUMNS = (
    ("steps", pa.map_(pa.string(), pa.string())),
    ("bindings", pa.map_(pa.string(), pa.string())),
    ("probability", pa.float64()),
    ("within", pa.int64()),
)


class Notice(NamedTuple):
    """The witness (so far), the values of join variables, and of a forecast the probability and its horizon."""

    kind: str
    steps: Mapping[str, str]  # name of a step -> id of its event
    bindings: Mapping[str, Any] = {}
    probability: float | None = None
    within: int | None = None  # events

    def json(self) -> str:
        """The end of its line, from `kind` on."""
        said: dict[str, Any] = {"kind": self.kind}
        if self.probability is not None:
            said |= {"probability": self.probability, "within": self.within}
        said["steps"] = dict(self.steps)
        if self.bindings:
            said["bindings"] = dict(self.bindings)
        return _spaced(said)[1:] + "\n"


def _spaced(said: Mapping[str, Any]) -> str:
    """JSON with a space after every comma and colon, as matches of filters have it."""
    parts = []
    for name, value in said.items():
        shown = _spaced(value) if isinstance(value, dict) else orjson.dumps(value, default=str).decode()
        parts.append(f"{orjson.dumps(name).decode()}: {shown}")
    return "{" + ", ".join(parts) + "}"


@dataclass(frozen=True, slots=True)
class Notices:
    """The rows among many that say more than that a filter matched."""

    rows: NDArray[np.int64]  # ascending
    notices: Sequence[Notice]  # one a row

    def part(self, begin: int, end: int) -> Notices:
        """Those of some rows, counted from the first of them."""
        first, last = np.searchsorted(self.rows, [begin, end]).tolist()
        return Notices(self.rows[first:last] - begin, self.notices[first:last])

    def columns(self, size: int) -> list[Any]:
        """Kind and the columns beyond it, for all rows."""
        kinds: list[Any] = [MATCH] * size
        others: list[list[Any]] = [[None] * size for _ in COLUMNS]
        for row, notice in zip(self.rows.tolist(), self.notices, strict=True):
            kinds[row] = notice.kind
            said = (list(notice.steps.items()), _texts(notice.bindings), notice.probability, notice.within)
            for column, value in zip(others, said, strict=True):
                column[row] = value
        made = (pa.array(values, type_) for values, (_, type_) in zip(others, COLUMNS, strict=True))
        return [pa.array(kinds, pa.string()), *made]


def _texts(bindings: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return [
        (name, value if isinstance(value, str) else orjson.dumps(value, default=str).decode().strip('"'))
        for name, value in bindings.items()
    ]
