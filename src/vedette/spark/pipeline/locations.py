"""Paths and addresses of data, such as `s3a://bucket/events`: absolute forms, and whether one is inside another."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from itertools import repeat
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

Steps: TypeAlias = tuple[str, ...]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one letter before the colon is a drive of Windows
_BRACES = re.compile(r"\{([^{}]*)\}")  # the innermost
_MOST_BRACES = 4  # more are not spelt out
_GLOB = re.compile(r"[*?\[{]")


def located(place: str, folder: Path) -> str:
    """A path of a pipeline file in that folder: an address as it is, a path made absolute."""
    if is_address(place):
        return place
    return os.path.normpath(os.path.join(os.path.abspath(folder), os.path.expanduser(place)))


def is_address(place: str) -> bool:
    """Whether it is an address with a scheme, not a path."""
    return _ADDRESS.match(place) is not None


def local(place: str) -> Path | None:
    """The local path, or None where it is on another file system."""
    if not is_address(place):
        return Path(place)
    try:
        parts = urlsplit(place)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def is_glob(place: str) -> bool:
    """Whether it is a pattern that stands for several paths."""
    return _GLOB.search(place) is not None


def steps(place: str) -> Steps:
    """The parts of a path, folder by folder; links are followed."""
    path = local(place)
    if path is None:
        return tuple(part for part in place.split("/") if part)
    return Path(os.path.realpath(path)).parts


def overlap(one: Steps, other: Steps) -> bool:
    """Whether they are the same place, or one is inside the other; a pattern stands for all that it matches."""
    return all(map(_same, one, other))


def within(inner: Steps, outer: Steps) -> bool:
    """Whether `inner` is `outer` or inside it."""
    return len(inner) >= len(outer) and overlap(inner, outer)


def _same(one: str, other: str) -> bool:
    return (
        one == other
        or any(map(fnmatchcase, repeat(one), _plain(other)))
        or any(map(fnmatchcase, repeat(other), _plain(one)))
    )


def _plain(pattern: str) -> list[str]:
    """A Spark pattern as patterns of Python: `{a,b}` is written out, and `[^…]` becomes `[!…]`."""
    pattern = pattern.replace("[^", "[!")
    found = _BRACES.search(pattern)
    if found is None or pattern.count("{") > _MOST_BRACES:
        return [_BRACES.sub("*", pattern)]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [each for choice in found[1].split(",") for each in _plain(before + choice + after)]
