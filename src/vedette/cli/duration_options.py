"""Options that are lengths of time: `5 min`, `90s`."""

from __future__ import annotations

import re

import typer

from vedette.language.literals import duration
from vedette.language.time_units import MICROSECONDS

_LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]+)\s*\Z")


def microseconds(text: str, option: str) -> int:
    """The length in microseconds; wrong usage if it is not a length of time."""
    found = _LENGTH.match(text)
    if found is None or found[2] not in MICROSECONDS:
        raise typer.BadParameter(f"{text!r} is no length of time such as 5 min", param_hint=option)
    number = float(found[1]) if "." in found[1] else int(found[1])
    try:
        return duration(number, found[2])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
