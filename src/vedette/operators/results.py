"""Results of operators: what functions return, as truth and bindings of Python values; and a cache of them.

NumPy's and Arrow's values are converted here. A result of the wrong form makes its event unknown, with the reason.
"""

from __future__ import annotations

import itertools
import reprlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from vedette.operators.failures import Failure
from vedette.operators.operator import Cache
from vedette.schema.arrays import is_list, list_parts, plain, validity
from vedette.schema.python_values import python_values

MOST_BINDINGS = 10_000  # per event


class EvaluationResult(NamedTuple):
    """The result of an evaluation for one event. None is unknown, without a failure."""

    truth: bool | None
    bindings: Sequence[tuple[Any, ...]] = ()


EvaluationOutcome: TypeAlias = EvaluationResult | Failure
_UNKNOWN, _TRUE, _FALSE = EvaluationResult(None), EvaluationResult(True), EvaluationResult(False)
_TOO_MANY = Failure("result", f"more than {MOST_BINDINGS:,} bindings for one event")


def read_one(result: Any, outputs: int) -> EvaluationOutcome:
    """The result for one event."""
    result = _plain(result)
    if result is None:
        return _UNKNOWN
    if outputs == 0:
        if isinstance(result, bool):
            return _TRUE if result else _FALSE
        return _wrong(f"gave {_shown(result)}, not True, False or None")
    values = _several(result)
    if values is None:
        if outputs > 1 or isinstance(result, Mapping):
            return _wrong(f"gave {_shown(result)}, not a list of {'values' if outputs == 1 else 'tuples'}")
        return EvaluationResult(True, [(result,)])
    # An iterator may have no end.
    taken = list(itertools.islice(values, MOST_BINDINGS + 1))
    return _TOO_MANY if len(taken) > MOST_BINDINGS else _bindings(taken, outputs)


def _bindings(values: Sequence[Any], outputs: int) -> EvaluationOutcome:
    if outputs == 1:
        return EvaluationResult(bool(values), [(_plain(value),) for value in values])
    bindings = []
    for value in values:
        if not isinstance(value, tuple | list) or len(value) != outputs:
            return _wrong(f"gave a binding {_shown(value)}, not a tuple of {outputs} values")
        bindings.append(tuple(_plain(each) for each in value))
    return EvaluationResult(bool(bindings), bindings)


def read_many(result: Any, outputs: int, size: int) -> list[EvaluationOutcome]:
    """The results of a batch, event by event."""
    if isinstance(result, np.ndarray) and result.ndim == 1 and result.dtype.kind != "O":
        result = pa.array(result)
    if not isinstance(result, pa.Array | pa.ChunkedArray | np.ndarray | list | tuple):
        return [_wrong(f"gave {_shown(result)}, not an array or a list of {size} results")] * size
    if len(result) != size:
        return [_wrong(f"gave {len(result)} results for {size} events")] * size
    if isinstance(result, pa.Array | pa.ChunkedArray):
        array = plain(result)
        reads: Callable[[Any, int], list[EvaluationOutcome]] = _lists if is_list(array.type) and outputs else _singles
        return [_UNKNOWN] * size if pa.types.is_null(array.type) else reads(array, outputs)
    return [read_one(each, outputs) for each in result]


def _singles(array: pa.Array, outputs: int) -> list[EvaluationOutcome]:
    """A truth, or one binding, for each event."""
    if outputs == 0:
        if not pa.types.is_boolean(array.type):
            return [_wrong(f"gave an array of {array.type}, not of booleans")] * len(array)
        said = {True: _TRUE, False: _FALSE, None: _UNKNOWN}
        return [said[truth] for truth in array.to_pylist()]
    rows = _rows(array, outputs)
    if rows is None:
        return [_not_structs(array.type, outputs)] * len(array)
    present = validity(array).tolist()
    return [EvaluationResult(True, [row]) if there else _UNKNOWN for row, there in zip(rows, present, strict=True)]


def _lists(array: pa.Array, outputs: int) -> list[EvaluationOutcome]:
    """A list of bindings for each event."""
    start, elements, present = list_parts(array)
    rows = _rows(plain(elements), outputs)
    if rows is None:
        return [_not_structs(elements.type, outputs)] * len(array)
    outcomes: list[EvaluationOutcome] = []
    for (first, last), there in zip(itertools.pairwise(start.tolist()), present.tolist(), strict=True):
        if not there:
            outcomes.append(_UNKNOWN)
        else:
            outcomes.append(
                _TOO_MANY if last - first > MOST_BINDINGS else EvaluationResult(last > first, rows[first:last])
            )
    return outcomes


def _rows(array: pa.Array, outputs: int) -> list[tuple[Any, ...]] | None:
    """Each element as a binding; None if it has the wrong number of fields."""
    if outputs == 1:
        return [(value,) for value in python_values(array)]
    if pa.types.is_null(array.type):
        return [(None,) * outputs for _ in range(len(array))]
    if not isinstance(array, pa.StructArray) or array.type.num_fields != outputs:
        return None
    return list(zip(*(python_values(plain(field)) for field in array.flatten()), strict=True))


def _several(result: Any) -> Iterable[Any] | None:
    """The values of a result with several; None if it is one plain value."""
    if isinstance(result, pa.Array | pa.ChunkedArray):
        return python_values(plain(result))
    if isinstance(result, np.ndarray):
        return result if result.ndim else [result.item()]
    return result if isinstance(result, list | tuple | AbstractSet | Iterator) else None


def _plain(value: Any) -> Any:
    """NumPy's and Arrow's scalars as Python values."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value.astype("datetime64[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pa.Scalar):
        return python_values(plain(pa.repeat(value, 1)))[0] if value.is_valid else None
    return value


def _not_structs(stored: pa.DataType, outputs: int) -> Failure:
    return _wrong(f"gave values of {stored}, not structs of {outputs} fields")


def _wrong(reason: str) -> Failure:
    return Failure("result", reason)


def _shown(value: Any) -> str:
    return reprlib.repr(value)


class ResultCache:
    """Results by key: those used last, for a limited time; any number of threads may use it."""

    def __init__(self, kept: Cache, clock: Callable[[], float]) -> None:
        self._kept = kept
        self._clock = clock
        self._found: OrderedDict[Hashable, tuple[float, EvaluationResult]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> EvaluationResult | None:
        """The cached result of a key, unless it is too old."""
        with self._lock:
            entry = self._found.get(key)
            if entry is None:
                return None
            stored, found = entry
            if self._kept.seconds is not None and self._clock() - stored >= self._kept.seconds:
                del self._found[key]
                return None
            self._found.move_to_end(key)
            return found

    def put(self, key: Hashable, found: EvaluationResult) -> None:
        """Cache a result; the least recently used one makes room."""
        with self._lock:
            self._found[key] = self._clock(), found
            self._found.move_to_end(key)
            while len(self._found) > self._kept.size:
                self._found.popitem(last=False)


def key_of(value: Any) -> Hashable:
    """A key that is equal for equal values of one type only: 1, 1.0 and true are three. TypeError if there is none."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, float):
        return float, value.hex()  # NaN is itself, and the two zeros are two
    if isinstance(value, Mapping):
        return dict, frozenset((name, key_of(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(key_of(each) for each in value)
    hash(value)
    return type(value), value
