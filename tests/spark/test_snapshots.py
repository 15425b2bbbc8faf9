"""Snapshots in a host's cache: saved once, mapped by all, unpacked safely, never taken from under anybody."""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.core.files import SparkFiles
from pyspark.sql import SparkSession

from vedette.covering.cover_judge import Method
from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SnapshotError
from vedette.filters.snapshot_files import MANIFEST
from vedette.operators.calling import Calling
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.spark import host_cache
from vedette.spark.engines import Sent
from vedette.spark.snapshots import ShippedSnapshot, opened, pack, ship, unpack

SCHEMA = Schema.of({"price": "float", "issue": "string"})
EVENT = {"price": 120.0, "issue": "IBM"}


def compiled(*filters: str) -> Engine:
    """A small engine."""
    subscriptions = Subscriptions(SCHEMA)
    for number, text in enumerate(filters or ("price > 100", "issue = 'HP'")):
        subscriptions.add(f"s{number}", text)
    return subscriptions.compile()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test alone."""
    monkeypatch.setenv(host_cache.PLACE, str(tmp_path / "cache"))
    opened.cache_clear()
    return host_cache.place()


def folders(cache: Path) -> list[str]:
    """What is in the cache."""
    return sorted(path.name for path in cache.iterdir() if path.is_dir())


# ---------------------------------------------------------------- one host


def test_a_local_session_maps_the_drivers_folder(spark: SparkSession, cache: Path) -> None:
    matcher = compiled()
    shipped = ship(matcher, spark)
    assert shipped.file is None
    assert shipped.version == matcher.version
    assert opened(shipped).filters.match(EVENT) == ["s0"]
    assert opened(shipped) is opened(shipped)
    assert folders(cache) == [Path(shipped.folder).name]


def test_the_same_subscriptions_are_saved_once(spark: SparkSession, cache: Path) -> None:
    matcher = compiled()
    first = ship(matcher, spark)
    inode = os.stat(first.folder).st_ino
    assert ship(matcher, spark) == first
    assert ship(compiled(), spark) == first
    assert os.stat(first.folder).st_ino == inode
    assert ship(compiled("price > 7"), spark) != first


def test_two_layouts_of_the_same_subscriptions_do_not_get_mixed_up(spark: SparkSession, cache: Path) -> None:
    subscriptions = Subscriptions(SCHEMA)
    subscriptions.add("s0", "price > 100")
    shipped = [ship(subscriptions.compile(index), spark) for index in ("clusters", "tree")]
    assert shipped[0].version == shipped[1].version
    assert [opened(one).filters.index for one in shipped] == ["clusters", "tree"]


def test_what_travels_with_a_task_is_tiny(spark: SparkSession, cache: Path) -> None:
    assert len(pickle.dumps(ship(compiled(), spark))) < 400


def test_tasks_map_it_too(spark: SparkSession, cache: Path) -> None:
    shipped = ship(compiled(), spark)
    found = spark.sparkContext.parallelize(range(4), 4).map(lambda _: opened(shipped).filters.match(EVENT)).collect()
    assert found == [["s0"]] * 4


def test_a_folder_that_is_gone_is_said_so_and_comes_back_with_the_next_ship(spark: SparkSession, cache: Path) -> None:
    matcher = compiled()
    shipped = ship(matcher, spark)
    opened.cache_clear()
    gc.collect()
    with host_cache.exclusive_access(cache):
        host_cache.prune(cache, newest=0, enough=0)
    with pytest.raises(SnapshotError, match=r"is gone or damaged\nHint: match again"):
        opened(shipped)
    assert opened(ship(matcher, spark)).filters.match(EVENT) == ["s0"]


def test_one_of_which_a_file_was_cleared_away_is_saved_anew(spark: SparkSession, cache: Path) -> None:
    matcher = compiled()
    first = ship(matcher, spark)
    for each in (matcher, compiled()):
        (Path(first.folder) / "records.arrow").unlink()
        opened.cache_clear()
        with pytest.raises(SnapshotError, match="gone or damaged"):
            opened(first)
        assert ship(each, spark) == first
        assert opened(first).filters.match(EVENT) == ["s0"]


# ---------------------------------------------------------------- other hosts


def arrived(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ShippedSnapshot:
    """What a worker of another host has: an archive among Spark's files, and `ShippedSnapshot`."""
    folder.mkdir()
    engine.save(folder / "saved")
    pack(folder / "saved", folder / "it.tar")
    monkeypatch.setattr(SparkFiles, "get", classmethod(lambda _, name: str(folder / name)))
    return ShippedSnapshot(engine.version, f"/of/the/driver/{engine.version}-x", "it.tar")


