"""All tenants share the thread that matches: nobody's subscription and nobody's event may stop it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import published, settings_in, settled
from tests.waiting import until
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError
from vedette.filters.subscription_records import Predict
from vedette.operators.registry import Operators
from vedette.service.event_explanations import reasons
from vedette.service.service import Service
from vedette.service.stream_engine import EngineSubscription, JournalBatch, StreamEngine
from vedette.service.subscription_registry import SubscriptionRequest

WHEN = (
    "x = 1",
    "u like 'a%'",
    "u.v > 3",
    "x < y",
    "ip in cidr '10.0.0.0/8'",
    "t > timestamp '2020-01-01T00:00:00Z'",
    "mentions(u, 'a')",
    "a:[x = 1] ; b:[x = 2] by u within 10 min",
    "a:[x = 1] ; b:[x > a.x] within 5 min",
    "a:[u = 'q'] ; b:[y = a.y] by x, u within 1 h",
    "a:[mentions(u, 'a')] ; b:[x = 2] by t",
)
VALUES: tuple[Any, ...] = (
    *(1, 2, "1", "a", "q", None, True, 1.5, 1e300, 10**30, "", "\0", "🦊", "10.0.0.1"),
    *([], [1, 2], ["a"], [1, "a"], [[1]], [{"v": 1}], {}, {"v": 1}, {"v": "a"}, {"lat": 1, "lon": 2}),
    *("2026-01-01T00:00:00Z", "9999-99-99"),
)
NOW = 1_780_000_000_000_000


def happened(events: list[dict[str, Any]], first: int = 0, step: int = 1_000_000) -> JournalBatch:
    numbers = range(first, first + len(events))
    return JournalBatch(
        numbers, [f"e{number}" for number in numbers], events, [NOW + step * number for number in numbers]
    )


@pytest.mark.parametrize("seed", range(3))
def test_no_event_stops_the_engine(seed: int) -> None:
    choose = random.Random(seed)
    operators, schema = Operators.installed(), Subscriptions().schema
    for _ in range(12):
        with StreamEngine(schema, operators=operators) as engine:
            for number, when in enumerate(choose.sample(WHEN, 4)):
                engine.take([EngineSubscription(f"s{number}", when)])
            engine.take([EngineSubscription("p", "a:[x = 1] ; b:[x = 2] by u within 1 h", Predict(within=5))])
            for first in itertools.accumulate([0, 5, 5]):
                names = ("x", "y", "u", "t", "ip", "time")
                some = [{name: choose.choice(VALUES) for name in names if choose.random() < 0.7} for _ in range(5)]
                engine.match(happened(some, first), [])


@pytest.mark.parametrize("when", WHEN)
def test_no_event_stops_a_dry_run(when: str) -> None:
    choose = random.Random(when)
    operators, schema = Operators.installed(), Subscriptions().schema
    names = ("x", "y", "u", "t", "ip", "time")
    some = [{name: choose.choice(VALUES) for name in names if choose.random() < 0.7} for _ in range(25)]
    found = reasons(when, some, [str(place) for place in range(len(some))], schema, operators)
    assert len(found) == len(some)
    assert all(found)


@pytest.mark.parametrize("when", ["nobody(x)", "x = 1 and mentions(x)", "a:[x = 1] ; b:[nobody(x)]"])
def test_calls_of_operators_that_make_no_sense_are_refused(tmp_path: Path, when: str) -> None:
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        with pytest.raises(FilterError) as refused:
            service.registry.subscribe(tenant, SubscriptionRequest(when))
        assert refused.value.text == when
        assert when[refused.value.start :].startswith(("nobody(x)", "mentions(x)"))
        published(service, {"x": 1})


def test_a_subscription_whose_operator_is_gone_does_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text("import vedette as vd\n\n@vd.operator\ndef odd(event, x: int) -> bool:\n    return x % 2 == 1\n")
    with Service(settings_in(tmp_path, operators=str(file))) as service:
        tenant = service.tenants.add("acme")
        for when in ("odd(x)", "a:[odd(x)] ; b:[x = 2]", "x = 1"):
            plain = service.registry.subscribe(tenant, SubscriptionRequest(when)).subscription
        published(service, {"x": 1})
        assert service.outbox.counts(plain.number).due == 1
    with Service(settings_in(tmp_path)) as service:
        settled(service)
        published(service, {"x": 1})
        until(lambda: service.outbox.counts(plain.number).due == 2)


def test_an_event_without_a_time_happened_when_it_was_accepted() -> None:
    when = "a:[x = 1] ; b:[x = 2] within 10 min"
    for step, matches in ((60_000_000, 1), (3_600_000_000, 0)):
        with StreamEngine(Subscriptions().schema) as engine:
            engine.take([EngineSubscription("s", when)])
            assert len(engine.match(happened([{"x": 1}, {"x": 2}], step=step))) == matches


def test_events_that_disagree_about_an_attribute_do_not_decide_for_others() -> None:
    pattern = "a:[x = 1] ; b:[x = 2] by u"
    strange: list[dict[str, Any]] = [
        {"x": 1, "u": ["list"]},
        {"x": 1, "u": "text"},
        {"x": 1, "u": True},
        {"x": 2, "u": {"an": "object"}},
    ]
    whole: list[dict[str, Any]] = [
        {"x": 1, "u": 7},
        *strange,
        {"x": 2, "u": 7},
        {"x": 2, "u": "text"},
        {"x": 2, "u": ["list"]},
    ]
    with StreamEngine(Subscriptions().schema) as one, StreamEngine(Subscriptions().schema) as each:
        one.take([EngineSubscription("s", pattern)])
        each.take([EngineSubscription("s", pattern)])
        at_once = list(one.match(happened(whole)))
        one_by_one = [told for number, event in enumerate(whole) for told in each.match(happened([event], number))]
    assert at_once == one_by_one
    assert [told.event for told in at_once] == [5, 6]
