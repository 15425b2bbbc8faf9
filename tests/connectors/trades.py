"""What the tests here are about: trades, who waits for them, and the local engine's word on who gets what."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vedette import Subscriptions

SYMBOLS = [f"S{number:02}" for number in range(20)]
SCHEMA = {"id": "string", "symbol": "string", "price": "float", "volume": "int"}

Event = dict[str, Any]
Record = dict[str, str]
Pair = tuple[str, str]  # an event's id, a subscription's id


def trades(count: int, *, seed: int = 1, first: int = 0) -> list[Event]:
    """Events with ids from `t<first>` on."""
    drawn = random.Random(f"{seed}/{first}")
    return [
        {
            "id": f"t{number:05}",
            "symbol": drawn.choice(SYMBOLS),
            "price": round(drawn.lognormvariate(4.0, 0.5), 2),
            "volume": drawn.randrange(1, 5000),
        }
        for number in range(first, first + count)
    ]


def subscriptions(count: int = 60, *, seed: int = 1) -> list[Record]:
    """Of three subscribers; some events match many, some none."""
    drawn = random.Random(seed)
    made = []
    for number in range(count):
        one, other = drawn.sample(SYMBOLS, 2)
        low = round(drawn.uniform(10, 120), 2)
        when = drawn.choice(
            [
                f"symbol = '{one}' and price < {low}",
                f"symbol in ('{one}', '{other}') and volume > {drawn.randrange(3000)}",
                f"price between {low} and {low + 1} and not symbol = '{one}'",
            ]
        )
        made.append({"id": f"s{number}", "subscriber": f"user-{number % 3}", "when": when})
    return made


def pairs(events: Iterable[Event], records: Iterable[Mapping[str, Any]]) -> set[Pair]:
    """What the local engine says."""
    wanted = Subscriptions(SCHEMA)
    wanted.add_many(records)
    matcher = wanted.compile()
    return {(event["id"], found) for event in events for found in matcher.match(event)}


def version(records: Iterable[Mapping[str, Any]], schema: Mapping[str, str] = SCHEMA) -> str:
    """What a compiled set of them is called."""
    wanted = Subscriptions(schema)
    wanted.add_many(records)
    return wanted.compile().version


def lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """As JSON, one text each."""
    return [json.dumps(row) for row in rows]


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A file that appears as a whole."""
    beside = path.with_name(f".{path.name}")
    beside.write_text("".join(f"{line}\n" for line in lines(rows)))
    return beside.rename(path)
