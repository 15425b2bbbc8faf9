"""What a match with variables or of a pattern, or a forecast, says beyond the ids of event and subscription."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from vedette.operators.values import as_text

MATCH, PREDICTION = "match", "prediction"
_BINDINGS = ("bindings", pa.map_(pa.string(), pa.string()))
COLUMNS = (
    ("steps", pa.map_(pa.string(), pa.string())),
    _BINDINGS,
    ("probability", pa.float64()),
    ("within", pa.int64()),
)
COLUMNS_OF_FILTERS = (_BINDINGS,)  # where there are no patterns


class Notice(NamedTuple):
    """The witness (so far), the values of variables, and of a forecast the probability and its horizon.

    A filter has no witness: its match is one event.
    """

    kind: str
    steps: Mapping[str, str]  # name of a step -> id of its event
    bindings: Mapping[str, Any] = {}
    probability: float | None = None
    within: int | None = None  # events

    def json(self, origin: str | None = None) -> str:
        """The end of its line, from `kind` on; with where the subscription comes from, as JSON."""
        said: dict[str, Any] = {"kind": self.kind}
        if self.probability is not None:
            said |= {"probability": self.probability, "within": self.within}
        if self.steps:
            said["steps"] = dict(self.steps)
        if self.bindings:
            said["bindings"] = dict(self.bindings)
        return _spaced(said)[1:-1] + (ending(origin) or "}\n")


def ending(origin: str | None) -> str | None:
    """The end of a line that says where its subscription comes from."""
    return None if origin is None else f', "origin": {json.dumps(orjson.loads(origin), ensure_ascii=False)}}}\n'


def _spaced(said: Mapping[str, Any]) -> str:
    """JSON with a space after every comma and colon, as matches of filters have it."""
    parts = []
    for name, value in said.items():
        shown = _spaced(value) if isinstance(value, dict) else json_of(value)
        parts.append(f"{json_of(str(name))}: {shown}")
    return "{" + ", ".join(parts) + "}"


def json_of(value: Any) -> str:
    """What JSON has no type for is a text, as are numbers that most readers of JSON would spoil."""
    if isinstance(value, float) and not math.isfinite(value):
        return orjson.dumps(as_text(value)).decode()  # null would say that nothing was found
    try:
        return orjson.dumps(value, default=str).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(as_text(value)).decode()


@dataclass(frozen=True, slots=True)
class Notices:
    """The rows among many that say more than that a filter matched."""

    rows: NDArray[np.int64]  # ascending
    notices: Sequence[Notice]  # one a row

    def part(self, begin: int, end: int) -> Notices:
        """Those of some rows, counted from the first of them."""
        first, last = np.searchsorted(self.rows, [begin, end]).tolist()
        return Notices(self.rows[first:last] - begin, self.notices[first:last])

    def columns(self, size: int, columns: Sequence[tuple[str, Any]] = COLUMNS) -> list[Any]:
        """Kind and some columns beyond it, for all rows."""
        kinds: list[Any] = [MATCH] * size
        others: dict[str, list[Any]] = {name: [None] * size for name, _ in columns}
        for row, notice in zip(self.rows.tolist(), self.notices, strict=True):
            kinds[row] = notice.kind
            for name, column in others.items():
                column[row] = _plain(getattr(notice, name))
        return [pa.array(kinds, pa.string()), *(pa.array(others[name], type_) for name, type_ in columns)]


def _plain(said: Any) -> Any:
    """What a column takes."""
    if not isinstance(said, Mapping):
        return said
    return _texts(said) if said else None


def _texts(said: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return [(name, as_text(value)) for name, value in said.items()]
