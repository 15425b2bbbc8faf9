"""What requests make the service compute is stopped at a deadline, whatever it does, and is in nobody else's way."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import Running, over_http, settings_in
from tests.waiting import until
from vedette.errors import DialectError, FilterError, InputError
from vedette.schema.schema import Schema
from vedette.service.check_context import CheckContext
from vedette.service.compute_pool import Computations
from vedette.service.errors import ComputationStopped, OverLimit, StoreBusy
from vedette.service.settings import ComputingSettings

# Read by the service and by the processes that compute for it; only these are made to go wrong: by texts that say so.
OPERATORS = """
import sys, time
from vedette.operators.operator import operator

@operator(reads=("n",))
def odd(event):
    return event["n"] % 2 == 1

computed = sys.modules.get("vedette.service.compute_process")
if computed is not None and "vedette.service.http.app" not in sys.modules:
    def planted(name, task):
        def run(grounds, given):
            said = str(given)
            if name == "machine":
                said = said.replace("hardly drawn", "endless")
            if "endless" in said:
                while True:
                    pass
            if "deaf" in said:
                import signal
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(3600)
            if "greedy" in said:
                kept = bytearray(1 << 36)
            if "crashes" in said:
                import os
                os._exit(3)
            if "mistaken" in said:
                raise KeyError("ours")
            return task(grounds, given)
        return run
    computed.TASKS = {name: planted(name, task) for name, task in computed.TASKS.items()}
"""
HARDLY_DRAWN = "a:[x = 'hardly drawn'] ; b:[y = 1]"
HOW: dict[str, Any] = {"seconds": 0.4, "processes": 2, "waiting": 50, "memory_bytes": 1 << 30}


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("operators") / "planted.py"
    place.write_text(OPERATORS)
    return place


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, operators: Path) -> Iterator[Running]:
    """A service whose computations can be made endless."""
    folder = tmp_path_factory.mktemp("service")
    with over_http(settings_in(folder, computing=HOW, operators=str(operators))) as running:
        yield running


def endless(id_: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Every request that computes what somebody wrote."""
    text, pattern = "x in ('endless', 'for ever')", "[x = 'endless'] ; [x = 1]"
    body = {"when": pattern, "predict": {"within": 10}, "events": [{"x": 1}], "recent": True}
    return [
        ("POST", "/v1/subscriptions:test", body),
        ("POST", "/v1/filters:parse", {"when": pattern}),
        ("POST", "/v1/filters:parse", {"when": {"x": ["endless"]}, "dialect": "eventbridge"}),
        ("POST", "/v1/subscriptions", {"when": text}),
        ("POST", "/v1/subscriptions", {"when": {"x": ["endless"]}, "dialect": "eventbridge"}),
        ("POST", "/v1/subscriptions", {"when": text, "want": True}),
        ("PUT", f"/v1/subscriptions/{id_}", {"when": text}),
        ("POST", "/v1/offers", {"when": text}),
    ]


@pytest.mark.long
def test_every_computation_of_a_request_is_stopped(hostile: Running) -> None:
    made = hostile.subscribe("y = 'fine'", subscriber="endless")
    ticket = {"Vedette-Ticket": made["ticket"]}
    for method, path, body in endless(made["id"]):
        answer = hostile.call(method, path, json=body, headers=ticket)
        assert answer.status_code == 503, (path, answer.text)
        problem = answer.json()
        assert problem["type"] == "urn:vedette:problem:stopped"
        assert "took longer than 0.4 s, and was stopped" in problem["detail"]
        assert "computing.seconds" in problem["hint"]
    drawn = hostile.subscribe(HARDLY_DRAWN, predict={"within": 10})
    machine = f"/v1/subscriptions/{drawn['id']}/machine"
    for path in ("/v1/covering", f"/v1/subscriptions/{made['id']}/covering", machine):
        answer = hostile.call("GET", path)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:vedette:problem:stopped"), path
    assert hostile.call("GET", f"/v1/subscriptions/{made['id']}").json()["when"] == "y = 'fine'"
    text = hostile.http.get("/metrics").text
    for task in ("try", "parse", "translate", "check", "covering", "covered", "machine", "offer"):
        assert f'vedette_computations_stopped_total{{task="{task}"}}' in text
    hostile.call("DELETE", f"/v1/subscriptions/{made['id']}", headers=ticket)


