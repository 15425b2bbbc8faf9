from __future__ import annotations

import json
import multiprocessing
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.damage.flips import Flips, snapshot_flips
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import DamageError, SnapshotError
from vedette.filters.index import names
from vedette.filters.matcher import Matcher
from vedette.filters.snapshot_files import BLOCK, snapshot_damages
from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {"n": "int", "f": "float", "s": "string", "r": "string", "tags": "list of string", "p": "point", "m": "mixed"}
)
EVENTS = [
    {"n": 5, "f": 2.5, "s": "abc", "r": "x", "tags": ["a", "b"], "p": [0.5, 0.5]},
    {"n": 50, "s": "b"},
    {"tags": [], "f": -1.0, "r": "y", "m": 7},
    {},
]


def _subscriptions(copies: int = 1) -> Subscriptions:
    subs = Subscriptions(SCHEMA)
    texts = [
        "n = 5 and s = 'abc'",
        "n > 7 or f < 0 or s > 'a'",
        f"n in ({', '.join(str(i) for i in range(0, 60, 2))})",
        "s contains 'b' and not (s like '%c')",
        "any(tags) = 'a'",
        "not (all(tags) like 'a%')",
        "p within region 'POLYGON((0 0, 1 0, 1 1, 0 1, 0 0))'",
        "r != 'x'",
        "m = '7'",
        "true",
        "false",
    ]
    for copy in range(copies):
        for number, text in enumerate(texts):
            subs.add(f"s{copy}.{number}", text, subscriber="me" if number else None)
    return subs


@pytest.mark.parametrize("index", names())
def test_what_is_opened_is_what_was_saved(index: str, tmp_path: Path) -> None:
    matcher = _subscriptions().compile(index)
    matcher.save(tmp_path / "snapshot")
    for verify in (False, True):
        opened = Matcher.open(tmp_path / "snapshot", verify=verify)
        assert opened.match_batch(EVENTS).to_pylist() == matcher.match_batch(EVENTS).to_pylist()
        assert [opened.match(event) for event in EVENTS] == [matcher.match(event) for event in EVENTS]
    assert opened.index == index
    assert opened.schema == matcher.schema
    assert opened.text("s0.1") == "n > 7 or f < 0 or s > 'a'"
    assert opened.subscriber("s0.0") is None
    assert opened.nbytes == matcher.nbytes
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot"]


def test_an_opened_snapshot_can_change_and_be_saved_again(tmp_path: Path) -> None:
    _subscriptions().compile().save(tmp_path / "snapshot")
    opened = Matcher.open(tmp_path / "snapshot")
    opened.save(tmp_path / "copy")
    from vedette.filters.live import LiveMatcher

    with LiveMatcher(opened) as live:
        live.replace("s0.4", "any(tags) = 'b' and n = 5")
        live.add("new", "s startswith 'ab'")
        live.merge()
        wanted = [live.match(event) for event in EVENTS]
        live.frozen().save(tmp_path / "snapshot")  # over the one that is still mapped
        assert [live.match(event) for event in EVENTS] == wanted
    assert [Matcher.open(tmp_path / "snapshot").match(event) for event in EVENTS] == wanted
    assert "new" in wanted[0]
    before = [Matcher.open(tmp_path / "copy").match(event) for event in EVENTS]
    assert before == [opened.match(event) for event in EVENTS]


def _match_elsewhere(folder: str) -> list[list[str]]:
    matcher = Matcher.open(folder)
    return [matcher.match(event) for event in EVENTS]


def test_processes_share_a_snapshot(tmp_path: Path) -> None:
    matcher = _subscriptions().compile("scan")
    matcher.save(tmp_path / "snapshot")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_match_elsewhere, [str(tmp_path / "snapshot")] * 2)
    assert found == [[matcher.match(event) for event in EVENTS]] * 2


def _largest(folder: Path) -> Path:
    return max(folder.glob("*.npy"), key=lambda path: path.stat().st_size)


def _flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)


