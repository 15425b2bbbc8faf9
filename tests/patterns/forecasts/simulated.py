"""Observations without an engine: small machines over letters, written the slow and obvious way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.outputs import Observations, Witnesses


def record(
    text: str, *, within: int, threshold: float = 0.5, features: tuple[str, ...] = (), id_: str = "p"
) -> PatternRecord:
    """A pattern that is forecast."""
    return PatternRecord(id_, text, None, Predict(within, threshold, features))


def cut(seen: Observations, begin: int, end: int) -> Observations:
    """Some of the rows."""
    inside = slice(seen.start[begin], seen.start[end])
    start = seen.start[begin : end + 1] - seen.start[begin]
    rows = {one.name: getattr(seen, one.name)[begin:end] for one in fields(Observations) if one.name != "witness"}
    return Observations(**rows, witness=Witnesses(start, seen.position[inside], seen.taken[inside]))


def contiguous(
    letters: Sequence[str],
    wanted: str,
    *,
    keys: Sequence[Hashable] | None = None,
    features: Sequence[int] | None = None,
    pattern: int = 0,
) -> Observations:
    """A pattern of contiguous letters, looked for anywhere; '.' stands for any letter."""
    keys = [0] * len(letters) if keys is None else keys
    alive: dict[Hashable, list[list[int]]] = {}
    alphabet = sorted(set(wanted))
    rows: list[dict[str, Any]] = []
    for event, (letter, key) in enumerate(zip(letters, keys, strict=True)):
        grown = [[*run, event] for run in [*alive.get(key, []), []] if wanted[len(run)] in (letter, ".")]
        done = [run for run in grown if len(run) == len(wanted)]
        alive[key] = kept = [run for run in grown if len(run) < len(wanted)]
        most = max(kept, key=len, default=[])
        rows.append(
            {
                "state": sum(1 << len(run) for run in kept),
                "hit": bool(done),
                "begun": done[0][0] if done else -1,
                "span": (event - done[0][0]) * 1_000_000 if done else -1,
                "symbol": sum(1 << bit for bit, one in enumerate(alphabet) if one in (letter, "."))
                | (0 if features is None else features[event] << len(alphabet)),
                "depth": len(most),
                "age": (event - most[0]) * 1_000_000 if most else -1,
                "first": most[0] if most else -1,
                "witness": most,
            }
        )
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return table(rows, [numbers[key] for key in keys], pattern)


def table(rows: Sequence[dict[str, Any]], keys: Sequence[int], pattern: int) -> Observations:
    """Rows as columns."""
    lengths = [len(row["witness"]) for row in rows]
    return Observations(
        event=np.arange(len(rows)),
        pattern=np.full(len(rows), pattern, np.int64),
        key=np.stack([np.asarray(keys, np.int64), np.zeros(len(rows), np.int64)], axis=1),
        state=np.array([row["state"] for row in rows], np.int64),
        hit=np.array([row["hit"] for row in rows], np.bool_),
        symbol=np.array([row["symbol"] for row in rows], np.int64),
        depth=np.array([row["depth"] for row in rows], np.int64),
        age=np.array([row["age"] for row in rows], np.int64),
        first=np.array([row["first"] for row in rows], np.int64),
        time=np.arange(len(rows)) * 1_000_000,
        span=np.array([row["span"] for row in rows], np.int64),
        begun=np.array([row["begun"] for row in rows], np.int64),
        witness=Witnesses(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.array([place for row in rows for place in range(len(row["witness"]))], np.int32),
            np.array([event for row in rows for event in row["witness"]], np.int64),
        ),
    )
