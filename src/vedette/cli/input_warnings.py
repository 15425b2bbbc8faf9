"""Notes and warnings about input: the inferred schema, attributes that no event has, ignored events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vedette.cli.match_job import JobTally
from vedette.cli.terminal import Terminal, counted
from vedette.io.schemas import attribute_name
from vedette.language.type_families import similar
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.engine.engine import Engine
    from vedette.patterns.forecasts.model import Model
    from vedette.patterns.matcher import PatternCounts

_SHOWN = 5  # attributes that no event has and that are named
_SHOWN_OF_OBJECTS = 20  # attributes of objects that are read whole


def note_schema(schema: Schema, name: str, terminal: Terminal, paths: Iterable[str] | None = None) -> None:
    """Note the inferred types of attributes that subscriptions use, and the number of others.

    Attributes are written as in filters, which schema files accept.
    """
    spoken = list(schema) if paths is None else spoken_of(schema, paths)
    shown = spoken if paths is None else _few_of_objects(spoken, set(paths))
    left = len(schema) - len(spoken)
    if shown or not left:
        terminal.note(f"Schema, inferred from {name} (write it to a file and hand it in with --schema):")
        lines = (f"  {attribute_name(path)}: {schema.spelling(path)}" for path in shown)
        terminal.note("\n".join(lines) or "  (no attributes)")
    if len(spoken) > len(shown):
        terminal.note(f"and {len(spoken) - len(shown):,} more in objects that subscriptions read whole")
    if left and shown:
        terminal.note(f"and {left:,} more that no subscription speaks of")
    elif left:
        terminal.note(
            f"Of the schema, inferred from {name}, subscriptions speak of none of {counted(left, 'attribute')}"
        )


def spoken_of(schema: Schema, paths: Iterable[str]) -> list[str]:
    """The attributes of a schema that are among these, or below one of them, or keys of a map among them."""
    asked = set(paths)
    maps = {path[: at + 1] for path in asked for at, sign in enumerate(path) if sign == "."}
    return [path for path in schema if _above(path) & asked or (path.endswith(".*") and path[:-1] in maps)]


def _few_of_objects(spoken: list[str], asked: set[str]) -> list[str]:
    """Those that are named, and the first few of the others: `text(p)` may read an object with hundreds."""
    below = [path for path in spoken if path not in asked and _above(path) & asked]
    left = set(below[_SHOWN_OF_OBJECTS:])
    return [path for path in spoken if path not in left]


def _above(path: str) -> set[str]:
    return {path, *(path[:at] for at, sign in enumerate(path) if sign == ".")}


def warn_of_unheard(paths: Iterable[str], schema: Schema, terminal: Terminal) -> None:
    """Warn of attributes that subscriptions use and no event has, which are most often misspelt."""
    unheard = sorted(path for path in paths if schema.type_of(path) is None and not _is_object(path, schema))
    for path in unheard[:_SHOWN]:
        hint = similar(path, schema)
        terminal.warn(f"no event has the attribute {path!r}" + (f"; {hint}" if hint else ""))
    if len(unheard) > _SHOWN:
        terminal.warn(f"no event has {len(unheard) - _SHOWN:,} more attributes that subscriptions ask for")


def _is_object(path: str, schema: Schema) -> bool:
    return path == EVERYTHING or any(known.startswith(f"{path}.") for known in schema)


def report_learnt(engine: Engine, model: Model | None, terminal: Terminal, *, called: bool = False) -> None:
    """Note the patterns with forecasts that the model does not have.

    If operators are `called`, a model is of use without any forecasts.
    """
    if not engine.forecasts:
        if model is not None and not called:
            terminal.warn("no pattern asks for forecasts (with `predict`): --model changes nothing here")
        return
    if model is None:
        terminal.note("Forecasts begin from nothing, and are learnt as events come (`vedette train` makes a --model)")
        return
    unknown = engine.unknown_to(model)
    if unknown:
        named = ", ".join(map(repr, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
        terminal.warn(
            f"the model knows nothing of {counted(len(unknown), 'pattern')} that forecasts are asked for: {named} "
            "(it knows patterns by their text and features: train it again when these change)"
        )


def report_rejects(tally: JobTally, aside: str | None, terminal: Terminal) -> None:
    """Warn of events that could not be read, or break the schema."""
    if not tally.rejected:
        return
    where = "--rejects FILE writes them aside" if aside is None else f"they are in {aside}"
    terminal.warn(f"{tally.rejected:,} of {counted(tally.events, 'event')} rejected ({where})", lost=True)
    for reject in tally.first_rejects:
        terminal.console.print(f"  {reject}", markup=False)
    if tally.rejected > len(tally.first_rejects):
        terminal.console.print(f"  … and {tally.rejected - len(tally.first_rejects):,} more")


def report_lost(counts: PatternCounts | None, aside: str | None, cap: int, terminal: Terminal) -> None:
    """Warn of events that patterns ignored, and of partial matches given up."""
    if counts is None:
        return
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
