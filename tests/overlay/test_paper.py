"""Figure 1 of Ouksel 2006: nine brokers, s2 covered by s1, and who tells whom what (section 2).

The text names every link but that of B8, which is taken to hang on B7.
"""

from __future__ import annotations

import pytest

from tests.overlay.grid_cover import SCHEMA
from vedette.overlay.forwarding import ExactCover
from vedette.overlay.memory import Network

FIGURE_1 = {"B3": ["B1", "B2", "B4"], "B4": ["B5", "B6", "B7"], "B7": ["B8", "B9"]}
S1, S2 = "x >= 1", "x >= 3"


@pytest.fixture(params=range(5))
def network(request: pytest.FixtureRequest) -> Network:
    made = Network(FIGURE_1, ExactCover, schema=SCHEMA, seed=request.param)
    made.settle()
    made.subscribe("B1", "s1", S1)
    made.settle()
    return made


def over(network: Network, kind: str) -> set[tuple[str, str]]:
    """The links that messages of a kind went over; each once."""
    found = {(one, other): count for (one, other, each), count in network.messages.items() if each == kind}
    assert set(found.values()) <= {1}
    return set(found)


TO_ALL = {
    ("B1", "B3"),
    ("B3", "B2"),
    ("B3", "B4"),
    ("B4", "B5"),
    ("B4", "B6"),
    ("B4", "B7"),
    ("B7", "B8"),
    ("B7", "B9"),
}


def test_s1_reaches_all_brokers(network: Network) -> None:
    assert over(network, "subscribe") == TO_ALL


def test_s2_goes_only_where_s1_came_from(network: Network) -> None:
    network.messages.clear()
    network.subscribe("B6", "s2", S2)
    network.settle()
    assert over(network, "subscribe") == {("B6", "B4"), ("B4", "B3"), ("B3", "B1")}


@pytest.mark.parametrize(
    ("broker", "event", "path", "told"),
    [
        ("B9", {"x": 4}, {("B9", "B7"), ("B7", "B4"), ("B4", "B3"), ("B3", "B1"), ("B4", "B6")}, ["s1", "s2"]),
        ("B5", {"x": 2}, {("B5", "B4"), ("B4", "B3"), ("B3", "B1")}, ["s1"]),
        ("B2", {"x": 0}, set(), []),
    ],
    ids=["n1", "n2", "neither"],
)
def test_delivery_trees(
    network: Network, broker: str, event: dict[str, int], path: set[tuple[str, str]], told: list[str]
) -> None:
    network.subscribe("B6", "s2", S2)
    network.settle()
    network.publish(broker, event)
    assert sorted(each.subscription for each in network.settle()) == told
    assert over(network, "publish") == path


def test_cancelling_s1_uncovers_s2(network: Network) -> None:
    network.subscribe("B6", "s2", S2)
    network.settle()
    network.messages.clear()
    network.cancel("B1", "s1")
    network.settle()
    assert over(network, "cancel") == TO_ALL
    # Where s2 was held back it is forwarded now; it was never held back on its way to B1.
    assert over(network, "subscribe") == {("B3", "B2"), ("B4", "B5"), ("B4", "B7"), ("B7", "B8"), ("B7", "B9")}
    network.publish("B9", {"x": 4})
    assert [(told.broker, told.subscription) for told in network.settle()] == [("B6", "s2")]
