"""What do brokers say to each other? Plain values; `wire.py` says how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Key(NamedTuple):
    """Which subscription: whose broker's, its id there, and which of its versions; a new version is another one."""

    origin: str
    id: str
    version: int


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Whom a broker is linked to just now; of two of one broker the higher number is the later one."""

    broker: str
    number: int
    neighbours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Send me what this filter matches."""

    key: Key
    text: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """No longer because of this one."""

    key: Key


@dataclass(frozen=True, slots=True)
class Publish:
    """An event, with the name that it has everywhere: where it was published, and a number."""

    origin: str
    number: int
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Digest:
    """What I have of you, as digests of parts (`digests.py`): the first thing said when a link has come up."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Differ:
    """In these parts it is not what I told you: say what you have."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Have:
    """What I have of you in the parts that differ; in several messages, of which one is the last."""

    keys: tuple[Key, ...]
    last: bool


Message: TypeAlias = Adjacency | Subscribe | Cancel | Publish | Digest | Differ | Have
