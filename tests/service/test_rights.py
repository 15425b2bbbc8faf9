"""Who may do what on a stream: every route with every right, and what tenants learn of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
import sqlalchemy as sa
from alembic import command
from fastapi.routing import APIRoute, APIWebSocketRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.service.running import ADMIN, MEASURES, Running, met, settings_in, settled
from tests.service.test_http import problem
from tests.waiting import until
from vedette.errors import InputError
from vedette.service.http.app import application
from vedette.service.incoming_events import read
from vedette.service.service import Service
from vedette.service.storage.schema_migration import configured, migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import events
from vedette.service.subscription_registry import SubscriptionRequest

STREAM = "secret"
HOLDERS = {"boss": "owner", "publisher": "publish", "subscriber": "subscribe", "reader": "read", "nobody": None}
BY_ADMIN = {"Authorization": f"Bearer {ADMIN}"}


class Tenants:
    """A service, a stream that `boss` owns, and a tenant with each of the rights on it."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.keys = {name: {"Authorization": f"Bearer {running.new_key(name)}"} for name in HOLDERS}
        made = self.put(STREAM, owner="boss", schema={"x": "int"})
        assert (made["name"], made["owner"]) == (STREAM, "boss")
        for name, right in HOLDERS.items():
            if right not in (None, "owner"):
                self.grant(name, right)
        pattern = {"when": "[x = 1] ; [x = 2]", "stream": STREAM}
        self.of_boss = self.ask("boss", "POST", "/v1/subscriptions", json=pattern).json()
        self.offer = self.ask("boss", "POST", "/v1/offers", json={"when": "x = 1", "stream": STREAM}).json()

    def put(self, name: str, **said: Any) -> dict[str, Any]:
        answer = self.running.http.put(f"/v1/streams/{name}", json=said, headers=BY_ADMIN)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def grant(self, name: str, *rights: str, stream: str = STREAM) -> None:
        answer = self.ask("boss", "PUT", f"/v1/streams/{stream}/grants/{name}", json={"rights": rights})
        assert answer.status_code == 200, answer.text

    def ask(self, name: str, method: str, path: str, **options: Any) -> httpx.Response:
        """A request by a tenant; of an answer that goes on, only how it begins."""
        headers = {**self.keys[name], **options.pop("headers", {})}
        with self.running.http.stream(method, path, headers=headers, **options) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                answer.read()
        return answer


@pytest.fixture(scope="module")
def tenants(running: Running) -> Tenants:
    return Tenants(running)


# ---------------------------------------------------------------- every route


class Needs(NamedTuple):
    """A route that takes a right on the stream, or `any`, or being its `owner`."""

    right: str
    json: Any = None
    path: str | None = None  # where it is another one than that of the route


OWN = "what the tenant itself has: lists nothing of others"
OF_BOSS = "a subscription or an offer of another tenant, which is not there for anybody else"
ADMINS = "by the admin key alone"

