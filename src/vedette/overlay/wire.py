"""Encoding of messages: JSON with a version, of bounded size; anything else is refused.

A frame is sent over a link: the numbers of its session (`link_session.py`), its own number, and a message or none.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from vedette.errors import InputError
from vedette.language.limits import TEXT_BYTES
from vedette.overlay.messages import (
    BITS,
    PARTS,
    AdjacencyMessage,
    CancelMessage,
    DifferMessage,
    DigestMessage,
    HaveMessage,
    Message,
    PublishMessage,
    SubscribeMessage,
    SubscriptionKey,
)

VERSION = 1
MOST_BYTES = 1_000_000  # of a frame: a NATS server takes a mebibyte by default
MOST_KEYS = 500  # of one `HaveMessage`
ID_CHARACTERS = 500
NEIGHBOURS = 1_000  # of one broker
_ROOM = 200  # bytes that a frame needs besides its message
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Frame(NamedTuple):
    """A message with its number, or a heartbeat: the number of messages in this session so far."""

    sender: int  # the sender's half of the session
    receiver: int | None  # the receiver's half, once it is known
    number: int
    message: Message | None = None


def check_name(name: object) -> str:
    """InputError if this cannot be a broker's name, which is part of NATS subjects."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"a broker cannot be called {_shown(name)}\n"
            "Hint: up to 64 letters, digits, underscores and hyphens, as in 'paris-2'"
        )
    return name


def check_links(name: str, links: Iterable[str]) -> list[str]:
    """InputError if some neighbours of a broker are not names, or are the broker itself."""
    if isinstance(links, str):
        raise InputError(f"the links of broker {name!r} are one text\nHint: give a list, as in [{links!r}]")
    found = [check_name(link) for link in links]
    if name in found:
        raise InputError(f"broker {name!r} is linked to itself")
    return found


