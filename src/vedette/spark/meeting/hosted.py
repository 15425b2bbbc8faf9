"""Meeting in the workers: every one of them has all subscriptions, made ready, and publications pass by.

Nothing is shuffled and nothing is kept from one batch to the next, so that it works for streams. What travels is the
texts, compressed; a worker reads them once for each version, and keeps the newest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from vedette.errors import FilterError, VedetteError
from vedette.meeting.direction import Direction
from vedette.meeting.index import Index
from vedette.meeting.meet import Pairs, table_of
from vedette.meeting.ranking import Ranking
from vedette.meeting.reading import Constraint, Constraints
from vedette.meeting.table import Space, Table
from vedette.schema.schema import Schema
from vedette.spark.meeting.facts import bad_constraints, records_of
from vedette.spark.meeting.given import pair_type
from vedette.spark.meeting.ranking import SCORED, best
from vedette.spark.meeting.terms import number_all

_KEPT = 2  # versions in a worker
_AT_ONCE = 2_000  # publications: their pairs are in memory together


@dataclass(frozen=True, slots=True)
class Wanted:
    """Subscriptions that are sent to workers."""

    version: str  # twelve hexadecimal digits of what they say
    schema: Schema
    content: bytes  # Arrow: id, when; by id, so that equal scores come in that order

    def __len__(self) -> int:
        return int(_unpacked(self.content).num_rows)


def wanted_of(texts: Mapping[str, str], schema: Schema) -> Wanted:
    """Read texts and pack them; bad ones are told, all of them counted."""
    constraints, space, bad = Constraints(schema), Space(), []
    for id_, text in texts.items():
        try:
            number_all(space, constraints.read(text))
        except FilterError as error:
            bad.append((id_, str(error)))
    if bad:
        raise bad_constraints("subscription", bad, len(bad))
    return packed(texts, schema)


def packed(texts: Mapping[str, str], schema: Schema) -> Wanted:
    """Pack texts that are known to be good."""
    ids = sorted(texts)
    table = pa.table({"id": pa.array(ids, pa.string()), "when": pa.array([texts[id_] for id_ in ids], pa.string())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    said = hashlib.sha256(repr((sorted(texts.items()), str(schema), schema.closed)).encode())
    return Wanted(said.hexdigest()[:12], schema, content)


def _unpacked(content: bytes) -> Any:
    return pa.ipc.open_stream(content).read_all()


def hosted(
    publications: DataFrame, wanted: Wanted, direction: Direction, ranking: Ranking | None, top: int | None
) -> DataFrame:
    """Pairs of publications (`id`, `when`) and subscriptions that meet, each once."""
    if ranking is not None and ranking.per == "subscription":
        # The best of a subscription are not all in one batch.
        scored = publications.mapInArrow(_meeting(wanted, direction, ranking, None, ("score",)), SCORED)
        return best(scored, ranking, top)
    more = () if ranking is None else ("rank", "score")
    return publications.mapInArrow(
        _meeting(wanted, direction, ranking, top, more), pair_type(ranked=ranking is not None)
    )


def _meeting(
    wanted: Wanted, direction: Direction, ranking: Ranking | None, top: int | None, more: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def pairs(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            host = _host(wanted)
            for batch in batches:
                for begin in range(0, batch.num_rows, _AT_ONCE):
                    found = host.pairs(batch.slice(begin, _AT_ONCE), direction, ranking, top)
                    yield from found.select(["publication", "subscription", *more]).to_batches()
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return pairs


_hosts: dict[str, _Host] = {}


def _host(wanted: Wanted) -> _Host:
    """The subscriptions, made ready, in this process."""
    found = _hosts.pop(wanted.version, None) or _Host(wanted)
    _hosts[wanted.version] = found
    while len(_hosts) > _KEPT:
        _hosts.pop(next(iter(_hosts)))
    return found


class _Host:
    """Subscriptions, made ready."""

    def __init__(self, wanted: Wanted) -> None:
        table = _unpacked(wanted.content)
        self._ids = table.column("id").to_pylist()
        self._constraints = Constraints(wanted.schema)
        self._space = Space()
        read = [self._constraints.read(text) for text in table.column("when").to_pylist()]
        self._index = Index(Table.of(read, self._space))

    def pairs(self, batch: Any, direction: Direction, ranking: Ranking | None, top: int | None) -> pa.Table:
        """Which of them publications meet."""
        ids: list[str] = []
        read: list[Constraint] = []
        for id_, text in records_of(batch):
            try:
                if id_ is None or text is None:
                    raise FilterError(f"it has no {'id' if id_ is None else 'constraint'}")
                read.append(self._constraints.read(text))
                number_all(self._space, read[-1])
            except FilterError as error:
                raise bad_constraints("publication", [(id_, str(error))], 1) from None
            ids.append(id_)
        probes = Table.of(read, self._space, self._index.slots)
        one, other = self._index.pairs(probes, direction, "subscription")
        return table_of(Pairs(probes, self._index.table, one, other), ids, self._ids, ranking, top)
