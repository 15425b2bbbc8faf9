"""The newest version of subscriptions that publications meet; new versions are read in the background.

    with watch_wanted(FileStore("wants.jsonl"), schema, refresh=10) as versions:
        offers.writeStream.foreachBatch(lambda batch, _: meet(batch, versions).write.save(…)).start().awaitTermination()

Every micro-batch asks for the newest version once, when it begins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vedette.errors import FilterError
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem, refusal
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows
from vedette.meeting.constraint_parser import Constraints
from vedette.meeting.constraint_table import AttributeSpace
from vedette.schema.schema import Schema
from vedette.spark.engine_versions import VersionListener, VersionRefusal, VersionWatcher
from vedette.spark.meeting.worker_meeting import PackedSubscriptions, packed
from vedette.spark.stores import SubscriptionStore


@dataclass(frozen=True, slots=True)
class SubscriptionsVersion:
    """A set of subscriptions, ready to be sent to workers."""

    wanted: PackedSubscriptions
    loaded_at: dt.datetime
    subscriptions: int

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits: the same for the same subscriptions."""
        return self.wanted.version


class SubscriptionsVersions(VersionWatcher[SubscriptionsVersion]):
    """The newest good version of the subscriptions of a store, each a constraint."""

    def _ready(
        self,
        rows: SubscriptionRows,
        records: Iterator[SubscriptionRecord],
        consequence: str,
        aside: list[SubscriptionProblem],
    ) -> Callable[[], SubscriptionsVersion]:
        constraints, space = Constraints(self._schema), AttributeSpace()
        texts: dict[str, str] = {}
        problems: list[SubscriptionProblem] = []
        for record in records:
            refused = refusal(record, dialects=False)
            try:
                if refused is not None:
                    problems.append(SubscriptionProblem.of_error(record, refused))
                    continue
                space.take(constraints.read(record.when))
            except FilterError as error:
                problems.append(SubscriptionProblem.of_error(record, error))
            else:
                texts[record.id] = record.when
        problems += map(SubscriptionProblem.of_reject, rows.rejects)
        if problems and (self._strict or not texts):
            raise BadSubscriptions(rows.name, problems, consequence)
        aside += problems
        return lambda: SubscriptionsVersion(packed(texts, self._schema), self._clock(), len(texts))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def watch_wanted(
    store: SubscriptionStore,
    schema: Schema,
    refresh: float | None = None,
    *,
    accepted: Callable[[SubscriptionsVersion], None] | None = None,
    refused: Callable[[VersionRefusal], None] | None = None,
    aside: Callable[[str], None] | None = None,
    strict: bool = False,
    clock: Callable[[], dt.datetime] = _now,
) -> SubscriptionsVersions:
    """Read the subscriptions of a store, and look for new ones every `refresh` seconds (None: never).

    Bad subscriptions are set aside, unless all are bad, and `aside` is called with them (without it, they are logged);
    where it is `strict`, they refuse a version. What refuses the first version is raised. For later ones `accepted` or,
    once each, `refused` is called, in the thread that watches. To be stopped, or used as a context.
    """
    told = VersionListener(accepted, refused, aside)
    versions = SubscriptionsVersions(store, schema, told=told, strict=strict, clock=clock)
    versions.begin(refresh)
    return versions
