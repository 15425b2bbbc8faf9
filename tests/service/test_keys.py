"""Keys are made, listed and revoked, and a revoked one opens nothing at once."""

from __future__ import annotations

import threading

import httpx
import pytest

from tests.service.running import ADMIN, Running
from tests.service.test_http import problem

BY_ADMIN = {"Authorization": f"Bearer {ADMIN}"}


def keys(running: Running, tenant: str) -> list[dict[str, str | None]]:
    answer = running.http.get(f"/v1/tenants/{tenant}/keys", headers=BY_ADMIN)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["keys"])


def test_keys_are_listed_without_what_opens_anything(running: Running) -> None:
    first = running.new_key("lister")
    made = running.http.post("/v1/tenants/lister/keys", json={"label": "of the phone"}, headers=BY_ADMIN).json()
    shown = keys(running, "lister")
    assert [one["label"] for one in shown] == ["first", "of the phone"]
    assert shown[1]["id"] == made["id"]
    assert all(one["revoked"] is None and one["created"] for one in shown)
    assert first not in str(shown)
    assert made["key"] not in str(shown)
    problem(running.http.get("/v1/tenants/nobody/keys", headers=BY_ADMIN), 404, "not-found")
    problem(running.http.get("/v1/tenants/lister/keys", headers=running.mine), 401, "not-allowed")


def test_a_revoked_key_opens_nothing_at_once(running: Running) -> None:
    key = running.new_key("leaver")
    mine = {"Authorization": f"Bearer {key}"}
    assert running.http.get("/v1/subscriptions", headers=mine).status_code == 200  # from now on it is remembered
    (one,) = keys(running, "leaver")
    where = f"/v1/tenants/leaver/keys/{one['id']}"
    problem(running.http.delete(where, headers=mine), 401, "not-allowed")
    assert running.http.delete(where, headers=BY_ADMIN).status_code == 204
    problem(running.http.get("/v1/subscriptions", headers=mine), 401, "not-allowed")
    assert keys(running, "leaver")[0]["revoked"] is not None
    problem(running.http.delete(where, headers=BY_ADMIN), 404, "not-found")
    other = running.http.post("/v1/tenants/leaver/keys", json={}, headers=BY_ADMIN).json()["key"]
    again = running.http.get("/v1/subscriptions", headers={"Authorization": f"Bearer {other}"})
    assert again.status_code == 200


def test_who_watches_is_disconnected(running: Running) -> None:
    mine = {"Authorization": f"Bearer {running.new_key('watcher')}"}
    (one,) = keys(running, "watcher")
    where = f"{running.url}/v1/streams/default/live"
    with httpx.stream("GET", where, headers=mine, timeout=60, trust_env=False) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("event: ")) == "event: watching"
        assert running.http.delete(f"/v1/tenants/watcher/keys/{one['id']}", headers=BY_ADMIN).status_code == 204
        assert not any(line.startswith("event: ") for line in lines)  # it has ended, without another word


def test_a_key_of_another_tenant_is_not_revoked(running: Running) -> None:
    running.new_key("one")
    running.new_key("another")
    (key,) = keys(running, "one")
    problem(running.http.delete(f"/v1/tenants/another/keys/{key['id']}", headers=BY_ADMIN), 404, "not-found")
    assert keys(running, "one") == [key]


@pytest.mark.parametrize("end", ["the key is revoked", "the subscription is cancelled"])
def test_who_listens_is_disconnected(running: Running, end: str) -> None:
    tenant = end.replace(" ", "-")
    mine = {"Authorization": f"Bearer {running.new_key(tenant)}"}
    made = running.http.post("/v1/subscriptions", json={"when": "x = 1"}, headers=mine).json()
    begun, ended = threading.Event(), threading.Event()

    def listen() -> None:
        where = f"{running.url}/v1/subscriptions/{made['id']}/stream"
        with httpx.stream("GET", where, headers=mine, timeout=60, trust_env=False) as answer:
            for _ in answer.iter_lines():
                begun.set()
        ended.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert begun.wait(30)
    if end == "the key is revoked":
        (key,) = keys(running, tenant)
        done = running.http.delete(f"/v1/tenants/{tenant}/keys/{key['id']}", headers=BY_ADMIN)
    else:
        ticket = {"Vedette-Ticket": made["ticket"]}
        done = running.http.delete(f"/v1/subscriptions/{made['id']}", headers=mine | ticket)
    assert done.status_code == 204
    assert ended.wait(30)
    listener.join()
