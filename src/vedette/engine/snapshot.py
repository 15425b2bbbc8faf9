"""Snapshots of an engine: a folder of arrays, texts and what was learned.

A set of plain filters alone is saved as the snapshot of a matcher: arrays that are mapped, with `covering/` if some
are covered. A set with other kinds has

plain/            that snapshot
with_operators/   filters that call operators: their texts, which are parsed and planned again when opened
patterns/         patterns and their forecast options, which are parsed again
wants/            subscriptions to offers, which are parsed again
statistics.json   statistics of operators; may be newer than the rest
model             what was learned of patterns, if the engine was given a model
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from vedette.covering.matcher import CoveringMatcher
from vedette.engine.engine import Engine, EngineRecord
from vedette.errors import SnapshotError
from vedette.filters.matcher import Matcher
from vedette.filters.operator_records import OperatorRecord
from vedette.filters.pattern_records import PatternRecord, Predict
from vedette.filters.snapshot_files import MANIFEST, SnapshotReader, SnapshotWriter
from vedette.filters.subscription_table import SubscriptionTable
from vedette.filters.want_records import WantRecord
from vedette.operators.calling import Calling
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics
from vedette.patterns.forecasts.model import Model

_PLAIN: Final = "plain"
_CALLS: Final = "with_operators"
_PATTERNS: Final = "patterns"
_WANTS: Final = "wants"
_STATISTICS: Final = "statistics.json"
_MODEL: Final = "model"
_COVERING: Final = "covering"
_OURS: Final = {_PLAIN, _CALLS, _PATTERNS, _WANTS, _STATISTICS, _MODEL}


def save(engine: Engine, folder: Path) -> None:
    """Write all parts; an older snapshot there is replaced, and all other files are left alone."""
    if engine.is_plain and not (folder / _CALLS).exists():
        engine.filters.save(folder)
        return
    if folder.exists() and not (folder.is_dir() and _names(folder) <= _OURS):
        raise SnapshotError(
            f"{folder} is there already and is not a snapshot of filters and patterns\n"
            "Hint: save into a new or an empty folder"
        )
    place_of = {id_: place for place, id_ in enumerate(engine)}
    engine.filters.save(folder / _PLAIN)
    plain = np.array([place_of[id_] for id_ in engine.filters], np.int64)
    with SnapshotWriter(folder / _PATTERNS) as writer:
        patterns = list(engine.pattern_records.values())
        writer.arrow("records", _records(patterns).table)
        writer.array("place", np.array([place_of[each.id] for each in patterns], np.int64))
        asked = [None if each.predict is None else orjson.dumps(_plain(each.predict)).decode() for each in patterns]
        writer.arrow("predict", pa.RecordBatch.from_arrays([pa.array(asked, pa.string())], ["predict"]))
        writer.finish({"plain": engine.filters.version})
    with SnapshotWriter(folder / _WANTS) as writer:
        wants = list(engine.wants.values())
        writer.arrow("records", _records(wants).table)
        writer.array("place", np.array([place_of[each.id] for each in wants], np.int64))
        writer.finish({"plain": engine.filters.version})
    with SnapshotWriter(folder / _CALLS) as writer:
        calls = list(engine.operator_records.values())
        writer.arrow("records", _records(calls).table)
        writer.array("place", np.array([place_of[each.id] for each in calls], np.int64))
        writer.array("plain_place", plain)
        model = None if engine.model is None else zlib.crc32(engine.model.to_bytes())
        writer.finish({"plain": engine.filters.version, "patterns": engine.version, "model": model})
    engine.calling.statistics.save(folder / _STATISTICS)
    if engine.model is None:
        (folder / _MODEL).unlink(missing_ok=True)
    else:
        engine.model.save(folder / _MODEL)


def load(folder: Path, *, operators: Operators | None, model: Model | None, verify: bool) -> Engine:
    """Load the engine; SnapshotError if no version wrote this folder, or its parts do not fit."""
    if not (folder / _CALLS).exists():
        filters = _filters(folder, verify)
        return Engine(filters, calling=Calling(operators, statistics=_of(model)), model=model)
    reader = SnapshotReader(folder / _CALLS, verify=verify)
    filters = _filters(folder / _PLAIN, verify)
    _check(reader, filters, folder)
    beside = folder / _STATISTICS
    known = Statistics.load(beside) if beside.exists() else None
    if model is None:
        model = _model(reader, folder / _MODEL)
    calling = Calling(operators, statistics=_of(model) if known is None else known)
    try:
        patterns, places = _load_patterns(folder / _PATTERNS, filters, verify)
        wants = _load_wants(folder / _WANTS, filters, verify)
        engine = _put_together(reader, filters, patterns, places, wants, calling, model)
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
        raise SnapshotError(f"{folder}: the snapshot does not fit together ({error})") from error
    said = reader.facts.get("patterns")  # version 0.1 had none
    if said is not None and said != engine.version:
        raise SnapshotError(f"{folder}: its parts were not saved together\nHint: save the subscriptions again")
    return engine


def _model(reader: SnapshotReader, path: Path) -> Model | None:
    """Load the model; an error if it is missing or another one, since forecasts would silently differ."""
    wanted = reader.facts.get("model", path.exists() or None)  # older snapshots do not record whether there is one
    if wanted is None:
        return None
    if not path.exists():
        raise SnapshotError(f"{path} is missing\nHint: restore it from a copy, or hand in another as `model`")
    model = Model.load(path)
    if wanted is not True and wanted != zlib.crc32(path.read_bytes()):
        raise SnapshotError(
            f"{path} was not saved with the subscriptions beside it\n"
            "Hint: save them again, or hand the model in as `model`"
        )
    return model


def missing_parts(folder: Path) -> list[Path]:
    """The parts that a snapshot had when it was saved and has lost, so that it cannot be opened."""
    facts = SnapshotReader(folder / _CALLS, verify=False).facts
    parts = [_PLAIN, *([_PATTERNS, _WANTS] if "patterns" in facts else [])]  # version 0.1 had none of these
    wanted = [folder / part / MANIFEST for part in parts]
    if facts.get("model") is not None:
        wanted.append(folder / _MODEL)
    return [path for path in wanted if not path.exists()]


def _of(model: Model | None) -> Statistics | None:
    return None if model is None else model.operators


def _filters(folder: Path, verify: bool) -> Matcher:
    """Load the plain filters, with covering if they were saved with it."""
    if (folder / _COVERING / MANIFEST).exists():
        return CoveringMatcher.open(folder, verify=verify)
    return Matcher.open(folder, verify=verify)


def _check(reader: SnapshotReader, filters: Matcher, folder: Path) -> None:
    if reader.facts.get("plain") != filters.version:
        raise SnapshotError(
            f"{folder}: {_PLAIN} and {reader.folder.name} were not saved together\nHint: save the subscriptions again"
        )


def _load_patterns(folder: Path, filters: Matcher, verify: bool) -> tuple[list[PatternRecord], list[int]]:
    if not (folder / MANIFEST).exists():  # version 0.1 had none
        return [], []
    reader = SnapshotReader(folder, verify=verify)
    _check(reader, filters, folder.parent)
    kept, asked = SubscriptionTable(reader.arrow("records")), reader.arrow("predict").column(0).to_pylist()
    found = []
    for number, (id_, predict) in enumerate(zip(kept.ids.to_pylist(), asked, strict=True)):
        forecast = None if predict is None else Predict.kept(orjson.loads(predict))
        text, subscriber = kept.text(number) or "", kept.subscriber(number)
        found.append(PatternRecord(id_, text, subscriber, forecast, kept.origin(number)))
    return found, reader.array("place").tolist()


def _load_wants(folder: Path, filters: Matcher, verify: bool) -> dict[int, WantRecord]:
    """Load the wants, by place."""
    if not (folder / MANIFEST).exists():  # version 0.1 had none
        return {}
    reader = SnapshotReader(folder, verify=verify)
    _check(reader, filters, folder.parent)
    kept = SubscriptionTable(reader.arrow("records"))
    return {
        place: WantRecord(id_, kept.text(number) or "", kept.subscriber(number), kept.origin(number))
        for number, (id_, place) in enumerate(zip(kept.ids.to_pylist(), reader.array("place").tolist(), strict=True))
    }


def _put_together(
    reader: SnapshotReader,
    filters: Matcher,
    patterns: Sequence[PatternRecord],
    pattern_places: Sequence[int],
    wants: Mapping[int, WantRecord],
    calling: Calling,
    model: Model | None,
) -> Engine:
    kept = SubscriptionTable(reader.arrow("records"))
    calls = [
        OperatorRecord(id_, kept.text(number) or "", kept.subscriber(number), kept.origin(number))
        for number, id_ in enumerate(kept.ids.to_pylist())
    ]
    plain = reader.array("plain_place")
    others = {one.id: place for one, place in zip(calls, reader.array("place").tolist(), strict=True)}
    others |= {one.id: place for one, place in zip(patterns, pattern_places, strict=True)}
    others |= {one.id: place for place, one in wants.items()}
    placed: dict[int, str] = dict(zip(plain.tolist(), filters, strict=True)) | {at: id_ for id_, at in others.items()}
    if sorted(placed) != list(range(len(filters) + len(others))):
        raise ValueError("two subscriptions are at one place")
    ids = pa.array([placed[place] for place in sorted(placed)], pa.large_string())
    return Engine(
        filters,
        calls,
        patterns,
        list(wants.values()),
        ids=ids,
        filter_places=plain,
        places=others,
        calling=calling,
        model=model,
    )


def _records(some: Iterable[EngineRecord]) -> SubscriptionTable:
    kept = list(some)
    origins = {number: each.origin for number, each in enumerate(kept) if each.origin is not None}
    return SubscriptionTable.of(
        [each.id for each in kept], [each.text for each in kept], [each.subscriber for each in kept], origins
    )


def _plain(predict: Predict) -> Mapping[str, Any]:
    return {"within": predict.within, "threshold": predict.threshold, "features": list(predict.features)}


def _names(folder: Path) -> set[str]:
    """The files of a snapshot, without leftovers of an interrupted save."""
    return {each.name for each in folder.iterdir() if not each.name.startswith(".")}