def _rewrite(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    body = json.loads((folder / "manifest.json").read_text())
    change(body)
    (folder / "manifest.json").write_text(json.dumps(body))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte of a small file": (
        lambda folder: _flip(folder / "owner.npy", -1),
        "owner.npy is damaged between byte 0 and byte ",
    ),
    "a header": (lambda folder: _flip(_largest(folder), 12), "the checksum of this block is wrong"),
    "the end cut off": (lambda folder: os.truncate(folder / "table.low.npy", 100), "it has 100 bytes instead of"),
    "bytes appended": (lambda folder: (folder / "owner.npy").open("ab").write(b"x"), "owner.npy is damaged"),
    "a file gone": (lambda folder: (folder / "records.arrow").unlink(), "records.arrow cannot be read"),
    "an arrow file": (lambda folder: _flip(folder / "records.arrow", 300), "records.arrow is damaged"),
    "a file too many": (lambda folder: (folder / "more.npy").write_bytes(b"x"), "more.npy does not belong here"),
    "other white space in the manifest": (
        lambda folder: (folder / "manifest.json").open("ab").write(b" "),
        "manifest.json is damaged: its checksum",
    ),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "is not a snapshot"),
    "half a manifest": (lambda folder: os.truncate(folder / "manifest.json", 200), "cannot be read"),
    "a changed manifest": (lambda folder: _rewrite(folder, lambda body: body.update(subscriptions=3)), "its checksum"),
    "a foreign manifest": (
        lambda folder: (folder / "manifest.json").write_text("[1]"),
        "not the manifest",
    ),
    "a newer version": (lambda folder: _rewrite(folder, lambda body: body.update(version=99)), "format version 99"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_snapshot_is_refused(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    _subscriptions(60).compile().save(folder)
    act, message = DAMAGES[damage]
    act(folder)
    with pytest.raises(SnapshotError, match=message):
        Matcher.open(folder)


def _large(folder: Path) -> Path:
    subs = Subscriptions({"n": "int"})
    for number in range(40_000):
        subs.add(str(number), f"n = {number}")
    subs.compile("scan").save(folder)
    large = folder / "records.arrow"
    assert large.stat().st_size > 2 * BLOCK
    return large


def test_every_byte_is_read_unless_the_caller_says_no(tmp_path: Path) -> None:
    large = _large(tmp_path / "snapshot")
    _flip(large, BLOCK + 5000)  # between the samples
    with pytest.raises(
        DamageError, match=rf"between byte {BLOCK:,} and byte {2 * BLOCK - 1:,}: .*\nHint: restore"
    ) as raised:
        Matcher.open(tmp_path / "snapshot")
    assert (raised.value.path, raised.value.offset) == (str(large), BLOCK)
    assert len(Matcher.open(tmp_path / "snapshot", verify=False)) == 40_000


def test_all_damaged_places_are_told(tmp_path: Path) -> None:
    large = _large(tmp_path / "snapshot")
    for place in (7, 2 * BLOCK + 7):
        _flip(large, place)
    (tmp_path / "snapshot" / "owner.npy").unlink()
    damages = [each for each in snapshot_damages(tmp_path / "snapshot") if isinstance(each, DamageError)]
    found = [(Path(each.path).name, each.offset) for each in damages]
    assert sorted(found, key=str) == [("owner.npy", None), ("records.arrow", 0), ("records.arrow", 2 * BLOCK)]


def test_a_snapshot_of_version_0_1_is_verified_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    _subscriptions().compile().save(folder)
    body = json.loads((folder / "manifest.json").read_text())
    for facts in body["files"].values():
        del facts["block"], facts["blocks"]
    del body["sum"]
    body["sum"] = zlib.crc32(json.dumps(body, sort_keys=True).encode())
    (folder / "manifest.json").write_text(json.dumps(body, indent=1, ensure_ascii=False))
    assert [Matcher.open(folder).match(event) for event in EVENTS] == [
        _subscriptions().compile().match(e) for e in EVENTS
    ]
    _flip(folder / "owner.npy", -1)
    with pytest.raises(DamageError, match=r"owner\.npy is damaged: its checksum is wrong"):
        Matcher.open(folder)


def test_flipped_bits_are_all_found(tmp_path: Path) -> None:
    _subscriptions(5).compile().save(tmp_path / "snapshot")
    found = snapshot_flips(Matcher.open, tmp_path / "snapshot", 300, seed=1)
    assert found == Flips(tried=300, reported=300)


def test_nothing_but_a_snapshot_is_overwritten(tmp_path: Path) -> None:
    matcher = _subscriptions().compile("scan")
    other = tmp_path / "other"
    other.mkdir()
    matcher.save(other)  # empty: fine
    matcher.save(other)  # a snapshot: replaced
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(SnapshotError, match="is not a snapshot"):
        matcher.save(mine)
    with pytest.raises(SnapshotError, match="is not a snapshot"):
        matcher.save(mine / "thesis.txt")
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "other"]


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is not a snapshot"):
        Matcher.open(tmp_path / "nowhere")


def test_an_old_snapshot_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("a", "n = 1")
    subs.compile().save(tmp_path / "set")
    subs.add("b", "n = 1")
    rename, moves = Path.rename, []

    def second_fails(path: Path, target: Path) -> Path:
        moves.append(path)
        if len(moves) == 2:
            raise PermissionError("no")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(PermissionError):
        subs.compile().save(tmp_path / "set")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["set"]
    assert Matcher.open(tmp_path / "set").match({"n": 1}) == ["a"]
