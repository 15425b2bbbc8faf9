"""`vedette explain` for a pattern: its state at an event, the reasons of its forecast, a picture of its machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from vedette.cli.event_streams import EventStream
from vedette.cli.file_paths import refuse_unwritable
from vedette.cli.id_lookup import python_events, unknown_event
from vedette.cli.match_job import SHOWN
from vedette.cli.terminal import Terminal
from vedette.engine.engine import Engine
from vedette.engine.single_pattern import EventPart, SinglePattern
from vedette.errors import FileError, InputError
from vedette.filters.explanation import Explanation
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.output import written
from vedette.patterns.event_times import times_of
from vedette.patterns.explain import PartitionlessEvent
from vedette.patterns.forecasts.forecast_reasons import Forecast
from vedette.patterns.partition_follower import NamedEvent
from vedette.schema.encode import encode
from vedette.schema.schema import Schema

_PICTURES = {".svg": "to_svg", ".mmd": "to_mermaid"}


class PatternEvents:
    """The events that a pattern sees, in the order of their time, without those that break the schema."""

    def __init__(self, engine: Engine, id_: str, events: EventStream) -> None:
        self.engine, self.id, self.pattern = engine, id_, SinglePattern(engine, id_)
        self.schema: Schema = events.schema
        if not engine.calls_operators:  # operators may look at anything
            events.only(engine.paths)
        self._name = events.name
        self._unreadable = 0
        self._rejected: list[RejectedRow] = []
        self._chunks = list(self._good(events))

    def _good(self, events: Iterable[EventChunk]) -> Iterator[EventChunk]:
        """Chunks without the events that `match` rejects."""
        for chunk in events:
            self._unreadable += len(chunk.rejects)
            broken = encode(chunk.events, self.engine.pattern_columns, self.schema).rejects
            untimed = times_of(chunk.events, self.schema).rejects
            first = {reject.row: reject for reject in (*reversed(untimed), *reversed(broken))}
            rejects = chunk.rejected(first[row] for row in sorted(first))
            self._rejected += rejects
            yield chunk.without({reject.row for reject in rejects})

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def report(self, terminal: Terminal) -> None:
        """Print which events the pattern does not see, since `match` rejects them."""
        count = len(self._rejected)
        if count:
            which = "1 event is" if count == 1 else f"{count:,} events are"
            terminal.warn(
                f"{which} rejected, as by `match`, so the pattern does not see {'it' if count == 1 else 'them'}"
            )
            for reject in self._rejected[:SHOWN]:
                terminal.note(f"  {reject}")

    def find(self, id_: str) -> tuple[int, dict[str, Any]]:
        """The arrival number and content of an event by its id."""
        first, seen = 0, []
        for chunk in self._chunks:
            ids = chunk.ids.to_pylist()
            if id_ in ids:
                place = ids.index(id_)
                return first + place, python_events(chunk, [place])[0]
            first += len(chunk)
            seen += ids
        for reject in self._rejected:
            if str(reject.row) == id_ or orjson.dumps(id_).decode() in reject.raw:
                raise InputError(f"`match` rejects event {id_!r}, so the pattern does not see it: {reject}")
        raise unknown_event(self._name, id_, seen, first + self._unreadable, self._unreadable)

    def before(self, number: int, event: dict[str, Any]) -> list[NamedEvent]:
        """The events of the same partition up to this one, in the order of their time."""
        mine = self.pattern.partition(event)
        found: list[tuple[int, int, NamedEvent]] = []
        latest: int | None = None  # the greatest time before a chunk
        at = 0
        known: set[str] = set()
        for chunk in self._chunks:
            times = times_of(chunk.events, self.schema).filled(latest).tolist()
            latest = max([*times, *([] if latest is None else [latest])], default=None)
            all_ids = zip(chunk.ids.to_pylist(), chunk.own_ids.to_pylist(), strict=True)
            for (id_, own), time, one in zip(all_ids, times, python_events(chunk, range(len(chunk))), strict=True):
                again = own is not None and own in known and at != number
                if own is not None:
                    known.add(own)
                if not again and (at == number or self.pattern.partition(one) == mine):
                    found.append((time, at, NamedEvent(id_, time, one)))
                at += 1
        found.sort(key=lambda each: each[:2])
        return [each[2] for each in found[: [each[1] for each in found].index(number) + 1]]

    def forecast(self, number: int) -> Forecast | None:
        """The forecast at an event, as `match` would have made it."""
        return self.pattern.forecast(self._parts(), number)

    def _parts(self) -> Iterator[EventPart]:
        return ((chunk.events, chunk.own_ids.to_pylist()) for chunk in self._chunks)

    def overview(self) -> Iterator[str]:
        """Print how far the pattern came over all events, and how many of them satisfy each step."""
        found = self.pattern.reached(self._parts())
        yield f"The pattern was completed {found.completed:,} {'time' if found.completed == 1 else 'times'}."
        if found.taken > 0:
            took = f"{found.taken} of {found.steps} steps, first at event"
            yield f"The most advanced partial match took {took} {self._name_of(found.event)}."
        yield "How many events satisfy the filter of each step, whatever came before:"
        for step in self.pattern.satisfied(self._parts()):
            yield f"{step.events:>12,}  {step.name}  {step.text}"

    def _name_of(self, number: int) -> str:
        for chunk in self._chunks:
            if number < len(chunk):
                return str(chunk.ids[number])
            number -= len(chunk)
        raise IndexError(number)


def explained(events: PatternEvents, id_: str, terminal: Terminal) -> tuple[Explanation, Forecast | None]:
    """The state of the pattern at an event, and its forecast if it has one."""
    with terminal.working(f"looking for event {id_}", "events"):
        number, event = events.find(id_)
    with terminal.working("following the pattern", "events"):
        before = events.before(number, event)
        names, times = [one.name for one in before], [one.time for one in before]
        others = [one.event for one in before[:-1]]
        explanation = events.engine.explain(before[-1].event, events.id, before=others, names=names, times=times)
        if isinstance(explanation, PartitionlessEvent) or not events.pattern.forecasts:
            return explanation, None
        return explanation, events.forecast(number)


def check_picture(place: str) -> None:
    """FileError if no picture can be written there."""
    if Path(place).suffix.lower() not in _PICTURES:
        raise FileError(f"{place} is no name of a picture\nHint: it ends with {' or '.join(_PICTURES)}")
    refuse_unwritable(place)


def draw(place: str, pattern: SinglePattern, forecast: Forecast | None) -> None:
    """Write a picture of the pattern's machine, with the known probabilities."""
    known = {} if forecast is None else forecast.by_depth
    picture = pattern.picture(known.get)
    with written(place) as stream:
        stream.write(getattr(picture, _PICTURES[Path(place).suffix.lower()])().encode())
