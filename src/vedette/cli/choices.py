"""The allowed values of options, for checking and completing them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from enum import StrEnum

import typer

from vedette.language.time_units import MICROSECONDS


def plugin(group: str) -> Callable[[str], str]:
    """A parameter type for the name of an installed plug-in."""

    def parse(name: str) -> str:
        from vedette import plugins

        if plugins.has(group, name):
            return name
        listed = ", ".join(map(repr, plugins.names(group)))
        raise typer.BadParameter(f"{name!r} is not one of {listed}.")

    parse.__name__ = "NAME"  # what help calls such a value
    return parse


def listed(group: str) -> str:
    """The installed names, as shown in help. They are looked up for help only, since that takes a while."""
    if not {"--help", "-h"} & {*sys.argv}:
        return "NAME"
    from vedette import plugins

    return f"<{'|'.join(plugins.names(group))}>"


def plugins_like(group: str) -> Callable[[str], list[str]]:
    """A completion of the names of installed plug-ins."""

    def complete(incomplete: str) -> list[str]:
        from vedette import plugins

        return [name for name in plugins.names(group) if name.startswith(incomplete)]

    return complete


class EngineChoice(StrEnum):
    """Where matching runs."""

    LOCAL = "local"
    SPARK = "spark"


class PlannerChoice(StrEnum):
    """The order in which operators are evaluated."""

    NAIVE = "naive"
    SEQUENTIAL = "sequential"
    SUBORDER = "suborder"
    ADAPTIVE = "adaptive"


class CoverMethod(StrEnum):
    """The method that decides whether others cover a subscription."""

    AUTO = "auto"
    PAIRWISE = "pairwise"
    SAMPLING = "sampling"
    EXACT = "exact"


class CoveringChoice(StrEnum):
    """The method that decides which subscriptions are matched only where those that cover them matched."""

    AUTO = "auto"
    PAIRWISE = "pairwise"
    EXACT = "exact"


class MeetingDirection(StrEnum):
    """The side whose attributes have to be present (`vedette.meeting.direction`)."""

    PUBLICATION = "publication"
    SUBSCRIPTION = "subscription"
    OPEN = "open"


class MeetingSide(StrEnum):
    """The side for which the best are kept."""

    PUBLICATION = "publication"
    SUBSCRIPTION = "subscription"


class EventsFormat(StrEnum):
    """Formats of events."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class SubscriptionsFormat(StrEnum):
    """Formats of subscriptions."""

    JSONL = "jsonl"
    YAML = "yaml"
    PARQUET = "parquet"


class OutputFormat(StrEnum):
    """Formats of matches."""

    JSONL = "jsonl"
    PARQUET = "parquet"


_LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]+)\s*\Z")


def microseconds(text: str, option: str) -> int:
    """The length in microseconds; wrong usage if it is not a length of time."""
    found = _LENGTH.match(text)
    if found is None or found[2] not in MICROSECONDS:
        raise typer.BadParameter(f"{text!r} is no length of time such as 5 min", param_hint=option)
    from vedette.language.literals import duration

    number = float(found[1]) if "." in found[1] else int(found[1])
    try:
        return duration(number, found[2])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
