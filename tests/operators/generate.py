"""Random operators, filters that call them, and events: small alphabets, so that much matches and much is shared.

Every operator is a function of its inputs and the event alone. It is handed out twice: as the rows that the oracle
asks for, and as an operator for the engine, in one of the ways in which operators may be written. That one counts its
calls.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from tests.operators.oracle import Found, Oracle, Rows
from vedette.errors import FilterError
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.operators.operator import Operator, operator
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"number": "int", "n": "int", "m": "int", "f": "float", "s": "string", "deep.t": "string"})
COLUMNS = pa.schema(
    [
        ("number", pa.int64()),
        ("n", pa.int64()),
        ("m", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("deep", pa.struct([("t", pa.string())])),
    ]
)
_READS = ("number", "n", "s")  # what operators look at
_TEXTS = ("x", "y", "1")
_MISSING = 0.15


def events(random: Random, count: int) -> list[dict[str, Any]]:
    """Events that differ in their `number`, some with nothing where a value might be."""
    made = []
    for number in range(count):
        values: dict[str, Any] = {
            "n": random.randrange(3),
            "m": random.randrange(3),
            "f": random.choice([0.0, 0.5, 1.0, 2.0]),
            "s": random.choice(_TEXTS),
            "deep": {"t": random.choice(_TEXTS)},
        }
        for name in values:
            if random.random() < _MISSING:
                values[name] = None
        made.append({"number": number} | {k: v for k, v in values.items() if v is not None or random.random() < 0.5})
    return made


def table(batch: list[dict[str, Any]]) -> pa.Table:
    """The same events as an Arrow table."""
    return pa.Table.from_pylist(batch, COLUMNS)


# ---------------------------------------------------------------- operators


class Failure(Exception):
    """What an operator raises where it is to fail."""


Calls = Counter[tuple[str, str, int]]  # the operator, its inputs (as text, for Python 1 is true) and the event


class Made(NamedTuple):
    """One random operator."""

    name: str
    inputs: int
    outputs: int
    texts: bool  # it finds texts rather than numbers
    rows: Callable[..., Rows]


def operators(random: Random, count: int) -> list[Made]:
    """Some that are true or false, some that find something, some of which fail at times."""
    return [_made(random, f"op{number}" if number % 3 else f"lib.op{number}") for number in range(count)]


def _made(random: Random, name: str) -> Made:
    seed, outputs, texts = random.random(), random.choice([0, 0, 1, 1, 1, 2]), random.random() < 0.3
    fails = random.choice([0.0, 0.0, 0.1, 0.3])
    likely = random.choice([0.2, 0.5, 0.8])

    def rows(event: Mapping[str, Any], *inputs: Any) -> Rows:
        seen = Random(repr((seed, inputs, [event.get(each) for each in _READS])))
        if seen.random() < fails:
            return None
        if not outputs:
            return [()] if seen.random() < likely else []
        count = seen.choice([0, 1, 1, 2, 3])
        return [tuple(_value(seen, texts) for _ in range(outputs)) for _ in range(count)]

    return Made(name, random.choice([0, 1, 1, 2]), outputs, texts, rows)


def _value(random: Random, texts: bool) -> Any:
    # One kind for all, since a column of Arrow has one.
    return random.choice(_TEXTS) if texts else random.choice([0, 1, 2, 3])


def for_oracle(made: list[Made]) -> dict[str, Found]:
    """As the oracle wants them."""
    return {each.name: Found(each.outputs, each.rows) for each in made}


def for_engine(random: Random, made: list[Made], calls: Calls) -> list[Operator]:
    """As the engine wants them, each written in a way of its own."""
    return [_WRITTEN[random.randrange(len(_WRITTEN))](each, calls, random) for each in made]


def _given(made: Made, rows: Rows) -> Any:
    """What a function gives back for its rows."""
    if rows is None:
        return None
    if not made.outputs:
        return bool(rows)
    return rows if made.outputs > 1 else [row[0] for row in rows]


def _told(made: Made, calls: Calls, event: Mapping[str, Any], inputs: tuple[Any, ...]) -> Rows:
    calls[made.name, repr(inputs), event["number"]] += 1
    return made.rows(event, *inputs)


def _scalar(made: Made, calls: Calls, random: Random) -> Operator:
    raises = random.random() < 0.5

    def function(event: Mapping[str, Any], *inputs: Any) -> Any:
        rows = _told(made, calls, event, inputs)
        if rows is None and raises:
            raise Failure("as it should")
        return _given(made, rows)

    options: dict[str, Any] = {"reads": random.choice([None, _READS]), "time_limit": random.choice([None, 60.0])}
    return operator(made.name, outputs=made.outputs, **options)(function)


def _asynchronous(made: Made, calls: Calls, random: Random) -> Operator:
    async def function(event: Mapping[str, Any], *inputs: Any) -> Any:
        await asyncio.sleep(0)
        return _given(made, _told(made, calls, event, inputs))

    return operator(made.name, outputs=made.outputs, reads=_READS, time_limit=60.0)(function)


def _batched(made: Made, calls: Calls, random: Random) -> Operator:
    element = pa.string() if made.texts else pa.int64()
    type_ = element if made.outputs == 1 else pa.struct([(str(each), element) for each in range(made.outputs)])

    def function(batch: pa.Table, *inputs: Any) -> pa.Array:
        events = batch.to_pylist()
        columns = [each.to_pylist() if isinstance(each, pa.Array) else [each] * len(events) for each in inputs]
        given = []
        for number, event in enumerate(events):
            rows = _told(made, calls, event, tuple(column[number] for column in columns))
            given.append(_given(made, rows))
        if made.outputs > 1:
            given = [rows and [{str(n): value for n, value in enumerate(row)} for row in rows] for rows in given]
        return pa.array(given, pa.list_(type_) if made.outputs else pa.bool_())

    return operator(made.name, outputs=made.outputs, batch=True, reads=_READS, time_limit=None)(function)


_WRITTEN = [_scalar, _scalar, _asynchronous, _batched]


# ---------------------------------------------------------------- filters


class Writer:
    """Writes random filters over some operators."""

    def __init__(self, random: Random, made: list[Made], schema: Schema = SCHEMA) -> None:
        self.random = random
        self.made = made
        self._schema = schema
        self._found = for_oracle(made)

    def filter(self, *, safe: bool = True) -> str:
        """One whose variables are all bound by operators (`safe`), or one in which some are not."""
        variables = self.random.choice([0, 1, 2, 2, 3]) if any(each.outputs for each in self.made) else 0
        while True:
            text = self._part(self.random.choice([1, 2, 2, 3]))
            if "op" not in text or text.count("?") < variables or not self._bound(text):
                continue
            if Oracle(text, self._found, self._schema).safe is safe:
                return text

    def _part(self, depth: int) -> str:
        random = self.random
        if depth == 0 or random.random() < 0.15:
            return self._leaf()
        kind = random.choice(["and", "and", "and", "or", "not"])
        if kind == "not":
            return f"not ({self._part(depth - 1)})" if random.random() < 0.5 else f"not {self._call()}"
        parts = [self._part(depth - 1) for _ in range(random.choice([2, 2, 3]))]
        return f" {kind} ".join(f"({part})" for part in parts)

    def _leaf(self) -> str:
        kind = self.random.choice(["call", "call", "call", "plain", "constraint"])
        return {"call": self._call, "plain": self._plain, "constraint": self._constraint}[kind]()

    def _call(self) -> str:
        random = self.random
        # Few are called by many, so that much is shared.
        made = self.made[min(random.randrange(len(self.made)), random.randrange(len(self.made)))]
        inputs = [
            random.choice(["0", "1", "'x'", "n", "s", "deep.t", "n + 1", "true", "1.0"]) for _ in range(made.inputs)
        ]
        constants = ["'x'", "s"] if made.texts else ["1", "2.0", "n", "n + 1"]
        outputs = [
            f"?{random.choice('aabc')}" if random.random() < 0.85 else random.choice(constants)
            for _ in range(made.outputs)
        ]
        return f"{made.name}({', '.join([*inputs, *outputs])})"

    def _plain(self) -> str:
        texts = ["n = 1", "n < 2", "m >= 1", "f between 0.5 and 1", "s = 'x'", "not s = 'y'", "deep.t in ('x', 'y')"]
        texts += ["n = m", "m is null", "exists s", "s like '%x'"]
        return self.random.choice(texts)

    def _constraint(self) -> str:
        a, b = (f"?{self.random.choice('aabc')}" for _ in range(2))
        texts = [f"{a} > 0", f"{a} < 3", f"{a} != 1", f"not {a} = 2", f"{a} >= {b}", f"{a} != {b}", f"{a} in (1, 2)"]
        texts += [f"{a} = 'x'", f"{a} like '%y'", f"{a} > 2 * {b} - n", f"{a} % 2 = 1", f"{a} / n >= 0.5", f"{a} <= f"]
        texts += [f"{a} between {b} and 3", f"not {a} between 1 and 2", f"{a} = s", f"{a} is not null"]
        return self.random.choice(texts)

    def _bound(self, text: str) -> bool:
        """Does some call have each variable? The language refuses the text otherwise."""
        try:
            check(parse(text), self._schema, text)
        except FilterError:
            return False
        return True
