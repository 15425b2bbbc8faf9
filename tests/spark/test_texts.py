"""The quick path of a DataFrame as workers run it, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from vedette.engine import slicing
from vedette.engine.snapshot import SavedEngine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import NotSupported
from vedette.filters.matcher import Matcher
from vedette.spark import texts as quick
from vedette.spark.snapshots import ShippedSnapshot
from vedette.spark.texts import (
    BETWEEN,
    ESCAPES,
    REJECTED,
    SEPARATOR,
    Task,
    label_width,
    labels_of,
    matching,
    needs_escapes,
)


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[ShippedSnapshot, SavedEngine]]:
    """Matchers that are opened without a file."""
    known: dict[ShippedSnapshot, SavedEngine] = {}
    monkeypatch.setattr(quick, "opened", known.__getitem__)
    quick.labels_kept.cache_clear()
    yield known
    quick.labels_kept.cache_clear()


def texts(
    known: dict[ShippedSnapshot, SavedEngine], subs: Subscriptions, *batches: Any, **options: Any
) -> list[pa.Array]:
    matcher = subs.compile_filters()
    one = ShippedSnapshot(matcher.version, "", None)
    known[one] = SavedEngine(matcher)
    names = options.pop("names", ("n",))
    task = Task(one, names, options.get("subscribers", False), needs_escapes(matcher), options.get("width"))
    return list(matching(pickle.loads(pickle.dumps(task)))(iter(batches)))  # noqa: S301 - our own


def _counting(*ids: str) -> Subscriptions:
    subs = Subscriptions({"n": "int"})
    for number, id_ in enumerate(ids):
        subs.add(id_, f"n >= {number}", subscriber=f"owner {number}" if number % 2 else None)
    return subs


def test_one_text_for_every_event(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    (found,) = texts(shipped, _counting("a", "bc"), pa.array([0, None, 1, -1]), pa.array([7]))
    assert found.to_pylist() == ["a", None, f"a{SEPARATOR}bc", None, f"a{SEPARATOR}bc"]
    found.validate(full=True)
    assert found.type == pa.string()


def test_labels_of_one_width(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    (found,) = texts(shipped, _counting("a", "bc"), pa.array([0, None, 1, 0.5]), width=3)
    assert found.to_pylist() == [b"a  ", None, b"a  bc ", b"\x1dattribute 'n': 0.5 is not a whole number"]
    found.validate(full=True)
    assert found.type == pa.binary()


@pytest.mark.parametrize(("most", "sizes"), [(95, [90, 10]), (1000, [100]), (5, [10] * 10)])
def test_batches_are_matched_together(
    shipped: dict[ShippedSnapshot, SavedEngine], monkeypatch: pytest.MonkeyPatch, most: int, sizes: list[int]
) -> None:
    seen: list[int] = []
    real = quick._Worker.texts

    def spy(self: Any, batch: Any) -> Iterator[Any]:
        seen.append(batch.num_rows)
        return real(self, batch)

    monkeypatch.setattr(quick._Worker, "texts", spy)
    monkeypatch.setattr(quick, "PIECE", most)
    found = texts(shipped, _counting("a"), *(pa.array([number % 3 - 1] * 10) for number in range(10)))
    assert seen == sizes
    assert pa.concat_arrays(found).to_pylist() == [
        None if number % 3 == 0 else "a" for number in range(10) for _ in range(10)
    ]


def test_several_columns_come_as_tuples(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    subs = Subscriptions({"n": "int", "s": "string"})
    subs.add("both", "n = 1 and s = 'x'")
    found = texts(shipped, subs, (pa.array([1, 1]), pa.array(["x", "y"])), names=("n", "s"))
    assert found[0].to_pylist() == ["both", None]


def test_subscribers_stand_beside_ids(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    (found,) = texts(shipped, _counting("a", "bc"), pa.array([1]), subscribers=True)
    assert found.to_pylist() == [f"a{SEPARATOR}bc{BETWEEN}owner 1"]


def test_what_means_something_is_escaped(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    (found,) = texts(shipped, _counting("a\x1fb\x1b", "c"), pa.array([1]))
    assert found.to_pylist() == [f"a\x1bsb\x1be{SEPARATOR}c"]
    assert next(iter(ESCAPES)) == "\x1b"  # else what it stands for would be escaped again


def test_events_that_break_the_schema(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("all", "true")
    subs.add("some", "n > 1")
    (found,) = texts(shipped, subs, pa.array([1.0, 2.5, 2.0]))
    assert found.to_pylist() == ["all", f"{REJECTED}attribute 'n': 2.5 is not a whole number", f"all{SEPARATOR}some"]


def test_slices_and_parts_are_small_where_there_are_many_matches(
    shipped: dict[ShippedSnapshot, SavedEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = pa.array([number % 50 for number in range(5000)])
    subs = _counting(*(f"subscription {number}" for number in range(40)))
    (whole,) = (pa.concat_arrays(texts(shipped, subs, events)),)
    seen: list[int] = []
    real = Matcher.match_rows

    def spy(self: Matcher, encoded: Any, **options: Any) -> Any:
        rows = real(self, encoded, **options)
        seen.append(len(rows.subscription))
        return rows

    monkeypatch.setattr(Matcher, "match_rows", spy)
    monkeypatch.setattr(quick, "_FIRST_SLICE", 16)
    monkeypatch.setattr(slicing, "_MATCHES", 3000)
    monkeypatch.setattr(quick, "_MOST_TEXT", 10_000)
    parts = texts(shipped, subs, events[:3000], events[3000:])
    assert pa.concat_arrays(parts) == whole
    assert max(data.size for part in parts if (data := part.buffers()[2]) is not None) <= 10_000
    assert max(seen) < 6000
    assert len(parts) > len(seen) > 20


def test_an_event_with_more_text_than_arrow_holds(
    shipped: dict[ShippedSnapshot, SavedEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "_LONGEST", 100)
    assert texts(shipped, _counting("a" * 100), pa.array([1]))[0].to_pylist() == ["a" * 100]
    with pytest.raises(NotSupported, match="their ids are 101 bytes\nHint:"):
        texts(shipped, _counting("a" * 50, "b" * 50), pa.array([1]))


def test_no_subscriptions(shipped: dict[ShippedSnapshot, SavedEngine]) -> None:
    (found,) = texts(shipped, Subscriptions({"n": "int"}), pa.array([1, 2]))
    assert found.to_pylist() == [None, None]
    assert texts(shipped, _counting("a")) == []


def test_ids_are_used_where_they_are_mapped(tmp_path: Any) -> None:
    _counting("a", "bc").compile().save(tmp_path / "snapshot")
    matcher = Matcher.open(tmp_path / "snapshot")
    labels = labels_of(matcher, subscribers=False, escaped=False)
    data = matcher.ids.buffers()[2]
    assert data is not None
    assert labels.data.ctypes.data == data.address
    assert labels.data[: labels.offsets[-1]].tobytes() == b"abc"


@pytest.mark.parametrize(
    ("ids", "subscribers", "width"),
    [
        (["a", "bc"], False, 3),
        (["a", "bc"], True, 11),  # "owner 1" and BETWEEN
        (["a", "é"], False, 3),
        ([], False, 1),
        (["a", "b" * 40], False, None),  # too different
        ([*(f"s{number}" for number in range(9)), "b" * 40], False, None),
        (["a", "b "], False, None),
    ],
)
def test_how_wide_labels_are(ids: list[str], subscribers: bool, width: int | None) -> None:
    assert label_width(_counting(*ids).compile().filters, subscribers) == width
