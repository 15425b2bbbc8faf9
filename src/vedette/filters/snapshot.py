"""Snapshots: a segment as a folder of plain arrays that is mapped into memory when opened.

    manifest.json      kind and version, and the size and checksums of each file
    *.npy              one array each, in NumPy's format
    *.arrow            ids, filter texts and string constants, in Arrow's IPC format

Columns share files (`rank.breakpoints.npy` holds those of all columns, one after another), so that their number
does not grow with the schema, and opening takes milliseconds. Processes that map a snapshot share its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SnapshotError, VedetteError
from vedette.filters.codebook import Codebook, MemberColumn, ProbeColumn
from vedette.filters.index import index_class
from vedette.filters.kernels.match_rows import NO_VETOES
from vedette.filters.kernels.ranks import RankSteps
from vedette.filters.rank_columns import KeyRanks, RankColumn, TextRanks
from vedette.filters.segment import Segment
from vedette.filters.snapshot_files import EXACT_NUMBERS, VERSION, WITH_VETOES, SnapshotReader, SnapshotWriter
from vedette.filters.subscription_table import SubscriptionTable
from vedette.kernels.bundles import PredicateTable
from vedette.schema.columns import Column
from vedette.schema.keys import DENSE, UINT_MAX, float_key
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, parse_type

_STEPS = ("breakpoints", "coarse_origin", "fine_shift", "fine_base", "fine")
_NO_INTS = np.zeros(0, np.int32)
_KEYS_OF_LISTS = ("keys.own.point_key", "keys.own.low", "keys.own.high")
_DENSE, _MOST = float_key(float(DENSE)), float_key(float(UINT_MAX))


def save(segment: Segment, schema: Schema, folder: Path) -> None:
    """Write the folder atomically; an older snapshot in its place is replaced."""
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
        version = WITH_VETOES if views or len(segment.vetoes) else VERSION
        writer.finish(facts, version=EXACT_NUMBERS if _among_integers(segment.codebook) else version)


def load(folder: Path, *, verify: bool = True) -> tuple[Segment, Schema]:
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
    records = SubscriptionTable(reader.arrow("records"))
    vetoes = reader.array("vetoes") if reader.names("vetoes") else NO_VETOES
    segment = Segment(codebook, table, index, reader.array("owner"), reader.array("repeats"), records, vetoes)
    if len(records) != facts["subscriptions"] or segment.conjunctions != facts["conjunctions"]:
        raise SnapshotError(f"{reader.folder}: the snapshot's counts are not those of its manifest")
    schema = facts["schema"]
    return segment, Schema.of(schema["attributes"], closed=schema["closed"])


# ---------------------------------------------------------------- the codebook


def _joined_arrays(codebook: Codebook, texts: Sequence[TextRanks]) -> dict[str, Sequence[NDArray[Any]]]:
    """The arrays of all columns that are written one after the other, by name."""
    keyed = [ranks for ranks in codebook.ranks if isinstance(ranks, KeyRanks)]
    joined: dict[str, Sequence[NDArray[Any]]] = {
        **{f"rank.{name}": [getattr(ranks.steps, name) for ranks in keyed] for name in _STEPS},
        "rank.codes": [_NO_INTS if ranks.codes is None else ranks.codes for ranks in texts],
        "member.start": [member.start for member in codebook.members],
        "member.tokens": [member.tokens for member in codebook.members],
    }
    finer = [ranks.finer for ranks in keyed if ranks.finer is not None]
    if finer:
        joined["rank.finer"] = finer
    return joined


def _save_codebook(writer: SnapshotWriter, codebook: Codebook) -> dict[str, Any]:
    texts = [ranks for ranks in codebook.ranks if isinstance(ranks, TextRanks)]
    joined = _joined_arrays(codebook, texts)
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
    facts = {**_column_facts(ranks.column), "shift": int(ranks.steps.coarse_shift)}
    return facts if ranks.finer is None else {**facts, "finer": True}


def _column_facts(column: Column) -> dict[str, Any]:
    facts = {"path": column.path, "type": str(column.type), "other": column.other}
    return facts if column.reading is None else {**facts, "reading": column.reading}


def _column(facts: Mapping[str, Any]) -> Column:
    return Column(facts["path"], parse_type(facts["type"]), facts["other"], facts.get("reading"))


def _load_codebook(reader: SnapshotReader) -> Codebook:
    facts = reader.facts
    steps = zip(*(_load_joined(reader, f"rank.{name}") for name in _STEPS), strict=True)
    codes = iter(_load_joined(reader, "rank.codes"))
    finer = iter(_load_joined(reader, "rank.finer") if reader.names("rank.finer") else ())
    values = reader.arrow("rank.values").column(0)
    assert isinstance(values, pa.LargeBinaryArray)
    read = 0
    ranks: list[RankColumn] = []
    for own in facts["ranks"]:
        if "texts" in own:
            part, its_codes = values.slice(read, own["texts"]), next(codes)
            read += own["texts"]
            ranks.append(TextRanks(_column(own), part, its_codes if own["ordered"] else None))
        else:
            breakpoints, *buckets = next(steps)
            made = RankSteps(breakpoints, np.uint64(own["shift"]), *buckets)
            ranks.append(KeyRanks(_column(own), made, next(finer) if own.get("finer") else None))
    sets = zip(_load_joined(reader, "member.start"), _load_joined(reader, "member.tokens"), strict=True)
    members = tuple(MemberColumn(rank, *pair) for rank, pair in zip(facts["members"], sets, strict=True))
    codebook = Codebook(tuple(ranks), members, tuple(_load_probes(reader)))
    if facts["version"] < EXACT_NUMBERS and _among_integers(codebook):
        raise SnapshotError(
            f"{reader.folder} compares numbers beyond 2**53 as floats, as Vedette {facts.get('library')} did\n"
            "Hint: compile the subscriptions again and save them"
        )
    return codebook


def _among_integers(codebook: Codebook) -> bool:
    """Whether a constant of a numeric attribute lies where not every integer is a float64."""
    tables = [ranks.steps.breakpoints for ranks in codebook.ranks if isinstance(ranks, KeyRanks) and _is_float(ranks)]
    for probe in codebook.probes:
        if probe.column.type.kind is Kind.FLOAT:
            tables += [keys for name, keys in probe.table.arrays().items() if name.endswith(_KEYS_OF_LISTS)]
    return any(bool(np.any((np.abs(keys) >= _DENSE) & (keys <= _MOST))) for keys in tables)


def _is_float(ranks: KeyRanks) -> bool:
    return ranks.column.type.kind is Kind.FLOAT


def _load_probes(reader: SnapshotReader) -> list[ProbeColumn]:
    if not reader.facts["probes"]:
        return []
    from vedette.filters.probes.probe_table import ProbeTable

    probes = []
    for number, facts in enumerate(reader.facts["probes"]):
        prefix = f"probe.{number}."
        arrays = {name.removeprefix(prefix): reader.array(name) for name in reader.names(prefix)}
        column = _column(facts)
        probes.append(ProbeColumn(column, ProbeTable.restore(column, arrays)))
    return probes


def _load_joined(reader: SnapshotReader, name: str) -> list[NDArray[Any]]:
    """Load the arrays of several columns that share a file."""
    joined, read = reader.array(name), 0
    parts = []
    for length in reader.facts["lengths"][name]:
        parts.append(joined[read : read + length])
        read += length
    return parts
