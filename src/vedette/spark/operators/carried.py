"""How do operators get to the workers? As the text of the file they come from, pickled by Spark, or as installed."""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark import cloudpickle

from vedette.errors import InputError
from vedette.operators.calling import Calling
from vedette.operators.operator import Operator
from vedette.operators.registry import Operators, Written
from vedette.operators.statistics import Statistics

Handed: TypeAlias = "Operators | Calling | str | Path | None"
_ALIVE: Final = 64
_latest: deque[Calling] = deque(maxlen=_ALIVE)  # those that nobody else holds on to, so that failures get told


@dataclass(frozen=True, slots=True)
class Carried:
    """Operators on their way; the workers that get the same `key` have the same operators."""

    key: str
    written: Written | None = None
    pickled: bytes | None = None  # None, as `written`: the installed ones

    def operators(self) -> Operators:
        """In a worker: the operators themselves."""
        if self.written is not None:
            return Operators.read_again(self.written)
        if self.pickled is not None:
            made: Operators = pickle.loads(self.pickled)  # noqa: S301 - it comes from our own driver
            return made
        return Operators.installed()


def calling_of(given: Any, known: Statistics | None = None) -> Calling:
    """What was handed in as operators, and what is `known` of them: a Calling knows that already."""
    if isinstance(given, Calling):
        return given
    if isinstance(given, str | Path):
        given = Operators.read(given)
    if given is not None and not isinstance(given, Operators):
        raise InputError(
            f"operators are handed in as Operators, a Calling or the path of a file, not as {type(given).__name__}\n"
            "Hint: vedette.Operators(one, other) makes them of single ones"
        )
    made = Calling(given, statistics=known)
    _latest.append(made)
    return made


def carried(calling: Calling) -> Carried:
    """The operators of a calling, ready to travel; InputError says of which one that cannot be."""
    if calling.installed:
        return Carried("installed")
    operators = calling.operators
    if operators.written is not None:
        return Carried(_digest(repr(operators.written).encode()), written=operators.written)
    pickled = _pickled(operators)
    return Carried(_digest(pickled), pickled=pickled)


def _pickled(operators: Operators) -> bytes:
    try:
        return _dumped(operators)
    except Exception as whole:
        for name, operator in operators.items():
            try:
                _dumped(operator)
            except Exception as error:
                raise InputError(
                    f"operator {name!r} cannot be sent to Spark's workers: {error}\n"
                    "Hint: make what it holds on to when it is first called, or hand in the path of the file that has "
                    "it, which the workers run themselves"
                ) from error
        raise InputError(f"the operators cannot be sent to Spark's workers: {whole}") from whole


def _dumped(thing: Operators | Operator) -> bytes:
    made: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    return made


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
