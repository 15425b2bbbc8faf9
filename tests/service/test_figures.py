"""Notifications per event of the last hour."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.service.running import noticed
from vedette.service.match_rates import BUCKETS, WIDTH, Figures
from vedette.service.stream_engine import Notice, Notices
from vedette.service.subscription_registry import Subscription, SubscriptionChange

SOME = cast(Subscription, object())  # that there is one is all that counts here


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.moment = 1_000 * WIDTH

    def __call__(self) -> int:
        return self.moment


def told(*pairs: tuple[int, str]) -> list[Notices]:
    return [noticed(*(Notice(event, id_) for event, id_ in pairs))]


def test_notifications_per_event() -> None:
    figures = Figures(Clock())
    assert figures.recent("s", "a").rate is None
    figures.count("s", range(1, 11), told((1, "a"), (2, "a"), (2, "b")))
    figures.count("other", range(11, 21), told((11, "c")))
    assert figures.recent("s", "a")[:2] == (10, 2)
    assert figures.recent("s", "b").rate == pytest.approx(0.1)
    assert figures.recent("other", "c").rate == pytest.approx(0.1)
    assert figures.events() == {"s": 10, "other": 10}


def test_a_new_one_is_held_against_the_events_since_it_stands() -> None:
    figures = Figures(Clock())
    figures.count("s", range(1, 11), [])
    figures.changed(SubscriptionChange(13, "s", "a", SOME))
    assert figures.recent("s", "a")[:2] == (0, 0)  # though events of before it wait to be matched
    figures.count("s", [11, 12, 13, 14, 15], told((14, "a")))
    assert figures.recent("s", "a")[:2] == (2, 1)
    figures.count("s", [16], told((16, "a")))
    assert figures.recent("s", "a")[:2] == (3, 2)
    figures.changed(SubscriptionChange(16, "s", "a", SOME))  # which says something else now
    figures.count("s", [17], [])
    assert figures.recent("s", "a")[:2] == (1, 0)


def test_what_is_older_than_an_hour_is_forgotten() -> None:
    clock = Clock()
    figures = Figures(clock)
    figures.changed(SubscriptionChange(0, "s", "a", SOME))
    figures.count("s", [1, 2], told((1, "a")))
    clock.moment += 3 * WIDTH
    figures.count("s", [3], told((3, "a")))
    seen = figures.recent("s", "a")
    assert (seen.events, seen.told) == (3, 2)
    assert [place for place, count in enumerate(seen.told_by_bucket) if count] == [BUCKETS - 4, BUCKETS - 1]
    clock.moment += (BUCKETS - 2) * WIDTH
    assert figures.recent("s", "a")[:2] == (1, 1)
    figures.count("s", [4], [])
    clock.moment += 2 * WIDTH
    assert figures.recent("s", "a")[:2] == (1, 0)
    assert figures.events() == {"s": 1}


def test_who_comes_and_goes_on_a_quiet_stream_is_not_remembered() -> None:
    figures = Figures(Clock())
    for number in range(1_000):
        figures.changed(SubscriptionChange(0, "s", str(number), SOME))
        figures.changed(SubscriptionChange(0, "s", str(number), None))
    coming: Any = figures._coming["s"]
    assert not coming
