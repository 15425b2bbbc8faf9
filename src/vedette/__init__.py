"""Vedette matches streams of events against millions of standing subscriptions.

    import vedette as vd

    subscriptions = vd.Subscriptions({"issue": "string", "price": "float"})
    subscriptions.add("s1", "issue = 'IBM' and price < 120", subscriber="alice")
    matcher = subscriptions.compile()
    matcher.match({"issue": "IBM", "price": 119})      # ['s1']
    matcher.match_batch(arrow_table)                   # an Arrow table (event, subscription)
    vd.OperatorMatcher(subscriptions, operators)       # filters that call your own functions, as rarely as possible
    vd.StreamMatcher(subscriptions).process(events)    # patterns over several events, too
    vd.translate(rule, dialect="eventbridge")          # rules of other systems; `add` takes a dialect, too
    vd.meet(offers, wants)                             # publications that are constraints themselves
    vd.spark.match(events, subscriptions)              # DataFrame in, DataFrame out; needs the extra [spark]

Everything is imported when it is first used, so that `import vedette` costs nothing.
"""

from __future__ import annotations

import importlib
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
    from vedette.covering.matcher import CoveringMatcher
    from vedette.dialects.translation import translate
    from vedette.files.loading import load_subscriptions
    from vedette.files.rules import LeftOut
    from vedette.matching.live import LiveMatcher
    from vedette.matching.matcher import Matcher, MatchPairs
    from vedette.matching.subscriptions import Subscriptions
    from vedette.meeting.meet import meet
    from vedette.meeting.standing import Meeting
    from vedette.operators.matcher import OperatorMatcher
    from vedette.operators.operator import Cache, operator
    from vedette.operators.registry import Operators
    from vedette.prediction.model import Model
    from vedette.prediction.stream import StreamMatcher
    from vedette.schema.encode import Reject
    from vedette.schema.schema import Schema

_PLACES = {
    "AsyncClient": "vedette.client",
    "Cache": "vedette.operators.operator",
    "Client": "vedette.client",
    "CoveringMatcher": "vedette.covering.matcher",
    "CoveringSet": "vedette.covering.cover_set",
    "LeftOut": "vedette.files.rules",
    "LiveMatcher": "vedette.matching.live",
    "MatchPairs": "vedette.matching.matcher",
    "Matcher": "vedette.matching.matcher",
    "Meeting": "vedette.meeting.standing",
    "Model": "vedette.prediction.model",
    "OperatorMatcher": "vedette.operators.matcher",
    "Operators": "vedette.operators.registry",
    "Reject": "vedette.schema.encode",
    "Schema": "vedette.schema.schema",
    "StreamMatcher": "vedette.prediction.stream",
    "Subscriptions": "vedette.matching.subscriptions",
    "load_subscriptions": "vedette.files.loading",
    "meet": "vedette.meeting.meet",
    "operator": "vedette.operators.operator",
    "spark": "vedette.spark",
    "translate": "vedette.dialects.translation",
}

__all__ = [
    "AsyncClient",
    "Cache",
    "Client",
    "CoveringMatcher",
    "CoveringSet",
    "DialectError",
    "FileError",
    "FilterError",
    "InputError",
    "LeftOut",
    "LimitError",
    "LiveMatcher",
    "MatchPairs",
    "Matcher",
    "Meeting",
    "Model",
    "NotInstalled",
    "NotSupported",
    "OperatorMatcher",
    "Operators",
    "Refused",
    "Reject",
    "Schema",
    "SchemaError",
    "SnapshotError",
    "StartError",
    "StreamMatcher",
    "Subscriptions",
    "UnknownSubscription",
    "VedetteError",
    "__version__",
    "load_subscriptions",
    "meet",
    "operator",
    "spark",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'vedette' has no attribute {name!r}")
    module = importlib.import_module(_PLACES[name])
    value = module if name == "spark" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
