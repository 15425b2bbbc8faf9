"""Turns outcomes into notifications with stable ids and into rows of the quarantine, and routes these to sinks.

All of it is expressions of the JVM: no row crosses to Python for it, and what is cached is not read twice.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.errors import InputError
from vedette.spark.lines import HEAD, TAIL
from vedette.spark.pipeline.findings import similar_name
from vedette.spark.versions import from_arrow

NOTIFICATION = ("id", *HEAD)  # the columns that every notification has, before those that are kept
ORIGIN = "origin"  # the last column, where notifications say where their subscriptions come from
JSON_TEXT = "vedette.json"  # marks a column of texts that are JSON: within JSON they are what they say
REJECT = ("id", "event", *TAIL)  # the columns of a quarantine

_ID_DIGITS = 32
_MOST_GUESSED = 10_000  # names that one is compared with, to guess which was meant
_WILD = re.compile(r"[*?\[]")


class Route(Protocol):
    """Which notifications a sink gets, by subscriber and subscription: globs, or None for all."""

    @property
    def subscribers(self) -> Sequence[str] | None: ...
    @property
    def subscriptions(self) -> Sequence[str] | None: ...


def notifications(outcomes: DataFrame, origins: DataFrame | None = None) -> DataFrame:
    """The outcomes with a subscription, with an id as the first column; the last one may be the subscription's origin.

    The id is a digest of the event's id, the subscription's id and the kind: the same match has the same id in every
    run, whatever version of the subscriptions made it, so a receiver can recognise a second copy.
    """
    kept = _kept(outcomes)
    head = [F.col(name) for name in ("event", "subscription", "kind")]
    identity = _digest(*head)
    # One event may complete a pattern in several ways, and bring about several forecasts: their witnesses differ. What
    # is found of one event may differ, too, if operators are asked again.
    for name in ("bindings", "steps"):
        if name in outcomes.columns:
            said = F.to_json(F.array_sort(F.map_entries(name))) if name == "bindings" else F.to_json(name)
            identity = F.when(F.col(name).isNotNull(), _digest(*head, said)).otherwise(identity)
    told = outcomes.where(F.col("subscription").isNotNull())
    rows = told.select(identity.alias("id"), *(named(name) for name in (*HEAD, *kept)))
    if origins is None:
        return rows
    if ORIGIN in (name.lower() for name in kept):
        raise InputError(
            f"the attribute {ORIGIN!r} cannot be kept: notifications say there where their subscriptions come from\n"
            "Hint: take it out of `keep`, or set origin = false in [subscriptions]"
        )
    return rows.join(F.broadcast(origins), "subscription", "left").select(
        *(named(name) for name in rows.columns), F.col(ORIGIN).alias(ORIGIN, metadata={JSON_TEXT: True})
    )


def origins_of(origins: Mapping[str, str], spark: SparkSession) -> DataFrame:
    """The origins of subscriptions as rows that notifications are joined with: id and JSON."""
    columns = [pa.array(origins.keys(), pa.string()), pa.array(origins.values(), pa.string())]
    return from_arrow(spark, pa.Table.from_arrays(columns, names=["subscription", ORIGIN]))


def rejected(outcomes: DataFrame) -> DataFrame:
    """The outcomes that were set aside: their places, reasons and texts; with ids as stable as the places."""
    identity = _digest(*(F.col(name) for name in ("event", *TAIL)))
    return outcomes.where(F.col("reason").isNotNull()).select(identity.alias("id"), "event", *TAIL)


def routed(notifications: DataFrame, route: Route) -> DataFrame:
    """The notifications for a sink: of one of its subscribers, and by one of its subscriptions."""
    for column, globs in (("subscriber", route.subscribers), ("subscription", route.subscriptions)):
        if globs:
            notifications = notifications.where(_any_of(F.col(column), globs))
    return notifications


def unmet(
    route: Route, subscribers: pa.Array | pa.ChunkedArray, subscriptions: pa.Array | pa.ChunkedArray
) -> Iterator[str]:
    """The globs of a sink that no subscription fits, with a guess at what was meant."""
    for said, globs, names in (
        ('the subscriber "{}", whom no subscription names', route.subscribers, subscribers),
        ('the subscription "{}", which is not there', route.subscriptions, subscriptions),
    ):
        known: Sequence[str] = pc.drop_null(pc.unique(names)).to_pylist() if globs else ()
        for glob in globs or ():
            if glob in known or (_WILD.search(glob) and any(map(_finder(glob), known))):
                continue
            near = similar_name(glob, known) if len(known) <= _MOST_GUESSED else None
            yield said.format(glob) + (f'; did you mean "{near}"?' if near else "")


def _finder(glob: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(glob)).match


def named(name: str) -> Column:
    """A column by its exact name, whatever characters are in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def java_pattern(globs: Iterable[str]) -> str:
    """One regular expression of Java that matches exactly what `fnmatch.fnmatchcase` does with any of the globs."""
    # Flag s: a wildcard takes line ends too. \A and \z: all of the text, and no line end overlooked at its end.
    return r"(?s)\A(?:" + "|".join(_translated(glob) for glob in globs) + r")\z"


