"""One end of a link over a carrier that may lose, but not reorder: detects when the link is up and what was lost.

A session has two halves, a number of each end; either end begins a new one by taking a higher number. A link is up
when both know both numbers. Messages are counted, and heartbeats carry the count: whatever is lost
shows as a gap, and then the session is over and a new one begins. So between up and down nothing is lost.
"""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeAlias

from vedette.overlay.messages import Message
from vedette.overlay.wire import Frame


class LinkChange(enum.Enum):
    """A link came up, or went down."""

    UP = enum.auto()
    DOWN = enum.auto()


SessionEvent: TypeAlias = LinkChange | Message


class SessionEffects(NamedTuple):
    """The frames to send, and the changes, in this order."""

    frames: list[Frame]
    happened: list[SessionEvent]


class Session:
    """One end of a link. `first` is higher than any number of an earlier run of this end, e.g. from a clock."""

    def __init__(self, first: int, *, silence: float) -> None:
        self._mine = first
        self._theirs: int | None = None
        self._silence = silence  # so many seconds without a sign of life, and the link is down
        self._heard = 0.0
        self._sent = self._received = 0
        self.up = False

    def send(self, message: Message) -> Frame | None:
        """A message as a frame; None while the link is down."""
        if not self.up:
            return None
        self._sent += 1
        return Frame(self._mine, self._theirs, self._sent - 1, message)

    def receive(self, frame: Frame, now: float) -> SessionEffects:
        """Process a frame from the other end."""
        outcome = SessionEffects([], [])
        if self._theirs is not None and frame.sender < self._theirs:
            return outcome  # from an earlier life
        self._heard = now
        if frame.sender != self._theirs:
            self._end(outcome)
            self._theirs = frame.sender
            outcome.frames.append(self._sign_of_life())
        if frame.receiver != self._mine:
            return outcome  # it does not know this session yet
        if not self.up:
            self.up = True
            outcome.happened.append(LinkChange.UP)
            outcome.frames.append(self._sign_of_life())
        if frame.number != self._received:
            self._begin_anew(outcome)
        elif frame.message is not None:
            self._received += 1
            outcome.happened.append(frame.message)
        return outcome

    def tick(self, now: float) -> SessionEffects:
        """Time has passed: send a heartbeat, and check for the other end's."""
        outcome = SessionEffects([], [])
        if self.up and now - self._heard > self._silence:
            self._begin_anew(outcome)
        else:
            outcome.frames.append(self._sign_of_life())
        return outcome

    def lost(self) -> SessionEffects:
        """The carrier has failed."""
        outcome = SessionEffects([], [])
        self._begin_anew(outcome)
        return outcome

    def _sign_of_life(self) -> Frame:
        return Frame(self._mine, self._theirs, self._sent)

    def _begin_anew(self, outcome: SessionEffects) -> None:
        self._end(outcome)
        self._mine += 1
        self._theirs = None
        outcome.frames.append(self._sign_of_life())

    def _end(self, outcome: SessionEffects) -> None:
        if self.up:
            outcome.happened.append(LinkChange.DOWN)
        self.up = False
        self._sent = self._received = 0
