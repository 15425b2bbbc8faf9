"""Secrets of webhooks in the database: encrypted by a key from the environment, rotated, never lost, never shown."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.receiver import Receiver, receiving
from tests.service.running import Running, over_http, settings_in
from tests.waiting import until
from vedette.errors import InputError
from vedette.service.sealing import SEALED, VARIABLE, Secrets

pytest.importorskip("cryptography", reason="of the extra `service`")
OLD, NEW = (base64.b64encode(bytes([n]) * 31 + b"\xfe").decode() for n in (250, 251))  # with + and / in them


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def kept(running: Running) -> list[str]:
    return running.service.store.read(lambda c: list(c.exec_driver_sql("SELECT delivery FROM subscriptions").scalars()))


def signed_by(receiver: Receiver, secret: str) -> bool:
    one = receiver.requests[-1]
    content = f"{one.headers['webhook-id']}.{one.headers['webhook-timestamp']}.".encode() + one.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return one.headers["webhook-signature"] == f"v1,{expected}"


def test_sealed_at_the_next_start_rotated_and_used(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    webhook = {"type": "webhook", "url": receiver.url}

    def told(running: Running, mine: dict[str, Any]) -> None:
        before = len(receiver.requests)
        running.publish({"sealed": 1})
        until(lambda: len(receiver.requests) > before)
        assert signed_by(receiver, mine["secret"])

    with over_http(settings) as running:
        mine = running.subscribe("sealed = 1", delivery=webhook)
        assert mine["secret"] in kept(running)[0]
        key = running.key
    seen = set()
    for keys in (OLD, f"{NEW},{OLD}", NEW):
        monkeypatch.setenv(VARIABLE, keys)
        with over_http(settings, key=key) as running:
            (delivery,) = kept(running)
            assert SEALED in delivery
            assert mine["secret"] not in delivery
            seen.add(delivery)
            told(running, mine)
            shown = running.call("GET", f"/v1/subscriptions/{mine['id']}")
            assert "secret" not in shown.json()["delivery"]
            assert not shown.json().get("damaged")
    assert len(seen) == 2  # nothing was encrypted anew that the first key had encrypted
    for wrong in ("", OLD):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(InputError, match=rf"(there is no key|none of the keys) in {VARIABLE}[\s\S]*Hint"):
            over_http_once(settings)


def over_http_once(settings: Any) -> None:
    from vedette.service.service import Service

    with Service(settings):
        pass


def test_new_secrets_are_told_as_they_are_and_kept_sealed(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, NEW)
    webhook = {"type": "webhook", "url": receiver.url}
    with over_http(settings_in(tmp_path)) as running:
        mine = running.subscribe("fresh = 1", delivery=webhook)
        assert mine["secret"].startswith("whsec_")
        assert "whsec_" not in kept(running)[0]
        path, ticket = f"/v1/subscriptions/{mine['id']}", {"Vedette-Ticket": mine["ticket"]}
        for delivery in (webhook, {**webhook, "secret": mine["secret"]}):
            again = running.call("PUT", path, json={"when": "fresh = 1", "delivery": delivery}, headers=ticket)
            assert again.json()["secret"] is None  # it is the same
        running.call("PUT", path, json={"when": "fresh = 1", "delivery": {"type": "queue"}}, headers=ticket)
        other = running.call("PUT", path, json={"when": "fresh = 1", "delivery": webhook}, headers=ticket).json()
        assert other["secret"].startswith("whsec_")
        assert other["secret"] != mine["secret"]
        assert "whsec_" not in kept(running)[0]
        running.publish({"fresh": 1})
        until(lambda: len(receiver.requests) == 1)
        assert signed_by(receiver, other["secret"])


@pytest.mark.parametrize("key", ["short", "ä" * 44, base64.b64encode(b"x" * 31).decode(), "!" * 44])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(InputError, match=rf"{VARIABLE} is no key[\s\S]*Hint: openssl") as error:
        Secrets([key])
    assert key not in str(error.value)


def test_without_keys_secrets_stay_as_they_are() -> None:
    assert Secrets().seal("whsec_x") == Secrets().open("whsec_x") == "whsec_x"
    sealed = Secrets([NEW]).seal("whsec_x")
    assert Secrets([OLD, NEW]).open(sealed) == "whsec_x"
    assert Secrets([NEW]).seal(sealed) == sealed
