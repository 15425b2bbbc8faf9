"""What is said on the way: the schema that was inferred, attributes that no event has, events that did not count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vedette.cli.job import Tally
from vedette.cli.streams import EventStream
from vedette.cli.terminal import Terminal, counted
from vedette.language.families import similar
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.composite.matcher import Counts
    from vedette.matching.patterns import PatternRecord
    from vedette.prediction.model import Model

_SHOWN = 5  # attributes that no event has and that are named


def note_schema(events: EventStream, terminal: Terminal, *, show: bool = True) -> None:
    """Infer the schema of events, and say what it is."""
    with terminal.working("inferring the schema"):
        schema = events.schema
    if show:
        terminal.note(f"Schema, inferred from {events.name} (write it to a file and hand it in with --schema):")
        terminal.note("\n".join(f"  {line}" for line in str(schema).splitlines()) or "  (no attributes)")


def warn_of_unheard(paths: Iterable[str], schema: Schema, terminal: Terminal) -> None:
    """Attributes that subscriptions ask for and no event has are most often misspelt."""
    unheard = sorted(path for path in paths if schema.type_of(path) is None and not _is_object(path, schema))
    for path in unheard[:_SHOWN]:
        hint = similar(path, schema)
        terminal.warn(f"no event has the attribute {path!r}" + (f"; {hint}" if hint else ""))
    if len(unheard) > _SHOWN:
        terminal.warn(f"no event has {len(unheard) - _SHOWN:,} more attributes that subscriptions ask for")


def _is_object(path: str, schema: Schema) -> bool:
    return path == EVERYTHING or any(known.startswith(f"{path}.") for known in schema)


def report_learnt(
    records: Iterable[PatternRecord], model: Model | None, terminal: Terminal, *, called: bool = False
) -> None:
    """Of which patterns forecasts are asked for, and nothing was learnt from history.

    Where operators are `called`, a model is of use without any forecasts.
    """
    forecast = [record for record in records if record.predict is not None]
    if not forecast:
        if model is not None and not called:
            terminal.warn("no pattern asks for forecasts (with `predict`): --model changes nothing here")
        return
    if model is None:
        terminal.note("Forecasts begin from nothing, and are learnt as events come (`vedette train` makes a --model)")
        return
    unknown = model.lacks(forecast)
    if unknown:
        named = ", ".join(map(repr, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
        terminal.warn(
            f"the model knows nothing of {counted(len(unknown), 'pattern')} that forecasts are asked for: {named} "
            "(it knows patterns by their text and features: train it again when these change)"
        )


def report_rejects(tally: Tally, aside: str | None, terminal: Terminal) -> None:
    """Events that could not be read, or break the schema."""
    if not tally.rejected:
        return
    where = "--rejects FILE writes them aside" if aside is None else f"they are in {aside}"
    terminal.warn(f"{tally.rejected:,} of {counted(tally.events, 'event')} rejected ({where})", lost=True)
    for reject in tally.first_rejects:
        terminal.console.print(f"  {reject}", markup=False)
    if tally.rejected > len(tally.first_rejects):
        terminal.console.print(f"  … and {tally.rejected - len(tally.first_rejects):,} more")


def report_lost(counts: Counts, aside: str | None, cap: int, terminal: Terminal) -> None:
    """What patterns did not see, or gave up."""
    if counts.late:
        where = "--late FILE writes them aside" if aside is None else f"they are in {aside}"
        terminal.warn(f"{counted(counts.late, 'event')} came too late for patterns ({where})", lost=True)
    if counts.duplicates:
        have = counted(counts.duplicates, "event has", "events have")
        terminal.note(f"{have} an id that was there before: patterns count each once")
    if counts.shed:
        lost = counted(counts.shed, "partial match was", "partial matches were")
        terminal.warn(
            f"{lost} given up: more than {cap:,} in a partition "
            "(--cap keeps more; a window or a partition in the pattern needs fewer)",
            lost=True,
        )
