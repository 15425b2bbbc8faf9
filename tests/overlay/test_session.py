"""Two ends of a link over a carrier that loses what it likes: between up and down everything arrives, in order."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from vedette.overlay.link_session import LinkChange, Session, SessionEffects
from vedette.overlay.messages import CancelMessage, Message, SubscriptionKey

SILENCE = 5.0


class Pair:
    """Two ends, what is under way between them, and what each was told of the link."""

    def __init__(self) -> None:
        self.ends = [Session(100, silence=SILENCE), Session(200, silence=SILENCE)]
        self.under_way: list[deque[object]] = [deque(), deque()]  # from either end
        self.happened: list[list[object]] = [[], []]
        self.sent: list[list[list[Message]]] = [[[]], [[]]]  # by either end, in each of its sessions
        self.now = 0.0
        self.count = 0

    def follow(self, end: int, outcome: SessionEffects) -> None:
        self.under_way[end].extend(outcome.frames)
        for each in outcome.happened:
            self.happened[end].append(each)
            if each is LinkChange.UP:
                self.sent[end].append([])

    def send(self, end: int) -> None:
        self.count += 1
        message = CancelMessage(SubscriptionKey("a", "s", self.count))
        frame = self.ends[end].send(message)
        if frame is not None:
            self.under_way[end].append(frame)
            self.sent[end][-1].append(message)

    def deliver(self, end: int) -> None:
        if self.under_way[end]:
            self.follow(1 - end, self.ends[1 - end].receive(self.under_way[end].popleft(), self.now))  # type: ignore[arg-type]

    def lose(self, end: int) -> None:
        if self.under_way[end]:
            self.under_way[end].popleft()

    def tick(self, end: int) -> None:
        self.now += 1
        self.follow(end, self.ends[end].tick(self.now))

    def fail(self, end: int) -> None:
        self.follow(end, self.ends[end].lost())

    def restart(self, end: int) -> None:
        """A new life; it begins with nothing, and what it had said before may still arrive."""
        self.now += 1
        self.ends[end] = Session(int(1000 * (self.now + 1)), silence=SILENCE)
        if self.happened[end] and self.received(end)[0]:
            self.happened[end].append(LinkChange.DOWN)

    def received(self, end: int) -> tuple[bool, list[list[object]]]:
        """Whether the link is up, and the messages of each session; up and down must take turns."""
        up = False
        sessions: list[list[object]] = []
        for each in self.happened[end]:
            if isinstance(each, LinkChange):
                assert up is (each is LinkChange.DOWN)
                up = each is LinkChange.UP
                sessions += [[]] if up else []
            else:
                assert up
                sessions[-1].append(each)
        return up, sessions

    def settle(self) -> None:
        for _ in range(8):
            for end in (0, 1):
                self.follow(end, self.ends[end].tick(self.now))
            while any(self.under_way):
                self.deliver(0)
                self.deliver(1)


actions = st.tuples(
    st.sampled_from(["send", "send", "send", "deliver", "deliver", "deliver", "tick", "lose", "fail", "restart"]),
    st.integers(0, 1),
)


@given(happens=st.lists(actions, max_size=60))
def test_nothing_is_lost_between_up_and_down(happens: list[tuple[str, int]]) -> None:
    pair = Pair()
    for action, end in happens:
        getattr(pair, action)(end)
    for end in (0, 1):
        _, sessions = pair.received(end)
        for got in sessions:  # each is the beginning of what the other end sent in one of its sessions
            assert any(sent[: len(got)] == got for sent in pair.sent[1 - end])


@given(happens=st.lists(actions, max_size=60))
def test_a_link_comes_up_again_and_then_everything_arrives(happens: list[tuple[str, int]]) -> None:
    pair = Pair()
    for action, end in happens:
        getattr(pair, action)(end)
    pair.settle()
    assert pair.ends[0].up
    assert pair.ends[1].up
    for end in (0, 1):
        pair.send(end)
        pair.send(end)
    pair.settle()
    for end in (0, 1):
        up, sessions = pair.received(end)
        assert up
        assert sessions[-1] == pair.sent[1 - end][-1]


def test_a_loss_at_the_end_is_noticed_by_the_next_sign_of_life() -> None:
    pair = Pair()
    pair.settle()
    pair.send(0)
    pair.lose(0)
    pair.tick(0)
    pair.deliver(0)
    assert pair.happened[1][-1] is LinkChange.DOWN


def test_silence_is_an_end() -> None:
    pair = Pair()
    pair.settle()
    pair.now += SILENCE + 1
    pair.follow(0, pair.ends[0].tick(pair.now))
    assert pair.happened[0] == [LinkChange.UP, LinkChange.DOWN]
    assert pair.ends[0].send(CancelMessage(SubscriptionKey("a", "s", 1))) is None
