"""Progress of a lane in the database: up to which event it has written notifications, and the state of its patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.patterns.packing import is_packed, is_whole
from vedette.service.errors import StoreDamaged
from vedette.service.storage.store import RESTORE, Store
from vedette.service.storage.tables import lanes, progress
from vedette.service.subscription_registry import Subscription

_BEFORE: Final = ""  # stands for all lanes of a stream: older versions had one alone


def _move(*, other: bool, state: bool) -> sa.Update:
    """The statement that moves the position of a lane, the plain or any other, with or without its state."""
    table = lanes if other else progress
    mine = table.c.stream == sa.bindparam("of")
    at = sa.bindparam("at", type_=sa.BigInteger())
    moved = sa.update(table).where(sa.and_(mine, table.c.lane == sa.bindparam("lane_of")) if other else mine)
    moved = moved.values(event=sa.case((table.c.event > at, table.c.event), else_=at))
    return moved.values(state=sa.bindparam("new_state"), state_event=at) if state else moved


# Made once: to make one takes longer than to execute it.
_MOVES: Final = {(other, state): _move(other=other, state=state) for other in (False, True) for state in (False, True)}


class LanePosition(NamedTuple):
    """Notifications are written up to `event`; `state` is that of patterns after `state_event`."""

    event: int
    state_event: int
    state: bytes | None


class LaneCursor:
    """The row of one lane: of the plain lane in `progress`, of any other in `lanes`."""

    def __init__(self, stream: str, lane: str) -> None:
        self._stream, self._lane = stream, lane
        self._begun = 0  # where a lane begins that has no row yet

    def begin(self, event: int) -> None:
        """Set where a new lane begins: after this event."""
        self._begun = event

    def opened(self, store: Store, there: Sequence[Subscription]) -> LanePosition:
        """The stored position; without one, the position before the first event of its subscriptions."""
        found = self.position(store)
        if found is not None:
            return found
        self._begun = min((one.since for one in there), default=0)
        before = LaneCursor(self._stream, _BEFORE)._find(store, lanes)
        if before is not None and self._begun < before.event:
            return before
        return LanePosition(self._begun, self._begun, None)

    def position(self, store: Store) -> LanePosition | None:
        """The stored position; None if nothing was written yet."""
        return self._find(store, lanes if self._lane else progress)

    def state(self, store: Store) -> tuple[int, bytes | None]:
        """The last written state of patterns, and the event that it follows."""
        found = self.position(store)
        return (self._begun, None) if found is None else (found.state_event, found.state)

    def _find(self, store: Store, table: sa.Table) -> LanePosition | None:
        wanted = sa.select(table.c.event, table.c.state_event, table.c.state).where(self._mine(table))
        row = store.read(lambda connection: connection.execute(wanted).first())
        if row is None:
            return None
        if not isinstance(row.event, int) or not isinstance(row.state_event, int):  # a page that is another table's
            raise StoreDamaged(f"the database is damaged: how far {self._stream} was read is no number\n{RESTORE}")
        return LanePosition(row.event, row.state_event, self._whole(store, row))

    def _whole(self, store: Store, row: Any) -> bytes | None:
        """The state of patterns; None if it is damaged: patterns begin anew after that event."""
        state: Any = row.state
        if state is None or (isinstance(state, bytes) and is_packed(state) and is_whole(state)):
            return state
        reason = f"its checksum does not fit: patterns of {self._stream} begin anew after event {row.state_event}"
        store.damages.tell("progress", self._stream, reason)
        return None

    def _mine(self, table: sa.Table) -> sa.ColumnElement[bool]:
        mine: sa.ColumnElement[bool] = table.c.stream == self._stream
        return mine if table is progress else sa.and_(mine, table.c.lane == self._lane)

    def event(self, connection: Connection) -> int:
        """Within a transaction: the event up to which notifications are written."""
        table = lanes if self._lane else progress
        found = connection.execute(sa.select(table.c.event).where(self._mine(table))).scalar()
        return self._begun if found is None else int(found)

    def move(self, connection: Connection, event: int, state: tuple[bytes | None] | None) -> None:
        """Within a transaction: set the position to this event, and the state of patterns if one is given."""
        mine = {"of": self._stream, "at": event} | ({"lane_of": self._lane} if self._lane else {})
        more = {} if state is None else {"new_state": state[0]}
        moved = connection.execute(_MOVES[bool(self._lane), state is not None], mine | more).rowcount
        if not moved and self._lane:
            first = {"stream": self._stream, "lane": self._lane, "event": event}
            values = (
                {"state": None, "state_event": self._begun}
                if state is None
                else {"state": state[0], "state_event": event}
            )
            connection.execute(sa.insert(lanes).values(**first, **values))
