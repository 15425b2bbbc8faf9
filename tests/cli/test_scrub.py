"""`vedette scrub`: all damaged places of stored files, with file and place."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from benchmarks.damage.__main__ import flipped
from benchmarks.damage.flips import flip_in_file
from tests.cli.session import vedette
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.operators.statistics import Statistics
from vedette.patterns.forecasts.model import Model


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with everything that is stored in files."""
    subscriptions = Subscriptions({"n": "int"})
    subscriptions.add_many({"id": f"s{n}", "when": f"n = {n}"} for n in range(500))
    place = tmp_path / "stored"
    subscriptions.compile().save(place / "some.snapshot")
    subscriptions.add("calls", "[n = 1] ; [n = 2]")
    subscriptions.compile().save(place / "with_operators.snapshot")
    Model().save(place / "some.model")
    state = StreamMatcher(Subscriptions()).to_bytes()
    (place / "state").write_bytes(state)
    (place / "checkpoint").write_bytes(base64.b64encode(state))
    (place / "notes.txt").write_text("not ours")
    return place


def test_nothing_is_damaged(stored: Path) -> None:
    result = vedette("scrub", stored)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "no damage: 9 snapshots and files" in result.stderr
    assert "1 other file has no checksum of Vedette" in result.stderr


DAMAGED = {
    "some.snapshot/owner.npy": "between byte 0 and byte ",
    "some.snapshot/manifest.json": "manifest.json ",
    "with_operators.snapshot/plain/records.arrow": "between byte 0 and byte ",
    "with_operators.snapshot/statistics.json": "",
    "some.model": "is damaged: its checksum does not fit",
    "state": "is damaged: its checksum does not fit",
    "checkpoint": "is damaged: its checksum does not fit",
}


def test_every_damaged_place_is_told(stored: Path) -> None:
    for name in DAMAGED:
        flip_in_file(stored / name, 60, 1)
    result = vedette("scrub", stored)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    for name, said in DAMAGED.items():
        # Without its manifest a snapshot has no checksums: its other files are not looked at.
        if name != "some.snapshot/owner.npy":
            assert any(str(stored / name) in line and said in line for line in lines), name
    assert len(lines) == len(DAMAGED) - 1
    found = json.loads(vedette("scrub", "--json", stored).stdout)
    assert [each["message"].partition("\n")[0] for each in found["damaged"]] == lines
    flip_in_file(stored / "some.snapshot/manifest.json", 60, 1)
    assert f"{stored}/some.snapshot/owner.npy" in vedette("scrub", stored / "some.snapshot").stdout


def test_what_cannot_be_verified_is_said(stored: Path, tmp_path: Path) -> None:
    flip_in_file(stored / "some.model", 3, 1)  # it does not look like a model any more
    for place in (stored / "some.model", stored / "notes.txt"):
        result = vedette("scrub", place)
        assert result.exit_code == 1
        assert result.stdout.startswith(f"{place} cannot be verified: nothing in it has a checksum of Vedette")
    (stored / "some.snapshot" / "manifest.json").unlink()
    assert "manifest.json is missing" in vedette("scrub", stored / "some.snapshot").stdout
    result = vedette("scrub", tmp_path / "nowhere")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nowhere: there is no such file or folder" in result.stderr


def test_parts_that_are_gone_are_told(tmp_path: Path) -> None:
    subscriptions = Subscriptions({"n": "int"})
    subscriptions.add("p", "[n = 1] ; [n = 2]", predict={"within": 3})
    subscriptions.compile(model=Model()).save(tmp_path)
    assert vedette("scrub", tmp_path).exit_code == 0
    (tmp_path / "model").unlink()
    shutil.rmtree(tmp_path / "wants")
    result = vedette("scrub", tmp_path)
    assert result.exit_code == 1
    told = [line.partition(" is missing")[0] for line in result.stdout.splitlines()]
    assert told == [str(tmp_path / "wants" / "manifest.json"), str(tmp_path / "model")]


def test_learned_statistics_of_version_0_1_have_no_checksum(tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    path.write_text(json.dumps(Statistics().plain()))
    assert vedette("scrub", path).exit_code == 0
    Statistics().save(path)
    for place in range(0, path.stat().st_size, 5):
        flip_in_file(path, place, 1)
        assert vedette("scrub", path).exit_code == 1
        flip_in_file(path, place, 1)


def test_flipped_bits_in_all_that_is_stored_are_found() -> None:
    found = flipped(100, seed=7)
    assert {what: flips.others for what, flips in found.items()} == dict.fromkeys(found, ())
    assert all(flips.reported == flips.tried > 0 for flips in found.values())
