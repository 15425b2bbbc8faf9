"""Details of outcomes as the ends of their lines, and as columns of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.engine.outcomes import KINDS, MATCH, OutcomeDetail, OutcomeDetails
from vedette.operators.values import as_text

TYPES: Final[Mapping[str, pa.DataType]] = {
    "steps": pa.map_(pa.string(), pa.string()),
    "bindings": pa.map_(pa.string(), pa.string()),
    "probability": pa.float64(),
    "within": pa.int64(),
}
_TEXT: Final = pa.large_string()
_UNSAFE: Final = r'[\x00-\x1f"\\]'


# ---------------------------------------------------------------- lines


def line_ends(subscriptions: pa.Array, details: OutcomeDetails, origins: Mapping[str, str]) -> pa.Array:
    """The part of a line after the event: the subscription's id, the kind, and all details."""
    bindings = [f', "bindings": {spaced(each)}' if each else None for each in details.bindings]
    last: pa.Scalar | pa.Array = pa.scalar("}\n", _TEXT)
    if origins:
        last = pa.array([ending(origins.get(id_)) or "}\n" for id_ in subscriptions.to_pylist()], _TEXT)
    return _joined(
        quoted(subscriptions),
        _kinds().take(pa.array(details.kind)),
        _forecasts(details),
        _steps(details.steps),
        pa.array(bindings, _TEXT),
        last,
    )


@cache
def _kinds() -> pa.Array:
    return pa.array([f', "kind": "{kind}"' for kind in KINDS], _TEXT)


def _forecasts(details: OutcomeDetails) -> pa.Array:
    """The probability, and the number of events within which it holds."""
    if details.probability.null_count == len(details.probability):
        return pa.nulls(len(details.probability), _TEXT)
    known = rounded(details.probability).to_pylist()
    within = details.within.to_pylist()
    return pa.array(
        [
            None if likely is None else f', "probability": {json_of(likely)}, "within": {events}'
            for likely, events in zip(known, within, strict=True)
        ],
        _TEXT,
    )


def _steps(steps: pa.Array) -> pa.Array:
    """The names of steps and their events."""
    assert isinstance(steps, pa.MapArray)
    none = _is_none(steps)
    if none.all():
        return pa.nulls(len(steps), _TEXT)
    each = pc.binary_join_element_wise(quoted(steps.keys), quoted(steps.items), pa.scalar(": ", _TEXT))
    lists = pa.LargeListArray.from_arrays(steps.offsets.cast(pa.int64()), each, mask=pa.array(none))
    inner = pc.binary_join(lists, pa.scalar(", ", _TEXT))
    return pc.binary_join_element_wise(
        pa.scalar(', "steps": {', _TEXT), inner, pa.scalar("}", _TEXT), pa.scalar("", _TEXT)
    )


def _is_none(steps: pa.Array) -> NDArray[np.bool_]:
    """Which rows have no steps, as those of filters."""
    assert isinstance(steps, pa.MapArray)
    none: NDArray[np.bool_] = np.diff(steps.offsets.to_numpy()) == 0
    return none


def _joined(first: pa.Array, *texts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(
        first, *texts, pa.scalar("", _TEXT), null_handling="replace", null_replacement=""
    )


def quoted(texts: pa.Array) -> pa.Array:
    """Texts as JSON strings."""
    mark = pa.scalar('"', _TEXT)
    return pc.binary_join_element_wise(mark, escaped(texts), mark, pa.scalar("", _TEXT))


def escaped(texts: pa.Array) -> pa.Array:
    """The inner part of JSON strings."""
    if pc.any(pc.match_substring_regex(texts, _UNSAFE)).as_py():
        return pa.array([orjson.dumps(text).decode()[1:-1] for text in texts.to_pylist()], _TEXT)
    return texts.cast(_TEXT)


@lru_cache(1 << 16)
def ending(origin: str | None) -> str | None:
    """The end of a line with the subscription's origin."""
    return None if origin is None else f', "origin": {json.dumps(orjson.loads(origin), ensure_ascii=False)}}}\n'


def spaced(said: Mapping[str, Any]) -> str:
    """JSON with a space after every comma and colon, as in matches of filters."""
    shown = (spaced(value) if isinstance(value, dict) else json_of(value) for value in said.values())
    return "{" + ", ".join(f"{json_of(str(name))}: {value}" for name, value in zip(said, shown, strict=True)) + "}"


def json_object(said: Mapping[str, Any]) -> str:
    """Values of variables as a JSON object, without spaces."""
    return "{" + ",".join(f"{json_of(str(name))}:{json_of(value)}" for name, value in said.items()) + "}"


def in_json(detail: OutcomeDetail | None) -> dict[str, Any]:
    """The details of one row, as in its line."""
    if detail is None:
        return {"kind": KINDS[MATCH]}
    said: dict[str, Any] = {"kind": detail.kind}
    if detail.probability is not None:
        said |= {"probability": round(detail.probability, 6), "within": detail.within}
    if detail.steps:
        said["steps"] = dict(detail.steps)
    if detail.bindings:
        said["bindings"] = orjson.loads(spaced(detail.bindings))
    return said


def json_of(value: Any) -> str:
    """A value for JSON: what has no type there becomes text, as do numbers that most readers of JSON would spoil."""
    if isinstance(value, float) and not math.isfinite(value):
        return orjson.dumps(as_text(value)).decode()  # null would mean that nothing was found
    try:
        return orjson.dumps(value, default=str).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(as_text(value)).decode()


# ---------------------------------------------------------------- columns


def columns(size: int, details: OutcomeDetails | None, names: Sequence[str]) -> list[pa.Array]:
    """The kind of each of so many rows, and some columns of details."""
    if details is None:
        return [pa.repeat("match", size), *(pa.nulls(size, TYPES[name]) for name in names)]
    place = np.full(size, -1)
    place[details.row] = np.arange(len(details.row))
    there = pa.array(place, mask=place < 0)
    kinds = np.zeros(size, np.int8)
    kinds[details.row] = details.kind
    return [pa.array(KINDS, pa.string()).take(pa.array(kinds)), *(_column(details, name).take(there) for name in names)]


def _column(details: OutcomeDetails, name: str) -> pa.Array:
    if name == "bindings":
        return pa.array([_texts(each) if each else None for each in details.bindings], TYPES[name])
    if name == "steps":
        return details.steps.take(pa.array(np.arange(len(details.row)), mask=_is_none(details.steps)))
    return rounded(details.probability) if name == "probability" else details.within


def _texts(said: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return [(name, as_text(value)) for name, value in said.items()]


def rounded(probability: pa.Array) -> pa.Array:
    """A number with as many digits as files have."""
    if probability.null_count == len(probability):
        return probability
    return pa.array([None if one is None else round(one, 6) for one in probability.to_pylist()], pa.float64())
