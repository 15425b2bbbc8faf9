"""`vedette subscribe`, `publish` and `tail` against a service that runs."""

from __future__ import annotations

import io
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.session import COMMAND, vedette, write_lines
from tests.service.running import Running, over_http, settings_in
from vedette.cli import remote_service
from vedette.client import Client, calls
from vedette.errors import Refused


def subscribed(running: Running, when: str, *more: object) -> dict[str, Any]:
    said = vedette("subscribe", when, "--url", running.url, "--key", running.key, *more)
    assert said.exit_code == 0, said.output
    return dict(json.loads(said.stdout))


def test_subscribe_publish_tail(running: Running, tmp_path: Path) -> None:
    mine = subscribed(running, "topic = 'weather' and wind > 50", "--subscriber", "ada")
    events = write_lines(tmp_path / "events.jsonl", [{"id": f"w{n}", "topic": "weather", "wind": n} for n in (40, 60)])
    said = vedette("publish", events, "--url", running.url, "--key", running.key)
    assert (said.exit_code, "2 events accepted" in said.stderr) == (0, True), said.output
    command = [*COMMAND, "tail", mine["id"], "--url", running.url, "--key", running.key]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        try:
            told = json.loads(tail.stdout.readline())
            tail.send_signal(signal.SIGINT)
            tail.wait(60)
        finally:
            tail.kill()  # else a failure here would wait for ever
    assert (told["event"]["id"], told["subscriber"]) == ("w60", "ada")
    assert running.pulled(mine["id"]) == [told]  # looking does not consume


def left(running: Running, id_: str) -> list[int]:
    return [one["event"]["n"] for one in running.pulled(id_)]


class Paper(io.StringIO):
    """Standard output whose reader goes away after some lines."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._left = lines

    def flush(self) -> None:
        if self._left <= 0:
            raise BrokenPipeError
        self._left -= 1


@pytest.mark.parametrize(("consume", "waits"), [(False, [0, 1, 2, 3, 4]), (True, [3, 4])])
def test_tail_takes_what_was_printed_if_it_is_to(
    running: Running, monkeypatch: pytest.MonkeyPatch, consume: bool, waits: list[int]
) -> None:
    mine = running.subscribe(f"paper = {len(waits)}")
    running.publish(*({"paper": len(waits), "n": n} for n in range(5)))
    monkeypatch.setattr("sys.stdout", Paper(3))
    with pytest.raises(BrokenPipeError):  # as the fourth is printed
        remote_service.tail(running.url, running.key, mine["id"], None, consume=consume)
    monkeypatch.undo()
    assert left(running, mine["id"]) == waits


def test_consuming_says_what_was_dropped_and_ends_with_the_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with over_http(settings_in(tmp_path, limits={"queue": 2})) as small:
        mine = small.subscribe("n >= 0")
        small.publish(*({"n": n} for n in range(5)))
        printed = Paper(3)

        def acknowledged(client: Client, id_: str, ids: list[str]) -> None:
            assert client.send(calls.acknowledge(id_, ids)) == len(ids) == 2
            client.unsubscribe(id_, mine["ticket"])

        monkeypatch.setattr(Client, "acknowledge", acknowledged)
        monkeypatch.setattr("sys.stdout", printed)
        with pytest.raises(Refused, match="no subscription"):
            remote_service.tail(small.url, small.key, mine["id"], None, consume=True)
        monkeypatch.undo()
    assert [json.loads(line)["kind"] for line in printed.getvalue().splitlines()] == ["dropped", "match", "match"]
    said = vedette("tail", mine["id"], "--consume", "--last", "n_1", "--url", small.url, "--key", small.key)
    assert (said.exit_code, "leave out --last" in said.stderr) == (2, True)


def test_forecasts_are_asked_for_with_both_options(running: Running) -> None:
    mine = subscribed(running, "[fore = 1] ; [fore = 2]", "--within", 5, "--threshold", 0.4)
    assert mine["predict"]["within"] == 5
    assert mine["predict"]["threshold"] == 0.4
    said = vedette("subscribe", "[fore = 1] ; [fore = 2]", "--within", 5, "--url", running.url, "--key", running.key)
    assert (said.exit_code, "go together" in said.stderr) == (2, True)


def test_without_a_key_it_is_said_where_one_is_from(running: Running) -> None:
    said = vedette("subscribe", "x = 1", "--url", running.url)
    assert said.exit_code == 1
    assert "VEDETTE_KEY" in said.stderr