@pytest.mark.long
def test_others_go_on_while_a_tenant_asks_for_what_never_ends(hostile: Running) -> None:
    """45 at a time, as many as once ended a service."""
    key = hostile.new_key("other")
    other = {"Authorization": f"Bearer {key}"}
    ended = threading.Event()

    def ask(number: int) -> int:
        what = "deaf" if number % 2 else "endless"
        body = {"when": f"x = '{what}'", "events": [{"x": 1}]}
        return hostile.call("POST", "/v1/subscriptions:test", json=body, timeout=120).status_code

    with ThreadPoolExecutor(45) as threads:
        asked = [threads.submit(ask, number) for number in range(45)]
        until(lambda: hostile.service.computations.waiting > 10)
        answers = []
        while not ended.is_set():
            answers.append(hostile.http.post("/v1/subscriptions", json={"when": "x > 1"}, headers=other).status_code)
            answers.append(hostile.http.get("/livez").status_code)
            if all(each.done() for each in asked):
                ended.set()
        assert set(answers) == {200, 201}
        assert {each.result() for each in asked} == {503}
    event = hostile.http.post("/v1/events", json={"x": 2}, headers=other)
    assert event.status_code == 202
    assert hostile.call("POST", "/v1/filters:parse", json={"when": "x = 1"}).json()["valid"]
    # A horizon without end is refused where it is read.
    body = {"when": "[x = 1] ; [x = 2]", "predict": {"within": 1_000_000_000}, "events": [{"x": 1}]}
    answer = hostile.call("POST", "/v1/subscriptions:test", json=body)
    assert answer.status_code == 422
    assert "the limit is 10,000" in answer.json()["detail"]


def test_matching_goes_on_while_machines_are_drawn(tmp_path: Path, operators: Path) -> None:
    settings = settings_in(tmp_path, computing={**HOW, "seconds": 600}, operators=str(operators))
    with over_http(settings) as running, ThreadPoolExecutor(3) as threads:
        pattern, plain = running.subscribe(HARDLY_DRAWN), running.subscribe("y >= 0")
        path = f"/v1/subscriptions/{pattern['id']}/machine"
        drawn = [threads.submit(running.call, "GET", path) for _ in range(3)]
        until(lambda: running.service.computations.waiting == 2)  # and one is being drawn
        running.publish({"x": "hardly drawn", "y": 0}, {"y": 1})
        assert len(running.pulled(plain["id"])) == 2
        assert len(running.pulled(pattern["id"])) == 1
        assert not any(each.done() for each in drawn)
        running.service.computations.close()
        assert {each.result().status_code for each in drawn} == {503}


def test_a_service_ends_while_something_computes(tmp_path: Path, operators: Path) -> None:
    settings = settings_in(tmp_path, computing={**HOW, "seconds": 600}, operators=str(operators))
    with over_http(settings) as running, ThreadPoolExecutor(3) as threads:
        asked = [
            threads.submit(running.call, "POST", "/v1/filters:parse", json={"when": f"x = 'endless {number}'"})
            for number in range(3)
        ]
        until(lambda: running.service.computations.waiting == 2)
        running.service.computations.close()
        assert [each.result().status_code for each in asked] == [503] * 3