DECISIONS: dict[tuple[str, str], Needs | str] = {
    ("POST", "/v1/subscriptions"): Needs("subscribe", {"when": "x = 1", "stream": STREAM}),
    ("GET", "/v1/subscriptions"): OWN,
    ("POST", "/v1/subscriptions:test"): Needs("subscribe", {"when": "x = 1", "stream": STREAM}),
    ("GET", "/v1/subscriptions/{id}"): OF_BOSS,
    ("POST", "/v1/subscriptions/{id}/renew"): OF_BOSS,
    ("PUT", "/v1/subscriptions/{id}"): OF_BOSS,
    ("DELETE", "/v1/subscriptions/{id}"): OF_BOSS,
    ("POST", "/v1/streams/{stream}/events"): Needs("publish", {"x": 1}),
    ("POST", "/v1/events"): OWN,  # on the stream `default`, which is open to all as it is made
    ("PUT", "/v1/streams/{name}"): ADMINS,
    ("GET", "/v1/streams"): OWN,
    ("GET", "/v1/streams/{name}/grants"): Needs("owner"),
    ("PUT", "/v1/streams/{name}/grants/{grantee}"): Needs("owner", {"rights": ["read"]}),
    ("DELETE", "/v1/streams/{name}/grants/{grantee}"): Needs("owner"),
    ("GET", "/v1/streams/{name}/rejected"): Needs("any"),
    ("GET", "/v1/subscriptions/{id}/stream"): OF_BOSS,
    ("WS", "/v1/subscriptions/{id}/ws"): OF_BOSS,
    ("GET", "/v1/subscriptions/{id}/notifications"): OF_BOSS,
    ("POST", "/v1/subscriptions/{id}/notifications:ack"): OF_BOSS,
    ("POST", "/v1/offers"): Needs("publish", {"when": "x = 1", "stream": STREAM}),
    ("GET", "/v1/offers"): OWN,
    ("DELETE", "/v1/offers/{id}"): OF_BOSS,
    ("GET", "/v1/tenant"): OWN,
    ("GET", "/v1/subscriptions:figures"): OWN,
    ("GET", "/v1/subscriptions/{id}/figures"): OF_BOSS,
    ("POST", "/v1/filters:parse"): Needs("any", {"when": "x = 1", "stream": STREAM}),
    ("GET", "/v1/subscriptions/{id}/machine"): OF_BOSS,
    ("GET", "/v1/covering"): Needs("any", path=f"/v1/covering?stream={STREAM}"),
    ("GET", "/v1/subscriptions/{id}/covering"): OF_BOSS,
    ("GET", "/v1/streams/{stream}/live"): Needs("any"),
    ("POST", "/v1/tenants"): ADMINS,
    ("GET", "/v1/tenants"): ADMINS,
    ("POST", "/v1/tenants/{name}/keys"): ADMINS,
    ("GET", "/v1/tenants/{name}/keys"): ADMINS,
    ("DELETE", "/v1/tenants/{name}/keys/{id}"): ADMINS,
    ("GET", "/v1/dead-letters"): OWN,
    ("POST", "/v1/dead-letters:replay"): OWN,
}


def routes(folder: Path) -> set[tuple[str, str]]:
    """All routes of the API: as OpenAPI tells them, those that it does not tell, and WebSockets, which it cannot."""
    app = application(settings_in(folder))
    told = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    found = set(_walked(app.routes, ""))
    assert told <= found
    return {(method, path) for method, path in found if path.startswith("/v1")}


def _walked(some: Sequence[Any], prefix: str) -> Iterator[tuple[str, str]]:
    for route in some:
        if isinstance(route, APIWebSocketRoute):
            yield "WS", prefix + route.path
        elif isinstance(route, APIRoute):
            yield from ((method, prefix + route.path) for method in route.methods or ())
        elif hasattr(route, "original_router"):  # routers are kept as they were included
            yield from _walked(route.original_router.routes, "/v1")


def test_of_every_route_it_is_decided_who_may(tmp_path: Path) -> None:
    assert routes(tmp_path) == set(DECISIONS)


def expected(right: str, holder: str | None) -> int | None:
    """The status for somebody with one right; None: it is done."""
    if holder is None:
        return 404
    if holder == "owner" or right in ("any", holder):
        return None
    return 403


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize(("method", "path"), [route for route, one in DECISIONS.items() if isinstance(one, Needs)])
def test_who_may_on_a_stream(tenants: Tenants, method: str, path: str, name: str) -> None:
    needs = DECISIONS[method, path]
    assert isinstance(needs, Needs)
    tenants.grant("somebody", "publish")
    concrete = needs.path or path.format(stream=STREAM, name=STREAM, grantee="somebody")
    answer = tenants.ask(name, method, concrete, json=needs.json)
    status = expected(needs.right, HOLDERS[name])
    if status is None:
        assert answer.is_success, answer.text
        return
    said = problem(answer, status, "forbidden" if status == 403 else "not-found")
    if status == 404:  # as if it did not exist
        body = None if needs.json is None else orjson.loads(orjson.dumps(needs.json).replace(b"secret", b"absent"))
        other = tenants.ask(name, method, concrete.replace(STREAM, "absent"), json=body)
        assert other.json() == orjson.loads(orjson.dumps(said).replace(b"secret", b"absent"))


