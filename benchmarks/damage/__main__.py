"""Bits are flipped in snapshots, models, states and the database of a service, one at a time.

python -m benchmarks.damage --flips 10000 --database 200

Of files each flip has to be reported, with file and place. Of a database nothing wrong may be served, and what is
missing has to be said.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import vedette as vd
from benchmarks.damage import databases
from benchmarks.damage.flips import Flips, snapshot_flips, state_flips
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.matcher import Matcher
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.forecasts.model import Model

_PATTERN = "a:[n > 30] ; [n < 5 and s = 'a1'] by s"


@operator(time_limit=None)
def even(event: Any) -> bool:
    """Something that a filter can call."""
    return bool(event["n"] % 2 == 0)


def flipped(count: int, seed: int) -> dict[str, Flips]:
    """So many flips in each kind of snapshot and state."""
    filters = Subscriptions({"n": "int", "s": "string"})
    filters.add_many(
        {"id": f"f{n}", "when": f"n > {n} and s in ('a{n % 7}', 'b') or s like '%{n}'"} for n in range(300)
    )
    patterns = Subscriptions({"n": "int", "s": "string"})
    patterns.add("p", _PATTERN, predict={"within": 5, "threshold": 0.1})
    with StreamMatcher(patterns) as stream:
        stream.process([{"n": n * 7 % 40, "s": f"a{n % 3}"} for n in range(200)])
        state, model = stream.to_bytes(), stream.model().to_bytes()
    operators = Operators(even)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        filters.compile().save(place / "plain")
        found["matcher"] = snapshot_flips(Matcher.open, place / "plain", count, seed=seed)
        CoveringMatcher.compile(filters).save(place / "covering")
        found["covering matcher"] = snapshot_flips(CoveringMatcher.open, place / "covering", count // 10, seed=seed)
        filters.add("calls", "even() and n > 3")
        filters.add("p", _PATTERN, predict={"within": 5, "threshold": 0.1})
        filters.add("wants", "n > 3", to="offers")
        with filters.compile(operators=operators, covering="auto", model=Model.from_bytes(model)) as engine:
            engine.match_batch([{"n": n, "s": "b"} for n in range(50)])
            engine.save(place / "engine")
        found["engine"] = snapshot_flips(
            lambda folder: vd.open(folder, operators=operators).close(), place / "engine", count // 2, seed=seed
        )
    found["state of patterns"] = state_flips(
        lambda data: StreamMatcher.from_bytes(data, patterns).close(), state, count, seed=seed
    )
    found["model"] = state_flips(Model.from_bytes, model, count, seed=seed)
    return found


def main() -> None:
    """Flip, print, and end with 1 if any flip was not reported."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.damage", description=__doc__)
    parser.add_argument("--flips", type=int, default=10_000, help="in a snapshot; fewer in the kinds made of it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", type=int, default=200, help="flips in the database of a service")
    options = parser.parse_args()
    found = flipped(options.flips, options.seed)
    served = databases.flipped(options.database, options.seed)
    print(json.dumps({what: flips.plain() for what, flips in found.items()} | {"database": served}, indent=2))
    raise SystemExit(bool(served["broken"]) or any(flips.tried != flips.reported for flips in found.values()))


if __name__ == "__main__":
    main()
