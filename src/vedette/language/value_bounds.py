"""Sets of values between bounds, by which tests say what satisfies them, and the bounds themselves as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from vedette.language.syntax import Literal, Operand
from vedette.language.valuesets import NOTHING, PRESENT, Interval, ValueSet
from vedette.schema.keys import LOWEST, above, at_least
from vedette.schema.types import Kind

Values: TypeAlias = ValueSet[Any]
Bound: TypeAlias = Callable[[Kind, Any], Any]  # `at_least` or `above`: the first key from, or after, a constant


class Bounds(NamedTuple):
    """What a test asks for: from one bound up to another, or (`outside`: none of) a list of constants.

    The lower bound is `above` if it is open, the upper one `at_least`, since it is the first key that is too high.
    """

    low: tuple[Bound, Operand] | None = None
    high: tuple[Bound, Operand] | None = None
    listed: Sequence[Operand] = ()
    outside: bool = False


def constant_of(operand: Operand) -> Any:
    """The value of an operand that is a constant; TypeError for others."""
    if not isinstance(operand, Literal):
        raise TypeError(f"not a constant: {operand}")
    return operand.value


def from_low(kind: Kind, low: Any) -> Values:
    """All values from a key on."""
    if low is None:
        return NOTHING
    return PRESENT if low == LOWEST[kind] else ValueSet((Interval(low, None),))


def to_high(kind: Kind, high: Any) -> Values:
    """All values below a key."""
    if high is None:
        return PRESENT
    return NOTHING if high <= LOWEST[kind] else ValueSet((Interval(None, high),))


def between(kind: Kind, low: Any, high: Any) -> Values:
    """All values from a key up to another, which is not among them."""
    if low is None or (high is not None and low >= high):
        return NOTHING
    return ValueSet((Interval(None if low == LOWEST[kind] else low, high),))


def equal(kind: Kind, value: Any) -> Values:
    """One value."""
    return between(kind, at_least(kind, value), above(kind, value))


def prefixed(prefix: str) -> Values:
    """All texts that begin with this one (which is not empty)."""
    low = prefix.encode()
    return ValueSet((Interval(low, after_prefix(low)),))


def after_prefix(prefix: bytes) -> bytes:
    """The first key after all that begin with the prefix: no byte of UTF-8 is 0xff."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))
