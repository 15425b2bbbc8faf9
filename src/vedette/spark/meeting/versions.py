"""Subscriptions that publications meet, as they are now: new versions are read in the background, bad ones refused.

    with watch_wanted(FileStore("wants.jsonl"), schema, refresh=10) as versions:
        offers.writeStream.foreachBatch(lambda batch, _: meet(batch, versions).write.save(…)).start().awaitTermination()

Every micro-batch asks for the newest version once, when it begins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vedette.errors import FilterError
from vedette.files.problems import BadSubscriptions, Problem, refusal
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows
from vedette.meeting.reading import Constraints
from vedette.meeting.table import Space
from vedette.schema.schema import Schema
from vedette.spark.meeting.hosted import Wanted, packed
from vedette.spark.meeting.terms import number_all
from vedette.spark.stores import Store
from vedette.spark.versions import Refusal, Watched


@dataclass(frozen=True, slots=True)
class WantedVersion:
    """A set of subscriptions, ready to be sent to workers."""

    wanted: Wanted
    loaded_at: dt.datetime
    subscriptions: int

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits of what is subscribed to."""
        return self.wanted.version


class WantedVersions(Watched[WantedVersion]):
    """The newest good version of the subscriptions that a store holds, each a constraint."""

    def _ready(
        self, rows: SubscriptionRows, records: Iterator[SubscriptionRecord], consequence: str
    ) -> Callable[[], WantedVersion]:
        constraints, space = Constraints(self._schema), Space()
        texts: dict[str, str] = {}
        problems: list[Problem] = []
        for record in records:
            refused = refusal(record, dialects=False)
            try:
                if refused is not None:
                    problems.append(Problem.of_error(record, refused))
                    continue
                number_all(space, constraints.read(record.when))
            except FilterError as error:
                problems.append(Problem.of_error(record, error))
            texts[record.id] = record.when
        problems += map(Problem.of_reject, rows.rejects)
        if problems:
            raise BadSubscriptions(rows.name, problems, consequence)
        return lambda: WantedVersion(packed(texts, self._schema), self._clock(), len(texts))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def watch_wanted(
    store: Store,
    schema: Schema,
    refresh: float | None = None,
    *,
    accepted: Callable[[WantedVersion], None] | None = None,
    refused: Callable[[Refusal], None] | None = None,
    clock: Callable[[], dt.datetime] = _now,
) -> WantedVersions:
    """Read the subscriptions of a store, and look for new ones every `refresh` seconds (None: never).

    What is wrong with the first version is raised. Later ones are told to `accepted` or, once each, to `refused`, in
    the thread that watches. To be stopped, or used as a context.
    """
    versions = WantedVersions(store, schema, accepted=accepted, refused=refused, clock=clock)
    versions.begin(refresh)
    return versions
