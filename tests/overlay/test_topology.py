"""The tree: the same for all, and why there is one for all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.overlay.messages import AdjacencyMessage
from vedette.overlay.topology import routes

NAMES = "abcdefgh"
pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])


def known(links: set[tuple[str, str]]) -> dict[str, AdjacencyMessage]:
    both = links | {(other, one) for one, other in links}
    return {name: AdjacencyMessage(name, 1, tuple(sorted(to for of, to in both if of == name))) for name in NAMES}


def tree(links: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """All its links, each of which both ends must name."""
    found = {(name, other) for name in NAMES for other in routes(name, known(links)).tree}
    assert found == {(other, one) for one, other in found}
    return {(one, other) for one, other in found if one < other}


def reach(name: str, links: set[tuple[str, str]]) -> set[str]:
    found = {name}
    for _ in NAMES:
        found |= {end for link in links if found & set(link) for end in link}
    return found


@given(links=st.sets(pairs, max_size=20))
def test_it_joins_what_is_joined_and_has_no_cycles(links: set[tuple[str, str]]) -> None:
    found = tree(links)
    assert found <= links
    for name in NAMES:
        assert routes(name, known(links)).reachable == reach(name, links) == reach(name, found)
    assert len(found) == len(NAMES) - len({frozenset(reach(name, links)) for name in NAMES})


@given(links=st.sets(pairs, min_size=1, max_size=20), data=st.data())
def test_when_a_link_goes_one_other_takes_its_place(links: set[tuple[str, str]], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(links)))
    before, after = tree(links), tree(links - {gone})
    assert before - after <= {gone}
    assert len(after - before) <= len(before - after)


def test_a_link_is_there_only_if_both_ends_say_so() -> None:
    said = {"a": AdjacencyMessage("a", 1, ("b",)), "b": AdjacencyMessage("b", 1, ())}
    assert routes("a", said).tree == frozenset()
    assert routes("a", said).reachable == {"a"}


def test_ways_of_their_own_would_lose_events() -> None:
    # A ring k - n - x - z - b - k. One subscription, u, was made at z and another, v, at x, and each came to k the
    # long way round first: u over b to k to n, v over n to k to b. Towards where an event goes for each of them:
    for_u = {"x": "z", "b": "z", "k": "b", "n": "k"}
    for_v = {"z": "x", "n": "x", "k": "n", "b": "k"}
    # Both match all that is published, and so does a third, made at k: n would send everything to k because of u, and
    # b because of v, so it is covered on both links of k, and nobody else hears of it. But what is published at x
    # never gets to n or b:
    found, new = {"x"}, {"x"}
    while new:
        new = {way[name] for way in (for_u, for_v) for name in new if name in way} - found
        found |= new
    assert found == {"x", "z"}
