"""Ledger of a checkpoint: the version of the subscriptions that each micro-batch uses, written before it runs.

So a micro-batch that is run again after a crash gives the same notifications, however the subscriptions have changed
meanwhile.

    <checkpoint>/vedette/pipeline.json         whose checkpoint this is
    <checkpoint>/vedette/batches/0000000012    the version that micro-batch 12 uses
    <checkpoint>/vedette/snapshots/<version>-… that version, compiled; kept as long as a micro-batch may need it
    <checkpoint>/vedette/operators.json        statistics of operators, with which planning of their calls begins
    <checkpoint>/vedette/lock                  held by the process that runs

Beside it lies what Spark writes: a micro-batch that is in `offsets` and not in `commits` will be run again.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import FilterError, NotSupported, PipelineError, SnapshotError
from vedette.filters.snapshot_files import VERSION as SNAPSHOT_FORMAT
from vedette.spark.engine_versions import EngineVersion
from vedette.spark.pipeline.checkpoint_facts import differences
from vedette.spark.pipeline.checkpoint_versions import SavedVersion, remove_versions, save_version, saved_version
from vedette.spark.pipeline.storage import Storage
from vedette.version import __version__

FORMAT = 1
_WHOSE = "vedette/pipeline.json"
_BATCHES = "vedette/batches"
_REMEMBERED = 100  # micro-batches whose versions stay written down, for people to look up
# Folders refuse the batches of another stream; tables and topics take them, as more of the same.
_ANEW = "or begin anew: remove the checkpoint and every folder that its sinks wrote, and all events are read again"


@dataclass(frozen=True, slots=True)
class BatchVersion:
    """The version that a micro-batch uses."""

    batch: int
    version: str
    engine: Engine
    options: ShardOptions | None  # how its patterns are followed, where they are
    again: bool = False  # the micro-batch began before, in a run that was cut short
    origins: Mapping[str, str] = field(default_factory=dict)  # id -> where it comes from, as JSON, if it says so
    set_aside: int = 0  # subscriptions that were bad

    @classmethod
    def of(cls, batch: int, current: EngineVersion, since: Mapping[str, int]) -> BatchVersion:
        """The current version, and since which micro-batch its later patterns are there."""
        options = _with_since(current.options, since)
        return cls(
            batch, current.version, current.engine, options, origins=current.origins, set_aside=current.set_aside
        )


class CheckpointLedger:
    """The ledger of one checkpoint."""

    def __init__(self, storage: Storage, stream: str, notes: tuple[str, ...], *, calls_operators: bool) -> None:
        self._storage = storage
        self._calls_operators = calls_operators  # the pipeline may call operators
        self.stream = stream  # the name of this checkpoint's stream, unlike that of any other
        self.notes = notes  # notes to be shown before the start

    @classmethod
    def open(
        cls,
        storage: Storage,
        facts: Mapping[str, Any],
        current: EngineVersion,
        spark_log: SparkLog,
        *,
        calls_operators: bool = False,
    ) -> CheckpointLedger:
        """The ledger of a checkpoint; PipelineError if it is another pipeline's, or cannot be continued."""
        storage.lock()
        text = storage.read(_WHOSE)
        if text is None:
            if spark_log.newest is not None:
                raise PipelineError(
                    f"{storage.name} is a checkpoint, but of a stream that is no Vedette pipeline\n"
                    "Hint: choose another `checkpoint`"
                )
            stream = uuid.uuid4().hex
            record = {
                "format": FORMAT,
                "stream": stream,
                "library": __version__,
                "snapshots": SNAPSHOT_FORMAT,
                "facts": facts,
                "shards": None if current.options is None else current.options.shards,
            }
            storage.write(_WHOSE, orjson.dumps(record, option=orjson.OPT_INDENT_2))
            return cls(storage, stream, (), calls_operators=calls_operators)
        record = _parsed(text, storage.name)
        _refuse_others(record, facts, storage.name)
        ledger = cls(storage, str(record["stream"]), (), calls_operators=calls_operators)
        ledger.notes = tuple(ledger._news(record, current, spark_log))
        return ledger

    def close(self) -> None:
        """Release the lock on the checkpoint."""
        self._storage.unlock()

    def begin(self, batch: int, current: EngineVersion) -> BatchVersion:
        """The version for a micro-batch: the one that it began with, else the current one, which is written down."""
        entry = self._entry(batch)
        if entry is not None:
            use = self._use(entry, current)
            return replace(use, batch=batch, again=True, set_aside=int(entry.get("set aside", 0)))
        since = self._since(batch, current)
        entry = {
            "batch": batch,
            **save_version(self._storage, current),
            "subscriptions": len(current.engine),
            "since": since,
            "operators": current.engine.kinds["operators"],
            "set aside": current.set_aside,
            "library": __version__,
            "began": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        }
        self._storage.write(_entry_name(batch), orjson.dumps(entry))
        self._prune(entry)
        return BatchVersion.of(batch, current, since)

    # ------------------------------------------------------------ inside

    def _entry(self, batch: int) -> dict[str, Any] | None:
        text = self._storage.read(_entry_name(batch))
        return None if text is None else _parsed(text, f"{self._storage.name}/{_entry_name(batch)}")

    def _use(self, entry: Mapping[str, Any], current: EngineVersion) -> BatchVersion:
        """The version of an entry, as a micro-batch uses it."""
        batch, version, since = entry["batch"], str(entry["version"]), entry.get("since", {})
        if version == current.version:
            return BatchVersion.of(batch, current, since)
        saved, options, origins = self._saved(entry)
        began = (
            f"micro-batch {batch} was cut short, and has to be run again with version {version} of the "
            "subscriptions, {}as it began; but "
        )
        if saved.calls_operators and not self._calls_operators:
            raise PipelineError(
                f"{began.format('which calls operators, ')}this pipeline has none\n"
                "Hint: give it the section [operators] that it had, until it is done"
            )
        try:
            engine = Engine.restored(saved, current.engine.calling)
        except (FilterError, NotSupported) as error:
            raise PipelineError(
                f"{began.format('')}the operators that it calls have changed: {error}\n"
                "Hint: put the operators back as they were until it is done"
            ) from error
        told = engine.told() if origins is None else origins
        return BatchVersion(batch, version, engine, _with_since(options, since), origins=told)

    def _saved(self, entry: Mapping[str, Any]) -> SavedVersion:
        batch, version = entry["batch"], entry["version"]
        try:
            return saved_version(self._storage, entry)
        except SnapshotError as error:
            reason = str(error).partition("\nHint: ")[0]
            raise PipelineError(
                f"micro-batch {batch} was cut short, and has to be run again with version {version} of the "
                f"subscriptions, as it began; but that version cannot be read: {reason}\n"
                "Hint: finish it with the version of Vedette that began it; or put the subscriptions back as they "
                f"were (version {version}) and start again; {_ANEW}"
            ) from error

    def _since(self, batch: int, current: EngineVersion) -> dict[str, int]:
        """First micro-batches of the patterns that were added later than the first one, by id.

        A pattern that was removed and came back begins anew, also where no event came meanwhile.
        """
        entry = self._entry(batch - 1)
        if current.options is None or entry is None:
            return {}
        known: dict[str, int] = entry.get("since", {})
        if entry["version"] == current.version:
            return known
        saved, options, _ = self._saved(entry)
        if options is None:
            return known
        before, now = saved.sharded(options), current.engine.sharded(current.options)
        # Where forecasts begin to learn, or cease to, their patterns are followed at another place.
        stays = {record for record in before.records if record.predict is None or before.learn == now.learn}
        since = {record.id: known.get(record.id, 0) if record in stays else batch for record in now.records}
        return {id_: first for id_, first in since.items() if first}

    def _prune(self, entry: Mapping[str, Any]) -> None:
        """Remove what no micro-batch needs: only the newest may run again; the one before is kept to be safe."""
        batch: int = entry["batch"]
        remove_versions(self._storage, [each for each in (entry, self._entry(batch - 1)) if each])
        if batch % _REMEMBERED == 0:
            for name in self._storage.names(_BATCHES):
                if name.isdigit() and int(name) < batch - _REMEMBERED:
                    self._storage.remove(f"{_BATCHES}/{name}")

    def _news(self, record: Mapping[str, Any], current: EngineVersion, spark_log: SparkLog) -> list[str]:
        """Notes for the start; an error if the pending micro-batch cannot be run again."""
        notes: list[str] = []
        if spark_log.newest is None:
            return notes
        newest = spark_log.newest
        entry = self._entry(newest)
        if entry is None:  # it was cut short before it began, so it begins now
            entry = self._entry(newest - 1)
        if entry is None:
            return notes
        version = str(entry["version"])
        if spark_log.pending and entry["batch"] == newest:
            self._use(entry, current)
            notes.append(f"micro-batch {newest} was cut short: it is run again, with version {version} as it began")
        if version != current.version:
            first = newest + 1 if entry["batch"] == newest else newest
            notes.append(
                f"the subscriptions have changed from version {version} to {current.version}: "
                f"the new ones hold from micro-batch {first} on"
            )
        if entry["library"] != __version__:
            notes.append(f"the checkpoint was last used by Vedette {entry['library']}; this is {__version__}")
        return notes


