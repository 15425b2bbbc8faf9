"""Lazy attributes: computed when first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801 - it reads as a decorator
    """A lazy attribute, as `functools.cached_property`, but no thread ever waits for another one.

    Until Python 3.12 `cached_property` holds a lock, for all objects of a class; here two threads may both compute the
    value at the same time, and one of the results is kept.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> once[Value] | Value:
        if instance is None:
            return self
        value = self._function(instance)
        kept: Value = instance.__dict__.setdefault(self._name, value)
        return kept
