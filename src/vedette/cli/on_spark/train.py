"""Train a model on Spark from the events of a file: the same model as in one process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from vedette.cli.match_job import SHOWN, InputCounter
from vedette.cli.terminal import Terminal
from vedette.engine.pattern_shards import ShardOptions
from vedette.io.chunk_stepper import columns_read
from vedette.patterns.forecasts.model import Model
from vedette.patterns.matcher import PatternCounts
from vedette.spark import file_job
from vedette.spark.engines import Sent
from vedette.spark.patterns.file_match import reading_of
from vedette.spark.patterns.learning import PLACED, Lesson, placing
from vedette.spark.patterns.rows import columns_of
from vedette.spark.patterns.survey import Looking, Survey, frame_of
from vedette.spark.patterns.training import learn, refuse_timeless
from vedette.spark.pipeline.spark_failures import told_plainly
from vedette.spark.snapshots import ship
from vedette.spark.spark_session import session, shards_of

if TYPE_CHECKING:
    from vedette.cli.train import TrainingHistory


class SparkLearner:
    """Surveys the pieces of a file, calls the operators of filters meanwhile, and lets patterns learn."""

    def __init__(self, history: TrainingHistory, terminal: Terminal) -> None:
        self._history, self.counts = history, PatternCounts()
        with terminal.working("starting Spark"):
            self._spark = session()
            engine = history.engine
            shards = ShardOptions(shards_of(self._spark), history.terms.cap)
            self._sending = partial(Sent.of, engine, self._spark, shards, ship(engine, self._spark))
        self._learnt = Model(history.settings)

    def learn(self, output: InputCounter) -> Iterator[float | None]:
        """Collect what must be known of the whole file, then let patterns learn."""
        history, survey = self._history, Survey()
        cuts = history.events.pieces(file_job.sizes(self._spark, 1.0))
        at = Looking(history.events.schema, history.engine.unknown_keys)
        most = None if history.keeps_rejects else SHOWN
        for found in file_job.match_cuts(
            self._spark,
            cuts,
            self._sending,
            columns_read(history.engine, history.terms),
            rejects=most,
            looking=at,
            survey=survey,
        ):
            output.count(found.read, found.rejected, found.rejects)
            yield found.done
        if history.engine.has_state and survey.events:
            with told_plainly():
                self._follow(survey)
        yield 1.0

    def _follow(self, survey: Survey) -> None:
        history, sent = self._history, self._sending()
        patterns = sent.patterns()
        if not survey.timed:
            refuse_timeless(patterns.records, patterns.schema)
        survey.find_repeated(self._spark)
        calls = bool(history.engine.called_on_the_way)
        pieces = frame_of(self._spark, survey.placed)
        coded = pieces.mapInArrow(placing(reading_of(sent, told=False)), columns_of(PLACED))
        if calls:
            coded = coded.persist()  # operators are not to be called once more, whatever comes
        try:
            learnt = learn(coded, Lesson(sent, history.settings), patterns.records)
        finally:
            if calls:
                coded.unpersist()
        self._learnt = learnt.model
        self.counts = PatternCounts(duplicates=survey.repeated, shed=learnt.shed)

    def model(self) -> Model:
        """The trained model."""
        return self._learnt.knowing(self._history.calling.statistics)
