"""Is a link up, and has everything arrived? One end of a link, over a carrier that may lose, but not reorder.

A session has two halves, a number of each end; either end begins a new one by taking a higher number. A link is up
when both know both numbers. Messages are counted, and signs of life say how many there have been: whatever is lost
shows as a gap, and then the session is over and a new one begins. So between up and down nothing is lost.
"""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeAlias

from vedette.overlay.messages import Message
from vedette.overlay.wire import Frame


class Change(enum.Enum):
    """The link has come up, or gone down."""

    UP = enum.auto()
    DOWN = enum.auto()


Happened: TypeAlias = Change | Message


class Outcome(NamedTuple):
    """What to send now, and what has happened, in this order."""

    frames: list[Frame]
    happened: list[Happened]


class Session:
    """One end of a link. `first` is higher than any number of an earlier life of this end, e.g. of a clock."""

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

    def receive(self, frame: Frame, now: float) -> Outcome:
        """Something has come from the other end."""
        outcome = Outcome([], [])
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
            outcome.happened.append(Change.UP)
            outcome.frames.append(self._sign_of_life())
        if frame.number != self._received:
            self._begin_anew(outcome)
        elif frame.message is not None:
            self._received += 1
            outcome.happened.append(frame.message)
        return outcome

    def tick(self, now: float) -> Outcome:
        """Time has passed: a sign of life, and perhaps there was none from the other end for too long."""
        outcome = Outcome([], [])
        if self.up and now - self._heard > self._silence:
            self._begin_anew(outcome)
        else:
            outcome.frames.append(self._sign_of_life())
        return outcome

    def lost(self) -> Outcome:
        """The carrier has failed."""
        outcome = Outcome([], [])
        self._begin_anew(outcome)
        return outcome

    def _sign_of_life(self) -> Frame:
        return Frame(self._mine, self._theirs, self._sent)

    def _begin_anew(self, outcome: Outcome) -> None:
        self._end(outcome)
        self._mine += 1
        self._theirs = None
        outcome.frames.append(self._sign_of_life())

    def _end(self, outcome: Outcome) -> None:
        if self.up:
            outcome.happened.append(Change.DOWN)
        self.up = False
        self._sent = self._received = 0
