"""Events of many publishers are written down together, and matched without being read again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DataError, OperationalError

from tests.service.running import MEASURES
from vedette.errors import InputError
from vedette.service import journal as journal_module
from vedette.service.accepted_events import AcceptedBuffer, AcceptedEvents
from vedette.service.errors import StoreBusy, StoreFailed
from vedette.service.incoming_events import IncomingEvent, read
from vedette.service.journal import AcceptedBatch, Journal
from vedette.service.storage import bulk_insert
from vedette.service.storage.schema_migration import migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import events


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A database that is not written to before it is started."""
    made = Store(f"sqlite:///{tmp_path}/events.db")
    migrate(made.engine)
    yield made
    made.close()


@pytest.fixture
def journal(store: Store) -> Journal:
    made = Journal(store)
    made.start(lambda _: None)
    return made


def published(journal: Journal, *ids: str, stream: str = "default") -> Future[AcceptedBatch]:
    body = orjson.dumps([{"id": id_, "x": 1} for id_ in ids])
    return journal.publish(stream, read(body, "application/json", {}, MEASURES))


def test_whoever_comes_meanwhile_is_written_down_with_the_others(
    store: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: list[int] = []
    plainly = bulk_insert.insert

    def insert(connection: Any, table: sa.Table, columns: Any, rows: Sequence[Any], *, new_only: bool) -> None:
        inserted.append(len(rows))
        plainly(connection, table, columns, rows, new_only=new_only)

    monkeypatch.setattr(bulk_insert, "insert", insert)
    waiting = [published(journal, *ids) for ids in (("a", "b"), ("c",), ("b", "d"), (), ("a",))]
    store.start()
    found = [one.result(30) for one in waiting]
    assert inserted == [6]
    assert [len(one.numbers) for one in found] == [2, 1, 1, 0, 0]
    numbers = [number for one in found for number in one.numbers]
    assert numbers == sorted(numbers)  # databases may leave out numbers, where an id is there already
    assert [one.duplicates for one in found] == [0, 0, 1, 0, 1]
    assert [one.ids for one in found] == [("a", "b"), ("c",), ("b", "d"), (), ("a",)]
    assert journal.settled == numbers[-1]
    batch, written = journal.after("default", 0, journal.settled, 10)
    assert (list(batch.numbers), list(batch.ids)) == (numbers, ["a", "b", "c", "d"])
    assert written[numbers[-1]].body == b'{"id":"d","x":1}'


def test_the_mistake_of_one_is_not_that_of_others(
    store: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    plainly = bulk_insert.insert

    def insert(connection: Any, table: sa.Table, columns: Any, rows: Sequence[Any], *, new_only: bool) -> None:
        plainly(connection, table, columns, rows, new_only=new_only)
        if any("bad" in row for row in rows):
            raise DataError("insert", {}, Exception("a text with a NUL"))

    monkeypatch.setattr(bulk_insert, "insert", insert)
    waiting = [published(journal, "a"), published(journal, "bad", "b"), published(journal, "b")]
    store.start()
    assert waiting[0].result(30).duplicates == 0
    with pytest.raises(InputError, match="the database cannot keep this: a text with a NUL"):
        waiting[1].result(30)
    assert waiting[2].result(30).duplicates == 0
    there = store.read(lambda c: c.execute(sa.select(events.c.id).order_by(events.c.number)).scalars().all())
    assert there == ["a", "b"]
    assert list(journal.after("default", 0, journal.settled, 10)[0].ids) == ["a", "b"]


def test_whoever_went_away_is_not_written_down(store: Store, journal: Journal) -> None:
    first, second = published(journal, "a"), published(journal, "b")
    assert first.cancel()
    store.start()
    assert len(second.result(30).numbers) == 1
    assert list(journal.after("default", 0, journal.settled, 10)[0].ids) == ["b"]


def test_whoever_comes_while_others_went_away_is_answered(store: Store, journal: Journal) -> None:
    gone, held, reached = published(journal, "a"), threading.Event(), threading.Event()
    assert gone.cancel()

    def hold(_connection: Any) -> None:
        reached.set()
        held.wait(30)

    holding = store.submit(hold)  # in one group with the write that finds nobody
    store.start()
    assert reached.wait(30)
    late = published(journal, "b")
    held.set()
    holding.result(30)
    assert len(late.result(30).numbers) == 1


def test_if_nothing_can_be_written_all_who_wait_hear_of_it(
    store: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OperationalError("connect", {}, Exception("it is away"))

    waiting = [published(journal, "a"), published(journal, "b")]
    monkeypatch.setattr(store.engine, "connect", broken)
    store.start()
    for one in waiting:
        with pytest.raises(StoreFailed, match="it is away"):
            one.result(30)
    monkeypatch.undo()
    assert len(published(journal, "c").result(30).numbers) == 1


def test_too_many_who_wait_are_sent_away(store: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "WAITING", 2)
    waiting = [published(journal, "a"), published(journal, "b")]
    with pytest.raises(StoreBusy, match="too many events wait"):
        published(journal, "c")
    store.start()
    assert [len(one.result(30).numbers) for one in waiting] == [1, 1]


def test_a_database_that_ends_tells_all_who_wait(store: Store, journal: Journal) -> None:
    store.close()
    with pytest.raises(StoreBusy):
        published(journal, "a").result(30)


# ---------------------------------------------------------------- in memory


def fresh(*numbers: int, size: int = 1) -> AcceptedEvents:
    events = [IncomingEvent("", str(number), {"n": number}, b"x" * size) for number in numbers]
    return AcceptedEvents(numbers, events, None, 0)


def taken(kept: AcceptedBuffer, stream: str, after: int, upto: int, limit: int) -> list[int] | None:
    found = kept.take(stream, after, upto, limit)
    return None if found is None else [number for each in found for number in each.numbers]


def test_what_was_taken_is_gone_and_streams_are_apart() -> None:
    kept = AcceptedBuffer()
    kept.begin(10)
    kept.put("a", fresh(11, 13))
    kept.put("b", fresh(12))
    kept.put("a", fresh(14, 15))
    assert taken(kept, "a", 9, 15, 10) is None  # event 10 is on the disk only
    assert taken(kept, "a", 10, 14, 2) == [11, 13]
    assert taken(kept, "a", 13, 14, 9) == [14]
    assert taken(kept, "b", 10, 15, 9) == [12]
    assert taken(kept, "c", 10, 15, 9) == []
    assert taken(kept, "a", 14, 15, 9) == [15]


@pytest.mark.parametrize("limits", [{"most_bytes": 100}, {"most": 3}])
def test_there_is_room_for_so_many_and_then_they_are_read_from_the_disk(limits: dict[str, int]) -> None:
    kept = AcceptedBuffer(**limits)
    kept.put("a", fresh(1, 2, size=30))
    assert taken(kept, "a", 0, 1, 9) == [1]  # makes room for one
    kept.put("b", fresh(3, 4, size=30))
    assert taken(kept, "b", 2, 4, 9) == [3, 4]
    kept.put("b", fresh(5, 6, 7, size=30))
    assert taken(kept, "a", 1, 7, 9) is None
    assert taken(kept, "b", 6, 7, 9) is None
    assert taken(kept, "b", 7, 7, 9) == []
    kept.put("b", fresh(8))
    assert taken(kept, "b", 7, 8, 9) == [8]


def test_what_does_not_fit_into_memory_is_matched_from_the_disk(store: Store, journal: Journal) -> None:
    journal._fresh = AcceptedBuffer(most=2)
    journal._fresh.begin(0)
    store.start()
    for id_ in "abcde":
        published(journal, id_).result(30)
    seen: list[str] = []
    at = 0
    while at < journal.settled:
        batch, _ = journal.after("default", at, journal.settled, 2)
        seen += batch.ids
        at = batch.numbers[-1]
    assert seen == list("abcde")
