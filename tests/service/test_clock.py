"""The wall clock is turned, the machine sleeps, threads are held up: time goes on, and nothing runs out for it."""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.running import published, settings_in
from vedette.service import clock
from vedette.service.clock import JUMP, SECOND, SLEW, Steady
from vedette.service.service import Service
from vedette.service.subscription_registry import SubscriptionRequest

HOUR = 3600 * SECOND


class Clocks:
    """A wall clock that can be turned, and what has elapsed."""

    def __init__(self) -> None:
        self.wall, self.elapsed = 1_800_000_000 * SECOND, 5 * SECOND
        self.steady = Steady(lambda: self.wall, lambda: self.elapsed)

    def goes(self, by: int) -> int:
        """Time goes by; what it is then."""
        self.wall += by
        self.elapsed += by
        return self.steady()

    def turned(self, by: int) -> int:
        """Somebody sets the wall clock; what time it is then."""
        self.wall += by
        return self.steady()


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_it_is_the_wall_clock_as_long_as_nobody_turns_it(clocks: Clocks) -> None:
    for _ in range(5):
        assert clocks.goes(HOUR) == clocks.wall
    assert (clocks.steady.jumps, clocks.steady.ahead) == (0, 0)


@pytest.mark.parametrize("by", [2 * HOUR, -2 * HOUR, 400 * 24 * HOUR])
def test_a_jump_is_noticed_and_not_followed(clocks: Clocks, caplog: pytest.LogCaptureFixture, by: int) -> None:
    before = clocks.goes(0)
    with caplog.at_level(logging.WARNING):
        assert clocks.turned(by) == before
    assert (clocks.steady.jumps, clocks.steady.ahead) == (1, by)
    assert ["jumped" in one.getMessage() for one in caplog.records] == [True]
    drift = HOUR // SLEW
    assert clocks.goes(HOUR) == before + HOUR + (drift if by > 0 else -drift)
    assert clocks.steady.jumps == 1  # it is the same jump


def test_a_clock_that_is_set_back_right_is_followed_again(clocks: Clocks) -> None:
    clocks.turned(2 * HOUR)
    clocks.turned(-2 * HOUR)
    assert clocks.goes(HOUR) == clocks.wall
    assert clocks.steady.jumps == 2


def test_in_the_end_it_is_the_wall_clock(clocks: Clocks) -> None:
    clocks.turned(2 * HOUR)
    for _ in range(2 * SLEW):
        clocks.goes(HOUR)
    assert clocks.steady.ahead < JUMP
    assert clocks.goes(HOUR) == clocks.wall


def test_small_corrections_are_followed_and_time_does_not_go_back(clocks: Clocks) -> None:
    before = clocks.goes(HOUR)
    assert clocks.turned(3 * SECOND) == before + 3 * SECOND
    assert clocks.turned(-4 * SECOND) == before + 3 * SECOND
    assert clocks.goes(2 * SECOND) == before + 3 * SECOND  # it waits for the wall clock
    assert clocks.goes(5 * SECOND) == clocks.wall
    assert clocks.steady.jumps == 0


def test_a_thread_that_is_held_up_between_two_clocks_sees_no_jump() -> None:
    held = iter([0, 0, 0, 3 * HOUR, 3 * HOUR, 3 * HOUR])  # at the beginning; then stopped for three hours in between
    walls = iter([0, 3 * HOUR, 3 * HOUR])
    steady = Steady(lambda: next(walls), lambda: next(held))
    assert steady() == 3 * HOUR
    assert steady.jumps == 0


@given(st.lists(st.tuples(st.integers(0, HOUR), st.integers(-5 * HOUR, 5 * HOUR) | st.just(0)), max_size=50))
def test_it_goes_on_by_what_elapses(steps: list[tuple[int, int]]) -> None:
    clocks = Clocks()
    times = [clocks.steady()]
    for by, turned in steps:
        clocks.wall += turned
        times.append(clocks.goes(by))
    for (before, after), (by, _) in zip(pairwise(times), steps, strict=True):
        assert after >= before
        assert by - by // SLEW - JUMP <= after - before <= by + by // SLEW + JUMP


def test_what_people_have_stays_when_the_clock_jumps(tmp_path: Path) -> None:
    clocks = Clocks()
    settings = settings_in(tmp_path, store={"keep_events": 1800.0, "keep_notifications": 1800.0})
    with Service(settings, now=clocks.steady) as service:
        tenant = service.tenants.add("acme")
        mine = service.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=3600)).subscription
        service.market.offer(tenant, "default", "x = 1", validity=3600)
        published(service, {"x": 1}, {"x": 2})
        service.store.write(lambda c: service.outbox.delivered(c, mine.number, 1 << 40))
        clocks.turned(24 * HOUR)
        assert (service.registry.expire(), service.market.expire(), service.tidy()) == (0, 0, 0)
        clocks.goes(HOUR * (SLEW - 2) // SLEW)
        assert (service.registry.expire(), service.market.expire()) == (0, 0)
        clocks.goes(HOUR * 2 // SLEW)
        assert (service.registry.expire(), service.market.expire()) == (1, 1)
        assert service.tidy() > 0


def test_a_service_goes_by_it_unless_it_is_given_another(tmp_path: Path) -> None:
    service = Service(settings_in(tmp_path))
    assert isinstance(service.now, Steady)
    assert abs(service.now() - clock.now()) < JUMP
