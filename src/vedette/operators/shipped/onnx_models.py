"""Outputs of an ONNX file for many events at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.schema.arrays import is_text, is_text_dictionary, plain, validity

# What attributes can be turned into.
_TYPES = {
    "tensor(float)": pa.float32(),
    "tensor(double)": pa.float64(),
    "tensor(int64)": pa.int64(),
    "tensor(int32)": pa.int32(),
    "tensor(bool)": pa.bool_(),
    "tensor(string)": pa.string(),
}


class ModelInput(NamedTuple):
    """An input of the model, and the attributes that it gets."""

    name: str
    type: pa.DataType
    flat: bool  # one number for each event, and no list of features
    paths: Sequence[str]


class LoadedModel(NamedTuple):
    """A model in memory."""

    session: Any
    inputs: list[ModelInput]
    output: str
    one_by_one: bool  # the model was made for a single event


class ModelFile:
    """A model file and its input attributes. It is loaded on first use."""

    def __init__(
        self,
        name: str,
        path: Path,
        inputs: Mapping[str | None, Sequence[str]],  # None: the only one that the model has
        output: str | None,
        column: int | None,
        threads: int,
    ) -> None:
        self._name, self._path, self._inputs = name, path, inputs
        self._output, self._column, self._threads = output, column, threads
        self.reads = tuple(dict.fromkeys(path for paths in inputs.values() for path in paths))
        self._loaded: LoadedModel | None = None
        self._alone = threading.Lock()

    def load(self) -> LoadedModel:
        """Read the file; ValueError if it is no model, or its inputs do not fit the settings."""
        with self._alone:
            if self._loaded is None:
                session = self._session()
                taken = list(self._taken(session))
                sizes = {shape[0] for shape in (each.shape for each in session.get_inputs()) if shape}
                fixed = {size for size in sizes if isinstance(size, int)}
                if fixed - {1}:
                    raise self._wrong(f"takes {max(fixed)} events at a time", "export it with a free first dimension")
                self._loaded = LoadedModel(session, taken, self._given(session), bool(fixed))
            return self._loaded

    def answers(self, events: Any) -> Any:
        """One value for each event; null where an attribute is missing."""
        columns = {path: plain(events.column(path)) for path in self.reads}
        present = np.logical_and.reduce([validity(column) for column in columns.values()])
        rows = np.flatnonzero(present)
        if not len(rows):
            return pa.nulls(len(present))
        session, inputs, output, one_by_one = self.load()
        kept = {path: column.take(pa.array(rows)) for path, column in columns.items()}
        feeds = {each.name: _features(each, kept) for each in inputs}
        pieces = [slice(row, row + 1) for row in range(len(rows))] if one_by_one else [slice(None)]
        parts = [session.run([output], {name: feed[some] for name, feed in feeds.items()})[0] for some in pieces]
        values = self._column_of(np.concatenate(parts))
        where = np.cumsum(present) - 1
        return pa.array(values.tolist()).take(pa.array(where, mask=~present))

    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors alone, which are raised as well
        try:
            return onnxruntime.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # they have no root of their own
            raise ValueError(f"{self._path} of [{self._name}] cannot be loaded: {error}") from None

    def _taken(self, session: Any) -> Iterator[ModelInput]:
        there = {each.name: each for each in session.get_inputs()}
        inputs = self._inputs
        if None in inputs and len(there) == 1:
            inputs = {next(iter(there)): inputs[None]}
        if inputs.keys() != there.keys():
            raise self._wrong(f"takes {', '.join(there)}", f"`inputs` of [{self._name}] says which attributes go where")
        for name, paths in inputs.items():
            type_, shape = there[name].type, there[name].shape
            if type_ not in _TYPES or not 1 <= len(shape) <= 2:
                known = ", ".join(_TYPES)
                raise self._wrong(
                    f"takes {type_} of {len(shape)} dimensions as {name}", f"1 or 2 of {known} can be given"
                )
            wanted = shape[1] if len(shape) == 2 else 1
            if isinstance(wanted, int) and wanted != len(paths):
                raise self._wrong(
                    f"takes {wanted} features as {name}, and gets {len(paths)}", f"mend `inputs` of [{self._name}]"
                )
            yield ModelInput(str(name), _TYPES[type_], len(shape) == 1, paths)

    def _given(self, session: Any) -> str:
        there = {each.name: each for each in session.get_outputs()}
        name = self._output or next(iter(there))
        if name not in there:
            raise self._wrong(f"gives no {name}", f"`output` of [{self._name}] is one of {', '.join(there)}")
        if not there[name].type.startswith("tensor("):
            raise self._wrong(
                f"gives {there[name].type} as {name}", "export it so that it gives a tensor (zipmap=False)"
            )
        shape = there[name].shape or []
        if len(shape) == 2 and isinstance(shape[1], int):
            self._check_column(shape[1])
        return name

    def _column_of(self, values: NDArray[Any]) -> NDArray[Any]:
        values = values.reshape(len(values), -1)
        self._check_column(values.shape[1])
        return values[:, self._column or 0]

    def _check_column(self, width: int) -> None:
        if self._column is None and width > 1:
            raise self._wrong(f"gives {width} values for each event", f"`column` of [{self._name}] says which")
        if self._column is not None and self._column >= width:
            raise self._wrong(f"has no column {self._column}", f"`column` of [{self._name}] is at most {width - 1}")

    def _wrong(self, what: str, hint: str) -> ValueError:
        return ValueError(f"the model of [{self._name}] {what}: {hint}")


def _features(taken: ModelInput, columns: Mapping[str, Any]) -> NDArray[Any]:
    """The attributes in the form of the model's input."""
    found = [_feature(columns[path], path, taken.type) for path in taken.paths]
    return found[0] if taken.flat else np.stack(found, axis=1)


def _feature(array: pa.Array, path: str, type_: pa.DataType) -> NDArray[Any]:
    is_words = is_text(array.type) or is_text_dictionary(array.type)
    is_number = pa.types.is_primitive(array.type) and not pa.types.is_temporal(array.type)
    if is_words != (type_ == pa.string()) or not (is_words or is_number or pa.types.is_decimal(array.type)):
        raise TypeError(f"attribute {path!r} is of type {array.type}, and the model takes {type_}")
    # A fraction is not cut off to make a whole number; a float loses what it cannot hold.
    exact = array.cast(type_, safe=not pa.types.is_floating(type_))
    feature: NDArray[Any] = exact.to_numpy(zero_copy_only=False)
    return feature
