"""`vedette explain` for a pattern: where it stands at an event, why it was forecast, its machine as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from vedette.cli.job import SHOWN
from vedette.cli.lookup import python_events, unknown_event
from vedette.cli.places import refuse_unwritable
from vedette.cli.streams import EventStream
from vedette.cli.terminal import Terminal
from vedette.composite.alternatives import alternatives
from vedette.composite.explain import PatternExplanation, Unseen, explain_pattern, partition_of, partition_values
from vedette.composite.machine_pictures import machine_picture
from vedette.composite.matcher import Outcome, PatternMatcher
from vedette.composite.shape import Shape
from vedette.composite.standing import Seen
from vedette.composite.telling import asked
from vedette.composite.times import times_of
from vedette.errors import FileError, InputError
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.operator_calls import patterns_call
from vedette.files.output import written
from vedette.language.ast import Composite, Step
from vedette.language.render import render
from vedette.matching.patterns import PatternRecord, Predict
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.prediction.model import Model
from vedette.prediction.why import Forecast, forecast_at
from vedette.schema.encode import encode
from vedette.schema.schema import Schema

_PICTURES = {".svg": "to_svg", ".mmd": "to_mermaid"}


class PatternEvents:
    """The events that a pattern sees, in the order of their time, with those that break the schema left out."""

    def __init__(
        self, composite: Composite, record: PatternRecord, events: EventStream, calling: Calling | None = None
    ) -> None:
        self.composite, self.record, self.calling = composite, record, calling or Calling()
        self.schema: Schema = events.schema
        wanted = asked([record], self.schema)
        if not patterns_call([record], self.schema):  # operators may look at anything
            events.only(wanted.paths)
        self._columns = wanted.columns
        self._name = events.name
        self._unreadable = 0
        self._rejected: list[RejectedEvent] = []
        self._chunks = list(self._good(events))

    def _good(self, events: Iterable[EventChunk]) -> Iterator[EventChunk]:
        """Chunks without what `match` rejects."""
        for chunk in events:
            self._unreadable += len(chunk.rejects)
            broken = encode(chunk.events, self._columns, self.schema).rejects
            untimed = times_of(chunk.events, self.schema).rejects
            first = {reject.row: reject for reject in (*reversed(untimed), *reversed(broken))}
            rejects = chunk.rejected(first[row] for row in sorted(first))
            self._rejected += rejects
            yield chunk.without({reject.row for reject in rejects})

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def report(self, terminal: Terminal) -> None:
        """Say which events the pattern does not see, since `match` rejects them."""
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

    def seen(self, number: int, event: dict[str, Any]) -> tuple[list[Seen], int]:
        """The events of the same partition, in the order of their time, and where this one stands among them."""
        by = partition_of(self.composite)
        mine = partition_values(by, event, self.schema)
        found: list[tuple[int, int, Seen]] = []
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
                if not again and (at == number or partition_values(by, one, self.schema) == mine):
                    found.append((time, at, Seen(id_, time, one)))
                at += 1
        found.sort(key=lambda each: each[:2])
        return [each[2] for each in found], [each[1] for each in found].index(number)

    def forecast(self, number: int, model: Model | None) -> Forecast | None:
        """The forecast at an event, as `match` would have made it."""
        return forecast_at(self.record, model, self._followed(self.record).observations, number)

    def _followed(self, record: PatternRecord) -> Outcome:
        """What comes of all events."""
        matcher = PatternMatcher([record], self.schema, lateness=None, calling=self.calling)
        for chunk in self._chunks:  # all that they bring about comes at the end
            matcher.process(chunk.events, ids=chunk.own_ids.to_pylist())
        return matcher.finish()

    def overview(self) -> Iterator[str]:
        """How far the pattern came over all events, and how many of them satisfy each step."""
        shape = Shape(self.composite)
        outcome = self._followed(replace(self.record, predict=Predict(1)))  # so that it is observed
        completed, depth = len(outcome.matches), outcome.observations.depth
        yield f"The pattern was completed {completed:,} {'time' if completed == 1 else 'times'}."
        if len(depth) and depth.max() > 0:
            best = int(depth.argmax())
            took = f"{depth[best]} of {len(shape.positions)} steps, first at event"
            yield f"The most advanced partial match took {took} {self._name_of(int(outcome.observations.event[best]))}."
        yield "How many events satisfy the filter of each step, whatever came before:"
        counts = self._satisfied([position.step for position in shape.positions])
        for name, position, count in zip(shape.names, shape.positions, counts, strict=True):
            span = position.step.span
            yield f"{count:>12,}  {name}  {self.record.text[span.start : span.end]}"

    def _satisfied(self, steps: Sequence[Step]) -> list[int]:
        filters = Subscriptions(self.schema)
        for number, step in enumerate(steps):
            ways = (render(way.filter) for way in alternatives(step, self.record.text))
            filters.add(str(number), " or ".join(f"({way})" for way in ways))
        matcher = self.calling.matcher(filters) if filters.with_operators else filters.compile("scan")
        counts = np.zeros(len(steps), np.int64)
        for chunk in self._chunks:
            if isinstance(matcher, OperatorMatcher):
                found = matcher.matches(chunk.events, ids=chunk.ids.to_pylist()).subscription
            else:
                found = matcher.match_rows(chunk.events).subscription.astype(np.int64)
            counts += np.bincount(found, minlength=len(steps))
        return [int(count) for count in counts]

    def _name_of(self, number: int) -> str:
        for chunk in self._chunks:
            if number < len(chunk):
                return str(chunk.ids[number])
            number -= len(chunk)
        raise IndexError(number)


def explained(
    events: PatternEvents, id_: str, model: Model | None, terminal: Terminal
) -> tuple[PatternExplanation | Unseen, Forecast | None]:
    """Where the pattern stands at an event, and its forecast where one is asked for."""
    with terminal.working(f"looking for event {id_}", "events"):
        number, event = events.find(id_)
    with terminal.working("following the pattern", "events"):
        seen, place = events.seen(number, event)
        explanation = explain_pattern(events.composite, seen, place, events.schema, events.record.text, events.calling)
        if isinstance(explanation, Unseen) or events.record.predict is None:
            return explanation, None
        return explanation, events.forecast(number, model)


def check_picture(place: str) -> None:
    """FileError if no picture can be written there."""
    if Path(place).suffix.lower() not in _PICTURES:
        raise FileError(f"{place} is no name of a picture\nHint: it ends with {' or '.join(_PICTURES)}")
    refuse_unwritable(place)


def draw(place: str, composite: Composite, text: str, forecast: Forecast | None) -> None:
    """Write the machine of a pattern as a picture, with the probabilities that are known."""
    known = {} if forecast is None else forecast.by_depth
    picture = machine_picture(composite, text, known.get)
    with written(place) as stream:
        stream.write(getattr(picture, _PICTURES[Path(place).suffix.lower()])().encode())
