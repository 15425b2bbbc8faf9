"""The ledger of a checkpoint: what a micro-batch began with it ends with; strangers are refused, and told why."""

from __future__ import annotations

import base64
import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import PipelineError, SnapshotError
from vedette.filters.snapshot_files import VERSION as SNAPSHOT_FORMAT
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.spark.engine_versions import EngineVersion
from vedette.spark.pipeline.checkpoint import CheckpointLedger, SparkLog
from vedette.spark.pipeline.checkpoint_facts import differences
from vedette.spark.pipeline.remote_storage import RemoteStorage
from vedette.spark.pipeline.storage import LocalStorage, Storage
from vedette.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS = {"pipeline": "fraud", "type": "jsonl", "path": "/events"}


def version(when: str) -> EngineVersion:
    subscriptions = Subscriptions()
    subscriptions.add("s1", when)
    engine = subscriptions.compile()
    return EngineVersion(engine, engine.version, dt.datetime.now(dt.UTC))


ONE, TWO, THREE = version("a = 1"), version("a = 2"), version("a = 3")


class Checkpoint:
    """A checkpoint folder, with as much of Spark's own files as the ledger looks at."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ledger: CheckpointLedger | None = None

    def start(
        self, current: EngineVersion, facts: dict[str, Any] | None = None, *, calls_operators: bool = False
    ) -> CheckpointLedger:
        """As a new process does; the one before is gone."""
        if self._ledger is not None:
            self._ledger.close()
        storage = LocalStorage(self.root)
        try:
            self._ledger = CheckpointLedger.open(
                storage,
                FACTS if facts is None else facts,
                current,
                SparkLog.of(storage),
                calls_operators=calls_operators,
            )
        except PipelineError:
            storage.unlock()
            raise
        return self._ledger

    def plan(self, batch: int) -> None:
        self._touch("offsets", batch)

    def commit(self, batch: int) -> None:
        self._touch("commits", batch)

    def _touch(self, folder: str, batch: int) -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / folder / str(batch)).touch()

    def snapshots(self) -> list[str]:
        return sorted(path.name for path in (self.root / "vedette" / "snapshots").iterdir())


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "state")


def run(
    checkpoint: Checkpoint, ledger: CheckpointLedger, batch: int, current: EngineVersion, *, commit: bool = True
) -> str:
    """One micro-batch; the version that it used, as its engine says."""
    checkpoint.plan(batch)
    use = ledger.begin(batch, current)
    assert use.version == use.engine.version
    if commit:
        checkpoint.commit(batch)
    return use.version


def test_a_micro_batch_that_was_cut_short_keeps_its_version(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    assert run(checkpoint, ledger, 0, ONE) == ONE.version
    assert run(checkpoint, ledger, 1, ONE, commit=False) == ONE.version
    ledger = checkpoint.start(TWO)
    assert ledger.notes == (
        f"micro-batch 1 was cut short: it is run again, with version {ONE.version} as it began",
        f"the subscriptions have changed from version {ONE.version} to {TWO.version}: "
        "the new ones hold from micro-batch 2 on",
    )
    use = ledger.begin(1, TWO)
    assert (use.version, use.again) == (ONE.version, True)
    assert use.engine.match({"a": 1}) == ["s1"]
    assert run(checkpoint, ledger, 2, TWO) == TWO.version


def test_what_was_set_aside_is_the_same_when_a_micro_batch_is_run_again(checkpoint: Checkpoint) -> None:
    run(checkpoint, checkpoint.start(ONE), 0, replace(ONE, set_aside=3), commit=False)
    use = checkpoint.start(TWO).begin(0, TWO)  # by now other rows are bad, or none
    assert (use.version, use.set_aside, use.again) == (ONE.version, 3, True)


def test_nothing_is_said_where_nothing_happened(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    assert ledger.notes == ()
    run(checkpoint, ledger, 0, ONE)
    assert checkpoint.start(ONE).notes == ()


def test_a_micro_batch_that_was_planned_and_never_began(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    run(checkpoint, ledger, 0, ONE)
    checkpoint.plan(1)
    ledger = checkpoint.start(TWO)
    assert "the new ones hold from micro-batch 1 on" in ledger.notes[0]
    assert run(checkpoint, ledger, 1, TWO) == TWO.version


def test_a_stream_keeps_its_name(checkpoint: Checkpoint, tmp_path: Path) -> None:
    stream = checkpoint.start(ONE).stream
    assert checkpoint.start(TWO).stream == stream
    assert Checkpoint(tmp_path / "other").start(ONE).stream != stream


def test_snapshots_that_no_micro_batch_can_need_are_removed(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    for batch, current in enumerate([ONE, TWO, TWO, THREE, THREE, ONE]):
        run(checkpoint, ledger, batch, current)
    kept = {name.partition("-")[0] for name in checkpoint.snapshots()}
    assert kept == {THREE.version, ONE.version}
    run(checkpoint, ledger, 6, ONE)
    assert checkpoint.snapshots() == [f"{ONE.version}-{SNAPSHOT_FORMAT}"]


def test_the_ledger_does_not_grow_for_ever(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    for batch in range(0, 1000, 20):
        ledger.begin(batch, ONE)
    names = sorted(int(path.name) for path in (checkpoint.root / "vedette" / "batches").iterdir())
    assert names[-1] == 980
    assert len(names) < 12


def test_a_checkpoint_of_another_pipeline_is_refused(checkpoint: Checkpoint) -> None:
    checkpoint.start(ONE)
    other = {**FACTS, "path": "/elsewhere", "type": "csv"}
    with pytest.raises(PipelineError) as caught:
        checkpoint.start(ONE, other)
    assert len(differences(FACTS, other)) == 2
    assert str(caught.value).splitlines() == [
        f"the checkpoint {checkpoint.root} was made by another pipeline:",
        *(f"  {each}" for each in differences(FACTS, other)),
        "Hint: put that back as it was; choose another `checkpoint`, and other folders for the sinks; "
        "or begin anew: remove the checkpoint and every folder that its sinks wrote, and all events are read again",
    ]


def test_a_checkpoint_of_something_else_is_refused(checkpoint: Checkpoint) -> None:
    checkpoint.plan(0)
    with pytest.raises(PipelineError, match="no Vedette pipeline"):
        checkpoint.start(ONE)


def test_a_ledger_of_a_later_format_is_refused(checkpoint: Checkpoint) -> None:
    checkpoint.start(ONE)
    file = checkpoint.root / "vedette" / "pipeline.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99, "library": "9.9"}))
    with pytest.raises(PipelineError, match=r"format 99, made by Vedette 9\.9"):
        checkpoint.start(ONE)
    file.write_text("{")
    with pytest.raises(PipelineError, match="damaged"):
        checkpoint.start(ONE)


def _age(checkpoint: Checkpoint, batch: int, current: EngineVersion) -> None:
    """Make a micro-batch and its snapshot those of another version of the code."""
    entry = checkpoint.root / "vedette" / "batches" / f"{batch:010d}"
    entry.write_text(json.dumps({**json.loads(entry.read_text()), "snapshots": 0, "library": "0.0.1"}))
    snapshots = checkpoint.root / "vedette" / "snapshots"
    old = (snapshots / f"{current.version}-{SNAPSHOT_FORMAT}").rename(snapshots / f"{current.version}-0")
    manifest = old / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 0', 1))


def test_a_snapshot_of_another_format_matters_only_to_a_pending_micro_batch(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    run(checkpoint, ledger, 0, ONE)
    _age(checkpoint, 0, ONE)
    ledger = checkpoint.start(TWO)  # nothing is pending: it works, and it is said
    assert ledger.notes[-1] == f"the checkpoint was last used by Vedette 0.0.1; this is {__version__}"
    run(checkpoint, ledger, 1, TWO, commit=False)
    _age(checkpoint, 1, TWO)
    with pytest.raises(PipelineError) as caught:
        checkpoint.start(THREE)
    assert "micro-batch 1 was cut short" in str(caught.value)
    assert "format version 0" in str(caught.value)
    assert f"put the subscriptions back as they were (version {TWO.version})" in str(caught.value)
    assert checkpoint.start(TWO).begin(1, TWO).version == TWO.version  # so the advice is good


def test_a_damaged_snapshot_is_not_used(checkpoint: Checkpoint) -> None:
    ledger = checkpoint.start(ONE)
    run(checkpoint, ledger, 0, ONE, commit=False)
    array = next((checkpoint.root / "vedette" / "snapshots").glob("*/records.arrow"))
    array.write_bytes(array.read_bytes()[:-1])
    with pytest.raises(PipelineError, match="damaged"):
        checkpoint.start(TWO)


def test_two_processes_cannot_share_a_checkpoint(checkpoint: Checkpoint) -> None:
    checkpoint.start(ONE)
    with pytest.raises(PipelineError, match="another process is running"):
        Checkpoint(checkpoint.root).start(ONE)


def _exercise(storage: Storage) -> None:
    assert storage.read("a/b") is None
    storage.write("a/b", b"one")
    storage.write("a/b", b"two")
    assert storage.read("a/b") == b"two"
    assert storage.names("a") == ["b"]
    storage.remove("a/b")
    storage.remove("a/b")
    assert storage.names("a") == []
    assert storage.names("nowhere") == []
    storage.keep(ONE.engine, "snapshots/x")
    storage.keep(ONE.engine, "snapshots/x")
    assert storage.open("snapshots/x").filters.version == ONE.version
    assert storage.open("snapshots/x").filters.match({"a": 1}) == ["s1"]
    storage.remove("snapshots/x")
    assert storage.names("snapshots") == []
    with pytest.raises(SnapshotError):
        storage.open("snapshots/x")


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    _exercise(LocalStorage(tmp_path))
    storage = LocalStorage(tmp_path)
    storage.write("a/b", b"whole")
    (tmp_path / "a" / ".b.new").write_bytes(b"cut sho")
    assert storage.read("a/b") == b"whole"
    assert storage.names("a") == ["b"]


def test_what_a_killed_process_left_of_a_snapshot_is_removed(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for left in (".x-1.new", "..x-1.new.abc"):
        (tmp_path / "snapshots" / left / "plain").mkdir(parents=True)
    for version in (ONE, mixed("[a = 1] ; [a = 2]")):
        storage.keep(version.engine, f"snapshots/{version.version}")
    storage.keep(ONE.engine, "snapshots/x-1")
    assert sorted(path.name for path in (tmp_path / "snapshots").glob(".*")) == []
    assert storage.open("snapshots/x-1").filters.match({"a": 1}) == ["s1"]


def test_a_folder_that_hadoop_reaches(tmp_path: Path, spark: SparkSession) -> None:
    storage = RemoteStorage(spark, tmp_path.as_uri())
    _exercise(storage)
    several = mixed("[a = 1] ; [a = 2]")
    storage.keep(several.engine, "snapshots/y")
    assert Engine.restored(storage.open("snapshots/y"), several.engine.calling).version == several.engine.version
    ledger = CheckpointLedger.open(storage, FACTS, ONE, SparkLog.of(storage))
    ledger.begin(0, ONE)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").touch()
    ledger = CheckpointLedger.open(storage, FACTS, TWO, SparkLog.of(storage))
    assert ledger.begin(0, TWO).engine.match({"a": 1}) == ["s1"]
    assert ledger.begin(1, TWO).engine.match({"a": 2}) == ["s1"]
    ledger.close()


# ---------------------------------------------------------------- patterns


def following(*patterns: PatternRecord, learn: bool = False) -> EngineVersion:
    """A version with patterns."""
    subscriptions = Subscriptions({"a": "int"})
    for each in patterns:
        predict = None if each.predict is None else {"within": each.predict.within}
        subscriptions.add(each.id, each.text, predict=predict)
    engine, options = subscriptions.compile(), ShardOptions(2, learn=learn)
    return replace(ONE, engine=engine, version=engine.sharded(options).version[:12], options=options)


def test_a_pattern_that_went_away_and_came_back_is_known_to_begin_anew(tmp_path: Path) -> None:
    p, q = PatternRecord("p", "[a = 1] ; [a = 2]"), PatternRecord("q", "[a = 3] ; [a = 2]", predict=Predict(3))
    other = PatternRecord("p", "[a = 1] , [a = 2]")
    checkpoint = Checkpoint(tmp_path)
    since: list[dict[str, int]] = []
    used = [(p, q), (p, q), (q,), (q,), (p, q), (p, q), (other, q), (p, q)]
    for batch, patterns in enumerate(used):
        version = following(*patterns)
        ledger = checkpoint.start(version)
        use = ledger.begin(batch, version)
        assert use.options is not None
        since.append(dict(use.options.since))
        again = ledger.begin(batch, following(p))  # as if it had been cut short
        assert (again.again, again.options) == (True, use.options)
        assert again.engine.version == use.engine.version
    assert since == [{}, {}, {}, {}, {"p": 4}, {"p": 4}, {"p": 6}, {"p": 7}]
    learning = following(p, q, learn=True)
    use = checkpoint.start(learning).begin(len(used), learning)
    assert use.options is not None
    assert dict(use.options.since) == {"p": 7, "q": 8}


# ---------------------------------------------------------------- checkpoints of version 0.1


@operator(time_limit=None)
def above(event: object, number: int) -> bool:
    """An operator."""
    return number > 5


def mixed(*patterns: str) -> EngineVersion:
    """A version of filters, with and without operators, and patterns, which come from somewhere."""
    subscriptions = Subscriptions({"a": "int"})
    subscriptions.add("s1", "a = 1", origin={"title": "One"})
    subscriptions.add("s2", "above(a)", origin={"title": "Above"})
    for number, text in enumerate(patterns):
        subscriptions.add(f"p{number}", text)
    engine, options = subscriptions.compile(operators=Operators(above)), ShardOptions(2, cap=7)
    origins = subscriptions.told()
    return EngineVersion(engine, engine.version, dt.datetime.now(dt.UTC), options, origins)


def _as_in_0_1(checkpoint: Checkpoint, batch: int, used: EngineVersion) -> str:
    """Make a micro-batch one that version 0.1 began: its subscriptions are in four places. Returns their version."""
    version, kept = "0123456789ab", checkpoint.root / "vedette"
    for name in ("patterns", "filters", "origins"):
        (kept / name).mkdir()
    assert used.options is not None
    shards = used.engine.sharded(used.options)
    (kept / "patterns" / version).write_bytes(base64.b64encode(shards.to_bytes()))
    calls = [(each.id, each.text, each.subscriber) for each in used.engine.operator_records.values()]
    (kept / "filters" / version).write_text(json.dumps({"filters": calls}))
    (kept / "origins" / version).write_text(json.dumps(dict(used.origins)))
    used.engine.filters.save(kept / "snapshots" / f"{version}-1")
    entry = kept / "batches" / f"{batch:010d}"
    facts = {**json.loads(entry.read_text()), "version": version, "library": "0.1.0", "origins": 2}
    del facts["patterns"]
    entry.write_text(json.dumps(facts))
    return version


def test_a_micro_batch_that_version_0_1_began_is_run_again_as_it_began(checkpoint: Checkpoint) -> None:
    before, after = mixed("[a = 1] ; [a = 2]"), mixed("[a = 1] ; [a = 3]")
    run(checkpoint, checkpoint.start(before, calls_operators=True), 0, before, commit=False)
    version = _as_in_0_1(checkpoint, 0, before)
    ledger = checkpoint.start(after, calls_operators=True)
    assert ledger.notes[0] == f"micro-batch 0 was cut short: it is run again, with version {version} as it began"
    use = ledger.begin(0, after)
    assert (use.version, use.again, use.options, use.origins) == (version, True, ShardOptions(2, cap=7), before.origins)
    assert list(use.engine) == ["s1", "s2", "p0"]
    assert use.engine.match({"a": 7}) == ["s2"]
    assert use.options is not None
    assert before.options is not None
    assert use.engine.sharded(use.options) == before.engine.sharded(before.options)
    checkpoint.commit(0)
    assert ledger.begin(1, after).options == ShardOptions(2, cap=7, since=(("p0", 1),))
    ledger.begin(2, after)
    kept = checkpoint.root / "vedette"
    assert [*(kept / "patterns").iterdir(), *(kept / "filters").iterdir(), *(kept / "origins").iterdir()] == []


def test_what_version_0_1_kept_and_is_gone_is_named(checkpoint: Checkpoint) -> None:
    before, after = mixed("[a = 1] ; [a = 2]"), mixed()
    run(checkpoint, checkpoint.start(before, calls_operators=True), 0, before, commit=False)
    version = _as_in_0_1(checkpoint, 0, before)
    (checkpoint.root / "vedette" / "filters" / version).unlink()
    with pytest.raises(PipelineError, match=rf"that version cannot be read: .*/filters/{version} is gone"):
        checkpoint.start(after, calls_operators=True)


def test_a_micro_batch_of_all_kinds_is_run_again_as_it_began(checkpoint: Checkpoint) -> None:
    before, after = mixed("[a = 1] ; [a = 2]"), mixed("[a = 1] ; [a = 3]")
    run(checkpoint, checkpoint.start(before, calls_operators=True), 0, before, commit=False)
    use = checkpoint.start(after, calls_operators=True).begin(0, after)
    assert (use.version, use.again, use.options) == (before.version, True, before.options)
    assert (use.engine.version, use.origins) == (before.engine.version, before.origins)
    with pytest.raises(PipelineError, match="which calls operators, as it began; but this pipeline has none"):
        checkpoint.start(after)
