"""Meeting in the workers: each of them has an index of all subscriptions, and meets its publications with it.

Nothing is shuffled and no state is kept between batches, so that it works for streams. The texts are sent, compressed;
a worker reads them once for each version, and keeps the newest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from vedette.errors import FilterError, VedetteError
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import Direction
from vedette.meeting.meet import MeetingPairs, table_of
from vedette.meeting.meeting_index import MeetingIndex
from vedette.meeting.ranking import Ranking
from vedette.schema.schema import Schema
from vedette.spark.meeting.constraint_source import pair_type
from vedette.spark.meeting.pair_ranking import SCORED, best
from vedette.spark.meeting.side_facts import check_there, log_rejected, records_of

RejectMode: TypeAlias = Literal["drop", "keep", "raise"]  # what becomes of bad publications

_REJECTED = ("publication", "reason")
_KEPT = 2  # versions in a worker
_AT_ONCE = 2_000  # publications: their pairs are in memory together


@dataclass(frozen=True, slots=True)
class PackedSubscriptions:
    """Subscriptions as they are sent to workers."""

    version: str  # twelve hexadecimal digits of what they say
    schema: Schema
    content: bytes  # Arrow: id, when; by id, so that equal scores come in that order

    def __len__(self) -> int:
        return int(_unpacked(self.content).num_rows)


def packed_subscriptions(texts: Mapping[str, str], schema: Schema, *, strict: bool = True) -> PackedSubscriptions:
    """Parse and pack texts; bad ones are reported, all of them counted, and left out unless it is strict."""
    constraints, space, good, bad = Constraints(schema), AttributeSpace(), {}, []
    for id_, text in texts.items():
        try:
            space.take(constraints.read(text))
        except FilterError as error:
            bad.append((id_, str(error)))
        else:
            good[id_] = text
    log_rejected("subscription", bad, len(bad), strict=strict)
    return packed(good, schema)


def packed(texts: Mapping[str, str], schema: Schema) -> PackedSubscriptions:
    """Pack texts that are known to be good."""
    ids = sorted(texts)
    table = pa.table({"id": pa.array(ids, pa.string()), "when": pa.array([texts[id_] for id_ in ids], pa.string())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    said = hashlib.sha256(repr((sorted(texts.items()), str(schema), schema.closed)).encode())
    return PackedSubscriptions(said.hexdigest()[:12], schema, content)


def _unpacked(content: bytes) -> Any:
    return pa.ipc.open_stream(content).read_all()


def hosted(
    publications: DataFrame,
    wanted: PackedSubscriptions,
    direction: Direction,
    ranking: Ranking | None,
    top: int | None,
    rejects: RejectMode = "raise",
) -> DataFrame:
    """Each pair of publications (`id`, `when`) and subscriptions that meet; to keep bad publications: a row of each."""
    if ranking is not None and ranking.per == "subscription":
        # The best of a subscription are not all in one batch.
        scored = publications.mapInArrow(_meeting(wanted, direction, ranking, None, ("score",), rejects), SCORED)
        return best(scored, ranking, top)
    reasons = rejects == "keep"
    more = (*(() if ranking is None else ("rank", "score")), *(("reason",) if reasons else ()))
    return publications.mapInArrow(
        _meeting(wanted, direction, ranking, top, more, rejects), pair_type(ranking is not None, reasons=reasons)
    )


def _meeting(
    wanted: PackedSubscriptions,
    direction: Direction,
    ranking: Ranking | None,
    top: int | None,
    more: tuple[str, ...],
    rejects: RejectMode,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            host = _host(wanted)
            for batch in batches:
                for begin in range(0, batch.num_rows, _AT_ONCE):
                    found, bad = host.pairs(batch.slice(begin, _AT_ONCE), direction, ranking, top)
                    log_rejected("publication", bad, len(bad), strict=rejects == "raise")
                    if "reason" in more:
                        found = _with_reasons(found, bad)
                    yield from found.select(["publication", "subscription", *more]).to_batches()
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return pairs


def _with_reasons(found: pa.Table, bad: Sequence[tuple[str, str]]) -> pa.Table:
    """The pairs, and after them the publications that were set aside."""
    said = pa.table({name: pa.array([each[at] for each in bad], pa.string()) for at, name in enumerate(_REJECTED)})
    return pa.concat_tables([found, said], promote_options="default")


_hosts: dict[str, _MeetingHost] = {}


def _host(wanted: PackedSubscriptions) -> _MeetingHost:
    """The index of the subscriptions in this process."""
    found = _hosts.pop(wanted.version, None) or _MeetingHost(wanted)
    _hosts[wanted.version] = found
    while len(_hosts) > _KEPT:
        _hosts.pop(next(iter(_hosts)))
    return found


class _MeetingHost:
    """An index of subscriptions."""

    def __init__(self, wanted: PackedSubscriptions) -> None:
        table = _unpacked(wanted.content)
        self._ids = table.column("id").to_pylist()
        self._constraints = Constraints(wanted.schema)
        self._space = AttributeSpace()
        read = [self._constraints.read(text) for text in table.column("when").to_pylist()]
        self._index = MeetingIndex(ConstraintTable.of(read, self._space))

    def pairs(
        self, batch: pa.RecordBatch, direction: Direction, ranking: Ranking | None, top: int | None
    ) -> tuple[pa.Table, list[tuple[str, str]]]:
        """The pairs of a batch of publications, and which publications are bad, and why."""
        ids: list[str] = []
        read: list[Constraint] = []
        bad: list[tuple[str, str]] = []
        space = self._space.copy()  # attributes of publications alone are forgotten again
        for id_, text in records_of(batch):
            try:
                check_there(id_, text)
                constraint = self._constraints.read(text)
                space.take(constraint)
            except FilterError as error:
                bad.append((id_, str(error)))
            else:
                ids.append(id_)
                read.append(constraint)
        probes = ConstraintTable.of(read, space, self._index.slots)
        one, other = self._index.pairs(probes, direction, "subscription")
        return table_of(MeetingPairs(probes, self._index.table, one, other), ids, self._ids, ranking, top), bad
