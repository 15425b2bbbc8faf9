"""`vedette checkpoint`: show the contents of a pipeline's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import typer

from vedette.cli.terminal import counted

_SHOWN = 10  # ids of patterns


def checkpoint(folder: str, *, json: bool) -> None:
    """Print the report on standard output."""
    from vedette.spark.pipeline.checkpoint_report import inspect

    found = inspect(folder, _session)
    if json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo("\n".join(_lines(folder, found)))


def _session() -> Any:
    from vedette.spark.spark_session import session

    return session(app="vedette checkpoint")


def _lines(folder: str, found: Mapping[str, Any]) -> Iterator[str]:
    facts = dict(found["facts"])
    name, type_ = facts.pop("pipeline", "?"), facts.pop("type", "?")
    where = ", ".join(f"{key} {value}" for key, value in facts.items() if key != "patterns")
    yield f"{folder}: the checkpoint of the pipeline {name}, made by Vedette {found['library']}"
    yield f"  source: {type_}{f', {where}' if where else ''}"
    yield f"  micro-batches: {_batches(found)}"
    subscribed = found["subscriptions"]
    if subscribed is None:
        return
    aside = subscribed["set aside"]
    yield (
        f"  subscriptions: version {subscribed['version']} of {counted(subscribed['count'], 'subscription')}, "
        f"since micro-batch {subscribed['since']}"
        f"{f', {aside:,} bad ones set aside' if aside else ''}"
    )
    yield from _operators(subscribed["calling operators"], found["operators"])
    patterns = subscribed["patterns"]
    if patterns is None:
        return
    ids = ", ".join(patterns[:_SHOWN]) + (f" and {len(patterns) - _SHOWN:,} more" if len(patterns) > _SHOWN else "")
    yield f"  patterns: {counted(len(patterns), 'pattern')}{f' ({ids})' if ids else ''}"
    for place in found.get("state", ()):
        by = f"by {', '.join(place['by'])}" if place["by"] else "without a partition"
        begun = counted(place["partial matches"], "partial match", "partial matches")
        yield (
            f"    {by}: {counted(place['events'], 'event')} in {counted(place['shards'], 'shard')}, "
            f"{begun}, {place['held back']:,} held back, "
            f"{counted(place['duplicates'], 'duplicate')}, {place['shed']:,} given up; "
            f"{place['bytes'] / 1024:,.0f} KiB of state"
        )


def _operators(filters: int, known: Sequence[Mapping[str, Any]] | str) -> Iterator[str]:
    """Lines about operators; callers are counted among filters only, though steps of patterns may call them, too."""
    if isinstance(known, str):
        yield f"  operators: nothing is known of them any more: {known}"
    elif known or filters:
        yield f"  operators: {counted(filters, 'filter calls', 'filters call')} some"
    for each in () if isinstance(known, str) else known:
        said = [] if each["holds"] is None else [f"holds for {each['holds']:.1%} of the events that it was asked of"]
        said += [] if each["seconds"] is None else [f"{each['seconds'] * 1000:,.3g} ms an event"]
        yield f"    {each['operator']}: {', '.join(said)}"


def _batches(found: Mapping[str, Any]) -> str:
    if found["newest"] is None:
        return "none has begun"
    done = found["newest"] if found["pending"] else found["newest"] + 1
    cut = f"; micro-batch {found['newest']} was cut short, and will be run again" if found["pending"] else ""
    return f"{done:,} done{cut}"
