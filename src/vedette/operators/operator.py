"""Operators: functions that users plug in, with what has to be known to call them well.

    @operator(outputs=1, reads=("image",))
    def mobPattern(event): ...            # the text says mobPattern(?people) and ?people > 50

The last `outputs` arguments receive results; those before them are the inputs.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, overload

from vedette.errors import FilterError, InputError
from vedette.language import ast
from vedette.language.parser import parse
from vedette.schema.paths import SHORTER, over_limit

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Cache:
    """How many results are cached, and for how long (None: until the room is needed)."""

    size: int = 10_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not _whole(self.size, 1):
            raise InputError(f"the size of a cache is {self.size!r}\nHint: a whole number of results, 1 or more")
        if self.seconds is not None and not _positive(self.seconds):
            raise InputError(f"a cache keeps results for {self.seconds!r} seconds\nHint: a number above 0, or None")


@dataclass(frozen=True, eq=False)
class Operator:
    """A named function. Two operators are the same only if they are one object.

    `f(event, *inputs)` returns true or false, or the values found; with `batch`, `f(table, *inputs)` returns these for
    every row. None is unknown.
    """

    name: str
    function: Callable[..., Any]
    inputs: int | None  # None: any number, from *args
    outputs: int = 0  # trailing arguments that it finds
    _: KW_ONLY
    least: int = 0  # inputs that it needs where it takes any number
    batch: bool = False
    reads: tuple[str, ...] | None = None  # the attributes that it looks at; None: the whole event
    cost: float | None = None  # seconds per event; None: learned
    time_limit: float | None = 10.0  # seconds per event, or per batch if it takes batches
    cache: Cache | None = None  # None: results are shared within one event only
    concurrency: int = 16  # calls at a time, of an async function
    check: Callable[[tuple[Any, ...]], None] | None = None  # called with the constant inputs (None: no constant)

    def __post_init__(self) -> None:
        if not _callable_in_text(self.name):
            raise InputError(
                f"{self.name!r} cannot be the name of an operator\n"
                "Hint: a name that a filter can call without quotes, such as locIn or geo.distance"
            )
        if not callable(self.function):
            raise self._wrong(f"{self.function!r} is no function")
        called = inspect.unwrap(self.function)
        if inspect.isasyncgenfunction(called):
            raise self._wrong("an async generator cannot be called", "return a list of what it finds")
        if self.inputs is not None and not _whole(self.inputs, 0):
            raise self._wrong(f"inputs is {self.inputs!r}", "a whole number, or None for any number")
        for key, value, least in (
            ("outputs", self.outputs, 0),
            ("least", self.least, 0),
            ("concurrency", self.concurrency, 1),
        ):
            if not _whole(value, least):
                raise self._wrong(f"{key} is {value!r}", f"a whole number, {least} or more")
        if self.time_limit is not None and not _positive(self.time_limit):
            raise self._wrong(f"time_limit is {self.time_limit!r}", "a number of seconds above 0, or None for no limit")
        if self.cost is not None and not (self.cost == 0 or _positive(self.cost)):
            raise self._wrong(f"cost is {self.cost!r}", "seconds per event, 0 or more, or None to learn it")
        if self.cache is not None and not isinstance(self.cache, Cache):
            raise self._wrong(f"cache is {self.cache!r}", "cache=Cache(size=10_000, seconds=60)")
        if self.check is not None and not callable(self.check):
            raise self._wrong(f"check is {self.check!r}", "a function that takes the constants and raises ValueError")
        object.__setattr__(self, "reads", self._paths(self.reads))

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether a call returns an awaitable."""
        call = getattr(self.function, "__call__", None)  # noqa: B004 - of an object that can be called
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def inputs_of(self, arguments: int) -> int:
        """The number of inputs among so many arguments; InputError if it cannot be called with so many."""
        inputs = arguments - self.outputs
        least, most = (self.least, math.inf) if self.inputs is None else (self.inputs, self.inputs)
        if least <= inputs <= most:
            return inputs
        wanted = f"{least + self.outputs}{' or more' if self.inputs is None else ''}"
        raise InputError(
            f"{self.name} has {arguments} argument{'s' * (arguments != 1)}, and takes {wanted}\n"
            f"Hint: write {self.signature}"
        )

    @property
    def signature(self) -> str:
        """The form of a call in a text, e.g. `distanceFrom(place, ?found)`."""
        given = _input_names(self.function)[: self.inputs]
        named = [*given, *(f"input{number}" for number in range(len(given) + 1, (self.inputs or 0) + 1))]
        found = ["?found"] if self.outputs == 1 else [f"?found{number}" for number in range(1, self.outputs + 1)]
        return f"{self.name}({', '.join([*named, *(['…'] if self.inputs is None else []), *found])})"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **named)

    def _paths(self, reads: Iterable[str] | None) -> tuple[str, ...] | None:
        if reads is None:
            return None
        if isinstance(reads, str) or not isinstance(reads, Iterable):
            raise self._wrong(f"reads is {reads!r}", f"a tuple of attributes: reads=({reads!r},)")
        paths = tuple(reads)
        for path in paths:
            if not isinstance(path, str) or not path:
                raise self._wrong(f"reads has {path!r}", "the dotted path of an attribute, such as 'order.total'")
            if problem := over_limit(path):
                raise self._wrong(f"reads names an attribute over the limit: {problem}", SHORTER)
        if len(set(paths)) < len(paths):
            raise self._wrong(f"reads names an attribute twice: {', '.join(paths)}")
        return paths

    def _wrong(self, what: str, hint: str | None = None) -> InputError:
        return InputError(f"operator {self.name!r}: {what}" + (f"\nHint: {hint}" if hint else ""))


