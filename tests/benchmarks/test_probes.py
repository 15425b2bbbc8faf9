"""The benchmark of probes runs, finds what its peers find, and says so where a peer is missing."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks.micro import probes


def test_a_small_run() -> None:
    result = probes.run(values=300, patterns=100, repetitions=1)
    assert (result["values"], result["patterns"]) == (300, 100)
    assert all(measured["ns_per_value"] > 0 for measured in result["ours"].values())
    assert result["peers"]["python in"]["times_ours"] > 0


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    made = probes.texts(values=20, patterns=10)
    peers = probes._peers(made, {"ns_per_value": 1.0})
    assert peers["pyahocorasick"] == "not installed"
    assert set(peers["python in"]) == {"ns_per_value", "times_ours"}


def test_texts_are_as_wanted() -> None:
    made = probes.texts(values=100, patterns=40)
    assert len(set(made.values)) == 100
    assert len(set(made.patterns)) == 40
    assert all(5 <= len(pattern) <= 14 for pattern in made.patterns)
    assert probes.texts(values=100, patterns=40) == made
