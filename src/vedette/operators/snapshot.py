"""A set of filters with operators as a folder: the plain ones compiled, the others as texts, in the order of addition.

plain/            a snapshot of the filters without operators
with_operators/   the others: their texts, which are planned anew when they are opened
statistics.json   what was learned of operators; it may be newer than the rest
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from vedette.errors import SnapshotError
from vedette.matching.matcher import Matcher
from vedette.matching.operator_records import OperatorRecord
from vedette.matching.records import Records
from vedette.matching.snapshot_files import SnapshotReader, SnapshotWriter, is_snapshot

STATISTICS: Final = "statistics.json"
_PLAIN, _OTHERS = "plain", "with_operators"


def save(folder: Path, ids: Sequence[str], plain: Matcher, records: Sequence[OperatorRecord]) -> None:
    """Write both; an older snapshot in their place is replaced, and anything else is left alone."""
    if folder.exists() and not (folder.is_dir() and _names(folder) <= {_PLAIN, _OTHERS, STATISTICS}):
        raise SnapshotError(
            f"{folder} is there already and is not a snapshot of filters with operators\n"
            "Hint: save into a new or an empty folder"
        )
    place_of = {id_: place for place, id_ in enumerate(ids)}
    plain.save(folder / _PLAIN)
    with SnapshotWriter(folder / _OTHERS) as writer:
        writer.arrow("records", _records(records).table)
        writer.array("place", np.array([place_of[each.id] for each in records], np.int64))
        writer.array("plain_place", np.array([place_of[id_] for id_ in plain], np.int64))
        writer.finish({"plain": plain.version})


def load(folder: Path, *, verify: bool = False) -> tuple[list[str], Matcher, list[OperatorRecord]]:
    """All ids in the order of addition, the plain filters, and the others; SnapshotError if they do not fit."""
    if is_snapshot(folder):
        raise SnapshotError(f"{folder} is a snapshot of filters without operators\nHint: Matcher.open opens it")
    reader = SnapshotReader(folder / _OTHERS, verify=verify)
    plain = Matcher.open(folder / _PLAIN, verify=verify)
    if reader.facts.get("plain") != plain.version:
        raise SnapshotError(
            f"{folder}: {_PLAIN} and {_OTHERS} were not saved together\nHint: save the subscriptions again"
        )
    kept = Records(reader.arrow("records"))
    records = [
        OperatorRecord(id_, kept.text(number) or "", kept.subscriber(number), kept.origin(number))
        for number, id_ in enumerate(kept.ids.to_pylist())
    ]
    placed = dict(zip(reader.array("plain_place").tolist(), plain, strict=True))
    placed |= zip(reader.array("place").tolist(), (each.id for each in records), strict=True)
    return [placed[place] for place in sorted(placed)], plain, records


def _records(records: Sequence[OperatorRecord]) -> Records:
    origins = {number: each.origin for number, each in enumerate(records) if each.origin is not None}
    return Records.of(
        [each.id for each in records],
        [each.text for each in records],
        [each.subscriber for each in records],
        origins,
    )


def _names(folder: Path) -> set[str]:
    """What is in it, but for what an interrupted save left."""
    return {each.name for each in folder.iterdir() if not each.name.startswith(".")}
