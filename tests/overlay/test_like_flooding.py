"""Whatever the network and the order of deliveries: every subscriber hears just what flooding would tell it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.grid_cover import EVENTS, SIDE, GridCover
from tests.overlay.world import World
from tests.seeds import some
from vedette.overlay.forwarding import Cover, ExactCover, NoCover
from vedette.schema.schema import Schema

NAMES = "abcdefg"


@st.composite
def graphs(draw: st.DrawFn, *, more: int) -> list[tuple[str, str]]:
    """The links of a tree, and up to so many more."""
    size = draw(st.integers(2, len(NAMES)))
    names = draw(st.permutations(NAMES[:size]))
    links = {(names[draw(st.integers(0, end - 1))], names[end]) for end in range(1, size)}
    pairs = [(one, other) for one in NAMES[:size] for other in NAMES[:size] if one < other]
    for one, other in draw(st.lists(st.sampled_from(pairs), max_size=more)):
        if (other, one) not in links:
            links.add((one, other))
    return sorted(links)


@st.composite
def filters(draw: st.DrawFn) -> str:
    """Boxes, and now and then something else."""
    parts = []
    for name in "xy":
        low, high = sorted(draw(st.tuples(st.integers(0, SIDE), st.integers(0, SIDE))))
        parts.append(draw(st.sampled_from([f"{name} >= {low} and {name} <= {high}", f"{name} >= {low}", ""])))
    text = " and ".join(part for part in parts if part)
    return text or draw(st.sampled_from(["x is null", "x = 1 or y = 2", "x != 3"]))


def actions(names: list[str], *, breaking: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    brokers, choices = st.sampled_from(names), st.integers(0, 99)
    subscribes = st.tuples(st.just("subscribe"), brokers, filters())
    publishes = st.tuples(st.just("publish"), brokers, st.integers(0, len(EVENTS) - 1))
    common = [
        subscribes,
        subscribes,
        publishes,
        publishes,
        st.tuples(st.just("cancel"), choices),
        st.tuples(st.just("replace"), choices, filters()),
        st.tuples(st.just("deliver"), st.integers(1, 20)),
        st.just(("settle",)),
    ]
    broken = [st.tuples(st.sampled_from(["cut", "mend", "restart"]), choices)]
    return st.one_of(*common, *(broken if breaking else []))


@st.composite
def lives(draw: st.DrawFn, *, more: int, breaking: bool) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]], int]:
    """A graph, what happens in it, and a seed for the order of deliveries."""
    links = draw(graphs(more=more))
    names = sorted({name for link in links for name in link})
    happens = draw(st.lists(actions(names, breaking=breaking), max_size=40))
    return links, happens, draw(st.integers(0, 2**32))


def run(life: tuple[list[tuple[str, str]], list[tuple[Any, ...]], int], cover: Callable[[Schema], Cover]) -> World:
    """All of it; then every event once from every broker, in a quiet network."""
    links, happens, seed = life
    world = World(links, cover, seed)
    for action in happens:
        world.do(action)
    world.settle()
    world.settle()
    for broker in world.names:
        for number in range(0, len(EVENTS), 5):
            world.publish(broker, number)
    world.settle()
    return world


def eventful(seed: int, *, more: int, breaking: bool) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]], int]:
    """A long life in which much overlaps: many boxes, few pauses."""
    draw = random.Random(seed)
    names = draw.sample(NAMES, len(NAMES))
    ends = [(draw.choice(names[:end]), names[end]) for end in range(1, len(names))]
    ends += [(one, other) for one, other in (draw.sample(names, 2) for _ in range(more))]
    links = {(min(pair), max(pair)) for pair in ends}
    happens: list[tuple[Any, ...]] = []
    while len(happens) < 120:
        low = draw.randrange(SIDE)
        box = f"{draw.choice('xy')} >= {low} and {draw.choice('xy')} <= {draw.randint(low, SIDE)}"
        kinds = [
            ("subscribe", draw.choice(names), box),
            ("cancel", draw.randrange(99)),
            ("publish", draw.choice(names), draw.randrange(len(EVENTS))),
            ("deliver", draw.randint(1, 6)),
            ("replace", draw.randrange(99), box),
            ("settle",),
            (draw.choice(["cut", "mend", "mend", "restart"]), draw.randrange(99)),
        ]
        happens += draw.choices(kinds, [30, 18, 30, 30, 4, 6, 5 if breaking else 0])
    return sorted(links), happens, seed


COVERS = pytest.mark.parametrize("cover", [NoCover, GridCover, ExactCover], ids=["flooding", "grid", "exact"])


@COVERS
@given(life=lives(more=0, breaking=False))
def test_trees(cover: Callable[[Schema], Cover], life: Any) -> None:
    run(life, cover)


@COVERS
@given(life=lives(more=6, breaking=False))
def test_general_graphs(cover: Callable[[Schema], Cover], life: Any) -> None:
    run(life, cover)


@COVERS
@pytest.mark.parametrize("seed", some(12))
def test_long_lives(cover: Callable[[Schema], Cover], seed: int) -> None:
    run(eventful(seed, more=seed % 6, breaking=False), cover)


@COVERS
@pytest.mark.parametrize("seed", some(20))
def test_long_lives_in_which_links_break_and_brokers_are_restarted(cover: Callable[[Schema], Cover], seed: int) -> None:
    broken_and_mended(run(eventful(seed, more=seed % 5, breaking=True), cover))


@COVERS
@given(life=lives(more=4, breaking=True))
def test_links_that_break_and_brokers_that_are_restarted(cover: Callable[[Schema], Cover], life: Any) -> None:
    broken_and_mended(run(life, cover))


def broken_and_mended(world: World) -> None:
    """When all links are up again everything is as if none had been down."""
    for number in range(len(world.links)):
        world.mend(number)
    world.settle()
    for broker in world.names:
        for number in range(0, len(EVENTS), 5):
            world.publish(broker, number)
    world.settle()
    nobody_wants_what_is_gone(world)


def nobody_wants_what_is_gone(world: World) -> None:
    """In a quiet network brokers know of no subscription that was cancelled, and links agree at both ends."""
    network = world.network
    for one, other in [*world.links, *((other, one) for one, other in world.links)]:
        received = network.broker(one).received(other)
        assert received == network.broker(other).forwarded(one)
        assert {(key.origin, key.id): text for key, text in received.items()}.items() <= world.alive.items()


@given(life=lives(more=6, breaking=False))
def test_covering_never_sends_more_than_flooding(life: Any) -> None:
    flooded, covered = (run(life, cover).network for cover in (NoCover, ExactCover))
    assert covered.sent("subscribe") <= flooded.sent("subscribe")
    assert covered.sent("cancel") <= flooded.sent("cancel")


def test_covering_sends_less_where_filters_overlap() -> None:
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    happens = [("subscribe", name, f"x >= {low}") for low in range(SIDE) for name in "abcd"]
    flooded, covered = (run((links, happens, 1), cover).network for cover in (NoCover, ExactCover))
    assert flooded.sent("subscribe") == len(happens) * 3
    assert covered.sent("subscribe") < flooded.sent("subscribe") / 2
