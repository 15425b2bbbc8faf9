"""Matching a file on Spark: filters in one pass, which also finds out what patterns need to know; then patterns.

Filters alone are written as they are found. Where there are patterns, all rows are held until the end, as in one
process: a pattern completes when all events have been put in the order of their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from vedette.cli.job import SHOWN, Output
from vedette.cli.stream_job import Found, Held
from vedette.cli.terminal import Terminal
from vedette.composite.matcher import Counts, PatternMatcher
from vedette.errors import InputError
from vedette.files.output import RejectWriter
from vedette.files.pieces import Cut
from vedette.spark import file_job
from vedette.spark.file_task import Tallying
from vedette.spark.numbered import numbered
from vedette.spark.operators.files import FileFilters
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.file_events import pattern_task
from vedette.spark.patterns.file_following import How
from vedette.spark.patterns.file_lateness import find_late
from vedette.spark.patterns.file_match import match_patterns
from vedette.spark.patterns.file_survey import Survey
from vedette.spark.patterns.looking import looking
from vedette.spark.patterns.match import shards_of
from vedette.spark.patterns.sharding import filters_of
from vedette.spark.patterns.tasks import Task
from vedette.spark.plainly import told_plainly
from vedette.spark.session import session
from vedette.spark.snapshots import ship

if TYPE_CHECKING:
    from vedette.cli.match import Job, MatchOptions


class SparkJob:
    """Takes the events of a file in pieces."""

    def __init__(
        self,
        job: Job,
        options: MatchOptions,
        lateness: int | None,
        late: RejectWriter | None,
        terminal: Terminal,
        train_until: int | None = None,
    ) -> None:
        self._job, self._lateness, self._late = job, lateness, late
        self._rejects = SHOWN if options.rejects is None else None  # of a chunk
        self._train_until = train_until
        self.counts = Counts()
        ids, patterns = list(job.subscriptions), job.subscriptions.patterns
        self._filter_places = np.flatnonzero(np.array([id_ not in patterns for id_ in ids], np.bool_))
        self._records = list(job.subscriptions.patterns.values())
        self._schema = job.subscriptions.schema
        # What is wrong with patterns is to be known before Spark starts.
        self.matcher = PatternMatcher(self._records, self._schema, cap=options.cap, calling=job.calling)
        self._cap = options.cap
        with terminal.working("starting Spark"):
            self._spark = session(master=None if options.threads is None else f"local[{options.threads}]")
            self._shipped = ship(job.matcher, self._spark)
        self._operators: FileFilters | None = None
        if job.operators is not None and job.calling is not None:
            self._operators = FileFilters.of(job.operators, job.calling)

    def match(self, output: Output) -> Iterator[float | None]:
        """Match all events and tell what was found; says from time to time how much of the source is done."""
        if self._records:
            yield from self._with_patterns(output)
            return
        for found in self._filters(None):
            output.take(found.ids, found.event, found.subscription, found.notices)
            output.count(found.read, found.rejected, found.rejects)
            yield found.done

    def _pieces(self, matches_per_event: float) -> Iterator[Cut]:
        return self._job.events.pieces(file_job.sizes(self._spark, matches_per_event))

    def _filters(self, survey: Survey | None, tallying: Tallying | None = None) -> Iterator[file_job.Found]:
        if tallying is None:
            cuts = self._pieces(self._job.matches_per_event)
        else:
            cuts = iter(numbered(self._spark, list(self._pieces(0.0))))
        at = None if survey is None else looking(self._records, self._schema)
        return file_job.match_cuts(
            self._spark,
            cuts,
            self._shipped,
            self._job.columns,
            rejects=self._rejects,
            looking=at,
            survey=survey,
            operators=self._operators,
            tallying=tallying,
        )

    def _with_patterns(self, output: Output) -> Iterator[float | None]:
        subscriptions = self._job.subscriptions
        survey, held = Survey(), Held(list(subscriptions), output)
        for found in self._filters(survey):
            rows = Found(found.rows[found.event], self._filter_places[found.subscription.to_numpy()])
            held.filters(rows, found.ids.take(pa.array(found.event)), found.notices)
            output.count(found.read, found.rejected, found.rejects)
            yield found.done
        place_of = {id_: place for place, id_ in enumerate(subscriptions)}
        with told_plainly():
            self._complete(survey)
            if survey.placed:
                told, self.counts.shed = match_patterns(self._spark, survey.placed, *self._following(survey))
                for one in told:
                    held.told(one.row, place_of[one.subscription], one.id, one.notice)
        held.finish()
        yield 1.0

    def _following(self, survey: Survey) -> tuple[Task, How]:
        """What patterns are followed by, and how."""
        shards = shards_of(self._spark)
        called = None
        if self.matcher.operators is not None and self._job.calling is not None:
            called = caller(self._job.calling, self._spark)
        task = pattern_task(self._records, self._schema, shards, model=self._job.model, cap=self._cap, caller=called)
        return task, How(survey.timed, filters_of(self._records, self._schema, task.groups), self._train_until)

    def _complete(self, survey: Survey) -> None:
        """Find out which events do not count, and why."""
        drafts = self.matcher.drafts().values()
        asking = next((each.record.id for each in drafts if each.speaks_of_time), None)
        if asking is not None and survey.events and not survey.timed:
            raise InputError(
                f"subscription {asking!r} speaks of time, and the events have none\n"
                "Hint: give events an attribute `time`, such as '2024-05-01T12:30:00Z' or seconds since 1970"
            )
        survey.find_repeated(self._spark)
        self.counts.duplicates = survey.repeated
        if self._lateness is not None:
            late = find_late(self._spark, survey, self._lateness, self._schema, told=self._late is not None)
            self.counts.late = len(late)
            if self._late is not None:
                self._late.write(late)