def plain(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as it is after encoding and decoding, so that local and remote subscribers get the same."""
    if not isinstance(event, Mapping):
        raise InputError(f"an event is a mapping, not {type(event).__name__}\nHint: {{'issue': 'IBM', 'price': 119.5}}")
    try:
        written = json.dumps(dict(event), allow_nan=False, default=_text, separators=(",", ":")).encode()
        read: dict[str, Any] = orjson.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the event cannot be written as JSON: {error}") from None
    return read


def _text(value: object) -> Any:
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


# ---------------------------------------------------------------- writing


def encode(frame: Frame) -> bytes:
    """A frame as bytes; InputError if it would be too long."""
    written = orjson.dumps(
        {
            "v": VERSION,
            "from": frame.sender,
            "to": frame.receiver,
            "number": frame.number,
            "message": None if frame.message is None else _fields(frame.message),
        }
    )
    if len(written) > MOST_BYTES:
        raise InputError(f"a message has {len(written):,} bytes, and {MOST_BYTES:,} is the most that brokers send")
    return written


def check_size(message: Message) -> None:
    """InputError if an event cannot be sent."""
    try:
        size = len(orjson.dumps(_fields(message)))
    except TypeError as error:  # e.g. a lone surrogate
        raise InputError(f"it cannot be written as JSON: {error}") from None
    if size > MOST_BYTES - _ROOM:
        raise InputError(f"it has {size:,} bytes as JSON, and {MOST_BYTES - _ROOM:,} is the most that brokers send")


def _fields(message: Message) -> dict[str, Any]:
    form = _FORMS[type(message)]
    return {"kind": form.kind, **form.write(message)}


# ---------------------------------------------------------------- reading


def decode(data: bytes) -> Frame:
    """Bytes as a frame; InputError if they are not one, or of another version."""
    if len(data) > MOST_BYTES:
        raise InputError(f"a message of {len(data):,} bytes is over the limit of {MOST_BYTES:,}")
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InputError(f"a message is not JSON: {error}") from None
    fields = _object(found)
    if fields.get("v") != VERSION:
        raise InputError(
            f"a message of version {fields.get('v')!r}, and this broker speaks {VERSION}\n"
            "Hint: let all brokers of a network run the same version of Vedette"
        )
    receiver = fields.get("to")
    sent = fields.get("message")
    return Frame(
        _whole(fields.get("from")),
        None if receiver is None else _whole(receiver),
        _whole(fields.get("number")),
        None if sent is None else _message(_object(sent)),
    )


def _message(fields: dict[str, Any]) -> Message:
    kind = fields.get("kind")
    form = _BY_KIND.get(kind) if isinstance(kind, str) else None
    if form is None:
        raise InputError(f"a message of the kind {_shown(kind)} is not known")
    return form.read(fields)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"a message has {_shown(value)} where an object must be")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise InputError(f"a message has {_shown(value)} where a whole number must be")
    return value


def _string(value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise InputError(f"a message has {_shown(value)} where a text of at most {most:,} characters must be")
    return value


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise InputError(f"a message has {_shown(value)} where a list of at most {most:,} must be")
    return value


def _key(value: Any) -> SubscriptionKey:
    parts = _list(value, 3)
    if len(parts) != 3:
        raise InputError(f"a message has {_shown(value)} where the key of a subscription must be")
    return SubscriptionKey(check_name(parts[0]), _string(parts[1], ID_CHARACTERS), _whole(parts[2]))


def _part(value: Any) -> int:
    number = _whole(value)
    if number >= PARTS:
        raise InputError(f"a message speaks of part {number} of {PARTS}")
    return number


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."


def _written_digest(parts: tuple[int, ...]) -> str:
    return b"".join(each.to_bytes(BITS // 8, "little") for each in parts).hex()


def _read_digest(value: Any) -> tuple[int, ...]:
    try:
        read = bytes.fromhex(_string(value, PARTS * BITS // 4))
    except ValueError:
        read = b""
    if len(read) != PARTS * BITS // 8:
        raise InputError(f"a message has {_shown(value)} where {PARTS} digests must be")
    width = BITS // 8
    return tuple(int.from_bytes(read[at : at + width], "little") for at in range(0, len(read), width))


class _MessageFormat(NamedTuple):
    """The encoding and decoding of one kind of message."""

    kind: str
    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Message]


_FORMS: dict[type, _MessageFormat] = {
    AdjacencyMessage: _MessageFormat(
        "adjacency",
        lambda said: {"broker": said.broker, "number": said.number, "neighbours": said.neighbours},
        lambda got: AdjacencyMessage(
            check_name(got.get("broker")),
            _whole(got.get("number")),
            tuple(map(check_name, _list(got.get("neighbours"), NEIGHBOURS))),
        ),
    ),
    SubscribeMessage: _MessageFormat(
        "subscribe",
        lambda said: {"key": tuple(said.key), "when": said.text},
        lambda got: SubscribeMessage(_key(got.get("key")), _string(got.get("when"), TEXT_BYTES)),
    ),
    CancelMessage: _MessageFormat(
        "cancel",
        lambda said: {"key": tuple(said.key)},
        lambda got: CancelMessage(_key(got.get("key"))),
    ),
    PublishMessage: _MessageFormat(
        "publish",
        lambda said: {"origin": said.origin, "number": said.number, "event": said.event},
        lambda got: PublishMessage(check_name(got.get("origin")), _whole(got.get("number")), _object(got.get("event"))),
    ),
    DigestMessage: _MessageFormat(
        "digest",
        lambda said: {"parts": _written_digest(said.parts)},
        lambda got: DigestMessage(_read_digest(got.get("parts"))),
    ),
    DifferMessage: _MessageFormat(
        "differ",
        lambda said: {"parts": said.parts},
        lambda got: DifferMessage(tuple(map(_part, _list(got.get("parts"), PARTS)))),
    ),
    HaveMessage: _MessageFormat(
        "have",
        lambda said: {"keys": [tuple(key) for key in said.keys], "last": said.last},
        lambda got: HaveMessage(tuple(map(_key, _list(got.get("keys"), MOST_KEYS))), got.get("last") is True),
    ),
}
_BY_KIND = {form.kind: form for form in _FORMS.values()}