def test_an_archive_is_unpacked_once_and_mapped(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = arrived(compiled(), tmp_path / "host", monkeypatch)
    assert opened(shipped).filters.match(EVENT) == ["s0"]
    assert folders(cache) == [f"{shipped.version}-x"]
    inode = (cache / f"{shipped.version}-x" / MANIFEST).stat().st_ino
    opened.cache_clear()
    (tmp_path / "host" / "it.tar").unlink()
    assert opened(shipped).filters.match(EVENT) == ["s0"]
    assert (cache / f"{shipped.version}-x" / MANIFEST).stat().st_ino == inode


def test_a_copy_of_which_a_file_was_cleared_away_is_unpacked_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = arrived(compiled(), tmp_path / "host", monkeypatch)
    assert opened(shipped).filters.match(EVENT) == ["s0"]
    (cache / f"{shipped.version}-x" / "owner.npy").unlink()
    opened.cache_clear()
    assert opened(shipped).filters.match(EVENT) == ["s0"]
    assert (cache / f"{shipped.version}-x" / "owner.npy").exists()


@operator(time_limit=None)
def above(event: object, number: int) -> bool:
    """An operator."""
    return number > 100


def of_all_kinds(covering: Method | None) -> Engine:
    """Filters, of which one is covered by another, one that calls an operator, and a pattern; the pattern is second."""
    subscriptions = Subscriptions(SCHEMA)
    subscriptions.add("s0", "price > 100")
    subscriptions.add("p", "[price > 100] ; [price < 100]", predict={"within": 3})
    subscriptions.add("s1", "above(price)")
    subscriptions.add("s2", "price > 110", subscriber="alice")
    return subscriptions.compile(operators=Operators(above), covering=covering)


@pytest.mark.parametrize("covering", [None, "auto"])
def test_an_engine_of_all_kinds_arrives_as_one_snapshot(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, covering: Method | None
) -> None:
    engine = of_all_kinds(covering)
    saved = opened(arrived(engine, tmp_path / "host", monkeypatch))
    stateless = Engine.restored(saved, Calling(Operators(above)), stateless=True)
    assert list(stateless) == ["s0", "s1", "s2"]
    assert stateless.match(EVENT) == ["s0", "s1", "s2"]
    assert stateless.subscribers.to_pylist() == [None, None, "alice"]
    assert bool(stateless.covered) == (covering is not None)
    options = ShardOptions(3, cap=7, since=(("p", 4),))
    assert saved.sharded(options) == engine.sharded(options)
    assert Engine.restored(saved, Calling(Operators(above))).version == engine.version


def test_a_part_that_was_cleared_away_is_saved_anew(spark: SparkSession, cache: Path) -> None:
    engine = of_all_kinds(None)
    first = ship(engine, spark)
    (Path(first.folder) / "patterns" / MANIFEST).unlink()
    opened.cache_clear()
    with pytest.raises(SnapshotError, match="gone or damaged"):
        opened(first)
    assert ship(engine, spark) == first
    assert [record.id for record in opened(first).patterns] == ["p"]


def test_what_is_sent_with_a_micro_batch_is_a_text(spark: SparkSession, cache: Path) -> None:
    sent = Sent.of(of_all_kinds(None), spark, ShardOptions(3, learn=True, since=(("p", 4),)))
    assert sent.binds
    assert sent.columns == ()  # the plain ones read the price, too
    assert Sent.of_text(sent.text()) == sent.called_by(None)


def _open_in_another_process(cache: str, archives: str, shipped: ShippedSnapshot, answers: Any) -> None:
    os.environ[host_cache.PLACE] = cache
    SparkFiles.get = classmethod(lambda _, name: f"{archives}/{name}")  # type: ignore[method-assign, assignment]
    matcher = opened(shipped).filters
    with open("/proc/self/maps") as maps:
        mapped = sorted({line.split()[4] for line in maps if "records.arrow" in line})
    answers.put((matcher.match(EVENT), mapped))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc to see mapped files in")
def test_processes_that_come_at_once_map_one_copy(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = arrived(compiled(), tmp_path / "host", monkeypatch)
    others = multiprocessing.get_context("spawn")
    answers = others.Queue()
    place = str(tmp_path / "cache")
    workers = [
        others.Process(target=_open_in_another_process, args=(place, str(tmp_path / "host"), shipped, answers))
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=100) for _ in workers]
    for worker in workers:
        worker.join(20)
    assert [names for names, _ in found] == [["s0"]] * 3
    assert len(found[0][1]) == 1
    assert found[0][1] == found[1][1] == found[2][1]


@pytest.mark.parametrize(
    ("name", "kind", "complaint"),
    [
        ("../outside.npy", tarfile.REGTYPE, "is not what manifest.json says"),
        ("owner.npy", tarfile.SYMTYPE, "is not what manifest.json says"),
        ("extra.npy", tarfile.REGTYPE, "is not what manifest.json says"),
        (MANIFEST, tarfile.REGTYPE, "is not what manifest.json says"),
    ],
)
def test_an_archive_with_what_does_not_belong_is_refused(
    tmp_path: Path, name: str, kind: bytes, complaint: str
) -> None:
    compiled().save(tmp_path / "saved")
    archive = tmp_path / "it.tar"
    with tarfile.open(archive, "w") as out:
        out.add(tmp_path / "saved" / MANIFEST, MANIFEST)
        member = tarfile.TarInfo(name)
        member.type, member.size, member.linkname = kind, 1, "/etc/passwd"
        out.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "cache").mkdir()
    with pytest.raises(SnapshotError, match=complaint):
        unpack(archive, tmp_path / "cache" / "new")
    assert not (tmp_path / "outside.npy").exists()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_manifest_cannot_name_a_path(tmp_path: Path) -> None:
    body = b'{"files": {"../outside.npy": {"size": 1}}}'
    with tarfile.open(tmp_path / "it.tar", "w") as out:
        for name, content in ((MANIFEST, body), ("../outside.npy", b"x")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    (tmp_path / "cache").mkdir()
    with pytest.raises(SnapshotError, match="has no place in a snapshot"):
        unpack(tmp_path / "it.tar", tmp_path / "cache" / "new")
    assert not (tmp_path / "outside.npy").exists()


@pytest.mark.parametrize("size", [0, 700, 3000])
def test_an_archive_that_is_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    compiled().save(tmp_path / "saved")
    pack(tmp_path / "saved", tmp_path / "it.tar")
    os.truncate(tmp_path / "it.tar", size)
    (tmp_path / "cache").mkdir()
    with pytest.raises(SnapshotError):
        unpack(tmp_path / "it.tar", tmp_path / "cache" / "new")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_damaged_byte_anywhere_is_found_when_it_is_unpacked(tmp_path: Path) -> None:
    compiled().save(tmp_path / "saved")
    records = tmp_path / "saved" / "records.arrow"
    content = bytearray(records.read_bytes())
    content[len(content) // 2] ^= 1
    records.write_bytes(content)
    pack(tmp_path / "saved", tmp_path / "it.tar")
    with pytest.raises(SnapshotError, match="damaged"):
        unpack(tmp_path / "it.tar", tmp_path / "new")


# ---------------------------------------------------------------- the host's cache


def test_the_cache_belongs_to_its_user_alone(cache: Path) -> None:
    assert cache.stat().st_mode & 0o777 == 0o700
    cache.chmod(0o755)
    with pytest.raises(SnapshotError, match=r"open to other users.*\nHint: set VEDETTE_CACHE_DIR"):
        host_cache.place()


def test_a_folder_of_somebody_else_is_not_trusted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(SnapshotError, match="open to other users"):
        host_cache.place()


def test_a_link_in_the_temp_folder_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(host_cache.PLACE, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o777)
    (tmp_path / f"vedette-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnapshotError, match="open to other users"):
        host_cache.place()


def test_without_a_setting_it_is_a_folder_of_the_user_in_the_temp_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(host_cache.PLACE, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert host_cache.place() == tmp_path / f"vedette-{os.getuid()}" / "snapshots"


def test_a_place_that_cannot_be_made_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(host_cache.PLACE, str(tmp_path / "file" / "cache"))
    with pytest.raises(SnapshotError, match=r"cannot be made.*\nHint: set VEDETTE_CACHE_DIR"):
        host_cache.place()


def saved(cache: Path, *names: str) -> None:
    """Snapshots, the first the oldest."""
    for age, name in enumerate(names):
        compiled().save(cache / name)
        os.utime(cache / name, (age, age))


def test_what_was_not_used_for_longest_is_taken_away(cache: Path) -> None:
    saved(cache, *"abcdef")
    size = sum(file.stat().st_size for file in (cache / "a").iterdir())
    with host_cache.exclusive_access(cache):
        host_cache.prune(cache, newest=2, enough=6 * size)
        assert folders(cache) == list("abcdef")
        host_cache.prune(cache, newest=2, enough=4 * size)
        assert folders(cache) == list("cdef")
        host_cache.prune(cache, newest=2, enough=0)
        assert folders(cache) == list("ef")


def test_what_somebody_holds_stays(cache: Path) -> None:
    saved(cache, *"abc")
    held = host_cache.held(cache / "a")
    os.utime(cache / "a", (0, 0))
    with host_cache.exclusive_access(cache):
        host_cache.prune(cache, newest=0, enough=0)
    assert folders(cache) == ["a"]
    assert held is not None
    assert held.filters.match(EVENT) == ["s0"]
    del held
    gc.collect()
    with host_cache.exclusive_access(cache):
        host_cache.prune(cache, newest=0, enough=0)
    assert folders(cache) == []


def test_use_makes_it_new_again(cache: Path) -> None:
    saved(cache, *"abc")
    assert host_cache.held(cache / "a") is not None
    gc.collect()
    with host_cache.exclusive_access(cache):
        host_cache.prune(cache, newest=1, enough=0)
    assert folders(cache) == ["a"]


def test_what_a_dead_process_left_is_cleared(cache: Path) -> None:
    (cache / ".abc-clusters-1.xyz").mkdir()
    (cache / ".abc-clusters-1.xyz" / "half.npy").write_bytes(b"x")
    with host_cache.exclusive_access(cache):
        assert list(cache.glob(".*.*")) == []


def test_a_copy_is_verified_once_for_all_workers_of_a_host(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscriptions = Subscriptions({"n": "int"})
    for number in range(20_000):
        subscriptions.add(str(number), f"n = {number}")
    shipped = arrived(subscriptions.compile("scan"), tmp_path / "host", monkeypatch)
    assert len(opened(shipped).filters) == 20_000
    file = cache / Path(shipped.folder).name / "records.arrow"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 + 5000] ^= 1
    file.write_bytes(content)
    verified = []
    monkeypatch.setattr(
        host_cache, "is_intact", lambda folder, sound=host_cache.is_intact: verified.append(sound(folder))
    )
    opened.cache_clear()
    opened(shipped)  # another worker of the same application
    assert verified == []
    opened(replace(shipped, driver="another application"))  # which unpacks it anew
    assert verified == [False]
    assert host_cache.is_intact(file.parent) is None
    assert verified == [False, True]


def test_one_that_is_taken_away_again_and_again_is_an_error(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = arrived(compiled(), tmp_path / "host", monkeypatch)
    monkeypatch.setattr("vedette.spark.snapshots.host_cache.held", lambda folder, verified: None)
    with pytest.raises(SnapshotError, match=r"taken away 3 times.*\nHint"):
        opened(shipped)


# ---------------------------------------------------------------- kernels

_COUNT = """
import sys
import pyarrow as pa
from numba.core.registry import CPUDispatcher
from vedette.filters.kernels.labels import joined, padded
from vedette.filters.matcher import Matcher
from vedette.spark.warm_up import warm_up
from vedette.spark.texts import labels_of

def compiled():
    modules = [each for name, each in list(sys.modules.items()) if name.startswith("vedette.") and ".kernels." in name]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, CPUDispatcher)]
    kernels = {id(each): each for each in found}
    return sum(len(kernel.signatures) for kernel in kernels.values())

matcher = Matcher.open(sys.argv[1])
warm_up(matcher)
before = compiled()
events = pa.table({
    "n": pa.array([1, None, 7], pa.int64()),
    "text": ["abc", None, "x"],
    "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
    "at": pa.array([0, 1, None], pa.timestamp("us")),
})
rows = matcher.match_rows(events.to_batches()[0], ordered=True)
list(joined(rows, labels_of(matcher, False, False), 31, 1 << 20))
list(padded(rows, labels_of(matcher, False, False), 1, 1 << 20))
print(before, compiled(), len(rows.subscription))
"""


def test_all_kernels_that_a_worker_runs_are_compiled_beforehand(tmp_path: Path) -> None:
    subscriptions = Subscriptions(
        Schema.of({"n": "int", "text": "string", "tags": "list of string", "at": "timestamp"})
    )
    subscriptions.add("a", "n > 1 or text contains 'b' or any(tags) = 'a' or at > '2000-01-01'")
    subscriptions.add("b", "text < 'b' and n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) or text like 'a%c'")
    subscriptions.add("c", "n = 7 and text = 'x'")
    subscriptions.compile().save(tmp_path / "saved")
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, str(tmp_path / "saved")],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    before, after, matches = map(int, done.stdout.split())
    assert matches > 0
    assert before == after > 10
