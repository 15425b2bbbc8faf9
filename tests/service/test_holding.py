"""One process serves a database: a second one is told so, and takes over when the first has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service import running as places
from tests.service.running import published, settings_in
from vedette.errors import FileError
from vedette.service.errors import StoreFailed
from vedette.service.service import Service
from vedette.service.storage import database_lock
from vedette.service.subscription_registry import SubscriptionRequest


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the first to end."""
    monkeypatch.setattr(database_lock, "_OF_SERVERS", 0.0)
    monkeypatch.setattr(database_lock, "_PATIENCE", {"sqlite": 0.0})


def test_a_second_one_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as first:
        one = first.registry.subscribe(first.tenants.add("acme"), SubscriptionRequest("x = 1")).subscription
        with pytest.raises(StoreFailed, match="another process serves"):
            Service(settings).start()
        published(first, {"x": 1})  # which goes on as before
        assert first.trouble() is None
    with Service(settings) as second:
        published(second, {"x": 1})
        assert second.outbox.counts(one.number).due == 2


def test_a_start_that_fails_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_in(tmp_path)

    def fails(*_: Any) -> None:
        raise StoreFailed("the tables cannot be made")

    with monkeypatch.context() as patched:
        patched.setattr("vedette.service.service.migrate", fails)
        with pytest.raises(StoreFailed, match="cannot be made"):
            Service(settings).start()
    with Service(settings) as service:
        assert service.streams.all()


def test_nothing_is_written_while_another_process_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(settings_in(tmp_path)) as service:
        monkeypatch.setattr(service._holding, "keep", lambda: None)
        monkeypatch.setattr(service._holding, "lost", "another process serves this database since it was away")
        service._hold()
        assert "another process" in str(service.trouble())
        with pytest.raises(StoreFailed, match="another process"):
            service.tenants.add("acme")
        monkeypatch.setattr(service._holding, "lost", None)
        service._hold()
        assert service.tenants.add("acme").name == "acme"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    if not places.url_in(tmp_path).startswith("sqlite"):
        pytest.skip("a file of SQLite")
    settings = settings_in(tmp_path, store={"url": f"sqlite:///{tmp_path}/nowhere/service.db"})
    with pytest.raises(FileError, match=r"nowhere[\s\S]*Hint: name a database in a folder"):
        Service(settings).start()