@overload
def operator(name: Callable[..., Any], /) -> Operator: ...


@overload
def operator(
    name: str | None = None,
    *,
    outputs: int = 0,
    batch: bool = False,
    reads: Iterable[str] | None = None,
    cost: float | None = None,
    time_limit: float | None = 10.0,
    cache: Cache | None = None,
    concurrency: int = 16,
    check: Callable[[tuple[Any, ...]], None] | None = None,
) -> Callable[[Callable[..., Any]], Operator]: ...


def operator(name: Any = None, *, outputs: int = 0, **options: Any) -> Any:
    """Make a function an operator, by its own name or another one: `@operator`, `@operator("geo.near", outputs=1)`.

    Its first parameter is the event (or the table of events), those after it are the inputs. A parameter with a
    default is no input: it belongs to the function.
    """
    if callable(name):
        return operator(None, outputs=outputs, **options)(name)

    def declared(function: Callable[..., Any]) -> Operator:
        called = name if name is not None else getattr(function, "__name__", None)
        if called is None:
            raise InputError(f'{function!r} has no name\nHint: give it one: operator("name")(…)')
        inputs, least = _inputs(called, function)
        return Operator(called, function, inputs, outputs, least=least, **options)

    return declared


def _inputs(name: str, function: Callable[..., Any]) -> tuple[int | None, int]:
    """The number of inputs a function takes (None: any number), and the number it requires."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError(
            f"operator {name!r}: {function!r} does not say what it takes\nHint: wrap it: lambda event, x: …"
        ) from None
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            raise InputError(
                f"operator {name!r}: {parameter.name!r} can be given by name only, and a filter gives none\n"
                "Hint: give it a default, or make it positional"
            )
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    many = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if not positional and not many:
        raise InputError(
            f"operator {name!r}: the function takes no event\nHint: its first parameter is the event: def f(event, …)"
        )
    if many and any(each.default is not each.empty for each in positional):
        raise InputError(
            f"operator {name!r}: a parameter with a default stands before *{parameters[len(positional)].name}\n"
            "Hint: put it behind, where it is given by name only"
        )
    needed = max(0, sum(each.default is each.empty for each in positional) - 1)
    return (None if many else needed), (needed if many else 0)


def _input_names(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in _POSITIONAL and each.default is each.empty][1:]


def _callable_in_text(name: object) -> bool:
    try:
        return isinstance(name, str) and parse(f"{name}()") == ast.Call(name, ())
    except FilterError:
        return False


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
