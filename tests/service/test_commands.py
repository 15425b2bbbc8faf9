"""`vedette subscribe`, `publish` and `tail` against a service that runs."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.session import COMMAND, vedette, write_lines
from tests.service.running import Running


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