def described(storage: Storage) -> dict[str, Any]:
    """The contents of a ledger, for people; PipelineError if the folder is no checkpoint."""
    text = storage.read(_WHOSE)
    if text is None:
        raise PipelineError(
            f"{storage.name} is no checkpoint of a pipeline\nHint: the folder that a pipeline file calls `checkpoint`"
        )
    record, log = _parsed(text, storage.name), SparkLog.of(storage)
    if record.get("format") != FORMAT:
        _refuse_others(record, record.get("facts", {}), storage.name)
    entries = [
        _parsed(found, each) for each in storage.names(_BATCHES) if (found := storage.read(f"{_BATCHES}/{each}"))
    ]
    return {
        **{name: record.get(name) for name in ("stream", "library", "format", "snapshots", "facts", "shards")},
        "newest": log.newest,
        "pending": log.pending,
        "batches": entries,
    }


def shards_in(storage: Storage) -> int | None:
    """Number of shards of the patterns of a checkpoint, fixed when it was made; None if it does not say."""
    text = storage.read(_WHOSE)
    shards = None if text is None else _parsed(text, storage.name).get("shards")
    return shards if isinstance(shards, int) else None


@dataclass(frozen=True, slots=True)
class SparkLog:
    """State of Spark's own checkpoint: the newest planned micro-batch, and whether it is still pending."""

    newest: int | None
    pending: bool

    @classmethod
    def of(cls, storage: Storage) -> SparkLog:
        """Read from the names of Spark's files, which are numbers of micro-batches."""
        planned = [int(name) for name in storage.names("offsets") if name.isdigit()]
        done = [int(name) for name in storage.names("commits") if name.isdigit()]
        newest = max(planned, default=None)
        return cls(newest, newest is not None and newest > max(done, default=-1))


