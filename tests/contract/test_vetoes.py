"""Filters with vetoes, in every index and every state of a matcher, against evaluating them one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.filters.test_live import SCHEMA, Mirror, random_event, random_text
from tests.vetoes import everywhere, random_exceptions
from vedette.covering.live import LiveCoveringMatcher
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.engine import Engine
from vedette.engine.live import LiveEngine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SnapshotError
from vedette.filters import live as live_module
from vedette.filters.index import names
from vedette.filters.live import LiveMatcher
from vedette.filters.matcher import Matcher
from vedette.filters.segment import SegmentContent
from vedette.filters.snapshot_files import MANIFEST, VERSION, WITH_VETOES
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse


@pytest.fixture(autouse=True)
def _vetoes_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch)


def events(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Some events."""
    random = Random(seed)
    return [random_event(random) for _ in range(count)]


def subscribed(seed: int, count: int = 150) -> dict[str, str]:
    """Filters, most of them with exceptions."""
    random = Random(seed)
    return {
        f"s{number}": random_exceptions(random) if random.random() < 0.8 else random_text(random)
        for number in range(count)
    }


def compiled(texts: dict[str, str], index: str) -> Engine:
    """A matcher of them."""
    subscriptions = Subscriptions(SCHEMA)
    for id_, text in texts.items():
        subscriptions.add(id_, text)
    return subscriptions.compile(index)


def wanted(texts: dict[str, str], given: list[dict[str, Any]]) -> list[list[str]]:
    """What each event matches, the slow way."""
    checked = {id_: check(parse(text), SCHEMA, text) for id_, text in texts.items()}
    return [[id_ for id_, one in checked.items() if evaluate(one, event) is True] for event in given]


def found(
    matcher: Engine | LiveEngine | Matcher | LiveMatcher, given: list[dict[str, Any]], **options: Any
) -> list[list[str]]:
    """The same by a matcher, in a batch; and one by one."""
    rows: list[list[str]] = [[] for _ in given]
    for row in matcher.match_batch(given, **options).to_pylist():
        rows[row["event"]].append(row["subscription"])
    assert rows == [matcher.match(event) for event in given]
    return rows


@pytest.mark.interpreted
@pytest.mark.parametrize("index", names())
@pytest.mark.parametrize("seed", range(2))
def test_batches_single_events_and_pairs(index: str, seed: int) -> None:
    texts, given = subscribed(seed, 100), events(80, seed)
    matcher = compiled(texts, index)
    assert matcher.segment.vetoes.any()
    right = wanted(texts, given)
    assert found(matcher, given, threads=2) == right
    pairs = matcher.match_pairs(given)
    ids = list(matcher)
    told: list[set[str]] = [set() for _ in given]
    for event, subscription in zip(pairs.event.tolist(), pairs.subscription.tolist(), strict=True):
        assert ids[subscription] not in told[event]
        told[event].add(ids[subscription])
    assert told == [set(row) for row in right]


@pytest.mark.parametrize("index", names())
def test_any_change_in_any_order(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "SMALL", 6)
    monkeypatch.setattr(live_module, "MIDDLE", 20)
    random, mirror = Random(index), Mirror()
    with Subscriptions(SCHEMA).live(index) as matcher:
        for number in range(90):
            action, text = random.random(), random_exceptions(random)
            if action < 0.6 or not mirror.said:
                matcher.add(f"s{number}", text)
                mirror.put(f"s{number}", text)
            elif action < 0.8:
                gone = random.choice(list(mirror.said))
                matcher.remove(gone)
                del mirror.said[gone]
            elif action < 0.95:
                other = random.choice(list(mirror.said))
                matcher.replace(other, text)
                mirror.put(other, text)
            else:
                matcher.merge()
            if number % 3 == 0:
                given = events(5, number)
                assert found(matcher, given) == [mirror.matching(event) for event in given]
        matcher.merge()
        given = events(40)
        right = [mirror.matching(event) for event in given]
        assert found(matcher, given) == right
        assert found(matcher.frozen(), given) == right


