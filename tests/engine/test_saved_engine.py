"""A snapshot that was read: the whole engine is made of it, or one half, by whoever calls operators there."""

from __future__ import annotations

from pathlib import Path

import pytest

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import PatternSet, ShardOptions
from vedette.engine.snapshot import check, parts_of, read
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, SnapshotError
from vedette.operators.calling import Calling
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.schema.schema import Schema


@operator(time_limit=None)
def above(event: object, number: int) -> bool:
    """An operator."""
    return number > 100


SET = {
    "pair": "[n = 1 and user = $u] ; [n > 1 and user = $u] by place",
    "plain": "n > 5",
    "calls": "above(n)",
    "other": "n > 7",
    "run": "[n = 1 and above(n)]{2}",
}


def compiled(model: Model | None = None) -> Engine:
    """Filters, one of which calls an operator, and patterns, one of which does; and one asks for forecasts."""
    subscriptions = Subscriptions(Schema.of({"n": "int"}, closed=False))
    for id_, text in SET.items():
        predict = {"within": 3} if id_ == "pair" else None
        subscriptions.add(id_, text, subscriber=f"of {id_}", predict=predict)
    return subscriptions.compile(operators=Operators(above), model=model)


def test_the_half_without_state_has_its_own_places(tmp_path: Path) -> None:
    engine = compiled()
    engine.save(tmp_path / "s")
    half = Engine.restored(read(tmp_path / "s"), Calling(Operators(above)), stateless=True)
    assert list(half) == ["plain", "calls", "other"]
    assert [list(engine)[place] for place in engine.stateless_places] == list(half)
    assert half.subscribers.to_pylist() == ["of plain", "of calls", "of other"]
    assert half.match({"n": 200}) == ["plain", "calls", "other"]
    assert half.match_batch([{"n": 6}, {"n": 101}]).column("subscription").to_pylist() == [
        *["plain"],
        *["plain", "calls", "other"],
    ]
    assert not half.has_state
    assert half.columns_for_calls == engine.columns_for_calls


def test_a_plan_is_shared_where_the_filters_are_others(tmp_path: Path) -> None:
    engine = compiled()
    engine.save(tmp_path / "s")
    saved, calling = read(tmp_path / "s"), Calling(Operators(above))
    planned = Engine.restored(saved.without_filters(), calling, stateless=True)
    assert list(planned) == ["calls"]
    assert Engine.restored(saved, calling, stateless=True, like=planned).calls is planned.calls


def test_shards_are_those_of_the_engine(tmp_path: Path) -> None:
    model = Model(ForecastSettings(context=2))
    engine = compiled(model)
    engine.save(tmp_path / "s")
    options = ShardOptions(4, cap=9, learn=True, since=(("run", 3),))
    shards = engine.sharded(options)
    assert read(tmp_path / "s").sharded(options) == shards
    assert PatternSet.from_bytes(shards.to_bytes()) == shards
    assert shards.ids == ["pair", "run"]
    assert [(group.keys, group.shards) for group in shards.groups()] == [(("place",), 1), ((), 1)]  # forecasts learn
    assert compiled().with_model(model).sharded(options) == shards
    assert compiled().sharded(options) != shards


def test_operators_are_needed_only_where_they_are_called(tmp_path: Path) -> None:
    compiled().save(tmp_path / "s")
    saved = read(tmp_path / "s")
    assert saved.calls_operators
    with pytest.raises(FilterError, match="there is no operator 'above'"):
        Engine.restored(saved, Calling(Operators()))


def test_attributes_that_patterns_compare_and_the_schema_does_not_have() -> None:
    assert compiled().unknown_keys == ("place", "user")


def test_those_that_learn_are_an_engine() -> None:
    calling = Calling(Operators(above))
    learning = compiled().learning(calling)
    assert list(learning) == ["calls", "pair", "run"]
    assert learning.calling is calling
    assert learning.match({"n": 101}) == ["calls"]
    plain = Subscriptions({"n": "int"})
    plain.add("a", "n > 1")
    plain.add("p", "[n = 1] ; [n = 2]")
    nothing = plain.compile().learning(calling)
    assert (len(nothing), nothing.has_state, nothing.called_at_once) == (0, False, ())


@pytest.mark.parametrize("part", ["plain", "with_operators", "patterns", "wants"])
def test_a_part_that_is_not_there_is_found_without_reading_it(tmp_path: Path, part: str) -> None:
    compiled().save(tmp_path / "s")
    check(tmp_path / "s")
    assert len(parts_of(tmp_path / "s")) == 4
    (tmp_path / "s" / part / "manifest.json").unlink()
    with pytest.raises(SnapshotError):
        check(tmp_path / "s")