def _entry_name(batch: int) -> str:
    return f"{_BATCHES}/{batch:010d}"


def _with_since(options: ShardOptions | None, since: Mapping[str, int]) -> ShardOptions | None:
    return None if options is None else replace(options, since=tuple(since.items()))


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise PipelineError(f"{name} is damaged ({error})\nHint: put it back from a backup; {_ANEW}") from None
    if not isinstance(record, dict):
        raise PipelineError(f"{name} is damaged: it holds no object\nHint: put it back from a backup; {_ANEW}")
    return record


def _refuse_others(record: Mapping[str, Any], facts: Mapping[str, Any], name: str) -> None:
    if record.get("format") != FORMAT:
        raise PipelineError(
            f"the checkpoint {name} has format {record.get('format')}, made by Vedette {record.get('library')}; "
            f"this is Vedette {__version__}, which reads format {FORMAT}\n"
            f"Hint: run it with the version that made it; {_ANEW}"
        )
    changed = differences(record.get("facts", {}), orjson.loads(orjson.dumps(facts)))
    if changed:
        raise PipelineError(
            "\n".join([f"the checkpoint {name} was made by another pipeline:", *(f"  {each}" for each in changed)])
            + f"\nHint: put that back as it was; choose another `checkpoint`, and other folders for the sinks; {_ANEW}"
        )