@pytest.mark.parametrize("index", names())
def test_snapshots(index: str, tmp_path: Path) -> None:
    texts, given = subscribed(5, 60), events(40, 5)
    matcher = compiled(texts, index)
    matcher.save(tmp_path / "kept")
    opened = Matcher.open(tmp_path / "kept", verify=True)
    assert found(opened, given) == wanted(texts, given)
    assert opened.version == matcher.version
    live = LiveMatcher(opened)
    live.remove("s3")
    live.add("s3", "n = 3")
    live.merge()
    changed = {id_: text for id_, text in texts.items() if id_ != "s3"} | {"s3": "n = 3"}
    assert found(live, given) == wanted(changed, given)


def test_only_snapshots_with_vetoes_need_a_reader_that_knows_them(tmp_path: Path) -> None:
    for text, version in (("n = 1 and (s = 'a' or f > 1)", WITH_VETOES), ("n = 1 or s = 'a'", VERSION)):
        subscriptions = Subscriptions(SCHEMA)
        subscriptions.add("one", text)
        subscriptions.compile().save(tmp_path / "kept")
        assert json.loads((tmp_path / "kept" / MANIFEST).read_text())["version"] == version
        assert (tmp_path / "kept" / "vetoes.npy").exists() == (version == WITH_VETOES)
    compiled(subscribed(1), "scan").save(tmp_path / "damaged")
    (tmp_path / "damaged" / "vetoes.npy").unlink()
    with pytest.raises(SnapshotError):
        Matcher.open(tmp_path / "damaged")


def test_what_is_left_of_a_set_has_no_more_vetoes_than_it_needs() -> None:
    excepted = {"one": "n = 1 and (s = 'a' or f > 1)", "two": "(n = 2 or f > 1) and (s = 'a' or n = 3)"}
    texts = {"plain": "n = 1", **excepted}
    drawn = compiled(texts, "scan").segment.drawn()
    assert drawn.vetoes.sum() > 1
    without, one = (drawn.keep(np.array(chosen)) for chosen in ([True, False, False], [True, True, False]))
    assert not len(without.vetoes)
    assert 0 < one.vetoes.sum() < drawn.vetoes.sum()
    joined = SegmentContent.concatenate([without, one, drawn])
    assert joined.vetoes.sum() == one.vetoes.sum() + drawn.vetoes.sum()
    assert not len(SegmentContent.concatenate([without, without]).vetoes)


@pytest.mark.parametrize("index", ["clusters", "tree"])
def test_covered_ones_on_a_level_of_their_own(index: str, tmp_path: Path) -> None:
    texts = subscribed(7, 50) | {f"c{number}": f"n > {number} and s = 'a'" for number in range(8)}
    texts |= {f"twice.{id_}": text for id_, text in list(texts.items())[:30]}
    subscriptions = Subscriptions(SCHEMA)
    for id_, text in texts.items():
        subscriptions.add(id_, text)
    given = events(60, 7)
    matcher = CoveringMatcher.compile(subscriptions, index)
    assert len(matcher.covered) > 8
    right = wanted(texts, given)
    assert found(matcher, given) == right
    levels = matcher.levels
    assert levels is not None
    in_levels: Any = SimpleNamespace(match=levels.match_in_levels, match_one=levels.match_one_in_levels)
    assert found(Matcher.of(replace(matcher.segment, index=in_levels), matcher.schema), given) == right
    matcher.save(tmp_path / "kept")
    assert found(CoveringMatcher.open(tmp_path / "kept"), given) == right
    live = LiveCoveringMatcher.of(matcher)
    for number in range(0, 50, 3):
        live.remove(f"s{number}")
        del texts[f"s{number}"]
    for id_, text in subscribed(8, 20).items():
        live.add(f"new.{id_}", text)
        texts[f"new.{id_}"] = text
    assert found(live, given) == wanted(texts, given)
    live.merge()
    assert found(live, given) == wanted(texts, given)
