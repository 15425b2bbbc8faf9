"""What the console asks for, and anybody may: live events, figures, parses, machines, covering."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from tests.service.running import Running, published, settled
from tests.service.test_http import problem
from tests.waiting import until
from vedette.service.errors import StoreBusy
from vedette.service.service import Service


def parse(running: Running, when: Any, **more: Any) -> dict[str, Any]:
    answer = running.call("POST", "/v1/filters:parse", json={"when": when, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# ---------------------------------------------------------------- parses


def test_a_filter_is_taken_apart(running: Running) -> None:
    found = parse(running, "price < 120 and (kind = 'offer' or kind = 'sale')")
    assert (found["valid"], found["kind"], found["cost"]) == (True, "filter", 3.0)
    assert found["normal_form"] == ["kind in ('offer', 'sale') and price < 120"]
    assert found["columns"] == {"kind": "string", "price": "float"}
    tree = found["tree"]
    assert tree["what"] == "and"
    assert [part["what"] for part in tree["parts"]] == ["comparison", "or"]
    assert [part["text"] for part in tree["parts"][1]["parts"]] == ["kind = 'offer'", "kind = 'sale'"]
    assert found["machine"] is None


def test_a_pattern_has_a_machine(running: Running) -> None:
    found = parse(running, "a:[x = 1] ; b:[x = 2] by user within 5 min")
    assert (found["kind"], found["normal_form"]) == ("pattern", None)
    assert [state["label"] for state in found["machine"]["states"]] == ["start", "after a", "match"]
    assert found["machine"]["mermaid"].startswith("---\ntitle:")
    assert found["tree"]["parts"][0]["parts"][0]["what"] == "step a"


def test_what_is_wrong_is_said_with_its_place(running: Running) -> None:
    found = parse(running, "price < 'x' and\nkind = = 3")
    assert (found["valid"], found["tree"]) == (False, None)
    (one,) = found["findings"]
    assert (one["severity"], one["line"], one["column"]) == ("error", 2, 8)
    assert "^" in one["shown"]
    several = parse(running, "[x = 1 and x = 'a'] ; [y < 'b' and y > 3]")["findings"]
    assert len(several) == 2
    assert parse(running, "")["valid"] is False
    assert parse(running, {"a": [1]})["valid"] is False


def test_what_is_hardly_meant_is_a_warning(running: Running) -> None:
    found = parse(running, "x > 5 and x < 3")
    assert found["valid"]
    assert [each["severity"] for each in found["findings"]] == ["warning"]
    assert found["normal_form"] == ["false"]


def test_rules_of_other_dialects_are_translated_first(running: Running) -> None:
    found = parse(running, {"kind": ["offer"]}, dialect="eventbridge")
    assert found["valid"]
    assert "offer" in found["when"]
    assert parse(running, {"kind": "offer"}, dialect="eventbridge")["valid"] is False
    assert parse(running, "x", dialect="no such")["valid"] is False
    problem(running.call("POST", "/v1/filters:parse", json={"when": "x = 1", "stream": "none"}), 404, "not-found")
    problem(running.call("POST", "/v1/filters:parse", json={"wen": "x = 1"}), 422, "bad-input")


# ---------------------------------------------------------------- figures


def test_figures_of_subscriptions(running: Running) -> None:
    running.publish({"f": 0})
    mine = running.subscribe("f < 3")
    running.publish(*({"f": number} for number in range(10)))
    page = running.call("GET", "/v1/subscriptions:figures", params={"limit": 1000}).json()
    (one,) = (each for each in page["figures"] if each["subscription"] == mine["id"])
    assert one["recent"]["events"] == 10
    assert one["recent"]["rate"] == pytest.approx(0.3)
    assert sum(one["recent"]["by_five_minutes"]) == 3
    assert (one["notifications"]["due"], one["cost"]) == (3, 1.0)
    assert page["events"]["default"] >= 11
    assert page["next"] is None
    assert running.call("GET", f"/v1/subscriptions/{mine['id']}/figures").json() == one


def test_figures_come_in_pages_and_are_the_tenants_own(running: Running) -> None:
    key = {"Authorization": f"Bearer {running.new_key('paged')}"}
    made = []
    for number in range(3):
        answer = running.http.post("/v1/subscriptions", json={"when": f"p = {number}"}, headers=key)
        made.append(answer.json()["id"])
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = running.http.get("/v1/subscriptions:figures", params={"after": after, "limit": 2}, headers=key).json()
        seen += [each["subscription"] for each in page["figures"]]
        after = page["next"]
    assert seen == made
    used = running.http.get("/v1/tenant", headers=key).json()
    assert (used["name"], used["subscriptions"], used["cost"]) == ("paged", 3, 3.0)
    assert used["most_subscriptions"] == 100_000


# ---------------------------------------------------------------- machines


def test_the_machine_of_a_pattern_as_it_stands(running: Running) -> None:
    mine = running.subscribe("a:[m = 1] ; b:[m = 2] ; c:[m = 3] by who", predict={"within": 3, "threshold": 0.2})
    path = f"/v1/subscriptions/{mine['id']}/machine"
    fresh = running.call("GET", path).json()
    assert [state["standing"] for state in fresh["states"]] == [None, 0, 0, None]
    running.publish(*({"m": number % 4, "who": who} for number in range(200) for who in ("ann", "bob")))
    running.publish({"m": 1, "who": "cyd"})
    now = running.call("GET", path).json()
    assert now["states"][1]["standing"] >= 1
    known = [state["probability"] for state in now["states"][:3]]
    assert all(each is not None for each in known)
    assert now["forecasts"]["within"] == 3
    assert now["forecasts"]["score"]["forecasts"] > 0


def test_a_pattern_without_forecasts_says_so(running: Running) -> None:
    mine = running.subscribe("[n = 1] ; [n = 2]")
    found = running.call("GET", f"/v1/subscriptions/{mine['id']}/machine").json()
    assert found["forecasts"] is None
    assert {state["probability"] for state in found["states"]} == {None}
    plain = running.subscribe("n = 1")
    problem(running.call("GET", f"/v1/subscriptions/{plain['id']}/machine"), 422, "bad-input")
    other = {"Authorization": f"Bearer {running.new_key('looker')}"}
    problem(running.http.get(f"/v1/subscriptions/{mine['id']}/machine", headers=other), 404, "not-found")


def test_engines_are_looked_at_by_the_thread_that_matches(service: Service) -> None:
    names: list[str] = []
    service.pump.look("default", lambda _: names.append(threading.current_thread().name)).result(30)
    assert names == ["vedette-pump-default"]
    wrong: Future[object] = service.pump.look("default", lambda _: 1 // 0)
    assert isinstance(wrong.exception(30), ZeroDivisionError)
    published(service, {"x": 1})  # it goes on
    settled(service)
    service.pump.close()
    with pytest.raises(StoreBusy):
        service.pump.look("default", len).result(30)


# ---------------------------------------------------------------- covering


def test_who_covers_whom(running: Running) -> None:
    key = {"Authorization": f"Bearer {running.new_key('covers')}"}

    def subscribe(when: str) -> str:
        return str(running.http.post("/v1/subscriptions", json={"when": when}, headers=key).json()["id"])

    narrow, wide = subscribe("x in [10 .. 20] and y < 5"), subscribe("x in [0 .. 30] and y < 9")
    apart, again = subscribe("x > 100 and y = 1"), subscribe("y < 9 and x >= 0 and x <= 30")
    pattern = subscribe("[x = 1] ; [x = 2]")
    inner = subscribe("x = 15 and y = 1")  # of the narrow one, which is redundant itself
    found = running.http.get("/v1/covering", headers=key).json()
    by = {each["subscription"]: each["by"] for each in found["subscriptions"] if each["covered"]}
    assert set(by) == {narrow, inner} | {one for one in (wide, again) if one in by}
    assert len(by) == 3  # the narrow one, though it came first, and one of the two that say the same
    assert {each for some in by.values() for each in some}.isdisjoint(by)  # who covers is not redundant
    assert (found["considered"], found["active"], found["left_out"]) == (6, 3, 0)
    assert apart not in by
    assert pattern not in by
    one = running.http.get(f"/v1/subscriptions/{narrow}/covering", headers=key).json()
    assert one["answer"]["covered"]
    parts = {each["part"] for each in one["picture"]["rectangles"]}
    assert {"asked", "covers"} <= parts
    free = running.http.get(f"/v1/subscriptions/{apart}/covering", headers=key).json()
    assert free["answer"]["witness"]["x"] > 100
    none = running.http.get(f"/v1/subscriptions/{pattern}/covering", headers=key).json()
    assert none["picture"] is None
    assert "two attributes" in none["why_no_picture"]
    less = running.http.get("/v1/covering", params={"limit": 2}, headers=key).json()
    assert (less["considered"], less["left_out"]) == (2, 4)
    problem(running.call("GET", f"/v1/subscriptions/{narrow}/covering"), 404, "not-found")


# ---------------------------------------------------------------- live


@contextmanager
def watched(running: Running, **params: Any) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """Somebody who watches, from when the service knows it."""
    with running.http.stream("GET", "/v1/streams/default/live", params=params, headers=running.mine) as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()

        def messages() -> Iterator[tuple[str, dict[str, Any]]]:
            kind = ""
            for line in lines:
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield kind, orjson.loads(line.removeprefix("data: "))

        yield messages()


def test_live_events_with_what_they_told(running: Running) -> None:
    mine = running.subscribe("live = 1")
    other = {"Authorization": f"Bearer {running.new_key('neighbour')}"}
    assert running.http.post("/v1/subscriptions", json={"when": "live >= 0"}, headers=other).status_code == 201
    with watched(running) as messages:
        assert next(messages)[0] == "watching"
        running.publish({"id": "l0", "live": 0}, {"id": "l1", "live": 1})
        seen: list[dict[str, Any]] = []
        while len(seen) < 2:
            kind, glimpse = next(messages)
            assert kind == "glimpse"
            seen += glimpse["events"]
        assert [(each["id"], [one["subscription"] for one in each["told"]]) for each in seen] == [
            ("l0", []),
            ("l1", [mine["id"]]),
        ]
    until(lambda: len(running.service.watching) == 0)


def test_live_events_that_are_too_many_are_counted(running: Running) -> None:
    with watched(running, rate=1) as messages:
        next(messages)
        running.publish(*({"many": number} for number in range(500)))
        matched = skipped = shown = 0
        while matched < 500:
            glimpse = next(messages)[1]
            matched, skipped = matched + glimpse["matched"], skipped + glimpse["skipped"]
            shown += len(glimpse["events"])
        assert shown + skipped == matched == 500
        assert skipped > 400
    problem(running.call("GET", "/v1/streams/none/live"), 404, "not-found")
    problem(running.http.get("/v1/streams/default/live"), 401, "not-allowed")


# ---------------------------------------------------------------- dry runs


def test_a_dry_run_of_a_pattern_says_which_samples_took_which_steps(running: Running) -> None:
    samples = [{"id": "one", "d": 1}, {"id": "two", "d": 2}]
    body = {"when": "a:[d = 1] ; b:[d = 2]", "events": samples, "recent": False}
    tried = running.call("POST", "/v1/subscriptions:test", json=body).json()
    assert [each["told"] for each in tried["events"]] == [
        [],
        [{"kind": "match", "steps": {"a": "one", "b": "two"}, "bindings": None, "probability": None}],
    ]