def test_a_program_that_starts_a_service_whenever_it_is_imported(tmp_path: Path) -> None:
    """Processes that compute import the program: each would start a service with processes of its own, for ever."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import tempfile
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings

store = {{"url": f"sqlite:///{{tempfile.mkdtemp(dir={str(tmp_path)!r})}}/service.db"}}
with Service(ServiceSettings(store=store)) as service:
    given = {{"when": "x = 1", "predict": None}}
    service.computations.submit("t", "parse", "default", service.registry.grounds("default"), **given).result(60)
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert 'Hint: start it below `if __name__ == "__main__":`' in done.stderr
    assert "standard error says why" in done.stderr
    assert len(list(tmp_path.glob("*/service.db"))) == 1


# ---------------------------------------------------------------- without HTTP


@pytest.fixture(scope="module")
def computations(operators: Path) -> Iterator[Computations]:
    made = Computations(ComputingSettings(**HOW), str(operators))
    yield made
    made.close()


GROUNDS = CheckContext(Schema.of({"x": "int", "name": "string"}, closed=True), None, 1_000.0)


def parse(made: Computations, when: str, tenant: str = "a") -> Any:
    return made.submit(tenant, "check", "default", GROUNDS, when=when, predict=None, want=False).result(60)


def test_errors_are_what_they_would_be_here(computations: Computations) -> None:
    assert parse(computations, "x > 1 and name = 'b'") == ["filter", 2.0]
    for when, kind in (("x >", FilterError), ("y = 1", FilterError), ("x = 'a'", FilterError)):
        with pytest.raises(kind) as there:
            parse(computations, when)
        with pytest.raises(kind) as here:
            GROUNDS.checked(when, None)
        assert type(there.value) is type(here.value)
        assert str(there.value) == str(here.value)
        assert isinstance(there.value, FilterError)
        assert isinstance(here.value, FilterError)
        assert (there.value.start, there.value.end, there.value.hint) == (
            here.value.start,
            here.value.end,
            here.value.hint,
        )
    with pytest.raises(OverLimit, match="one may cost 1,000"):
        parse(computations, " or ".join(f"name matches '{'a' * (each % 9 + 1)}'" for each in range(300)))
    with pytest.raises(InputError):
        computations.submit("a", "check", "s", GROUNDS, when="x = 1", predict={"within": 0}, want=False).result(60)
    with pytest.raises(DialectError):
        computations.submit("a", "translate", "s", GROUNDS, when="{", dialect="eventbridge").result(60)


def test_what_ends_otherwise(computations: Computations) -> None:
    with pytest.raises(ComputationStopped, match="needs more than 1,073,741,824 bytes of memory"):
        parse(computations, "name = 'greedy'")
    with pytest.raises(ComputationStopped, match="ended its process"):
        parse(computations, "name = 'crashes'")
    with pytest.raises(RuntimeError, match="KeyError: 'ours'"):
        parse(computations, "name = 'mistaken'")
    assert parse(computations, "x = 1") == ["filter", 1.0]


def test_no_tenant_waits_for_too_much() -> None:
    made = Computations(ComputingSettings(seconds=600, processes=1, waiting=3))
    begun = threading.Event()
    made._asked = lambda job: begun.wait(60) and b'{"found": 1}'  # type: ignore[method-assign,assignment,return-value]
    asked = [made.submit("a", "check", "s", GROUNDS) for _ in range(4)]
    with pytest.raises(OverLimit, match="3 requests of the tenant wait"):
        made.submit("a", "check", "s", GROUNDS)
    others = [made.submit(f"b{each}", "check", "s", GROUNDS) for each in range(21)]
    with pytest.raises(StoreBusy, match="too many requests wait"):
        made.submit("c", "check", "s", GROUNDS)
    assert made.refused == 2
    others[0].cancel()
    last = made.submit("c", "check", "s", GROUNDS)
    begun.set()
    assert [each.result(60) for each in (*asked, *others[1:], last)] == [1] * 25
    made.close()
    with pytest.raises(StoreBusy):
        made.submit("a", "check", "s", GROUNDS)
