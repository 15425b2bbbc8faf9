"""Match a file on Spark: filters in one pass, which also collects what patterns need; then patterns; or a tally.

Outcomes of filters alone are written at once. With patterns, all rows are held until the end, as in one
process: a pattern completes when all events have been put in the order of their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.cli.match_job import SHOWN, InputCounter, MatchOutput
from vedette.cli.terminal import Terminal
from vedette.engine.outcomes import MATCH, OutcomeDetails
from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import InputError
from vedette.io.backtest_tally import BacktestTally
from vedette.io.chunk_stepper import columns_read
from vedette.io.output import RejectWriter
from vedette.io.pieces import CutPiece
from vedette.patterns.forecasts.score import Score
from vedette.patterns.matcher import PatternCounts
from vedette.spark import file_job
from vedette.spark.engines import Sent
from vedette.spark.file_job import numbered
from vedette.spark.file_task import Tallying
from vedette.spark.patterns.file_match import match_patterns, tally_patterns
from vedette.spark.patterns.following import Forecasts
from vedette.spark.patterns.lateness import find_late
from vedette.spark.patterns.survey import Looking, Survey
from vedette.spark.patterns.tables import Course
from vedette.spark.pipeline.spark_failures import told_plainly
from vedette.spark.snapshots import ship
from vedette.spark.spark_session import session, shards_of

if TYPE_CHECKING:
    from vedette.cli.match import MatchJob, MatchOptions


class _Part(NamedTuple):
    """Some of the outcomes: the rows of events, the places of subscriptions, the names of events, and details."""

    row: NDArray[np.int64]
    place: NDArray[np.int64]
    event: pa.Array
    details: OutcomeDetails | None


def _in_order(several: list[OutcomeDetails], order: NDArray[np.int64]) -> OutcomeDetails:
    """The details of rows that are put into another order."""
    at = np.empty(len(order), np.int64)
    at[order] = np.arange(len(order))
    row = at[np.concatenate([one.row for one in several])]
    new = np.argsort(row)
    taken = pa.array(new)
    steps, probability, within = (
        pa.chunked_array([getattr(one, name) for one in several]).combine_chunks().take(taken)
        for name in ("steps", "probability", "within")
    )
    bindings = [each for one in several for each in one.bindings]
    kind = np.concatenate([one.kind for one in several])
    return OutcomeDetails(row[new], kind[new], steps, [bindings[place] for place in new.tolist()], probability, within)


class SparkJob:
    """Matches the events of a file in pieces."""

    def __init__(
        self,
        job: MatchJob,
        options: MatchOptions,
        lateness: int | None,
        late: RejectWriter | None,
        terminal: Terminal,
        train_until: int | None = None,
    ) -> None:
        self._job, self._lateness, self._late = job, lateness, late
        self._rejects = SHOWN if options.rejects is None else None  # of a chunk
        self._train_until = train_until
        self.counts = PatternCounts()
        # What is wrong with patterns is to be known before Spark starts.
        self._engine = engine = job.engine
        self.matcher = engine.machines
        self._schema = engine.schema
        with terminal.working("starting Spark"):
            self._spark = session(master=None if options.threads is None else f"local[{options.threads}]")
            shards = ShardOptions(shards_of(self._spark), options.cap, learn=True)
            self._sending = partial(Sent.of, engine, self._spark, shards, ship(engine, self._spark))

    def match(self, output: MatchOutput) -> Iterator[float | None]:
        """Match all events and write the outcomes; reports progress from time to time."""
        if self._engine.has_state:
            yield from self._with_patterns(output)
            return
        for found in self._filters(None):
            events = pa.DictionaryArray.from_arrays(pa.array(found.event), found.ids)
            output.rows(events, self._subscriptions(self._places(found)), found.details)
            output.count(found.read, found.rejected, found.rejects)
            yield found.done

    def _places(self, found: file_job.Found) -> NDArray[np.int64]:
        """The places of subscriptions among all, match by match."""
        places: NDArray[np.int64] = self._engine.stateless_places[found.subscription.to_numpy()]
        return places

    def _subscriptions(self, places: NDArray[np.int64]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), self._engine.ids)

    def _pieces(self, matches_per_event: float) -> Iterator[CutPiece]:
        return self._job.events.pieces(file_job.sizes(self._spark, matches_per_event))

    def _filters(self, survey: Survey | None, tallying: Tallying | None = None) -> Iterator[file_job.Found]:
        if tallying is None:
            cuts = self._pieces(self._job.matches_per_event)
        else:
            cuts = iter(numbered(self._spark, list(self._pieces(0.0))))
        at = None if survey is None else Looking(self._schema, self._engine.unknown_keys)
        return file_job.match_cuts(
            self._spark,
            cuts,
            self._sending,
            columns_read(self._engine, self._job.terms),
            rejects=self._rejects,
            looking=at,
            survey=survey,
            tallying=tallying,
        )

    def _with_patterns(self, output: MatchOutput) -> Iterator[float | None]:
        survey, parts = Survey(), []
        for found in self._filters(survey):
            ids = found.ids.take(pa.array(found.event))
            parts.append(_Part(found.rows[found.event], self._places(found), ids, found.details))
            output.count(found.read, found.rejected, found.rejects)
            yield found.done
        with told_plainly():
            self._complete(survey)
            if survey.placed:
                told = match_patterns(self._spark, survey.placed, self._course(survey))
                places = pc.index_in(told.subscription.cast(pa.large_string()), self._engine.ids).to_numpy()
                parts.append(_Part(told.row, places.astype(np.int64), told.event, told.details))
                self.counts.shed = told.shed
        self._tell(parts, output)
        yield 1.0

    def _tell(self, parts: list[_Part], output: MatchOutput) -> None:
        """Write all outcomes, by event, then by subscription; matches of a pattern before predictions."""
        none = np.zeros(0, np.int64)
        rows, places = (np.concatenate([none, *(one[field] for one in parts)]) for field in (0, 1))
        kinds = np.full(len(rows), MATCH)
        first = np.cumsum([0, *(len(one.row) for one in parts)])
        saying = [
            replace(one.details, row=one.details.row + begin)
            for one, begin in zip(parts, first.tolist(), strict=False)
            if one.details is not None
        ]
        for one in saying:
            kinds[one.row] = one.kind
        order = np.lexsort((kinds, places, rows))
        ids = pa.chunked_array([one.event for one in parts], pa.string()).combine_chunks()
        details = _in_order(saying, order) if saying else None
        output.rows(ids.take(pa.array(order)), self._subscriptions(places[order]), details)

    def _course(self, survey: Survey) -> Course:
        """The options with which patterns are followed."""
        forecasts = Forecasts(self._train_until, at_once=True, in_json=True)
        # What counts is known before.
        return Course(self._sending(), survey.timed, counts_once=False, forecasts=forecasts)

    def _complete(self, survey: Survey) -> None:
        """Find out which events are ignored, and why."""
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


class SparkBacktest(SparkJob):
    """Matches the events of a history in pieces; `tally` has the results."""

    tally: BacktestTally
    learnt: int | None = None  # rows that forecasts have learnt from, where they learn only up to a moment

    def tallied(self, tally: BacktestTally, counted: InputCounter) -> Iterator[float | None]:
        """Match all events and add them to the tally; reports progress from time to time."""
        survey = Survey() if self._engine.has_state else None
        counting = Tallying(tuple(tally.ids), self._engine.stateless_places, tally.most, self._job.events.schema)
        for found in self._filters(survey, counting):
            counted.count(found.read, found.rejected, found.rejects)
            if found.tally is not None:
                tally += BacktestTally.from_bytes(found.tally)
            yield found.done
        forecast = self._engine.forecasts
        if self._train_until is not None and forecast:
            self.learnt = 0
        if survey is not None:
            with told_plainly():
                self._complete(survey)
                if survey.placed:
                    told = tally_patterns(self._spark, survey.placed, self._course(survey), tally.ids, tally.most)
                    tally += told.tally
                    self.counts.shed = told.shed
                    self.learnt = None if self.learnt is None else told.learnt
        tally.score({id_: Score() for id_ in forecast})  # also of those that no event was for
        self.tally = tally
        yield 1.0
