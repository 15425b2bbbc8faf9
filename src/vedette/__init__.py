"""Vedette matches streams of events against millions of standing subscriptions.

    import vedette as vd

    subscriptions = vd.Subscriptions({"issue": "string", "price": "float"})
    subscriptions.add("s1", "issue = 'IBM' and price < 120", subscriber="alice")
    engine = subscriptions.compile()                   # whatever they are: filters, operator calls, patterns, forecasts
    engine.match({"issue": "IBM", "price": 119})       # ['s1']
    engine.match_batch(arrow_table)                    # an Arrow table (event, subscription)
    engine.stream().process(events)                    # patterns over several events, and what will probably happen
    subscriptions.compile(operators=vd.Operators(f))   # filters that call your own functions, as rarely as possible
    vd.translate(rule, dialect="eventbridge")          # rules of other systems; `add` takes a dialect, too
    vd.meet(offers, wants)                             # publications that are constraints themselves
    vd.spark.match(events, subscriptions)              # DataFrame in, DataFrame out; needs the extra [spark]

Everything is imported when it is first used, so that `import vedette` costs nothing.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from vedette.errors import (
    DialectError,
    FileError,
    FilterError,
    InputError,
    LimitError,
    NotInstalled,
    NotSupported,
    Refused,
    SchemaError,
    SnapshotError,
    StartError,
    UnknownSubscription,
    VedetteError,
)
from vedette.version import __version__

if TYPE_CHECKING:
    from vedette import spark
    from vedette.client import AsyncClient, Client
    from vedette.covering.cover_set import CoveringSet
    from vedette.dialects.translation import translate
    from vedette.engine.engine import Engine
    from vedette.engine.live import LiveEngine
    from vedette.engine.stream import Stream
    from vedette.engine.stream_matcher import StreamMatcher
    from vedette.engine.subscriptions import Subscriptions
    from vedette.filters.matcher import MatchPairs
    from vedette.io.loading import load_subscriptions
    from vedette.io.rule_files import LeftOut
    from vedette.meeting.live_meeting import Meeting
    from vedette.meeting.meet import meet
    from vedette.operators.operator import Cache, operator
    from vedette.operators.registry import Operators
    from vedette.patterns.forecasts.model import Model
    from vedette.schema.encode import Reject
    from vedette.schema.schema import Schema

_PLACES = {
    "AsyncClient": "vedette.client",
    "Cache": "vedette.operators.operator",
    "Client": "vedette.client",
    "CoveringSet": "vedette.covering.cover_set",
    "Engine": "vedette.engine.engine",
    "LeftOut": "vedette.io.rule_files",
    "LiveEngine": "vedette.engine.live",
    "MatchPairs": "vedette.filters.matcher",
    "Meeting": "vedette.meeting.live_meeting",
    "Model": "vedette.patterns.forecasts.model",
    "Operators": "vedette.operators.registry",
    "Reject": "vedette.schema.encode",
    "Schema": "vedette.schema.schema",
    "Stream": "vedette.engine.stream",
    "StreamMatcher": "vedette.engine.stream_matcher",
    "Subscriptions": "vedette.engine.subscriptions",
    "load_subscriptions": "vedette.io.loading",
    "meet": "vedette.meeting.meet",
    "open": "vedette.engine.engine",
    "operator": "vedette.operators.operator",
    "spark": "vedette.spark",
    "translate": "vedette.dialects.translation",
}

# What version 0.1 had: it goes on working, and says what is better.
_BEFORE = {
    "CoveringMatcher": ("vedette.engine.before", "CoveringMatcher", 'subscriptions.compile(covering="auto")'),
    "LiveMatcher": ("vedette.engine.live", "LiveEngine", "engine.live()"),
    "Matcher": ("vedette.engine.engine", "Engine", "subscriptions.compile() and vedette.open"),
    "OperatorMatcher": ("vedette.engine.before", "OperatorMatcher", "subscriptions.compile(operators=…)"),
}

__all__ = [
    "AsyncClient",
    "Cache",
    "Client",
    "CoveringSet",
    "DialectError",
    "Engine",
    "FileError",
    "FilterError",
    "InputError",
    "LeftOut",
    "LimitError",
    "LiveEngine",
    "MatchPairs",
    "Meeting",
    "Model",
    "NotInstalled",
    "NotSupported",
    "Operators",
    "Refused",
    "Reject",
    "Schema",
    "SchemaError",
    "SnapshotError",
    "StartError",
    "Stream",
    "StreamMatcher",
    "Subscriptions",
    "UnknownSubscription",
    "VedetteError",
    "__version__",
    "load_subscriptions",
    "meet",
    "open",
    "operator",
    "spark",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name in _BEFORE:
        place, now, better = _BEFORE[name]
        warnings.warn(f"vedette.{name} is the engine now: use {better}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(place), now)
    if name not in _PLACES:
        raise AttributeError(f"module 'vedette' has no attribute {name!r}")
    module = importlib.import_module(_PLACES[name])
    value = module if name == "spark" else module.Engine.open if name == "open" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
