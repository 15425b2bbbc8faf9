"""Patterns as they are subscribed to: what they say, whose they are, and which forecasts they ask for."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vedette.errors import FilterError, InputError, NotSupported
from vedette.language.ast import Composite
from vedette.language.check import check
from vedette.language.hints import similar
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema

THRESHOLD = 0.5
_KEYS = ("within", "threshold", "features")
_FEATURES = 16  # each doubles the kinds of events that are told apart
_HINT = 'write e.g. {"within": 10, "threshold": 0.8}'
NEEDS_PATTERN = "`predict` asks for forecasts, which need a pattern over several events\nHint: leave `predict` out"


@dataclass(frozen=True, slots=True)
class Predict:
    """Tell as soon as the pattern completes within so many events with at least this probability."""

    within: int
    threshold: float = THRESHOLD
    features: tuple[str, ...] = ()  # filters that refine the forecast, never the match

    @classmethod
    def of(cls, given: object) -> Predict:
        """What a mapping asks for; InputError says what is wrong with it."""
        if isinstance(given, Predict):
            return given
        if not isinstance(given, Mapping):
            raise InputError(f"`predict` is {reprlib.repr(given)}, not an object\nHint: {_HINT}")
        for name in given:
            if name not in _KEYS:
                near = similar(str(name), _KEYS)
                hint = f"did you mean `{near}`?" if near else f"it has {', '.join(f'`{key}`' for key in _KEYS)}"
                raise InputError(f"`predict` has a part that is not known: {name!r}\nHint: {hint}")
        within, threshold = given.get("within"), given.get("threshold", THRESHOLD)
        if type(within) is not int or within < 1:
            raise _bad("within", within, "a number of events")
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise _bad("threshold", threshold, "a probability")
        features = given.get("features")
        return cls(within, float(threshold), () if features is None else _features(features))

    def check(self, schema: Schema) -> None:
        """FilterError or NotSupported where a feature is no filter over these attributes."""
        for number, text in enumerate(self.features, 1):
            where = f"feature {number} of `predict`"
            try:
                expression = parse(text)
                if isinstance(expression, Composite):
                    raise NotSupported(f"{where} is a pattern\nHint: a feature is a filter over one event")
                normalise(check(expression, schema, text))
            except FilterError as error:
                raise error.of(where) from None


@dataclass(frozen=True, slots=True)
class PatternRecord:
    """A subscription to a pattern."""

    id: str
    text: str
    subscriber: str | None = None
    predict: Predict | None = None


def _features(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InputError(
            f"`features` of `predict` is {reprlib.repr(given)}, not a list of filters\n"
            """Hint: write e.g. {"within": 10, "features": ["temp > 25", "weekday in (6, 7)"]}"""
        )
    if len(given) > _FEATURES:
        raise InputError(
            f"`features` of `predict` are {len(given)}, more than {_FEATURES}\nHint: keep the best of them"
        )
    return tuple(given)


def _bad(name: str, value: object, what: str) -> InputError:
    return InputError(f"`{name}` of `predict` is {reprlib.repr(value)}, not {what}\nHint: {_HINT}")
