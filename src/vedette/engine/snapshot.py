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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from vedette.covering.matcher import CoveringMatcher
from vedette.engine.pattern_shards import PatternSet, ShardOptions
from vedette.errors import SnapshotError
from vedette.filters.matcher import Matcher
from vedette.filters.snapshot_files import MANIFEST, SnapshotReader, SnapshotWriter, is_snapshot
from vedette.filters.subscription_records import OperatorRecord, PatternRecord, Predict, WantRecord
from vedette.filters.subscription_set import SpecialRecord, SubscriptionSet
from vedette.filters.subscription_table import SubscriptionTable
from vedette.operators.statistics import Statistics
from vedette.patterns.forecasts.model import Model

if TYPE_CHECKING:
    from vedette.engine.engine import Engine

_PLAIN: Final = "plain"
_CALLS: Final = "with_operators"
_PATTERNS: Final = "patterns"
_WANTS: Final = "wants"
_STATISTICS: Final = "statistics.json"
MODEL: Final = "model"
_COVERING: Final = "covering"
PARTS: Final = (_COVERING, _PLAIN, f"{_PLAIN}/{_COVERING}", _CALLS, _PATTERNS, _WANTS)  # folders with a manifest
_OURS: Final = {_PLAIN, _CALLS, _PATTERNS, _WANTS, _STATISTICS, MODEL}


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
    engine.filters.save(folder / _PLAIN)
    with SnapshotWriter(folder / _PATTERNS) as writer:
        patterns = list(engine.pattern_records.values())
        writer.arrow("records", _records(patterns).table)
        writer.array("place", _places(engine, patterns))
        asked = [None if each.predict is None else orjson.dumps(_plain(each.predict)).decode() for each in patterns]
        writer.arrow("predict", pa.RecordBatch.from_arrays([pa.array(asked, pa.string())], ["predict"]))
        writer.finish({"plain": engine.filters.version})
    with SnapshotWriter(folder / _WANTS) as writer:
        wants = list(engine.wants.values())
        writer.arrow("records", _records(wants).table)
        writer.array("place", _places(engine, wants))
        writer.finish({"plain": engine.filters.version})
    with SnapshotWriter(folder / _CALLS) as writer:
        calls = list(engine.operator_records.values())
        writer.arrow("records", _records(calls).table)
        writer.array("place", _places(engine, calls))
        writer.array("plain_place", _plain_places(engine))
        model = None if engine.model is None else zlib.crc32(engine.model.to_bytes())
        writer.finish({"plain": engine.filters.version, "patterns": engine.version, "model": model})
    engine.calling.statistics.save(folder / _STATISTICS)
    if engine.model is None:
        (folder / MODEL).unlink(missing_ok=True)
    else:
        engine.model.save(folder / MODEL)


@dataclass(frozen=True, eq=False)
class SavedEngine:
    """A snapshot that was read: filters are mapped, the records of other kinds are not compiled yet.

    So nothing has to be known of operators until an engine is made of it (`Engine.restored`), or of one half of it.
    """

    filters: Matcher
    calls: Sequence[OperatorRecord] = ()
    patterns: Sequence[PatternRecord] = ()
    wants: Sequence[WantRecord] = ()
    plain_places: NDArray[np.int64] | None = None  # of the plain filters; None: all are plain
    places: Mapping[str, int] = field(default_factory=dict)  # of the others
    model: Model | None = None
    statistics: Statistics | None = None  # of operators
    version: str | None = None  # of the engine; version 0.1 did not write it

    @property
    def calls_operators(self) -> bool:
        """Whether some filter, or some step or feature of a pattern, calls operators."""
        return bool(self.calls) or any(each.calls_operators(self.filters.schema) for each in self.patterns)

    def without_filters(self) -> SavedEngine:
        """The same without the plain filters, which may be large."""
        nothing = SubscriptionSet(self.filters.schema).compile_filters(self.filters.index)
        return replace(self, filters=nothing, plain_places=np.zeros(0, np.int64))

    def sharded(self, options: ShardOptions) -> PatternSet:
        """The patterns, as shards follow them."""
        return PatternSet.of(self.patterns, self.filters.schema, options, self.model)


def read(folder: Path, *, verify: bool = True, model: Model | None = None) -> SavedEngine:
    """Read the records and map the filters; without `model`, the one that was saved."""
    if not (folder / _CALLS).exists():
        return SavedEngine(_filters(folder, verify), model=model, statistics=_of(model))
    reader = SnapshotReader(folder / _CALLS, verify=verify)
    filters = _filters(folder / _PLAIN, verify)
    _check(reader, filters, folder)
    beside = folder / _STATISTICS
    known = Statistics.load(beside) if beside.exists() else None
    if model is None:
        model = _model(reader, folder / MODEL)
    try:
        patterns, places = _load_patterns(folder / _PATTERNS, filters, verify)
        wants = _load_wants(folder / _WANTS, filters, verify)
        kept = SubscriptionTable(reader.arrow("records"))
        calls = [
            OperatorRecord(id_, kept.text(number) or "", kept.subscriber(number), kept.origin(number))
            for number, id_ in enumerate(kept.ids.to_pylist())
        ]
        plain = reader.array("plain_place")
        others = {one.id: place for one, place in zip(calls, reader.array("place").tolist(), strict=True)}
        others |= {one.id: place for one, place in zip(patterns, places, strict=True)}
        others |= {one.id: place for place, one in wants.items()}
        taken = np.concatenate([plain, np.array(list(others.values()), np.int64)])
        if not np.array_equal(np.sort(taken), np.arange(len(filters) + len(others))):
            raise ValueError("two subscriptions are at one place")
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
        raise unfit(folder, error) from error
    wanted = list(wants.values())
    statistics = _of(model) if known is None else known
    return SavedEngine(filters, calls, patterns, wanted, plain, others, model, statistics, reader.facts.get("patterns"))


def check(folder: Path) -> None:
    """SnapshotError unless all parts are there, and whatever is looked at of each; records are not read."""
    parts = [folder]
    if (folder / _CALLS).exists():
        parts = [folder / name for name in (_PLAIN, _CALLS, _PATTERNS, _WANTS)]
        if lost := missing_parts(folder):
            raise SnapshotError(f"{lost[0]} is missing")
    for part in parts:
        SnapshotReader(part, verify=False)


def unfit(folder: Path, error: Exception) -> SnapshotError:
    """The error of a snapshot whose parts contradict each other."""
    return SnapshotError(f"{folder}: the snapshot does not fit together ({error})")


def parts_of(folder: Path) -> list[Path]:
    """The folders of a snapshot that have a manifest."""
    return [part for part in (folder, *(folder / name for name in PARTS)) if is_snapshot(part)]


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
        wanted.append(folder / MODEL)
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


def _plain_places(engine: Engine) -> NDArray[np.int64]:
    return np.arange(len(engine)) if engine.filter_places is None else engine.filter_places


def _places(engine: Engine, some: Sequence[SpecialRecord]) -> NDArray[np.int64]:
    return np.array([engine.places[each.id] for each in some], np.int64)


def _records(some: Iterable[SpecialRecord]) -> SubscriptionTable:
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
