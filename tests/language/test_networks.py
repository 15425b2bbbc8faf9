"""Networks are read as the standard library reads them, however they are written, and as quickly as blocklists need."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vedette.language.networks import canonical_network, network_keys
from vedette.schema.keys import ip_key

TEXTS = st.one_of(
    st.text(alphabet="0123456789./:af ", max_size=24),
    st.from_regex(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(/[0-9]{1,2})?", fullmatch=True),
    st.builds("{}/{}".format, st.ip_addresses(), st.integers(0, 130)),
)


def found(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except ValueError:
        return ValueError


def plainly(text: str) -> tuple[bytes, bytes]:
    network = ipaddress.ip_network(text)
    return ip_key(network[0]), ip_key(network[-1])


@given(TEXTS)
@example("0.0.0.0/0")
@example("255.255.255.255/32")
@example("10.0.0.1/8")
@example("010.0.0.0/8")
@example("10.0.0.0/08")
@example("256.0.0.0/8")
@example("1.2.3.4")
@example("١.2.3.4/32")
@example("1.2.3.4/32\n")
def test_they_are_read_as_the_standard_library_reads_them(text: str) -> None:
    assert found(lambda: network_keys(text)) == found(lambda: plainly(text))
    assert found(lambda: canonical_network(text)) == found(lambda: str(ipaddress.ip_network(text, strict=False)))


def test_the_usual_ones_are_read_once_and_without_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> None:
        raise AssertionError("each takes ten times as long")

    monkeypatch.setattr(ipaddress, "ip_network", slow)
    assert canonical_network("10.0.0.0/8") == "10.0.0.0/8"
    assert network_keys("192.168.7.0/24") == (
        ip_key(ipaddress.ip_address("192.168.7.0")),
        ip_key(ipaddress.ip_address("192.168.7.255")),
    )
