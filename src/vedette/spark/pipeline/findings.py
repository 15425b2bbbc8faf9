"""A mistake in a pipeline file: the key it is about, what messages call that key, and the name that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.positions import KeyPath

TABLES = ("subscriptions", "source", "patterns", "operators", "quarantine", "spark")  # [table], each of them once
_LONGEST_GUESS = 60  # longer names are not compared with others


class PipelineMistake(NamedTuple):
    """A mistake and the key it is about; its line comes later."""

    path: KeyPath
    message: str
    hint: str | None = None


def key_name(path: KeyPath) -> str:
    """The name of a key in messages: `path` of sink 2."""
    match path:
        case (str(part), first, *rest) if part in TABLES:
            return f"`{_dotted(first, rest)}` of [{part}]"
        case ("sinks", int(number), first, *rest):
            return f"`{_dotted(first, rest)}` of sink {number + 1}"
        case ("sinks", int(number)):
            return f"sink {number + 1}"
        case (str(part),) if part in TABLES:
            return f"[{part}]"
        case (first, *rest):
            return f"`{_dotted(first, rest)}`"
    return "the file"


def exactly_one(table: KeyPath, keys: Mapping[str, object]) -> Iterator[PipelineMistake]:
    """Mistakes if not exactly one of the keys of a table has a value."""
    given = [key for key, value in keys.items() if value is not None]
    either = " or ".join(f"`{key}`" for key in keys)
    if not given:
        yield PipelineMistake(
            table, f"{key_name(table)} has neither {either.replace(' or ', ' nor ')}", f"give it {either}"
        )
    for key in given[1:]:
        both = f"{key_name((*table, given[0]))} and `{key}` cannot both be given"
        yield PipelineMistake((*table, key), both, f"leave one of them out: {either}")


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that somebody may have meant."""
    if len(name) > _LONGEST_GUESS:
        return None
    plain = {_plain(each): each for each in names}
    near = difflib.get_close_matches(_plain(name), plain, 1, 0.7)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _dotted(first: str | int, rest: Iterable[str | int]) -> str:
    text = str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
    return shortened(text, 80)
