"""`vedette train`: learn from history how probably patterns complete."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

from vedette.cli.job import Tally
from vedette.cli.loading import load_by_events
from vedette.cli.places import refuse_clashes, refuse_unwritable
from vedette.cli.reports import note_schema, report_learnt, report_lost, report_rejects
from vedette.cli.streams import EventStream
from vedette.cli.terminal import Terminal, counted
from vedette.composite.matcher import PatternMatcher
from vedette.composite.telling import asked
from vedette.errors import InputError
from vedette.files.matched import ChunkMatcher, columns_read
from vedette.files.output import RejectWriter
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import read_subscriptions
from vedette.matching.subscriptions import Subscriptions
from vedette.prediction.context import Settings
from vedette.prediction.model import Trainer
from vedette.schema.encode import Reject


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What was asked for on the command line."""

    subscriptions: str
    history: str
    out: str
    context: int = 6
    schema: str | None = None
    rejects: str | None = None
    cap: int = 10_000
    subscriptions_format: str | None = None
    events_format: str | None = None
    quiet: bool = False


def train(options: TrainOptions) -> None:
    """Write a model of all patterns that are to be forecast."""
    refuse_clashes(
        {"SUBSCRIPTIONS": options.subscriptions, "HISTORY": options.history, "--schema": options.schema},
        {"--output": options.out, "--rejects": options.rejects},
    )
    refuse_unwritable(options.out)
    terminal = Terminal(quiet=options.quiet)
    tally = Tally()
    begin = time.perf_counter()
    with ExitStack() as stack:
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        given = None if options.schema is None else read_schema(options.schema)
        file = read_subscriptions(options.subscriptions, format=options.subscriptions_format)
        events = EventStream(options.history, options.events_format, given)
        if given is None:
            note_schema(events, terminal)
        watched = _forecast(load_by_events(file, events, terminal), options.subscriptions)
        wanted = asked(watched.patterns.values(), events.schema)
        nobody = watched.compile("scan", filters_only=True)
        chunks = ChunkMatcher(nobody, tuple(dict.fromkeys((*columns_read(nobody, given), *wanted.columns))))
        if aside is None:
            events.only(wanted.paths)
        matcher = PatternMatcher(watched.patterns.values(), events.schema, lateness=None, cap=options.cap)
        trainer = Trainer(watched.patterns.values(), Settings(context=options.context))
        bar = stack.enter_context(terminal.working("learning", "events"))
        for chunk in events:
            rejected: set[int] = set()
            for found in chunks.match(chunk):
                tally.count(found.read, len(found.rejects), found.rejects)
                rejected.update(reject.row for reject in found.rejects)
                if aside is not None:
                    aside.write(found.rejects)
            fine = chunk.without(rejected)
            untimed: list[Reject] = []
            outcome = matcher.process(fine.events, ids=fine.own_ids.to_pylist(), rejects=untimed)
            tally.count(0, len(untimed), fine.rejected(untimed))
            if aside is not None:
                aside.write(fine.rejected(untimed))
            trainer.see(outcome.observations)
            bar.show(events.progress, tally.events)
        trainer.see(matcher.finish().observations)
        if tally.events == tally.rejected:
            why = "all of its events are rejected" if tally.events else "it has no events"
            raise InputError(
                f"nothing can be learnt from {events.name}: {why}\n"
                "Hint: a history is events as they happened, with the attributes that the patterns speak of"
            )
        model = trainer.model()
        with terminal.working("writing the model"):
            model.save(options.out)
    report_rejects(tally, options.rejects, terminal)
    report_lost(matcher.counts, None, options.cap, terminal)
    report_learnt(watched.patterns.values(), model, terminal)
    seconds = time.perf_counter() - begin
    terminal.note(
        f"{counted(tally.events, 'event')}, {counted(len(watched.patterns), 'pattern')}: {options.out} is written; "
        f"{seconds:.1f} s, {tally.events / max(seconds, 1e-9):,.0f} events/s"
    )


def _forecast(subscriptions: Subscriptions, source: str) -> Subscriptions:
    """Those that ask for forecasts."""
    watched = Subscriptions(subscriptions.schema)
    for record in subscriptions.patterns.values():
        if record.predict is not None:
            watched.add(record.id, record.text, subscriber=record.subscriber, predict=record.predict)
    if not len(watched):
        raise InputError(
            f"{source} has no pattern that asks for forecasts\n"
            """Hint: give one e.g. "predict": {"within": 10, "threshold": 0.8}"""
        )
    return watched
