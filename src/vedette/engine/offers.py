"""The open offers of a stream, and the subscriptions of its set to offers (wants).

An offer is a publication that is itself a constraint. It is kept until it expires or is withdrawn, and meets a
want whichever of the two came later. The time comes from the stream alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from vedette.engine.outcomes import MEETING, OutcomeRows
from vedette.errors import UnknownSubscription
from vedette.filters.subscription_records import WantRecord
from vedette.meeting.direction import Direction
from vedette.meeting.given import RejectedConstraint
from vedette.meeting.live_meeting import Meeting

if TYPE_CHECKING:
    from vedette.schema.schema import Schema

# Offers are numbered from here on: their outcomes come before those of a batch's events, and numbers cannot clash.
FIRST: Final = -(1 << 62)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class StreamOffer:
    """A publication that is a constraint; if it has no time to expire, it is kept until it is withdrawn."""

    id: str
    when: str
    expires: dt.datetime | str | None = None


RejectedOffers: TypeAlias = list[RejectedConstraint]


class OfferBook:
    """The open offers and the wants. Only its owner may change it; `copy` makes another."""

    def __init__(self, schema: Schema, direction: Direction = "publication") -> None:
        self._moment = _EPOCH
        self._meeting = Meeting(schema, direction=direction, clock=lambda: self._moment)
        self._given: Mapping[str, WantRecord] = {}
        self._wants: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._arrivals = 0
        self._owed: dict[str, list[str]] = {}  # offers that new wants have met: outcomes of the next batch
        self._refused: RejectedOffers = []  # wants that are invalid beside open offers: reported with the next batch

    def __len__(self) -> int:
        return len(self._meeting.publications)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._meeting.publications

    # ------------------------------------------------------------ changes

    def follow(self, wants: Mapping[str, WantRecord]) -> None:
        """Replace the wants; new ones meet the open offers."""
        if wants is self._given:
            return
        before, side = self._wants, self._meeting.subscriptions
        now = {id_: one.text for id_, one in wants.items()}
        for id_, text in before.items():
            if now.get(id_) != text:
                self._owed.pop(id_, None)
                if id_ in side:
                    side.remove(id_)
        new = [{"id": id_, "when": text} for id_, text in now.items() if before.get(id_) != text]
        for offer, want in _pairs(side.add_many(new, rejects=self._refused)):
            self._owed.setdefault(want, []).append(offer)
        self._given, self._wants = wants, now

    def happen(
        self, offers: Sequence[StreamOffer], withdrawn: Iterable[str], now: int | None, refused: RejectedOffers | None
    ) -> dict[str, list[str]]:
        """Set the time, withdraw offers and add others; return want -> the offers that it met, in their order.

        An invalid offer is an error, and none is added; with `refused` it is put there, and the others are added.
        """
        side = self._meeting.publications
        if now is not None:
            self._moment = max(self._moment, _EPOCH + now * _MICROSECOND)
        self._forget(side.expire())
        self._withdraw(list(dict.fromkeys(withdrawn)), refused)
        given = [{"id": one.id, "when": one.when, "expires": one.expires} for one in offers]
        met = side.add_many(given, rejects=refused)
        if refused is not None:
            refused += self._refused
            self._refused = []
        for one in offers:
            if one.id in side and one.id not in self._numbers:
                self._numbers[one.id] = FIRST + self._arrivals
                self._arrivals += 1
        found, self._owed = self._owed, {}
        for offer, want in _pairs(met):
            found.setdefault(want, []).append(offer)
        return found

    def _withdraw(self, gone: Sequence[str], refused: RejectedOffers | None) -> None:
        side = self._meeting.publications
        for row, id_ in enumerate(gone):
            if id_ in side:
                side.remove(id_)
                continue
            reason = f"there is no publication {id_!r}\nHint: it may have expired, or have been withdrawn already"
            if refused is None:
                raise UnknownSubscription(reason)
            refused.append(RejectedConstraint("publication", row, id_, reason))
        self._forget(gone)

    def _forget(self, gone: Iterable[str]) -> None:
        for id_ in gone:
            self._numbers.pop(id_, None)
            for waiting in self._owed.values():
                if id_ in waiting:
                    waiting.remove(id_)

    def met(self, when: str) -> list[str]:
        """The ids of the wants that would meet an offer, if it came now."""
        return self._meeting.publications.meets(when)

    # ------------------------------------------------------------ outcomes

    def rows(
        self, found: Mapping[str, Sequence[str]], places: Mapping[str, int]
    ) -> tuple[list[OutcomeRows], dict[int, str]]:
        """The rows of outcomes (offer, want), and the ids of these offers, by number."""
        pairs = sorted((self._numbers[offer], places[want], offer) for want, each in found.items() for offer in each)
        if not pairs:
            return [], {}
        numbers, at, _ = (np.array(column) for column in zip(*pairs, strict=True))
        return [OutcomeRows(numbers.astype(np.int64), at.astype(np.int64), MEETING)], {one[0]: one[2] for one in pairs}

    # ------------------------------------------------------------ saving

    def copy(self) -> OfferBook:
        """An independent copy; it takes as long as adding everything again."""
        return OfferBook.restored(self.plain(), self._meeting.schema)

    def plain(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        side = self._meeting.publications
        return {
            "direction": self._meeting.direction,
            "now": (self._moment - _EPOCH) // _MICROSECOND,
            "offers": [[id_, side.text(id_), _text(side.expires(id_)), self._numbers[id_] - FIRST] for id_ in side],
            "arrivals": self._arrivals,
            "wants": list(self._wants.items()),
            "owed": self._owed,
        }

    @classmethod
    def restored(cls, known: Mapping[str, Any], schema: Schema) -> OfferBook:
        """Restore what `plain` returned, under a schema that may refuse parts of it."""
        made = cls(schema, known["direction"])
        made._moment = _EPOCH + known["now"] * _MICROSECOND
        wants = {id_: WantRecord(id_, text) for id_, text in known["wants"]}
        made.follow(wants)
        side = made._meeting.publications
        given = [{"id": id_, "when": text, "expires": expires} for id_, text, expires, _ in known["offers"]]
        side.add_many(given, rejects=made._refused)
        made._numbers = {id_: FIRST + number for id_, _, _, number in known["offers"] if id_ in side}
        made._arrivals = known["arrivals"]
        made._owed = {want: list(offers) for want, offers in known["owed"].items()}
        return made


def _pairs(met: pa.Table) -> Iterable[tuple[str, str]]:
    """Pairs of publication and subscription."""
    return zip(met["publication"].to_pylist(), met["subscription"].to_pylist(), strict=True)


def _text(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
