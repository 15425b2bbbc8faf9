"""Vedette over a stream: a dict, a JSON text, an Arrow table or JSON lines at a time.

The harness lets the same events happen round and round, so that their times are moved on with every round.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # before anything imports Numba

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.json import ParseOptions, ReadOptions, read_json

from benchmarks.peers.protocol import Asked
from benchmarks.peers.python_driver import main
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.version import __version__

_CAP = 1 << 30  # partial matches of a partition: no answer is given up
_SCHEMA = pa.schema([("user", pa.int64()), ("kind", pa.int64()), ("time", pa.int64())])


class Vedette:
    """The matcher of streams."""

    version = __version__

    def __init__(self) -> None:
        self.matcher: StreamMatcher
        self.moved = 0  # seconds that times are moved on
        self.latest = -1  # as the event says it

    def warm_up(self, rules: Sequence[tuple[int, str]], asked: Asked) -> None:
        """Kernels are loaded before anything is timed, as the classes of others are."""
        self._made(rules[:3]).process(pa.Table.from_pylist([{"user": 0, "kind": 0, "time": 0}], _SCHEMA))

    def build(self, rules: Sequence[tuple[int, str]], asked: Asked, late: Callable[[], bool]) -> bool:
        """From texts."""
        self.matcher = self._made(rules)
        return not late()

    @staticmethod
    def _made(rules: Sequence[tuple[int, str]]) -> StreamMatcher:
        subscriptions = Subscriptions()
        for id_, text in rules:
            subscriptions.add(str(id_), text)
        return StreamMatcher(subscriptions, cap=_CAP)

    def parse(self, line: bytes) -> dict[str, Any]:
        """As the service does."""
        event: dict[str, Any] = orjson.loads(line)
        return event

    def match(self, event: dict[str, Any]) -> list[str]:
        """The patterns that this event completes."""
        time = event["time"]
        self._goes_on(time, time)
        return [told["subscription"] for told in self.matcher.process_one({**event, "time": time + self.moved})]

    def matched(self, lines: Sequence[bytes]) -> list[list[int]]:
        """The patterns that each event completes, all of them in one batch, before anything else has happened."""
        found = self.match_all(self.parse_all(b"\n".join(lines)))
        ids: list[list[int]] = [[] for _ in lines]
        for event, id_ in zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True):
            ids[int(event)].append(int(id_))
        return ids

    def _goes_on(self, first: int, last: int) -> None:
        if first <= self.latest:  # a new round
            self.moved += self.latest + 1 - first
        self.latest = last

    def parse_all(self, text: bytes) -> pa.Table:
        """JSON lines by Arrow's own reader on one thread."""
        return read_json(
            pa.BufferReader(text),
            read_options=ReadOptions(use_threads=False, block_size=1 << 26),
            parse_options=ParseOptions(explicit_schema=_SCHEMA),
        )

    def match_all(self, events: pa.Table) -> pa.Table:
        """Many at once."""
        time = events["time"]
        self._goes_on(time[0].as_py(), time[-1].as_py())
        place = events.schema.get_field_index("time")
        return self.matcher.process(events.set_column(place, "time", pc.add(time, self.moved)))


if __name__ == "__main__":
    main(Vedette)