def _kept(outcomes: DataFrame) -> list[str]:
    columns = outcomes.columns
    kept = columns[len(HEAD) : len(columns) - len(TAIL)]
    seen = set(NOTIFICATION)
    for name in kept:
        if name.lower() in seen:
            raise InputError(
                f"the attribute {name!r} cannot be kept: notifications have a column of that name already\n"
                f"Hint: take it out of `keep`; every notification has {', '.join(NOTIFICATION)}"
            )
        seen.add(name.lower())
    return kept


def _digest(*parts: Column) -> Column:
    """32 hex digits of a hash over texts, each with its length, so that different lists of texts differ."""
    written = []
    for part in parts:
        written += [F.coalesce(F.length(part).cast("string"), F.lit("")), F.lit(":"), F.coalesce(part, F.lit(""))]
    return F.substring(F.sha2(F.concat(*written), 256), 1, _ID_DIGITS)


def _any_of(column: Column, globs: Sequence[str]) -> Column:
    plain = [glob for glob in globs if not _WILD.search(glob)]
    wild = [glob for glob in globs if _WILD.search(glob)]
    if not wild:
        return column.isin(plain)
    matches = column.rlike(java_pattern(wild))
    return column.isin(plain) | matches if plain else matches


def _translated(glob: str) -> str:
    """The pattern of one glob. Stars are not backtracked into, so that many cost no more than one."""
    fixed = [_fixed(part) for part in _pieces(glob)]
    if len(fixed) == 1:
        return fixed[0]
    first, *middle, last = fixed
    return first + "".join(f"(?>.*?{part})" for part in middle if part) + f".*{last}"


def _pieces(glob: str) -> list[list[str]]:
    """The parts between stars, as lists of `?`, sets such as `[a-z]`, and single characters."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(glob):
        if glob[at] == "*":
            pieces.append([])
        elif glob[at] == "[" and (end := _set_end(glob, at)) > 0:
            pieces[-1].append(glob[at : end + 1])
            at = end
        else:
            pieces[-1].append(glob[at])
        at += 1
    return pieces


def _set_end(glob: str, begin: int) -> int:
    """The end of the set that begins there; -1 if it does not end, and the bracket stands for itself."""
    first = begin + 1
    if glob[first : first + 1] == "!":
        first += 1
    return glob.find("]", first + 1)  # a bracket that comes first is one of the set


def _fixed(piece: list[str]) -> str:
    return "".join("." if part == "?" else _set(part) if len(part) > 1 else _literal(part) for part in piece)


def _set(text: str) -> str:
    inner = text[1:-1]
    negated, inner = inner.startswith("!"), inner.removeprefix("!")
    ranges = []
    at = 0
    while at < len(inner):
        low = high = inner[at]
        # A hyphen makes a range only between two characters.
        if at + 2 < len(inner) and inner[at + 1] == "-":
            high = inner[at + 2]
            at += 2
        if low <= high:
            ranges.append(f"{_literal(low)}-{_literal(high)}")
        at += 1
    if not ranges:
        return "." if negated else r"(?!)"  # nothing is in the set: all others match, or none does
    return f"[{'^' if negated else ''}{''.join(ranges)}]"


def _literal(character: str) -> str:
    return rf"\x{{{ord(character):x}}}"  # by its number: nothing in it can mean anything else
