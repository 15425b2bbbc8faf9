"""Learning from the events of a file on Spark: the model that one process makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from vedette.cli.job import SHOWN, Counted
from vedette.cli.terminal import Terminal
from vedette.composite.matcher import Counts
from vedette.prediction.model import Model
from vedette.spark import file_job
from vedette.spark.operators.files import FileFilters
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.file_events import coding, pattern_task
from vedette.spark.patterns.file_survey import Survey, frame_of
from vedette.spark.patterns.learning import PLACED, Lesson, placing
from vedette.spark.patterns.looking import looking
from vedette.spark.patterns.match import shards_of
from vedette.spark.patterns.sharding import filters_of
from vedette.spark.patterns.training import columns_of, learn, refuse_timeless
from vedette.spark.plainly import told_plainly
from vedette.spark.session import session
from vedette.spark.snapshots import ship

if TYPE_CHECKING:
    from vedette.cli.train import History


class SparkLearner:
    """Surveys the pieces of a file, calls the operators of filters on the way, and lets patterns learn from them."""

    def __init__(self, history: History, terminal: Terminal) -> None:
        self._history, self.counts = history, Counts()
        with terminal.working("starting Spark"):
            self._spark = session()
            self._nobody = ship(history.nobody, self._spark)
            self._operators = None if history.filters is None else FileFilters.of(history.filters, history.calling)
        self._learnt = Model(history.settings)

    def learn(self, output: Counted) -> Iterator[float | None]:
        """First what must be known of the whole file, then the patterns."""
        history, survey = self._history, Survey()
        cuts = history.events.pieces(file_job.sizes(self._spark, 1.0))
        at = looking(history.patterns, history.events.schema)
        most = None if history.keeps_rejects else SHOWN
        for found in file_job.match_cuts(
            self._spark,
            cuts,
            self._nobody,
            history.columns,
            rejects=most,
            looking=at,
            survey=survey,
            operators=self._operators,
        ):
            output.count(found.read, found.rejected, found.rejects)
            yield found.done
        if history.patterns and survey.events:
            with told_plainly():
                self._follow(survey)
        yield 1.0

    def _follow(self, survey: Survey) -> None:
        history = self._history
        schema = history.events.schema
        if not survey.timed:
            refuse_timeless(history.patterns, schema)
        survey.find_repeated(self._spark)
        calls = history.matcher.operators is not None
        task = pattern_task(
            history.patterns,
            schema,
            shards_of(self._spark),
            learn=False,
            cap=history.matcher.cap,
            told=False,
            caller=caller(history.calling, self._spark) if calls else None,
        )
        filters = filters_of(history.patterns, schema, task.groups)
        pieces = frame_of(self._spark, survey.placed)
        coded = pieces.mapInArrow(placing(coding(task, filters), task), columns_of(PLACED))
        if calls:
            coded = coded.persist()  # operators are not to be called once more, whatever comes
        try:
            learnt = learn(coded, Lesson(replace(task, filters=filters), history.settings), history.patterns)
        finally:
            if calls:
                coded.unpersist()
        self._learnt = learnt.model
        self.counts = Counts(duplicates=survey.repeated, shed=learnt.shed)

    def model(self) -> Model:
        """What was learnt."""
        return self._learnt.knowing(self._history.calling.statistics)
