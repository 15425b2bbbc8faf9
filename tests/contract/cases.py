"""What every host of the engine is asked: sets of all kinds, and events with times that only go up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from vedette.engine.subscriptions import Subscriptions
from vedette.operators.registry import Operators
from vedette.patterns.forecasts.model import Model

SCHEMA: Mapping[str, str] = {
    "id": "string",
    "time": "timestamp",
    "kind": "string",
    "user": "string",
    "n": "int",
    "price": "float",
    "tags": "list of string",
}
BEGIN = 1_700_000_000
OPERATORS = '''
"""Operators that are the same everywhere: they look at nothing but the event."""

from vedette.operators.operator import operator


@operator(reads=("n",))
def odd(event):
    return event["n"] is not None and event["n"] % 2 == 1


@operator("halves", outputs=1, reads=("n",))
def halves(event):
    return [] if event["n"] is None else [event["n"] // 2]


@operator("inList", batch=True, reads=("kind",))
def in_list(events, *names):
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.fill_null(pc.is_in(events["kind"], pa.array(names)), False)
'''


@dataclass(frozen=True)
class Case:
    """A set of subscriptions, and the events that it is asked about."""

    name: str
    records: Sequence[Mapping[str, Any]]
    events: Sequence[Mapping[str, Any]]
    history: Sequence[Mapping[str, Any]] = ()  # a model learns from these, and forecasts do not learn any more
    offers: Mapping[str, str] = field(default_factory=dict)  # id -> text: what is offered among the events

    def __str__(self) -> str:
        return self.name

    def subscriptions(self) -> Subscriptions:
        """The set, in this process."""
        made = Subscriptions(SCHEMA)
        made.add_many(self.records)
        return made

    def operators(self, folder: Path) -> Operators:
        """Those that filters and steps call."""
        return Operators.read(self.operators_file(folder))

    @staticmethod
    def operators_file(folder: Path) -> Path:
        """The same as a file."""
        path = folder / "operators_of_tests.py"
        path.write_text(OPERATORS)
        return path

    def model(self, folder: Path) -> Model | None:
        """What a model knows that has seen the history."""
        if not self.history:
            return None
        with self.subscriptions().compile(operators=self.operators(folder)).stream() as stream:
            stream.process(list(self.history))
            return stream.model()


def events_of(seed: int, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Events of some users, a second or so apart; some attributes are not there, and some ids come twice."""
    random = Random(seed)
    found: list[dict[str, Any]] = []
    moment = BEGIN + 10_000 * first
    for number in range(first, first + count):
        moment += random.choice((1, 1, 1, 2, 5))
        event: dict[str, Any] = {"id": f"e{number}", "time": moment, "kind": random.choice("abc")}
        event["user"] = random.choice(("ann", "bob", "cy"))
        if random.random() < 0.9:
            event["n"] = random.randrange(10)
        if random.random() < 0.9:
            event["price"] = random.randrange(1000) / 8
        if random.random() < 0.5:
            event["tags"] = random.choices(("x", "y", "z"), k=random.randrange(3))
        found.append(event)
    return found


def _records(texts: Iterable[str], prefix: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"{prefix}{number}", "when": text, **more} for number, text in enumerate(texts)]


SIGMA = """
title: Every second kind
id: 11111111-1111-4111-8111-111111111111
logsource: {category: test}
detection:
  one: {kind|startswith: b, n|gt: 2}
  other: {user|endswith: y, price|lte: 30.5}
  condition: one or other
"""
FILTERS = _records(
    (
        "n < 3",
        "kind = 'a' and price between 20 and 60.5",
        "user in ('ann', 'cy') and not (n = 4 or price is null)",
        "any(tags) = 'x' and kind like 'b%'",
        "n is null",
        "tags contains 'z' or (price > 100 and user != 'bob')",
        "kind icontains 'C' and n in [2 .. 7)",
        "true",
        "n = 3 and n = 4",
    ),
    "filter",
)
CALLS = _records(
    (
        "odd() and kind = 'a'",
        "halves(?half) and ?half > 2 and user = 'ann'",
        "not inList('a', 'b') and price < 50",
        "odd() or (n = 4 and inList('b'))",
    ),
    "call",
)
PATTERNS = _records(
    (
        "[kind = 'a'] ; [kind = 'b' and n > 5]",
        "[kind = 'a'] , [kind = 'b'] by user",
        "first:[kind = 'a' and user = $who] ; last:[kind = 'c' and user = $who] within 10 s",
        "[n > 6]{2} by user",
        "[kind = 'a'] ; not [kind = 'b'] ; [kind = 'c'] by user within 30 s",
        "[price > 110]",
        "([kind = 'a'] and [kind = 'b']) ; ([n = 1] or [n = 2]) by user within 20 s",
    ),
    "pattern",
)
CALLING_PATTERNS = _records(
    (
        "[odd() and kind = 'a'] ; [inList('c')] by user within 20 s",
        "first:[inList('b') and n = $n] ; second:[(odd() or price > 60) and n = $n] within 30 s",
    ),
    "calling",
)
FORECASTS = _records(
    ("[kind = 'a'] ; [kind = 'b'] , [kind = 'c'] by user within 20 s", "[n < 5] , [n > 5] by user"),
    "forecast",
    predict={"within": 6, "threshold": 0.2},
)
DIALECTS: list[dict[str, Any]] = [
    {"id": "rule0", "dialect": "eventbridge", "when": json.dumps({"kind": ["a", "b"], "n": [{"numeric": [">", 6]}]})},
    {"id": "rule1", "dialect": "cesql", "when": "kind = 'c' AND user LIKE 'b%'"},
    {
        "id": "rule2",
        "dialect": "cloudevents",
        "when": json.dumps({"any": [{"exact": {"user": "cy"}}, {"prefix": {"kind": "a"}}]}),
    },
    {"id": "rule3", "dialect": "sigma", "when": SIGMA},
]
WANTS = _records(
    ("kind = 'a' and price < 50", "user in ('ann', 'bob')", "n between 2 and 5 or kind = 'c'"), "want", to="offers"
)
OFFERS = {
    "offer0": "kind = 'a' and price between 40 and 60",
    "offer1": "user = 'ann' and n = 4",
    "offer2": "n > 5 and kind = 'c' or kind = 'b'",
}
MIXED = [*FILTERS[:6], *CALLS[:2], *PATTERNS[:3], *FILTERS[6:], *PATTERNS[3:], *CALLS[2:], *DIALECTS, *CALLING_PATTERNS]

CASES = (
    Case("filters", FILTERS, events_of(1, 300)),
    Case("calls", [*FILTERS[:2], *CALLS], events_of(2, 200)),
    Case("patterns", PATTERNS, events_of(3, 250)),
    Case("patterns that call", [*CALLING_PATTERNS, *PATTERNS[:1]], events_of(4, 150)),
    Case("forecasts", [*FORECASTS, *PATTERNS[1:2]], events_of(5, 200), events_of(6, 600, first=1_000)),
    Case("dialects", [*DIALECTS, *FILTERS[:2]], events_of(7, 200)),
    Case("a mixture", [*MIXED, *FORECASTS], events_of(8, 250), events_of(9, 400, first=1_000)),
)
# Whoever takes events and offers in one stream: the others have a contract of meetings in `tests/meeting`.
WITH_OFFERS = Case(
    "offers among events",
    [*MIXED[:8], *WANTS, *PATTERNS[:2]],
    events_of(10, 150),
    offers=OFFERS,
)
