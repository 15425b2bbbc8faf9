"""A segment as a folder of plain arrays, mapped into memory by whoever opens it.

    manifest.json      what it is, how large each file is, and their checksums
    *.npy              one array each, in NumPy's format
    *.arrow            ids, filter texts and string constants, in Arrow's IPC format

Columns share files (`rank.breakpoints.npy` holds those of all columns, one after another), so that their number
does not grow with the schema, and opening takes milliseconds. What processes map is the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SnapshotError, VedetteError
from vedette.kernels.bundles import PredicateTable
from vedette.kernels.ranks import RankSteps
from vedette.kernels.rows import NO_VETOES
from vedette.matching.codebook import Codebook, MemberColumn, ProbeColumn
from vedette.matching.indexes import index_class
from vedette.matching.rank_columns import KeyRanks, RankColumn, TextRanks
from vedette.matching.records import Records
from vedette.matching.segment import Segment
from vedette.matching.snapshot_files import VERSION, WITH_VETOES, SnapshotReader, SnapshotWriter
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import parse_type

_STEPS = ("breakpoints", "coarse_origin", "fine_shift", "fine_base", "fine")
_NO_INTS = np.zeros(0, np.int32)


def save(segment: Segment, schema: Schema, folder: Path) -> None:
    """Write the folder as a whole or not at all; an older snapshot in its place is replaced."""
    with SnapshotWriter(folder) as writer:
        for name, array in segment.table._asdict().items():
            writer.array(f"table.{name}", array)
        writer.array("owner", segment.owner)
        writer.array("repeats", segment.repeats)
        if len(segment.vetoes):
            writer.array("vetoes", segment.vetoes)
        for name, array in segment.index.arrays().items():
            writer.array(f"index.{name}", array)
        writer.arrow("records", segment.records.table)
        facts = {
            "subscriptions": len(segment),
            "conjunctions": segment.conjunctions,
            "index": segment.index.name,
            "schema": {"attributes": {path: schema.spelling(path) for path in schema}, "closed": schema.closed},
            **_save_codebook(writer, segment.codebook),
        }
        views = any(column.reading is not None for column in segment.codebook.columns)
        writer.finish(facts, version=WITH_VETOES if views or len(segment.vetoes) else VERSION)


def load(folder: Path, *, verify: bool = False) -> tuple[Segment, Schema]:
    """The segment and its schema; SnapshotError if the folder is not what `save` wrote."""
    reader = SnapshotReader(folder, verify=verify)
    try:
        return _load(reader)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, pa.ArrowException, VedetteError) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"{folder}: the snapshot does not fit together ({error})") from error


def _load(reader: SnapshotReader) -> tuple[Segment, Schema]:
    facts = reader.facts
    table = PredicateTable(*(reader.array(f"table.{name}") for name in PredicateTable._fields))
    codebook = _load_codebook(reader)
    arrays = {name.removeprefix("index."): reader.array(name) for name in reader.names("index.")}
    index = index_class(facts["index"]).restore(table, len(codebook.ranks), arrays)
    records = Records(reader.arrow("records"))
    vetoes = reader.array("vetoes") if reader.names("vetoes") else NO_VETOES
    segment = Segment(codebook, table, index, reader.array("owner"), reader.array("repeats"), records, vetoes)
    if len(records) != facts["subscriptions"] or segment.conjunctions != facts["conjunctions"]:
        raise SnapshotError(f"{reader.folder}: the snapshot's counts are not those of its manifest")
    schema = facts["schema"]
    return segment, Schema.of(schema["attributes"], closed=schema["closed"])


# ---------------------------------------------------------------- the codebook


def _save_codebook(writer: SnapshotWriter, codebook: Codebook) -> dict[str, Any]:
    keys = [ranks.steps for ranks in codebook.ranks if isinstance(ranks, KeyRanks)]
    texts = [ranks for ranks in codebook.ranks if isinstance(ranks, TextRanks)]
    joined: dict[str, Sequence[NDArray[Any]]] = {
        **{f"rank.{name}": [getattr(steps, name) for steps in keys] for name in _STEPS},
        "rank.codes": [_NO_INTS if ranks.codes is None else ranks.codes for ranks in texts],
        "member.start": [member.start for member in codebook.members],
        "member.tokens": [member.tokens for member in codebook.members],
    }
    for name, arrays in joined.items():
        writer.array(name, np.concatenate(arrays) if arrays else _NO_INTS)
    values = pa.concat_arrays([pa.array([], pa.large_binary()), *(ranks.values for ranks in texts)])
    writer.arrow("rank.values", pa.RecordBatch.from_arrays([values], ["value"]))
    for number, probe in enumerate(codebook.probes):
        for name, array in probe.table.arrays().items():
            writer.array(f"probe.{number}.{name}", array)
    return {
        "ranks": [_rank_facts(ranks) for ranks in codebook.ranks],
        "members": [member.rank for member in codebook.members],
        "probes": [_column_facts(probe.column) for probe in codebook.probes],
        "lengths": {name: [len(array) for array in arrays] for name, arrays in joined.items()},
    }


def _rank_facts(ranks: RankColumn) -> dict[str, Any]:
    if isinstance(ranks, TextRanks):
        return {**_column_facts(ranks.column), "texts": len(ranks.values), "ordered": ranks.codes is not None}
    return {**_column_facts(ranks.column), "shift": int(ranks.steps.coarse_shift)}


def _column_facts(column: Column) -> dict[str, Any]:
    facts = {"path": column.path, "type": str(column.type), "other": column.other}
    return facts if column.reading is None else {**facts, "reading": column.reading}


def _column(facts: Mapping[str, Any]) -> Column:
    return Column(facts["path"], parse_type(facts["type"]), facts["other"], facts.get("reading"))


def _load_codebook(reader: SnapshotReader) -> Codebook:
    facts = reader.facts
    steps = zip(*(_load_joined(reader, f"rank.{name}") for name in _STEPS), strict=True)
    codes = iter(_load_joined(reader, "rank.codes"))
    values = reader.arrow("rank.values").column(0)
    read = 0
    ranks: list[RankColumn] = []
    for own in facts["ranks"]:
        if "texts" in own:
            part, its_codes = values.slice(read, own["texts"]), next(codes)
            read += own["texts"]
            ranks.append(TextRanks(_column(own), part, its_codes if own["ordered"] else None))
        else:
            breakpoints, *buckets = next(steps)
            ranks.append(KeyRanks(_column(own), RankSteps(breakpoints, np.uint64(own["shift"]), *buckets)))
    sets = zip(_load_joined(reader, "member.start"), _load_joined(reader, "member.tokens"), strict=True)
    members = tuple(MemberColumn(rank, *pair) for rank, pair in zip(facts["members"], sets, strict=True))
    return Codebook(tuple(ranks), members, tuple(_load_probes(reader)))


def _load_probes(reader: SnapshotReader) -> list[ProbeColumn]:
    if not reader.facts["probes"]:
        return []
    from vedette.matching.probes import ProbeTable

    probes = []
    for number, facts in enumerate(reader.facts["probes"]):
        prefix = f"probe.{number}."
        arrays = {name.removeprefix(prefix): reader.array(name) for name in reader.names(prefix)}
        column = _column(facts)
        probes.append(ProbeColumn(column, ProbeTable.restore(column, arrays)))
    return probes


def _load_joined(reader: SnapshotReader, name: str) -> list[NDArray[Any]]:
    """The arrays of several columns that share a file."""
    joined, read = reader.array(name), 0
    parts = []
    for length in reader.facts["lengths"][name]:
        parts.append(joined[read : read + length])
        read += length
    return parts