@pytest.mark.parametrize("name", [name for name in HOLDERS if name != "boss"])
@pytest.mark.parametrize(("method", "path"), [route for route, one in DECISIONS.items() if one == OF_BOSS])
def test_what_another_tenant_has_is_not_there(tenants: Tenants, method: str, path: str, name: str) -> None:
    id_, ticket = tenants.of_boss["id"], tenants.of_boss["ticket"]
    if path.startswith("/v1/offers"):
        id_, ticket = tenants.offer["id"], tenants.offer["ticket"]
    concrete = path.format(id=id_)
    if method == "WS":
        where = tenants.running.url.replace("http", "ws") + concrete
        with pytest.raises(InvalidStatus) as refused, connect(where, additional_headers=tenants.keys[name], proxy=None):
            pass
        assert refused.value.response.status_code == 404
        return
    body: dict[str, Any] = {"ids": []} if path.endswith(":ack") else {"when": "x = 1"} if method == "PUT" else {}
    headers = {"Vedette-Ticket": ticket}
    answer = tenants.ask(name, method, concrete, headers=headers, **({} if method == "GET" else {"json": body}))
    problem(answer, 404, "not-found")


@pytest.mark.parametrize("name", [name for name in HOLDERS if name != "boss"])
@pytest.mark.parametrize(("method", "path"), [route for route, one in DECISIONS.items() if one == OWN])
def test_what_a_tenant_itself_has_says_nothing_of_others(tenants: Tenants, method: str, path: str, name: str) -> None:
    answer = tenants.ask(name, method, path, **({} if method == "GET" else {"json": {}}))
    assert answer.is_success, answer.text
    assert tenants.of_boss["id"] not in answer.text
    if name == "nobody":
        assert STREAM not in answer.text


@pytest.mark.parametrize(("method", "path"), [route for route, one in DECISIONS.items() if one == ADMINS])
def test_what_only_whoever_runs_the_service_may(tenants: Tenants, method: str, path: str) -> None:
    concrete = path.format(name=STREAM, id="x")
    for name in ("boss", "nobody"):
        problem(tenants.ask(name, method, concrete, **({} if method == "GET" else {"json": {}})), 401, "not-allowed")


# ---------------------------------------------------------------- owners and grants


def test_streams_are_listed_for_those_who_have_a_right(tenants: Tenants) -> None:
    seen = {}
    for name in HOLDERS:
        listed = tenants.ask(name, "GET", "/v1/streams").json()["streams"]
        seen[name] = [(one["name"], one["rights"], one["owned"]) for one in listed if one["name"] == STREAM]
        default = next(one for one in listed if one["name"] == "default")
        assert (default["rights"], default["owned"]) == (["publish", "subscribe"], False)
    assert seen == {
        "boss": [(STREAM, ["publish", "subscribe", "read"], True)],
        "publisher": [(STREAM, ["publish"], False)],
        "subscriber": [(STREAM, ["subscribe"], False)],
        "reader": [(STREAM, ["read"], False)],
        "nobody": [],
    }


def test_owners_grant_and_take_away(tenants: Tenants) -> None:
    tenants.put("shared")
    tenants.put("mine", owner="boss", publish=["publisher", "*"], read=["reader"])
    for who in (BY_ADMIN, tenants.keys["boss"]):
        listed = tenants.running.http.get("/v1/streams/mine/grants", headers=who).json()
        assert listed["owner"] == "boss"
        assert {one["tenant"]: one["rights"] for one in listed["grants"]} == {
            "*": ["publish"],
            "publisher": ["publish"],
            "reader": ["read"],
        }
    shared = tenants.running.http.get("/v1/streams/shared/grants", headers=BY_ADMIN).json()
    assert shared == {"owner": None, "grants": [{"tenant": "*", "rights": ["publish", "subscribe"]}]}
    tenants.grant("*", stream="mine")
    problem(tenants.ask("nobody", "POST", "/v1/streams/mine/events", json={}), 404, "not-found")
    assert tenants.ask("boss", "DELETE", "/v1/streams/mine/grants/reader").status_code == 204
    problem(tenants.ask("boss", "DELETE", "/v1/streams/mine/grants/reader"), 404, "not-found")
    problem(tenants.ask("reader", "GET", "/v1/streams/mine/live"), 404, "not-found")
    for wrong in ({"rights": ["write"]}, {}):
        problem(tenants.ask("boss", "PUT", "/v1/streams/mine/grants/a", json=wrong), 422, "bad-input")
    problem(tenants.ask("boss", "PUT", "/v1/streams/mine/grants/a%20b", json={"rights": []}), 422, "bad-input")
    again = tenants.put("mine")  # of which nothing is said stays as it is
    assert again["owner"] == "boss"
    assert tenants.ask("publisher", "POST", "/v1/streams/mine/events", json={}).status_code == 202


