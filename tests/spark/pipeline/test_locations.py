"""Places: paths, addresses, patterns; one inside another."""

from __future__ import annotations

from pathlib import Path

import pytest

from vedette.spark.pipeline.locations import is_address, is_glob, local, located, overlap, steps, within


@pytest.mark.parametrize(
    ("place", "becomes"),
    [
        ("events/", "/home/p/events"),
        (".", "/home/p"),
        ("../x/./y", "/home/x/y"),
        ("/abs/x/", "/abs/x"),
        ("s3a://bucket/x/", "s3a://bucket/x/"),
        ("file:///x", "file:///x"),
        ("hdfs:/x", "hdfs:/x"),
        ("a*/b.jsonl", "/home/p/a*/b.jsonl"),
    ],
)
def test_located(place: str, becomes: str) -> None:
    assert located(place, Path("/home/p")) == becomes


def test_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert located("~/events", Path("/p")) == "/home/me/events"


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("/x/y", "/x/y"),
        ("file:/x/y", "/x/y"),
        ("file:///x/a%20b", "/x/a b"),
        ("file://localhost/x", "/x"),
        ("file://host/x", None),
        ("s3a://bucket/x", None),
        ("s3a://[bad/", None),
    ],
)
def test_local(place: str, path: str | None) -> None:
    assert local(place) == (None if path is None else Path(path))


def test_kinds() -> None:
    assert is_address("s3a://b/x")
    assert not is_address("/x:/y")
    assert not is_address("C:/x")
    assert is_glob("/x/*.jsonl")
    assert is_glob("/x/{a,b}")
    assert not is_glob("/x/y")


@pytest.mark.parametrize(
    ("one", "other", "do"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/c", True),
        ("/a/b", "/a/bc", False),
        ("/a/*", "/a/b/c", True),
        ("/a/*.jsonl", "/a/out", False),
        ("/a/*.jsonl", "/a", True),
        ("/a/{x,y}/z", "/a/y", True),
        ("/a/{x,y}/z", "/a/w", False),
        ("/a/{x,{y,w}}/z", "/a/w", True),
        ("/a/[^b]", "/a/b", False),
        ("/a/[^b]", "/a/c", True),
        ("file:///a/b", "/a/b/c", True),
        ("s3a://k/a", "s3a://k/a/b", True),
        ("s3a://k/a/", "s3a://k/a", True),
        ("s3a://k/a", "s3a://j/a", False),
        ("s3a://k/a", "/k/a", False),
    ],
)
def test_overlap(one: str, other: str, do: bool) -> None:
    assert overlap(steps(one), steps(other)) is do
    assert overlap(steps(other), steps(one)) is do


def test_within() -> None:
    assert within(steps("/a/b"), steps("/a"))
    assert within(steps("/a"), steps("/a"))
    assert not within(steps("/a"), steps("/a/b"))
    assert not within(steps("/b"), steps("/a"))


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert within(steps(str(tmp_path / "link" / "x")), steps(str(tmp_path / "real")))
