"""What all lanes of a service share: database, clock, limits, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vedette.operators.registry import Operators
from vedette.service import clock
from vedette.service.deadlines import Watchdog
from vedette.service.faults import FaultLog
from vedette.service.journal import Journal
from vedette.service.outbox import Outbox
from vedette.service.quarantine import Quarantine
from vedette.service.rejected_events import RejectedEvents
from vedette.service.rights import Rights
from vedette.service.settings import LimitSettings
from vedette.service.storage.store import Store
from vedette.service.stream_engine import JournalBatch, Notices
from vedette.service.tenants import ServiceStream

BatchListener = Callable[[ServiceStream, JournalBatch, Sequence[Notices]], None]


@dataclass(slots=True)
class LaneContext:
    """The services that lanes use, and the counts that they keep."""

    store: Store
    journal: Journal
    outbox: Outbox
    rights: Rights
    quarantine: Quarantine
    set_aside: RejectedEvents
    operators: Operators | None
    now: clock.Clock
    limits: LimitSettings
    watchdog: Watchdog = field(default_factory=Watchdog)
    matched: Counter[str] = field(default_factory=Counter)  # events, by stream
    complaints: FaultLog = field(default_factory=FaultLog)  # of these, events that could not be matched
    failures: Counter[str] = field(default_factory=Counter)  # of matching, by the stage that failed
    ending: bool = False
