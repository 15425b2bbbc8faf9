"""`vedette scrub`: read everything stored, compare it with its checksums, report damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import typer

from vedette.cli.exit_status import BAD_INPUT
from vedette.cli.serve import EXTRA
from vedette.cli.terminal import Bar, Terminal, counted, error_console, output_console
from vedette.errors import DamageError, FileError, NotInstalled, VedetteError
from vedette.io.file_scrub import ScrubResult, is_sqlite, scrubbed, total_size

_HINT: Final = "\nHint: "


def scrub(places: Sequence[str], *, settings: str | None, as_json: bool, quiet: bool) -> None:
    """Report damage on standard output; exit status 1 if there is any."""
    terminal = Terminal(quiet=quiet or as_json)
    places = [*places, *([] if settings is None else [_database_of(settings)])]
    if not places:
        raise FileError(
            "nothing to read was named\nHint: name snapshots, models, checkpoints, databases; or --settings"
        )
    verified, unverified, size = 0, 0, 0
    damages: list[VedetteError] = []
    with terminal.working("reading", "bytes") as bar:
        for one in _all(places, bar):
            verified += one.verified
            unverified += not one.verified
            size += one.size if one.verified else 0
            damages += one.damages
            if not as_json:
                for each in one.damages:
                    output_console().print(str(each).partition(_HINT)[0], markup=False)
    if as_json:
        typer.echo(orjson.dumps(_record(verified, unverified, size, damages), option=orjson.OPT_INDENT_2))
    else:
        _show(verified, unverified, size, damages, terminal)
    if damages:
        raise typer.Exit(BAD_INPUT)


def _all(places: Sequence[str], bar: Bar) -> Iterator[ScrubResult]:
    """Everything in these places; FileError for a place with nothing to verify."""
    whole, seen = sum(total_size(Path(place)) for place in places if not _is_url(place)), 0
    for place in places:
        verified = False
        if _is_url(place) or is_sqlite(Path(place)):
            yield _database(place, bar)
            continue
        for one in scrubbed(Path(place)):
            one = _database(str(one.path), bar) if not one.verified and is_sqlite(one.path) else one
            seen += one.size
            verified |= one.verified
            bar.show(seen / max(1, whole), seen)
            yield one
        if not verified:
            reason = "nothing in it has a checksum of Vedette: it is something else, or its beginning is damaged"
            yield ScrubResult(Path(place), 0, [FileError(f"{place} cannot be verified: {reason}")], verified=False)


def _is_url(place: str) -> bool:
    return "://" in place


def _database(place: str, bar: Bar) -> ScrubResult:
    """A service's database, by its URL or as a file of SQLite."""
    try:
        from vedette.service.storage.database_scrub import MissingChecksums, database_damages
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{EXTRA} ({error.name} is missing)") from None
    path = Path(place)
    url = place if _is_url(place) else f"sqlite:///{path}"
    size = path.stat().st_size if path.is_file() else 0
    try:
        return ScrubResult(path, size, list(database_damages(url, bar.show)))
    except MissingChecksums as error:
        return ScrubResult(path, 0, [FileError(f"{place} cannot be verified: {error}")], verified=False)


def _database_of(settings: str) -> str:
    try:
        from vedette.service.settings import load
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{EXTRA} ({error.name} is missing)") from None
    return load(settings).store.url


def _show(verified: int, unverified: int, size: int, damages: Sequence[VedetteError], terminal: Terminal) -> None:
    for hint in dict.fromkeys(str(each).partition(_HINT)[2] for each in damages):
        if hint:
            error_console().print(f"Hint: {hint}", markup=False)
    what = counted(len(damages), "damaged place") if damages else "no damage"
    terminal.note(f"{what}: {counted(verified, 'snapshot or file', 'snapshots and files')}, {size:,} bytes verified")
    if unverified:
        terminal.note(f"{counted(unverified, 'other file has', 'other files have')} no checksum of Vedette")


def _record(verified: int, unverified: int, size: int, damages: Sequence[VedetteError]) -> dict[str, Any]:
    return {
        "verified": verified,
        "bytes": size,
        "without_checksum": unverified,
        "damaged": [
            {
                "path": each.path if isinstance(each, DamageError) else None,
                "offset": each.offset if isinstance(each, DamageError) else None,
                "message": str(each),
            }
            for each in damages
        ],
    }
