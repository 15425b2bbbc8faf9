"""Declaring operators: what a function says of itself, and what is refused."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from vedette.errors import InputError
from vedette.language.ast import Arithmetic, Attribute, Literal, Operand, QuantifiedAttribute, Variable
from vedette.operators.evaluation import Evaluation
from vedette.operators.operator import Cache, Operator, operator


def test_a_function_is_an_operator_by_its_name() -> None:
    @operator
    def loc_in(event: Any, place: str) -> bool:
        return bool(event["place"] == place)

    assert (loc_in.name, loc_in.inputs, loc_in.outputs, loc_in.is_async) == ("loc_in", 1, 0, False)
    assert loc_in({"place": "Bronx"}, "Bronx") is True
    assert loc_in.signature == "loc_in(place)"


def test_options_are_kept() -> None:
    @operator("geo.distance", outputs=2, reads=["a", "b.c"], cost=0.5, time_limit=None, cache=Cache(5), concurrency=3)
    async def distance(event: Any, place: str, *more: str, unit: str = "m") -> list[Any]:
        return []

    assert (distance.name, distance.inputs, distance.least, distance.outputs) == ("geo.distance", None, 1, 2)
    assert (distance.reads, distance.cost, distance.time_limit) == (("a", "b.c"), 0.5, None)
    assert distance.is_async
    assert distance.signature == "geo.distance(place, …, ?found1, ?found2)"


def test_a_parameter_with_a_default_is_no_input() -> None:
    declared = [operator(f"p{number}")(lambda event, number=number: number) for number in range(3)]
    assert [each.inputs for each in declared] == [0, 0, 0]
    assert [each({}) for each in declared] == [0, 1, 2]


def test_what_can_be_called_is_async_if_its_call_is() -> None:
    class Asked:
        async def __call__(self, event: Any, key: str) -> bool:
            return True

    async def asked(table: str, event: Any) -> bool:
        return True

    assert operator("asked")(Asked()).is_async
    assert operator("asked")(Asked()).inputs == 1
    assert operator("asked")(functools.partial(asked, "users")).is_async
    assert operator("asked")(functools.partial(asked, "users")).inputs == 0


@pytest.mark.parametrize(
    ("inputs", "least", "arguments", "expected"), [(2, 0, 3, 2), (None, 0, 1, 0), (None, 2, 3, 2), (None, 2, 9, 8)]
)
def test_arguments_before_the_outputs_are_inputs(inputs: int | None, least: int, arguments: int, expected: int) -> None:
    assert Operator("p", lambda *given: True, inputs, 1, least=least).inputs_of(arguments) == expected


@pytest.mark.parametrize(
    ("inputs", "least", "arguments", "said"),
    [
        (2, 0, 2, "p has 2 arguments, and takes 3\nHint: write p(input1, input2, ?found)"),
        (2, 0, 4, "p has 4 arguments, and takes 3"),
        (None, 1, 1, "p has 1 argument, and takes 2 or more"),
    ],
)
def test_too_few_or_too_many_arguments(inputs: int | None, least: int, arguments: int, said: str) -> None:
    with pytest.raises(InputError) as raised:
        Operator("p", lambda *given: True, inputs, 1, least=least).inputs_of(arguments)
    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["", "and", "Not", "any", "exists", "point", "a b", "`a`", "a..b", "1x", "f() --", 7])
def test_names_that_a_filter_cannot_call(name: Any) -> None:
    with pytest.raises(InputError, match="cannot be the name of an operator"):
        Operator(name, lambda event: True, 0)


@pytest.mark.parametrize("name", ["locIn", "geo.near", "date", "within", "größer", "_p"])
def test_names_that_a_filter_can_call(name: str) -> None:
    assert Operator(name, lambda event: True, 0).name == name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"outputs": -1}, "outputs is -1"),
        ({"outputs": True}, "outputs is True"),
        ({"reads": "speed"}, "reads=('speed',)"),
        ({"reads": ("speed", 3)}, "reads has 3"),
        ({"reads": ("a", "a")}, "twice"),
        ({"cost": -1.0}, "cost is -1.0"),
        ({"cost": float("nan")}, "cost is nan"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": float("inf")}, "None for no limit"),
        ({"cache": 100}, "Cache(size=10_000, seconds=60)"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"check": "place"}, "check is 'place'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        operator("p", **options)(lambda event: True)
    assert said in str(raised.value)
    assert "operator 'p'" in str(raised.value)


@pytest.mark.parametrize(("size", "seconds"), [(0, None), (1.5, None), (True, None), (1, 0), (1, -1), (1, "a")])
def test_caches_that_make_no_sense(size: Any, seconds: Any) -> None:
    with pytest.raises(InputError):
        Cache(size, seconds)


def _nothing() -> bool:
    return True


def _by_name_only(event: Any, *, place: str) -> bool:
    return True


def _default_before_many(event: Any, place: str = "", *more: str) -> bool:
    return True


async def _generates(event: Any) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_nothing, "takes no event"),
        (_by_name_only, "'place' can be given by name only"),
        (_default_before_many, "stands before *more"),
        (_generates, "async generator"),
        (dict, "does not say what it takes"),
    ],
)
def test_functions_that_cannot_be_called_from_a_filter(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        operator("p")(function)
    assert said in str(raised.value)


def test_a_function_without_a_name_needs_one() -> None:
    with pytest.raises(InputError, match="has no name"):
        operator()(functools.partial(_by_name_only))


def test_what_is_no_function_is_no_operator() -> None:
    with pytest.raises(InputError, match="is no function"):
        Operator("p", 3, 0)  # type: ignore[arg-type]


# ---------------------------------------------------------------- evaluations

_P = Operator("p", lambda event, *given: True, None)


def test_an_evaluation_is_its_text() -> None:
    evaluation = Evaluation(
        _P, (Literal("it's"), Attribute("order.total"), Arithmetic("*", Literal(2), Attribute("x")))
    )
    assert evaluation.text == "p('it''s', order.total, 2 * x)"
    assert evaluation.paths == {"order.total", "x"}
    again = Evaluation(_P, (Literal("it's"), Attribute("order.total"), Arithmetic("*", Literal(2), Attribute("x"))))
    assert evaluation == again
    assert hash(evaluation) == hash(again)


def test_constants_of_different_types_are_different_evaluations() -> None:
    assert len({Evaluation(_P, (Literal(value),)) for value in (1, 1.0, True, "1", None, 0.0, -0.0)}) == 7


def test_evaluations_of_different_operators_are_different() -> None:
    other = Operator("p", lambda event, *given: False, None)
    assert Evaluation(_P, ()) != Evaluation(other, ())


@pytest.mark.parametrize(
    "operand",
    [Variable("x"), QuantifiedAttribute("any", Attribute("tags")), Arithmetic("+", Literal(1), Variable("x"))],
    ids=["variable", "quantified", "inside arithmetic"],
)
def test_only_constants_and_attributes_go_in(operand: Operand) -> None:
    with pytest.raises(InputError, match="cannot go into an operator"):
        Evaluation(_P, (operand,))
