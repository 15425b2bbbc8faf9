"""The records of subscriptions that are no plain filters: patterns with forecasts, calls of operators, wants."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from vedette.errors import FilterError, InputError, NotSupported
from vedette.filters.origins import Origin
from vedette.language.ast import Composite
from vedette.language.check import check
from vedette.language.hints import similar
from vedette.language.limits import HORIZON
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema

CAP = 10_000  # partial matches of one partition that are kept
THRESHOLD = 0.5
_KEYS = ("within", "threshold", "features")
_FEATURES = 16  # each doubles the number of kinds of events that are distinguished
_HINT = 'write e.g. {"within": 10, "threshold": 0.8}'
NEEDS_PATTERN = "`predict` asks for forecasts, which need a pattern over several events\nHint: leave `predict` out"


@dataclass(frozen=True, slots=True)
class Predict:
    """A request for forecasts: notify when a pattern completes within so many events with at least this probability."""

    within: int
    threshold: float = THRESHOLD
    features: tuple[str, ...] = ()  # filters that refine the forecast, never the match

    @classmethod
    def of(cls, given: object) -> Predict:
        """Read a mapping; InputError says everything that is wrong with it."""
        if isinstance(given, Predict):
            return given
        if not isinstance(given, Mapping):
            raise InputError(f"`predict` is {reprlib.repr(given)}, not an object\nHint: {_HINT}")
        wrong = list(_mistakes(given))
        if wrong:
            hints = dict.fromkeys(hint for _, hint in wrong)
            raise InputError(f"{'; '.join(what for what, _ in wrong)}\nHint: {'; '.join(hints)}")
        features = given.get("features")
        return cls(given["within"], float(given.get("threshold", THRESHOLD)), tuple(features or ()))

    @classmethod
    def kept(cls, given: Mapping[str, Any]) -> Predict:
        """Read a stored mapping; if it was stored before horizons had a limit, `within` is cut to the limit."""
        within = given["within"]
        return cls.of({**given, "within": min(within, HORIZON) if type(within) is int else within})

    def check(self, schema: Schema) -> None:
        """FilterError or NotSupported if a feature is not a filter over these attributes."""
        for number, text in enumerate(self.features, 1):
            where = f"feature {number} of `predict`"
            try:
                expression = parse(text)
                if isinstance(expression, Composite):
                    raise NotSupported(f"{where} is a pattern\nHint: a feature is a filter over one event")
                checked = check(expression, schema, text)
                assert checked.root is not None  # it is a filter
                if not checked.calls:
                    normalise(checked)  # refuses what would become too large; operators are checked when planned
            except FilterError as error:
                raise error.of(where) from None


@dataclass(frozen=True, slots=True)
class PatternRecord:
    """A subscription to a pattern."""

    id: str
    text: str
    subscriber: str | None = None
    predict: Predict | None = None
    origin: Origin | None = field(default=None, compare=False)  # a new title keeps the pattern's state

    def plain(self) -> dict[str, Any]:
        """The record as plain data for JSON, without its origin."""
        said = asdict(self)
        del said["origin"]
        return said

    def calls_operators(self, schema: Schema) -> bool:
        """Whether a step of it, or a feature of its forecasts, calls operators."""
        features = () if self.predict is None else self.predict.features
        return any(check(parse(text), schema, text).calls for text in (self.text, *features))


def _mistakes(given: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Everything that is wrong with a mapping, each with how to mend it."""
    for name in given:
        if name not in _KEYS:
            near = similar(str(name), [key for key in _KEYS if key not in given])
            hint = f"did you mean `{near}`?" if near else f"it has {', '.join(f'`{key}`' for key in _KEYS)}"
            yield f"`predict` has a part that is not known: {name!r}", hint
    within, threshold = given.get("within"), given.get("threshold", THRESHOLD)
    if type(within) is not int or within < 1:
        yield f"`within` of `predict` is {reprlib.repr(within)}, not a number of events", _HINT
    elif within > HORIZON:
        hint = "ask for a nearer horizon; the limit of horizons is the same everywhere"
        yield f"`within` of `predict` is {reprlib.repr(within)} events: the limit is {HORIZON:,}", hint
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        yield f"`threshold` of `predict` is {reprlib.repr(threshold)}, not a probability", _HINT
    features = given.get("features")
    if features is None:
        return
    if not isinstance(features, list | tuple) or not all(isinstance(one, str) for one in features):
        hint = """write e.g. {"within": 10, "features": ["temp > 25", "weekday in (6, 7)"]}"""
        yield f"`features` of `predict` is {reprlib.repr(features)}, not a list of filters", hint
    elif len(features) > _FEATURES:
        yield f"`features` of `predict` are {len(features)}, more than {_FEATURES}", "keep the best of them"


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """A subscription whose filter calls operators; which operators exist is known only where it is matched."""

    id: str
    text: str
    subscriber: str | None = None
    origin: Origin | None = field(default=None, compare=False)


WantTarget: TypeAlias = Literal["events", "offers"]
EVENTS: Final = "events"
OFFERS: Final = "offers"


@dataclass(frozen=True, slots=True)
class WantRecord:
    """A want: a subscription to offers."""

    id: str
    text: str
    subscriber: str | None = None
    origin: Origin | None = field(default=None, compare=False)


def check_to(to: object) -> None:
    """InputError if `to` is not something that can be subscribed to."""
    if to not in get_args(WantTarget):
        raise InputError(f"a subscription to {to!r}\nHint: `to` is one of {', '.join(get_args(WantTarget))}")
