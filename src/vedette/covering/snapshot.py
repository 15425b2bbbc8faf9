"""Snapshots of a matcher with covering.

Such a folder is the snapshot of the matcher without covering, which opens by itself, and has in it

covering/   the two levels beside its index, and the covers
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa

from vedette.covering.cover_judge import Method
from vedette.covering.cover_set import CoverAnswer
from vedette.covering.coverage import CoverDecisions
from vedette.covering.level_index import LevelIndex
from vedette.covering.matcher import CoveringMatcher
from vedette.errors import SnapshotError
from vedette.filters.matcher import Matcher
from vedette.filters.segment import Segment
from vedette.filters.snapshot_files import MANIFEST, SnapshotReader, SnapshotWriter
from vedette.filters.subscription_view import LiveSegment, SubscriptionView

_COVERING = "covering"
_ANSWERS = pa.schema(
    [
        ("subscription", pa.large_string()),
        ("by", pa.list_(pa.large_string())),
        ("method", pa.string()),
        ("certain", pa.bool_()),
        ("error", pa.float64()),
    ]
)


def save(matcher: CoveringMatcher, folder: Path) -> None:
    """Write both parts; an older snapshot there is replaced."""
    plain = Matcher.of(matcher.plain, matcher.schema)
    plain.save(folder)
    levels, found = matcher.levels, matcher.found
    with SnapshotWriter(folder / _COVERING) as writer:
        for name, array in ({} if levels is None else levels.arrays()).items():
            if not name.startswith("flat."):
                writer.array(f"levels.{name}", array)
        rows = [
            (each.subscription, list(each.by), each.method, each.certain, each.error) for each in found.answers.values()
        ]
        columns = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(_ANSWERS)]
        writer.arrow("answers", pa.RecordBatch.from_arrays(columns, schema=_ANSWERS))
        writer.finish({"plain": plain.version, "covered": len(rows), "method": found.method, "budget": found.budget})


def load(folder: Path, *, verify: bool = True) -> CoveringMatcher:
    """Load the matcher; SnapshotError if the parts are not what `save` wrote, or do not belong together."""
    plain = Matcher.open(folder, verify=verify)
    if not (folder / _COVERING / MANIFEST).exists():
        raise SnapshotError(f"{folder} was saved without covering\nHint: vedette.open opens it")
    reader = SnapshotReader(folder / _COVERING, verify=verify)
    if reader.facts.get("plain") != plain.version:
        raise SnapshotError(f"{folder}: who covers whom was saved with other subscriptions\nHint: save it again")
    try:
        segment, found = _segment(reader, plain.segment), _decided(reader)
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
        raise SnapshotError(f"{folder}: the snapshot does not fit together ({error})") from error
    return CoveringMatcher(SubscriptionView(plain.schema, (LiveSegment(segment),)), found)


def _segment(reader: SnapshotReader, segment: Segment) -> Segment:
    arrays: dict[str, Any] = {name.removeprefix("levels."): reader.array(name) for name in reader.names("levels.")}
    if not arrays:
        return segment
    arrays |= {f"flat.{name}": array for name, array in segment.index.arrays().items()}
    levels = LevelIndex.restore(segment.table, len(segment.codebook.ranks), arrays)
    if not np.array_equal(
        np.sort(np.concatenate((levels.plan.first, levels.plan.covered))), np.arange(segment.conjunctions)
    ):
        raise SnapshotError(f"{reader.folder}: the levels are not those of the conjunctions\nHint: save it again")
    return replace(segment, index=levels)


def _decided(reader: SnapshotReader) -> CoverDecisions:
    rows = reader.arrow("answers").to_pylist()
    if len(rows) != reader.facts["covered"] or reader.facts["method"] not in get_args(Method):
        raise SnapshotError(f"{reader.folder}: who covers whom is not what the manifest says")
    answers = {
        row["subscription"]: CoverAnswer(
            row["subscription"], True, tuple(row["by"]), row["method"], row["certain"], row["error"]
        )
        for row in rows
    }
    return CoverDecisions(answers, cast("Method", reader.facts["method"]), reader.facts["budget"])
