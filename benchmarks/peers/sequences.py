"""Engines for patterns over streams: how a sequence is said to them, and how they are built."""

from __future__ import annotations

from benchmarks.peers.building import Built, Missing, java, pypi, python
from benchmarks.peers.record import OURS as OUR_NAME
from benchmarks.peers.registry import Peer
from benchmarks.peers.translations import sequences as said

OURS = Peer(OUR_NAME, "Python", lambda rule, _: [said.vedette(rule)], lambda: python("vedette_stream"), 1_000_000)


def _pycer() -> Built:
    pypi("pycer")
    raise Missing("pycer can be had by now, but there is no driver for it yet")


PEERS = {
    peer.name: peer
    for peer in (
        Peer("esper", "Java", lambda rule, _: [said.esper(rule)], lambda: java("esper"), 1_000),
        Peer("flink-cep", "Java", lambda rule, _: [said.flink(rule)], lambda: java("flink_cep"), 100),
        Peer("pycer", "Python", lambda rule, _: [said.vedette(rule)], _pycer),
    )
}
