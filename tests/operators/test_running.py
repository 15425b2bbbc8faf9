"""Calling operators: what they get, what they may give back, and what happens to those that fail or take too long."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.language.ast import Arithmetic, Attribute, Literal, Operand
from vedette.operators.evaluation import Evaluation
from vedette.operators.event_sources import EventSource
from vedette.operators.operator import Cache, Operator, operator
from vedette.operators.operator_runner import EvaluationResults, OperatorRunner
from vedette.operators.results import MOST_BINDINGS
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"n": "int", "x": "float", "name": "string"}, closed=False)
GENEROUS = 1.0  # seconds: for what comes back at once, even on a machine that is busy
LIMITS = pytest.mark.parametrize("limit", [None, 10.0], ids=["without a limit", "with a limit"])


@pytest.fixture
def runner() -> Iterator[OperatorRunner]:
    with OperatorRunner() as made:
        yield made


def _source(events: Sequence[Any]) -> EventSource:
    return EventSource(list(events), SCHEMA, [f"e{row}" for row in range(len(events))])


NUMBERS = _source([{"n": number} for number in range(6)])


def _run(
    runner: OperatorRunner,
    asked: Operator,
    *inputs: Operand,
    source: EventSource = NUMBERS,
    rows: Sequence[int] | None = None,
) -> EvaluationResults:
    chosen = np.arange(len(source)) if rows is None else np.array(rows, np.int64)
    return runner.run(Evaluation(asked, inputs), source, chosen)


def _truth(runner: OperatorRunner, asked: Operator, *inputs: Operand, source: EventSource = NUMBERS) -> list[int]:
    return _run(runner, asked, *inputs, source=source).truth.tolist()


# ---------------------------------------------------------------- what functions get


@LIMITS
def test_a_function_gets_the_event_and_its_inputs(runner: OperatorRunner, limit: float | None) -> None:
    event = {"n": 3, "x": 2, "other": [1]}
    got: list[Any] = []

    @operator(time_limit=limit)
    def whole(event: Any, *inputs: Any) -> bool:
        got.append((event, *inputs))
        return True

    @operator(time_limit=limit, reads=("x", "gone"))
    def some(event: Any) -> bool:
        got.append(event)
        return True

    double = Arithmetic("*", Literal(2), Attribute("n"))
    source = _source([event])
    assert _truth(runner, whole, Literal("a"), Attribute("x"), Attribute("gone"), double, source=source) == [1]
    assert _truth(runner, some, source=source) == [1]
    assert got == [(event, "a", 2.0, None, 6), {"x": 2.0, "gone": None}]
    assert got[0][0] is event


@LIMITS
def test_a_batch_function_gets_a_table_and_arrays(runner: OperatorRunner, limit: float | None) -> None:
    got: list[Any] = []

    @operator(batch=True, reads=("x", "name"), time_limit=limit)
    def both(events: Any, *inputs: Any) -> Any:
        got.append((events.to_pydict(), *inputs))
        return [True] * events.num_rows

    source = _source([{"n": 1, "x": 1}, {"n": 2, "name": "b"}, {}])
    asked = (
        Literal(7),
        Attribute("n"),
        Arithmetic("+", Attribute("n"), Literal(1)),
        Arithmetic("+", Literal(1), Literal(1)),
    )
    assert _run(runner, both, *asked, source=source, rows=[2, 0]).truth.tolist() == [1, 1]
    assert got == [({"x": [None, 1.0], "name": [None, None]}, 7, pa.array([None, 1]), pa.array([None, 2]), 2)]


def test_a_batch_function_without_columns_knows_how_many_events_there_are(runner: OperatorRunner) -> None:
    asked = Operator("p", lambda events, n: pc.greater(n, events.num_rows - 3), 1, batch=True, reads=())
    assert _truth(runner, asked, Attribute("n")) == [0, 0, 0, 0, 1, 1]


def test_nothing_is_called_for_no_events(runner: OperatorRunner) -> None:
    answers = _run(runner, Operator("p", lambda event: 1 / 0, 0, 1), rows=[])
    assert (len(answers.truth), answers.bindings, answers.seconds) == (0, [], 0.0)
    assert runner.failures.counts == {}


# ---------------------------------------------------------------- what functions give back


@LIMITS
@pytest.mark.parametrize(
    ("outputs", "result", "truth", "bindings"),
    [
        (0, True, 1, []),
        (0, False, 0, []),
        (0, None, -1, []),
        (0, np.bool_(True), 1, []),
        (0, pa.scalar(False), 0, []),
        (0, pa.scalar(None, pa.bool_()), -1, []),
        (1, None, -1, []),
        (1, [], 0, []),
        (1, "text", 1, [("text",)]),
        (1, 0, 1, [(0,)]),
        (1, False, 1, [(False,)]),
        (1, np.float32(0.5), 1, [(0.5,)]),
        (1, np.datetime64("2024-05-01T12:00"), 1, [(dt.datetime(2024, 5, 1, 12),)]),
        (1, pa.scalar(3), 1, [(3,)]),
        (1, pa.scalar([1, 2]), 1, [(1,), (2,)]),
        (1, (1, "a"), 1, [(1,), ("a",)]),
        (1, {4}, 1, [(4,)]),
        (1, [np.int64(1), None], 1, [(1,), (None,)]),
        (1, np.array([1.5, 2.5]), 1, [(1.5,), (2.5,)]),
        (1, pa.array(["a", None]), 1, [("a",), (None,)]),
        (2, [(1, "a"), [np.int8(2), "b"]], 1, [(1, "a"), (2, "b")]),
        (2, [], 0, []),
        (2, None, -1, []),
    ],
)
def test_results_of_one_event(
    runner: OperatorRunner, limit: float | None, outputs: int, result: Any, truth: int, bindings: list[Any]
) -> None:
    asked = Operator("p", lambda event: result, 0, outputs, time_limit=limit)
    answers = _run(runner, asked, rows=[0])
    assert answers.truth.tolist() == [truth]
    assert answers.truth.dtype == np.int8
    found = answers.bindings
    assert found == ([bindings] if outputs else None)
    assert [[type(value) for value in row] for row in (found or [[]])[0]] == [
        [type(v) for v in row] for row in bindings
    ]
    assert runner.failures.counts == {}


def test_a_generator_is_read_within_the_limit(runner: OperatorRunner) -> None:
    wakes = threading.Event()

    @operator(outputs=1, time_limit=GENEROUS)
    def finds(event: Any) -> Iterator[int]:
        yield 1
        if event["n"] == 1:
            wakes.wait()
        yield 2

    answers = _run(runner, finds, rows=[0, 1, 2])
    assert answers.truth.tolist() == [1, -1, 1]
    assert answers.bindings == [[(1,), (2,)], [], [(1,), (2,)]]
    wakes.set()


@pytest.mark.parametrize(
    ("outputs", "result", "said"),
    [
        (0, 1, "gave 1, not True, False or None"),
        (0, [], "gave [], not True, False or None"),
        (1, {"a": 1}, "gave {'a': 1}, not a list of values"),
        (2, 7, "gave 7, not a list of tuples"),
        (2, (1, 2), "gave a binding 1, not a tuple of 2 values"),
        (2, [(1, 2), (1, 2, 3)], "gave a binding (1, 2, 3), not a tuple of 2 values"),
        (1, range(MOST_BINDINGS + 1), "more than 10,000 bindings for one event"),
    ],
)
def test_wrong_results_are_unknown(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture, outputs: int, result: Any, said: str
) -> None:
    given_back = iter(result) if isinstance(result, range) else result
    asked = Operator("p", lambda event: given_back, 0, outputs)
    assert _run(runner, asked, rows=[3]).truth.tolist() == [-1]
    assert runner.failures.counts == {"p": {"result": 1}}
    assert caplog.messages == [f"operator p, event e3: {said}"]


def test_an_endless_iterator_ends(runner: OperatorRunner) -> None:
    def endless(event: Any) -> Iterator[int]:
        while True:
            yield 1

    assert _run(runner, Operator("p", endless, 0, 1, time_limit=None), rows=[0]).truth.tolist() == [-1]


_PAIR = pa.struct([("a", pa.int64()), ("b", pa.string())])


@LIMITS
@pytest.mark.parametrize(
    ("outputs", "result", "truth", "bindings"),
    [
        (0, [True, None, False], [1, -1, 0], None),
        (0, (True, None, False), [1, -1, 0], None),
        (0, pa.array([True, None, False]), [1, -1, 0], None),
        (0, pa.chunked_array([[True], [None, False]], pa.bool_()), [1, -1, 0], None),
        (0, np.array([True, True, False]), [1, 1, 0], None),
        (0, np.array([True, None, False], object), [1, -1, 0], None),
        (0, pa.nulls(3), [-1, -1, -1], None),
        (1, pa.array([1, None, 2], pa.int8()), [1, -1, 1], [[(1,)], [], [(2,)]]),
        (1, pa.array([[1, 2], None, []]), [1, -1, 0], [[(1,), (2,)], [], []]),
        (1, pa.array([["a"], None, []], pa.large_list(pa.string())), [1, -1, 0], [[("a",)], [], []]),
        (1, pa.array(["a", None, "a"]).dictionary_encode(), [1, -1, 1], [[("a",)], [], [("a",)]]),
        (1, np.array([1.5, np.inf, 2.0]), [1, 1, 1], [[(1.5,)], [(np.inf,)], [(2.0,)]]),
        (1, np.array(["x", "y", "z"]), [1, 1, 1], [[("x",)], [("y",)], [("z",)]]),
        (1, np.array([[1, 2], [3, 4], [5, 6]]), [1, 1, 1], [[(1,), (2,)], [(3,), (4,)], [(5,), (6,)]]),
        (1, ["one", [1, 2], None], [1, 1, -1], [[("one",)], [(1,), (2,)], []]),
        (2, pa.array([{"a": 1, "b": "x"}, None, {"a": 2}], _PAIR), [1, -1, 1], [[(1, "x")], [], [(2, None)]]),
        (2, pa.array([[{"a": 1, "b": "x"}], None, []], pa.list_(_PAIR)), [1, -1, 0], [[(1, "x")], [], []]),
        (2, [[(1, 2)], None, []], [1, -1, 0], [[(1, 2)], [], []]),
    ],
)
def test_results_of_a_batch(
    runner: OperatorRunner, limit: float | None, outputs: int, result: Any, truth: list[int], bindings: Any
) -> None:
    asked = Operator("p", lambda events: result, 0, outputs, batch=True, time_limit=limit)
    answers = _run(runner, asked, rows=[0, 1, 2])
    assert answers.truth.tolist() == truth
    assert answers.bindings == bindings
    assert runner.failures.counts == {}


@pytest.mark.parametrize(
    ("outputs", "result", "said"),
    [
        (0, [True, False], "gave 2 results for 3 events"),
        (0, pa.array([True] * 4), "gave 4 results for 3 events"),
        (0, True, "gave True, not an array or a list of 3 results"),
        (0, None, "gave None, not an array or a list of 3 results"),
        (0, pa.array([1, 0, 1]), "gave an array of int64, not of booleans"),
        (0, np.array([1, 0, 1]), "gave an array of int64, not of booleans"),
        (2, pa.array([1, 2, 3]), "gave values of int64, not structs of 2 fields"),
        (2, pa.array([[1], [2], []]), "gave values of int64, not structs of 2 fields"),
        (3, pa.array([{"a": 1}] * 3, _PAIR), "not structs of 3 fields"),
    ],
)
def test_wrong_results_of_a_batch_are_unknown(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture, outputs: int, result: Any, said: str
) -> None:
    asked = Operator("p", lambda events: result, 0, outputs, batch=True)
    assert _run(runner, asked, rows=[0, 1, 2]).truth.tolist() == [-1] * 3
    assert runner.failures.counts == {"p": {"result": 3}}
    assert said in caplog.messages[0]


def test_a_wrong_element_of_a_batch_is_unknown_alone(runner: OperatorRunner) -> None:
    many = [[0] * (MOST_BINDINGS + 1), [1]]
    for result in (many, pa.array(many)):
        asked = Operator("p", lambda events, result=result: result, 0, 1, batch=True)
        assert _run(runner, asked, rows=[0, 1]).truth.tolist() == [-1, 1]
    assert _run(runner, Operator("q", lambda events: [3, True], 0, batch=True), rows=[0, 1]).truth.tolist() == [-1, 1]
    assert runner.failures.counts == {"p": {"result": 2}, "q": {"result": 1}}


# ---------------------------------------------------------------- what fails


@LIMITS
def test_an_exception_makes_its_event_unknown(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture, limit: float | None
) -> None:
    asked = Operator("p", lambda event: 6 / event["n"] > 2, 0, time_limit=limit)
    assert _truth(runner, asked) == [-1, 1, 1, 0, 0, 0]
    assert runner.failures.counts == {"p": {"error": 1}}
    (said,) = caplog.messages
    assert said.startswith("operator p, event e0: ZeroDivisionError: division by zero (")
    assert "test_running.py:" in said
    assert caplog.records[0].levelno == logging.WARNING
    assert caplog.records[0].name == "vedette.operators"


@LIMITS
def test_an_exception_makes_a_whole_batch_unknown(runner: OperatorRunner, limit: float | None) -> None:
    asked = Operator("p", lambda events: 1 / 0, 0, batch=True, time_limit=limit)
    assert _truth(runner, asked) == [-1] * 6
    assert runner.failures.counts == {"p": {"error": 6}}


def test_the_log_is_not_flooded(runner: OperatorRunner, caplog: pytest.LogCaptureFixture) -> None:
    source = _source([{"n": number} for number in range(50)])
    _run(runner, Operator("p", lambda event: 1 / 0, 0), source=source)
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "operator p: 30 more events failed"
    assert runner.failures.counts == {"p": {"error": 50}}


@LIMITS
@pytest.mark.parametrize("passed", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_what_ends_the_program_passes(
    runner: OperatorRunner, limit: float | None, passed: type[BaseException], is_async: bool
) -> None:
    def ends(event: Any) -> bool:
        raise passed

    async def ends_later(event: Any) -> bool:
        raise passed

    with pytest.raises(passed):
        _run(runner, Operator("p", ends_later if is_async else ends, 0, time_limit=limit))
    assert _truth(runner, Operator("q", lambda event: True, 0, time_limit=limit)) == [1] * 6


@pytest.mark.parametrize("batch", [False, True], ids=["scalar", "batch"])
@pytest.mark.parametrize("form", [list, pa.Table.from_pylist], ids=["dicts", "table"])
def test_a_value_that_breaks_the_schema_fails_alone(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture, batch: bool, form: Any
) -> None:
    schema = Schema.of({"ip": "ip", "n": "int"})
    source = EventSource(form([{"ip": ip, "n": 1} for ip in ("10.0.0.1", "nonsense", None)]), schema)
    function = (lambda events: pc.is_valid(events["ip"])) if batch else (lambda event: event["ip"] is not None)
    asked = Operator("p", function, 0, batch=batch, reads=("ip",))
    assert _truth(runner, asked, source=source) == [1, -1, 0]
    assert caplog.messages == ["operator p, event 1: attribute 'ip': 'nonsense' is not an ip address"]
    whole = Operator("q", lambda events, ip: pc.is_valid(ip), 1, batch=True)
    assert _truth(runner, whole, Attribute("ip"), source=source) == [1, -1, 0]


def test_values_of_several_kinds_fail_that_evaluation_only(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture
) -> None:
    source = _source([{"mixed": 1, "n": 1}, {"mixed": "a", "n": 1}])
    assert _truth(runner, Operator("p", len, 0, batch=True, reads=("mixed",)), source=source) == [-1, -1]
    assert "attribute 'mixed': its values cannot be one Arrow column" in caplog.messages[0]
    asked = Operator("q", lambda events: [True] * events.num_rows, 0, batch=True, reads=("n",))
    assert _truth(runner, asked, source=source) == [1, 1]


# ---------------------------------------------------------------- what takes too long


def test_a_call_that_takes_too_long_is_unknown_and_the_others_are_not(
    runner: OperatorRunner, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[int] = []
    wakes = threading.Event()

    @operator(time_limit=GENEROUS)
    def slow(event: Any) -> bool:
        called.append(event["n"])
        if event["n"] in (1, 4):
            wakes.wait()
        return bool(event["n"] > 2)

    assert _truth(runner, slow) == [0, -1, 0, 1, -1, 1]
    wakes.set()
    assert called == list(range(6))
    assert runner.failures.counts == {"slow": {"time": 2}}
    assert caplog.messages[0] == "operator slow, event e1: no answer within 1 s"


def test_a_batch_that_takes_too_long_is_unknown(runner: OperatorRunner) -> None:
    asked = Operator("p", lambda events: time.sleep(0.3), 0, batch=True, time_limit=0.05)
    assert _truth(runner, asked) == [-1] * 6
    assert runner.failures.counts == {"p": {"time": 6}}


@pytest.mark.parametrize("batch", [False, True], ids=["scalar", "batch"])
def test_an_operator_whose_calls_do_not_come_back_is_not_called(batch: bool) -> None:
    runner, wakes, called = OperatorRunner(cap_workers=2), threading.Event(), []

    def waits(events: Any) -> Any:
        called.append(1)
        wakes.wait()
        return [True] * 6 if batch else True

    asked = Operator("p", waits, 0, batch=batch, time_limit=0.05)
    other = Operator("q", lambda event: True, 0)
    while sum(runner.failures.counts.get("p", {}).values()) < 18:
        assert _truth(runner, asked) == [-1] * 6
    assert len(called) == 2
    counts = runner.failures.counts["p"]
    assert counts == ({"time": 12, "stuck": 6} if batch else {"time": 2, "stuck": 16})
    assert _truth(runner, other) == [1] * 6
    wakes.set()
    while _truth(runner, asked) != [1] * 6:
        time.sleep(0.01)


def test_threads_are_used_again(runner: OperatorRunner) -> None:
    threads: set[int | None] = set()

    def noted(_: Any) -> bool:
        threads.add(threading.get_ident())
        return True

    asked = Operator("p", noted, 0)
    for _ in range(20):
        assert _truth(runner, asked) == [1] * 6
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_several_threads_may_run(runner: OperatorRunner) -> None:
    asked = Operator("p", lambda event: event["n"] > 2, 0, cache=Cache(3))
    wrong: list[Any] = []

    def often() -> None:
        for _ in range(50):
            if (truth := _truth(runner, asked)) != [0, 0, 0, 1, 1, 1]:
                wrong.append(truth)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---------------------------------------------------------------- async


@pytest.mark.parametrize("limit", [None, GENEROUS], ids=["without a limit", "with a limit"])
def test_async_functions_run_side_by_side(runner: OperatorRunner, limit: float | None) -> None:
    under_way: set[int] = set()
    most = 0

    @operator(concurrency=3, time_limit=limit, outputs=1)
    async def asks(event: Any, add: int) -> list[int]:
        nonlocal most
        under_way.add(event["n"])
        most = max(most, len(under_way))
        await asyncio.sleep(0.01)
        under_way.remove(event["n"])
        if event["n"] == 4:
            raise ValueError("not that one")
        if event["n"] == 5 and limit:
            await asyncio.sleep(60)
        return [event["n"] + add]

    answers = _run(runner, asks, Literal(10))
    assert answers.truth.tolist() == [1, 1, 1, 1, -1, -1 if limit else 1]
    assert (answers.bindings or [])[:4] == [[(10,)], [(11,)], [(12,)], [(13,)]]
    assert most == 3
    assert runner.failures.counts == {"asks": {"error": 1, "time": 1} if limit else {"error": 1}}


def test_an_async_batch_function(runner: OperatorRunner) -> None:
    @operator(batch=True, reads=("n",))
    async def large(events: Any, least: int) -> Any:
        await asyncio.sleep(0)
        return pc.greater(events["n"], least)

    assert _truth(runner, large, Literal(3)) == [0, 0, 0, 0, 1, 1]

    @operator(batch=True, time_limit=0.05)
    async def sleeps(events: Any) -> Any:
        await asyncio.sleep(60)

    assert _truth(runner, sleeps) == [-1] * 6
    assert runner.failures.counts == {"sleeps": {"time": 6}}


def test_an_async_function_that_blocks_the_loop_is_given_up(runner: OperatorRunner) -> None:
    called: list[int] = []
    wakes = threading.Event()

    @operator(time_limit=GENEROUS, concurrency=1)
    async def blocks(event: Any) -> bool:
        called.append(event["n"])
        if event["n"] == 2:
            wakes.wait()
        return True

    assert _truth(runner, blocks) == [1, 1, -1, 1, 1, 1]
    wakes.set()
    assert _truth(runner, blocks, source=_source([{"n": 9}])) == [1]
    assert called == [0, 1, 2, 3, 4, 5, 9]


def test_async_calls_that_do_not_want_to_end_are_counted() -> None:
    ends = threading.Event()

    @operator(time_limit=0.05, concurrency=6)
    async def stays(event: Any) -> bool:
        while not ends.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return True

    with OperatorRunner(cap_workers=2) as runner:
        assert _truth(runner, stays) == [-1] * 6
        assert _truth(runner, stays) == [-1] * 6
        assert runner.failures.counts == {"stays": {"time": 6, "stuck": 6}}
        ends.set()
        while _truth(runner, stays) != [1] * 6:
            time.sleep(0.01)


def test_an_async_function_that_cancels_itself_fails(runner: OperatorRunner) -> None:
    @operator
    async def cancels(event: Any) -> bool:
        raise asyncio.CancelledError

    assert _truth(runner, cancels) == [-1] * 6
    assert runner.failures.counts == {"cancels": {"error": 6}}


def test_a_runner_that_is_closed_starts_again() -> None:
    async def yes(event: Any) -> bool:
        return True

    runner = OperatorRunner()
    for _ in range(2):
        assert _truth(runner, Operator("p", yes, 0)) == [1] * 6
        runner.close()


# ---------------------------------------------------------------- what is kept


class _Counted:
    """A function that knows how often it was asked."""

    def __init__(self, batch: bool = False) -> None:
        self.asked: list[Any] = []
        self._batch = batch

    def __call__(self, event: Any, *inputs: Any) -> Any:
        if not self._batch:
            self.asked.append((event["n"], *inputs))
            return event["n"] > 2
        self.asked += [(n, *inputs) for n in event["n"].to_pylist()]
        return pc.greater(event["n"], 2)


@pytest.mark.parametrize("batch", [False, True], ids=["scalar", "batch"])
def test_results_are_kept_by_the_values_that_go_in(runner: OperatorRunner, batch: bool) -> None:
    counted = _Counted(batch)
    asked = Operator("p", counted, None, batch=batch, reads=("n",), cache=Cache())
    source = _source([{"n": n, "else": row} for row, n in enumerate([1, 5, 1, 5, 5])])
    assert _truth(runner, asked, source=source) == [0, 1, 0, 1, 1]
    assert counted.asked == [(1,), (5,)]
    assert _run(runner, asked, source=source).seconds == 0.0
    assert _truth(runner, asked, Literal(1), source=source) == [0, 1, 0, 1, 1]
    assert counted.asked == [(1,), (5,), (1, 1), (5, 1)]


def test_without_a_cache_every_event_is_asked_for(runner: OperatorRunner) -> None:
    counted = _Counted()
    for _ in range(2):
        _run(runner, Operator("p", counted, 0, reads=("n",)), rows=[1, 1])
    assert len(counted.asked) == 4


def test_values_of_different_types_are_kept_apart(runner: OperatorRunner) -> None:
    counted = _Counted()
    asked = Operator("p", counted, 1, reads=("n",), cache=Cache(), time_limit=None)
    for value in (1, 1.0, True, "1", None, 0.0, -0.0):
        for _ in range(2):
            _run(runner, asked, Literal(value), rows=[3])
    assert len(counted.asked) == 7


def test_constants_and_attributes_of_one_value_share_a_result(runner: OperatorRunner) -> None:
    counted = _Counted()
    asked = Operator("p", counted, 1, reads=("n",), cache=Cache())
    _run(runner, asked, Literal(3), rows=[3])
    _run(runner, asked, Attribute("n"), rows=[3])
    assert counted.asked == [(3, 3)]


def test_whole_events_are_keys_too(runner: OperatorRunner) -> None:
    counted = _Counted()
    asked = Operator("p", counted, 0, cache=Cache())
    source = _source([{"n": 1, "a": [1, {"b": None}]}, {"a": [1, {"b": None}], "n": 1}, {"n": 1, "a": [1, {"b": 0}]}])
    _run(runner, asked, source=source)
    assert len(counted.asked) == 2


def test_what_makes_no_key_is_not_kept(runner: OperatorRunner) -> None:
    counted = _Counted()
    asked = Operator("p", counted, 0, cache=Cache())
    source = _source([{"n": 5, "a": bytearray(b"x")}, {"n": 1, "a": 1}, {"n": 5, "a": bytearray(b"x")}])
    for _ in range(2):
        assert _truth(runner, asked, source=source) == [1, 0, 1]
    assert counted.asked == [(5,), (1,), (5,), (5,), (5,)]


def test_results_grow_old() -> None:
    now = 0.0
    counted = _Counted()
    asked = Operator("p", counted, 0, reads=("n",), cache=Cache(seconds=10))
    with OperatorRunner(clock=lambda: now) as runner:
        for now, calls in ((0.0, 1), (9.9, 1), (10.0, 2), (19.9, 2), (20.0, 3)):
            _run(runner, asked, rows=[1])
            assert len(counted.asked) == calls, now


def test_the_result_not_used_for_longest_makes_room(runner: OperatorRunner) -> None:
    counted = _Counted()
    asked = Operator("p", counted, 0, reads=("n",), cache=Cache(size=2))
    for row in (1, 2, 1, 3, 1, 2):
        _run(runner, asked, rows=[row])
    assert counted.asked == [(1,), (2,), (3,), (2,)]


def test_what_is_unknown_is_not_kept(runner: OperatorRunner) -> None:
    answers = iter([None, ValueError, True])

    @operator(reads=("n",), cache=Cache())
    def learns(event: Any) -> bool | None:
        answer = next(answers)
        if answer is ValueError:
            raise ValueError
        return answer is True or None

    assert [_run(runner, learns, rows=[1]).truth.tolist() for _ in range(4)] == [[-1], [-1], [1], [1]]


# ---------------------------------------------------------------- one meaning


def _one(event: Any, least: int, x: float | None) -> list[Any] | None:
    n, name = event["n"], event["name"]
    if n is None:
        return None
    return [(n + step, name, x) for step in range(max(0, n - least))]


async def _later(event: Any, least: int, x: float | None) -> list[Any] | None:
    return _one(event, least, x)


def _listed(events: Any, least: int, x: Any) -> list[Any]:
    rows = zip(events.to_pylist(), x.to_pylist(), strict=True)
    return [_one(event, least, value) for event, value in rows]


def _arrow(events: Any, least: int, x: Any) -> Any:
    found = [
        None if rows is None else [{"a": a, "b": b, "c": c} for a, b, c in rows] for rows in _listed(events, least, x)
    ]
    return pa.array(found, pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.float64())])))


_EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "n": st.none() | st.integers(0, 6),
            "name": st.none() | st.text(max_size=3),
            "x": st.none() | st.floats(allow_nan=False) | st.integers(-5, 5),
        },
    ),
    max_size=8,
)


@given(_EVENTS, st.integers(0, 4), st.booleans(), st.data())
def test_all_forms_of_a_function_say_the_same(
    events: list[dict[str, Any]], least: int, cached: bool, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, max(0, len(events) - 1)), max_size=2 * len(events)))
    arrow = pa.schema([("n", pa.int16()), ("name", pa.large_string()), ("x", pa.float64())])
    cache = Cache(3) if cached else None
    inputs = (Literal(least), Attribute("x"))
    told = []
    with OperatorRunner() as runner:
        for form in (events, pa.Table.from_pylist(events, arrow)):
            source = EventSource(form, SCHEMA)
            for function, batch in ((_one, False), (_later, False), (_listed, True), (_arrow, True)):
                for limit in (None, 60.0):
                    reads = ("n", "name")
                    asked = Operator("p", function, 2, 3, batch=batch, reads=reads, cache=cache, time_limit=limit)
                    answers = runner.run(Evaluation(asked, inputs), source, np.array(rows, np.int64))
                    told.append((answers.truth.tolist(), [list(each) for each in answers.bindings or []]))
        assert runner.failures.counts == {}
    assert all(each == told[0] for each in told)
