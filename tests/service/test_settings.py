"""Settings come from a file and, before it, from the environment; mistakes are named, values never."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.running import settings_in
from vedette.errors import FileError, InputError
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings, load
from vedette.service.storage.store import engine_of

FILE = """
operators = "operators.py"

[server]
port = 9000
admin_key = "a-key-of-mine"

[store]
url = "sqlite:///mine.db"

[streams.trades]
schema = {price = "float"}
anonymous = true
"""


def test_a_file(tmp_path: Path) -> None:
    place = tmp_path / "service.toml"
    place.write_text(FILE)
    found = load(place)
    assert (found.server.port, found.server.host, found.store.url) == (9000, "127.0.0.1", "sqlite:///mine.db")
    assert found.streams.keys() == {"trades"}
    assert (found.streams["trades"].attributes, found.streams["trades"].anonymous) == ({"price": "float"}, True)
    assert found.limits.validity == 24 * 3600
    assert "a-key-of-mine" not in repr(found)


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "service.toml"
    place.write_text(FILE)
    monkeypatch.setenv("VEDETTE_SERVER__PORT", "9001")
    monkeypatch.setenv("VEDETTE_STORE__URL", "sqlite:///other.db")
    monkeypatch.setenv("VEDETTE_WEBHOOKS__SCHEDULE", "[1, 2]")
    found = load(place)
    assert (found.server.port, found.store.url, found.webhooks.schedule) == (9001, "sqlite:///other.db", (1.0, 2.0))
    assert found.server.admin_key is not None
    assert found.server.admin_key.get_secret_value() == "a-key-of-mine"  # the rest of the table is the file's


def test_the_file_of_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load().server.port == 8080
    (tmp_path / "vedette.toml").write_text("[server]\nport = 9002")
    assert load().server.port == 9002


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server]\nprot = 1", "server.prot: there is no such setting"),
        ("[server]\nport = 70000", "server.port: "),
        ("[limits]\nqueue = 0", "limits.queue: "),
        ("[telemetry]\nlogs = 'xml'", "telemetry.logs: "),
        ("[webhooks]\njitter = 2", "webhooks.jitter: "),
        ("sever = 1", "sever: there is no such setting"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    place = tmp_path / "service.toml"
    place.write_text(text)
    with pytest.raises(InputError) as error:
        load(place)
    assert says in str(error.value)


@pytest.mark.parametrize("name", ["VEDETTE_SEVER__PORT", "VEDETTE_SERVER__PROT"])
def test_mistakes_in_the_environment_are_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEDETTE_KEY", "vk_x")  # which is the command line's
    monkeypatch.setenv(name, "1")
    with pytest.raises(InputError, match="there is no such setting"):
        load()


def test_what_is_wrong_is_not_repeated(tmp_path: Path) -> None:
    place = tmp_path / "service.toml"
    place.write_text('[server]\nadmin_key = ["hunter2"]')
    with pytest.raises(InputError) as error:
        load(place)
    assert "hunter2" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="Hint"):
        load(tmp_path / "none.toml")
    (tmp_path / "broken.toml").write_text("[server")
    with pytest.raises(FileError, match="not TOML"):
        load(tmp_path / "broken.toml")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_by_any_of_its_urls(scheme: str) -> None:
    engine = engine_of(f"{scheme}://user:secret@host/database")
    assert (engine.dialect.name, engine.dialect.driver) == ("postgresql", "psycopg")
    engine.dispose()


@pytest.mark.parametrize("url", ["", "vedette.db", "mysql://user@host/database", "sqlite://", "sqlite:///:memory:"])
def test_databases_that_cannot_be_used(url: str) -> None:
    with pytest.raises(InputError, match=r"store\.url[\s\S]*Hint: sqlite:///"):
        engine_of(url)


def test_the_first_stream_stays_as_it_was_changed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        service.add_stream("default", schema=None, anonymous=True, lateness=0)
    with Service(settings) as service:
        assert service.streams.get("default").anonymous
    named = settings_in(tmp_path, streams={"default": {"anonymous": False}})
    with Service(named) as service:
        assert not service.streams.get("default").anonymous


def test_settings_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ServiceSettings().server.port = 1
