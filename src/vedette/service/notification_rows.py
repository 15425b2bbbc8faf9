"""Turns outcomes of an engine into rows of the notification table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from vedette.service import clock
from vedette.service.fault_isolation import FAULTS
from vedette.service.journal import JournalEntry
from vedette.service.notification import NotificationTemplate
from vedette.service.outbox import NewNotification
from vedette.service.stream_engine import Notice, Notices
from vedette.service.subscription_registry import Subscription


class NotificationRows:
    """Makes the rows of one batch. `whose` finds a subscription by its id, `written` has the events, by number."""

    def __init__(
        self, whose: Callable[[str], Subscription | None], written: Mapping[int, JournalEntry], moment: int
    ) -> None:
        self._whose, self._written, self._moment = whose, written, moment
        self._said = clock.iso(moment)
        self._seen: Counter[tuple[Any, ...]] = Counter()

    def all(self, told: Iterable[Notices]) -> list[NewNotification]:
        """The rows of those subscriptions that exist, in order."""
        return [row for each in told for row in self._of(each)]

    def _of(self, told: Notices) -> Iterator[NewNotification]:
        found = {place: one for place, id_ in told.subscriptions().items() if (one := self._whose(id_)) is not None}
        forms = {place: (one, NotificationTemplate(one, self._said)) for place, one in found.items()}
        written, moment, details = self._written, self._moment, told.details
        notices = iter(told) if details else None
        for row, (event, place) in enumerate(zip(told.event.tolist(), told.place.tolist(), strict=True)):
            notice = next(notices) if notices is not None else None
            if place not in forms:
                continue
            subscription, form = forms[place]
            body, trace = written.get(event, _NOWHERE)
            if notice is None or row not in details:
                kind, (id_, said) = "match", form.plain(event, body)
            else:
                kind, (id_, said) = notice.kind, form.full(notice, self._ordinal(notice), body)
            yield NewNotification(id_, subscription.number, subscription.tenant, event, kind, moment, trace, said)

    def _ordinal(self, one: Notice) -> int:
        """How many equal notifications came before this one."""
        alike = (one.subscription, one.event, one.kind, tuple(sorted((one.bindings or {}).items())), one.within)
        self._seen[alike] += 1
        return self._seen[alike] - 1


_NOWHERE: tuple[None, None] = None, None  # an event that is gone


class FailedNotification(NamedTuple):
    """A notification that cannot be made, and whether that fails without its event, too."""

    told: Notice
    error: BaseException
    without_event_too: bool


def one_by_one(
    told: Iterable[Notices],
    make: Callable[[Mapping[int, JournalEntry]], NotificationRows],
    written: Mapping[int, JournalEntry],
    run: Callable[[Callable[[], list[NewNotification]]], list[NewNotification]],
) -> tuple[list[NewNotification], list[FailedNotification]]:
    """The rows that can be made, and those that cannot; an error if none can, of several subscriptions."""
    rows: list[NewNotification] = []
    failed: list[FailedNotification] = []
    among = make(written)
    for one in (part.at(row) for part in told for row in range(len(part))):
        try:
            rows += run(partial(among.all, [one]))
        except FAULTS as error:
            failed.append(FailedNotification(next(iter(one)), error, _fails(partial(make({}).all, [one]), run)))
    several = len({one.told.subscription for one in failed}) > 1
    if several and not rows and all(one.without_event_too for one in failed):
        raise failed[0].error
    return rows, failed


def _fails(work: Callable[[], Any], run: Callable[[Callable[[], Any]], Any]) -> bool:
    try:
        run(work)
    except FAULTS:
        return True
    return False
