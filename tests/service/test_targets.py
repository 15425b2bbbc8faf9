"""Where webhooks may not go: every way that we know of to make a server talk to its own network."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest

from vedette.errors import InputError
from vedette.service.delivery.webhook_targets import is_public, parsed, resolved

HOSTILE = [
    "http://example.com/",  # not encrypted
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "//example.com/",
    "https:///path",
    "https://",
    "https://./",
    "https://user@example.com/",
    "https://user:pass@example.com/",
    "https://example.com@127.0.0.1/",
    "https://example.com:0/",
    "https://example.com:99999/",
    "https://example.com:port/",
    "https://example.com/#fragment",
    "https://exa mple.com/",
    "https://example.com\\@127.0.0.1/",
    "https://example.com\n.evil.com/",
    "https://example.com\t/",
    "https://exämple.com/",
    "https://localhost/",
    "https://localhost./",
    "https://LOCALHOST/",
    "https://a.localhost/",
    "https://printer.local/",
    "https://db.internal/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://intranet/",
    "https://router.home.arpa/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.0.1./",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://10.255.255.255/",
    "https://172.16.0.1/",
    "https://172.31.255.254/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://169.254.0.1/",
    "https://2852039166/",  # 169.254.169.254
    "https://0xA9FEA9FE/",
    "https://100.64.0.1/",  # carriers
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://192.0.2.1/",  # documentation
    "https://198.18.0.1/",  # benchmarks
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",  # 6to4 of 127.0.0.1
    "https://[2002:c0a8:101::1]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[2001:0:53aa:64c:0:fbff:80ff:fffe]/",  # Teredo of 127.0.0.1
    "https://[100::1]/",
    "https://[::1/",
    "https://" + "a" * 3000 + ".com/",
    42,
    None,
]


@pytest.mark.parametrize("url", HOSTILE, ids=str)
def test_hostile_forms_are_refused(url: Any) -> None:
    with pytest.raises(InputError):
        parsed(url)
    with pytest.raises(InputError):
        resolved(url)


def answering(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Names lead to these addresses; which names were looked up."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr("vedette.service.delivery.webhook_targets.socket.getaddrinfo", look_up)
    return asked


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:192.168.0.1", "0.0.0.0"]
)
def test_names_that_lead_inside_are_refused_even_among_others(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "93.184.216.34", address)
    with pytest.raises(InputError, match="not public"):
        resolved("https://hooks.example.com/x")


def test_a_public_name_is_looked_up_once_and_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, "93.184.216.34")
    target = resolved("https://hooks.example.com:8443/x?y=1", ports=(443, 8443))
    assert (target.host, target.port, target.address) == ("hooks.example.com", 8443, "93.184.216.34")
    assert asked == ["hooks.example.com"]


def test_names_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("vedette.service.delivery.webhook_targets.socket.getaddrinfo", fail)
    with pytest.raises(InputError, match="cannot be looked up"):
        resolved("https://nowhere.example.com/")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2002:808:808::1", "::ffff:8.8.8.8"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_closed_networks_may_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "127.0.0.1")
    assert resolved("http://localhost:9000/x", allow_private=True, ports="any").address == "127.0.0.1"
    with pytest.raises(InputError):  # but never other ways of speaking
        parsed("file:///etc/passwd", allow_private=True)