def test_a_stream_that_gets_an_owner_is_the_owners_alone(tenants: Tenants) -> None:
    tenants.put("later")
    assert tenants.ask("nobody", "POST", "/v1/streams/later/events", json={}).status_code == 202
    tenants.put("later", owner="boss", subscribe=["nobody"])
    problem(tenants.ask("nobody", "POST", "/v1/streams/later/events", json={}), 403, "forbidden")
    problem(tenants.ask("publisher", "POST", "/v1/streams/later/events", json={}), 404, "not-found")


def test_on_an_anonymous_stream_everybody_may_publish(tenants: Tenants) -> None:
    tenants.put("anybody", owner="boss", anonymous=True)
    assert tenants.running.http.post("/v1/streams/anybody/events", json={}).status_code == 202
    assert tenants.ask("nobody", "POST", "/v1/streams/anybody/events", json={}).status_code == 202
    problem(
        tenants.ask("nobody", "POST", "/v1/subscriptions", json={"when": "x = 1", "stream": "anybody"}),
        403,
        "forbidden",
    )


def test_a_right_that_was_taken_away_tells_nothing_more(tenants: Tenants) -> None:
    tenants.put("ends", owner="boss")
    tenants.grant("subscriber", "subscribe", "publish", stream="ends")

    def subscribe(when: str, **more: Any) -> dict[str, Any]:
        body = {"when": when, "stream": "ends", **more}
        return dict(tenants.ask("subscriber", "POST", "/v1/subscriptions", json=body).json())

    mine, want = subscribe("a:[x = 1] ; b:[x = 2]"), subscribe("y = 1", want=True)
    path, ticket = f"/v1/subscriptions/{mine['id']}", {"Vedette-Ticket": mine["ticket"]}

    def heard() -> tuple[int, int, int]:
        for x in (1, 2):
            assert tenants.ask("boss", "POST", "/v1/streams/ends/events", json={"x": x}).status_code == 202
        assert tenants.ask("boss", "POST", "/v1/offers", json={"when": "y = 1", "stream": "ends"}).is_success
        settled(tenants.running.service)
        met(tenants.running.service)
        shown = [tenants.ask("subscriber", "GET", f"/v1/subscriptions/{one['id']}").json() for one in (mine, want)]
        due = [one["notifications"]["due"] for one in shown]
        return due[0], due[1], tenants.ask("subscriber", "GET", f"{path}/figures").json()["recent"]["events"]

    assert heard() == (1, 1, 2)
    tenants.grant("subscriber", "publish", stream="ends")
    assert heard() == (1, 1, 0)
    changes: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("POST", "/renew", {}),
        ("PUT", "", {"when": "x = 1", "stream": "ends"}),
    )
    for method, below, body in changes:
        problem(tenants.ask("subscriber", method, path + below, json=body, headers=ticket), 403, "forbidden")
    problem(tenants.ask("subscriber", "GET", f"{path}/machine"), 403, "forbidden")
    tenants.grant("subscriber", stream="ends")
    problem(tenants.ask("subscriber", "GET", f"{path}/covering"), 404, "not-found")
    assert tenants.ask("subscriber", "GET", "/v1/subscriptions:figures").json()["events"].keys().isdisjoint({"ends"})
    pulled = tenants.ask("subscriber", "GET", f"{path}/notifications").json()["notifications"]
    assert len(pulled) == 1  # what was told before stays told
    assert tenants.ask("subscriber", "DELETE", path, headers=ticket).status_code == 204


