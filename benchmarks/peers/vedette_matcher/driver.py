"""Vedette itself: texts of its language in; a dict, a JSON text, an Arrow table or JSON lines at a time."""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # before anything imports Numba

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pyarrow.json import ParseOptions, ReadOptions, read_json

from benchmarks.peers.protocol import Asked
from benchmarks.peers.python_driver import main
from benchmarks.peers.vedette_matcher import SAMPLE
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.kernels.match_rows import MatchRows
from vedette.filters.matcher import Matcher
from vedette.version import __version__

_TYPES = {"strings": "list<string>"}
_ARROW = {"int": pa.int64(), "float": pa.float64(), "string": pa.string(), "strings": pa.list_(pa.string())}
_BATCH = 65_536


class Vedette:
    """The matcher that `compile` makes."""

    version = __version__

    def __init__(self) -> None:
        self.matcher: Matcher
        self.notes: list[str] = []

    def warm_up(self, rules: Sequence[tuple[int, str]], asked: Asked) -> None:
        """Kernels are loaded before anything is timed, as the classes and libraries of others are."""
        subscriptions = Subscriptions({name: _TYPES.get(kind, kind) for name, kind in asked.kinds.items()})
        for id_, text in dict(rules[:200]).items():
            subscriptions.add(str(id_), text)
        matcher = subscriptions.compile()
        matcher.match({})
        matcher.match_rows([{}])

    def build(self, rules: Sequence[tuple[int, str]], asked: Asked, late: Callable[[], bool]) -> bool:
        """From texts; a sample of other events steers the layout, as people would have it."""
        self.kinds = asked.kinds
        sample = [json.loads(line) for line in (Path(sys.argv[1]) / SAMPLE).read_bytes().splitlines()]
        schema = {name: _TYPES.get(kind, kind) for name, kind in self.kinds.items()}
        subscriptions = Subscriptions(schema)
        for number, (id_, text) in enumerate(rules):
            subscriptions.add(str(id_), text)
            if number % 10_000 == 0 and late():
                return False
        self.matcher = subscriptions.compile(sample=sample).filters
        self.notes.append(f"{self.matcher.nbytes / max(1, len(rules)):.0f} bytes of each rule are the index's")
        return True

    def parse(self, line: bytes) -> dict[str, Any]:
        """As the service and the command line do."""
        event: dict[str, Any] = orjson.loads(line)
        return event

    def match(self, event: dict[str, Any]) -> list[str]:
        """One at a time."""
        return self.matcher.match(event)

    def parse_all(self, text: bytes) -> pa.Table:
        """JSON lines as an Arrow table, by Arrow's own reader on one thread."""
        schema = pa.schema([(name, _ARROW[kind]) for name, kind in self.kinds.items()])
        return read_json(
            pa.BufferReader(text),
            read_options=ReadOptions(use_threads=False, block_size=1 << 26),
            parse_options=ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )

    def match_all(self, events: Any) -> list[MatchRows]:
        """Many at once."""
        return [self.matcher.match_rows(events[at : at + _BATCH]) for at in range(0, len(events), _BATCH)]


if __name__ == "__main__":
    main(Vedette)
