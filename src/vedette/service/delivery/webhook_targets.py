"""Checks where webhooks may go: to public addresses only, resolved once, and connected to by the checked address.

Whoever can make a server send requests can otherwise make it talk to its own network: to the machine itself, to
databases beside it, to a cloud's metadata. So a name is resolved here, every address that it has must be public, and
the connection goes to one of these addresses, not to whatever the name says a moment later. Redirects are not followed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import Final, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

import httpx

from vedette.errors import InputError

_LONGEST: Final = 2048
_PORTS: Final = {"https": 443, "http": 80}
WEB: Final = (80, 443)
Ports = Collection[int] | Literal["any"]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_HINT: Final = "Hint: a webhook is an https:// URL of a public server"
_NAT64: Final = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_CLOUDS: Final = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)


class NoAddress(InputError):
    """A name that cannot be resolved, or leads to an address where no webhook may go."""


class WebhookTarget(NamedTuple):
    """Target of a request: the address to connect to, and the host name for the request."""

    url: str
    host: str
    port: int
    address: str


def parsed(url: str, *, allow_private: bool = False, ports: Ports = WEB) -> SplitResult:
    """The parts of a URL, checked as far as possible without resolving its name; InputError if it is refused."""
    if not isinstance(url, str) or len(url) > _LONGEST:
        raise InputError(f"the URL of a webhook is a text of at most {_LONGEST} characters\n{_HINT}")
    if any(ord(character) <= 32 or ord(character) == 127 for character in url) or "\\" in url or not url.isascii():
        raise InputError(f"the URL of a webhook has characters that no URL has\n{_HINT}")
    try:
        parts = urlsplit(url)
        port = parts.port
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL) as error:
        raise InputError(f"the URL of a webhook cannot be read: {error}\n{_HINT}") from None
    schemes = ("https", "http") if allow_private else ("https",)
    if parts.scheme not in schemes:
        raise InputError(f"the URL of a webhook begins with {parts.scheme[:20]!r}\n{_HINT}")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise InputError(f"the URL of a webhook has a user or a password in it\n{_HINT}")
    host = parts.hostname or ""
    if not host.strip("."):
        raise InputError(f"the URL of a webhook has no host\n{_HINT}")
    if port == 0:
        raise InputError(f"the URL of a webhook has the port 0\n{_HINT}")
    port = port or _PORTS[parts.scheme]
    if ports != "any" and port not in ports:
        allowed = ", ".join(map(str, sorted(ports)))
        raise InputError(
            f"webhooks do not go to port {port}\nHint: use one of {allowed}, or have it added to webhooks.ports"
        )
    if parts.fragment:
        raise InputError("the URL of a webhook has a fragment, which is never sent\nHint: leave out what follows #")
    literal = _literal(host)
    if literal is not None and not allow_private and not is_public(literal):
        raise InputError(f"{host[:80]} is not a public address\n{_HINT}")
    if literal is None and not allow_private:
        _check_name(host)
    return parts


def resolved(url: str, *, allow_private: bool = False, ports: Ports = WEB) -> WebhookTarget:
    """The target of a URL, whose name is resolved once; InputError if the URL is refused.

    NoAddress if the name leads to no address where webhooks may go. It blocks while the name is resolved.
    """
    parts = parsed(url, allow_private=allow_private, ports=ports)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise NoAddress(f"{host[:80]} cannot be looked up: {error}") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses:
        raise NoAddress(f"{host[:80]} has no address")
    if not allow_private:
        bad = next((address for address in addresses if not is_public(address)), None)
        if bad is not None:
            raise NoAddress(f"{host[:80]} leads to an address that is not public\n{_HINT}")
    return WebhookTarget(url, host, port, str(addresses[0]))


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public network; IPv4 addresses within IPv6 ones are looked at, too."""
    inside = _inside(address)
    if inside is not None:
        return is_public(inside)
    if address in _CLOUDS or address.is_multicast or address.is_unspecified or address.is_reserved:
        return False
    if isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address.scope_id is not None):
        return False
    return address.is_global


def _inside(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address carries, if any."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    for carried in (address.ipv4_mapped, address.sixtofour, address.teredo[1] if address.teredo else None):
        if carried is not None:
            return carried
    if any(address in network for network in _NAT64) or (address in _COMPATIBLE and int(address) > 0xFFFF):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _literal(host: str) -> Address | None:
    """The address that a host is written as, in any of the notations that libraries read (0x7f.1, 2130706433, …)."""
    bare = host.strip("[]").rstrip(".")
    try:
        return ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare))  # which reads all the old ways of writing one
    except (OSError, ValueError):
        return None


def _check_name(host: str) -> None:
    name = host.rstrip(".").lower()
    if "." not in name or name.endswith((".localhost", ".local", ".internal", ".localdomain", ".home.arpa", ".onion")):
        raise InputError(f"{host[:80]} is a name of a local network\n{_HINT}")