def test_metrics_do_not_name_what_is_not_there_for_everybody(tenants: Tenants) -> None:
    tenants.put("hidden", owner="boss", schema={"x": "int"})
    for stream in ("default", "hidden"):
        assert tenants.ask("boss", "POST", f"/v1/streams/{stream}/events", json={"x": "no"}).status_code == 202
    settled(tenants.running.service)
    public = tenants.running.http.get("/metrics").text
    assert 'vedette_events_matched_total{stream="default"}' in public
    assert 'vedette_events_set_aside_total{kind="schema",stream="",tenant=""}' in public
    assert not [name for name in ("hidden", STREAM, "boss") if name in public]
    named = tenants.running.http.get("/metrics", headers=BY_ADMIN).text
    assert 'vedette_events_set_aside_total{kind="schema",stream="hidden",tenant="boss"} 1.0' in named


# ---------------------------------------------------------------- looking at events


def live(tenants: Tenants, name: str, *published: tuple[str, dict[str, Any]]) -> tuple[list[str], int]:
    """Which events a tenant sees live, of those that others publish, and how many it is told of."""
    where = f"/v1/streams/{STREAM}/live?rate=200"
    with tenants.running.http.stream("GET", where, headers=tenants.keys[name]) as answer:
        lines = answer.iter_lines()
        next(line for line in lines if line == "event: watching")
        for by, event in published:
            assert tenants.ask(by, "POST", f"/v1/streams/{STREAM}/events", json=event).status_code == 202
        last, seen, matched = published[-1][1]["id"], list[str](), 0
        for line in lines:
            if line.startswith('data: {"events"'):
                glimpse = orjson.loads(line.removeprefix("data: "))
                seen += [one["id"] for one in glimpse["events"]]
                matched += glimpse["matched"]
                if last in seen:
                    return seen, matched
    raise AssertionError("the last event was not seen")


def test_without_the_right_to_read_only_what_is_ones_own_is_seen_live(tenants: Tenants) -> None:
    some: list[tuple[str, dict[str, Any]]] = [
        ("boss", {"id": "l1", "x": 11}),
        ("publisher", {"id": "l2", "x": 12}),
        ("boss", {"id": "l3", "x": 13}),
    ]
    mine = ("publisher", {"id": "l4", "x": 14})
    assert live(tenants, "reader", *some, mine) == (["l1", "l2", "l3", "l4"], 4)
    again = [(by, {**event, "id": "again-" + event["id"]}) for by, event in [*some, mine]]
    assert live(tenants, "publisher", *again) == (["again-l2", "again-l4"], 2)
    body = {"when": "x = 13", "stream": STREAM}
    assert tenants.ask("subscriber", "POST", "/v1/subscriptions", json=body).is_success
    told = [(by, {**event, "id": "told-" + event["id"]}) for by, event in some]
    assert live(tenants, "subscriber", *told) == (["told-l3"], 1)


def test_dry_runs_look_at_what_one_may_read(tenants: Tenants) -> None:
    tenants.put("tried", owner="boss")
    tenants.grant("subscriber", "subscribe", "publish", stream="tried")
    for by, salary in (("boss", 100), ("boss", 90), ("subscriber", 80)):
        assert tenants.ask(by, "POST", "/v1/streams/tried/events", json={"salary": salary}).status_code == 202
    body = {"when": "salary > 0", "stream": "tried", "events": [{"salary": 5}]}

    def tried(name: str) -> tuple[int, int, list[int]]:
        found = tenants.ask(name, "POST", "/v1/subscriptions:test", json=body).json()
        assert found["events"][0]["matches"]
        return found["recent_events"], found["recent_matches"], [one["event"]["salary"] for one in found["examples"]]

    assert tried("boss") == (3, 3, [100, 90, 80])
    assert tried("subscriber") == (1, 1, [80])
    tenants.grant("subscriber", "subscribe", "read", stream="tried")
    assert tried("subscriber") == (3, 3, [100, 90, 80])


# ---------------------------------------------------------------- ids


def test_ids_count_per_tenant_and_nobody_shadows_anybody(tenants: Tenants) -> None:
    tenants.put("orders", anonymous=True)
    mine = tenants.ask("subscriber", "POST", "/v1/subscriptions", json={"when": "x > 0", "stream": "orders"}).json()
    senders = [None, "boss", "publisher", None, "boss"]
    answers = []
    for x, name in enumerate(senders, 1):
        headers = {} if name is None else tenants.keys[name]
        body = {"id": "order-1", "x": x}
        answers.append(tenants.running.http.post("/v1/streams/orders/events", json=body, headers=headers).json())
    assert [(one["accepted"], one["duplicates"]) for one in answers] == [(1, 0), (1, 0), (1, 0), (0, 1), (0, 1)]
    settled(tenants.running.service)
    pulled = tenants.ask("subscriber", "GET", f"/v1/subscriptions/{mine['id']}/notifications").json()["notifications"]
    assert [one["event"]["x"] for one in pulled] == [1, 2, 3]


def test_ids_of_several_tenants_in_one_write(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path)) as service:
        some = read(b'[{"id": "a"}, {"id": "b"}, {"id": "a"}]', "application/json", {}, MEASURES)
        waiting = [service.journal.publish("default", some, tenant=name) for name in ("", "one", "two", "one")]
        found = [one.result(30) for one in waiting]
        assert [(len(one.numbers), one.duplicates) for one in found] == [(2, 1), (2, 1), (2, 1), (0, 3)]


# ---------------------------------------------------------------- settings and older databases


def test_settings_say_whose_a_stream_is(tmp_path: Path) -> None:
    streams: dict[str, Any] = {
        "a": {},
        "b": {"owner": "acme"},
        "c": {"owner": "acme", "publish": ["*"], "read": ["ed"]},
    }
    with Service(settings_in(tmp_path, streams=streams)) as service:
        may = service.rights.of
        assert may("ed", "a") == ["publish", "subscribe"]
        assert (may("acme", "b"), may("ed", "b")) == (["publish", "subscribe", "read"], [])
        assert may("ed", "c") == ["publish", "read"]
        service.rights.grant("c", "ann", ["subscribe"])
    streams["a"], streams["c"] = {"read": ["ed"]}, {"publish": []}
    with Service(settings_in(tmp_path, streams=streams)) as service:
        may = service.rights.of
        assert may("ed", "a") == ["publish", "subscribe", "read"]
        assert (may("ed", "c"), may("ann", "c"), may("acme", "c")) == (
            ["read"],
            ["subscribe"],
            ["publish", "subscribe", "read"],
        )
        assert may("acme", "no such stream") == []
        with pytest.raises(InputError, match="cannot name a tenant"):
            service.rights.grant("c", "a b", ["read"])


@pytest.fixture(params=["one tenant", "two tenants"])
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Service, bool]]:
    """A service on a database of 0.1, whose events were all forgotten but two."""
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        acme = service.tenants.add("acme")
        if request.param == "two tenants":
            service.tenants.add("other")
        service.registry.subscribe(acme, SubscriptionRequest("x > 0"))
        for number in range(9):
            body = orjson.dumps({"id": f"e{number}", "x": 1})
            service.journal.publish("default", read(body, "application/json", {}, MEASURES)).result(30)
        settled(service)
    store = Store(settings.store.url)
    with store.engine.begin() as connection:
        command.downgrade(configured(connection), "0002")
        connection.execute(sa.text("DELETE FROM events WHERE number NOT IN (3, 4)"))
    migrate(store.engine)
    store.close()
    with Service(settings) as service:
        yield service, request.param == "one tenant"


def test_databases_of_0_1_go_on(older: tuple[Service, bool]) -> None:
    service, alone = older
    assert service.rights.granted("default") == {"*": ["publish", "subscribe"]}
    whose = service.store.read(lambda c: c.execute(sa.select(events.c.number, events.c.tenant)).all())
    assert {tuple(row) for row in whose} == {(3, "acme" if alone else ""), (4, "acme" if alone else "")}
    some = read(b'[{"id": "e3", "x": 1}, {"id": "new", "x": 1}]', "application/json", {}, MEASURES)
    accepted = service.journal.publish("default", some, tenant="acme").result(30)
    assert accepted.numbers[0] > 9  # numbers are never used twice: what counts after an event would be lost
    assert accepted.duplicates == (1 if alone else 0)
    (mine,) = service.registry.page(service.tenants.all()[0])
    until(lambda: service.outbox.counts(mine.number).due == 9 + len(accepted.numbers))
