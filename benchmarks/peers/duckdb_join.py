"""DuckDB as a matcher: a join of a table of events with a table of subscriptions.

Four formulations, of which the fastest on the case at hand counts:

wide    one row per subscription with a lower and an upper bound for every attribute (infinite where it does not
        matter); an attribute that all subscriptions compare with `=` is an equality join
access  one row per subscription with its constraints in slots, an equality or else the narrowest first; the first is
        joined with a table of one row per event and attribute, the rest are looked up in the event
chain   the same rows; slot after slot is joined on event and attribute, so that every join is a hash join
count   one row per constraint; the pairs with as many hits as the subscription has constraints

Strings go in by number, as they do for the indexes. The pairs come out as an Arrow table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks import clock
from benchmarks.constants import Constraints, Events, Op


class Tables(Protocol):
    """Another engine that these queries are put to."""

    def load(self, name: str, table: pa.Table) -> None:
        """Make a table of it, in place of another of that name."""


Connection: TypeAlias = "duckdb.DuckDBPyConnection | Tables"
Formulation = Callable[[Connection, Constraints], str]


@dataclass(frozen=True)
class Joined:
    """The fastest formulation, the events it was timed on, and how many pairs it found."""

    formulation: str
    events: int
    us_per_event: float
    matches: int


def closed_bounds(constraints: Constraints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inclusive bounds of every constraint, infinite where it has none."""
    low, high = constraints.low.copy(), constraints.high.copy()
    above, below = constraints.op == Op.ABOVE, constraints.op == Op.BELOW
    high[constraints.op == Op.EQUAL] = low[constraints.op == Op.EQUAL]
    low[above], high[above] = np.nextafter(low[above], np.inf), np.inf
    high[below], low[below] = np.nextafter(high[below], -np.inf), -np.inf
    return low, high


def wide(connection: Connection, constraints: Constraints) -> str:
    """See above; refused for many attributes, where a row would be mostly infinities."""
    if len(constraints.attributes) > 30:
        return ""
    low, high = closed_bounds(constraints)
    columns: dict[str, NDArray[np.float64] | NDArray[np.int32]] = {"id": np.arange(len(constraints), dtype=np.int32)}
    conditions: list[str] = []
    for attribute, places in zip(constraints.attributes, constraints.by_attribute, strict=True):
        lower, upper = np.full(len(constraints), -np.inf), np.full(len(constraints), np.inf)
        lower[constraints.owner[places]], upper[constraints.owner[places]] = low[places], high[places]
        columns[f"{attribute.name}_low"], columns[f"{attribute.name}_high"] = lower, upper
        name = attribute.name
        if len(places) == len(constraints) and np.all(constraints.op[places] == Op.EQUAL):
            conditions.insert(0, f"e.{name} = s.{name}_low")
        else:
            conditions.append(f"e.{name} between s.{name}_low and s.{name}_high")
    _load(connection, "subscriptions", pa.table(columns))
    return f"select e.event, s.id from events e join subscriptions s on {' and '.join(conditions)}"


def access(connection: Connection, constraints: Constraints) -> str:
    """See above."""
    slots = _load_slots(connection, constraints)
    rest = [f"(size <= {i} or e.list[s.a{i} + 1] between s.l{i} and s.h{i})" for i in range(1, slots)]
    queries = [
        f"select e.event, s.id from (select * from subscriptions where size > 0 and {which}) s"
        f" join long v on v.attribute = s.a0 and {test} join events e using (event)"
        f" where {' and '.join(rest) or 'true'}"
        for which, test in _FIRST
    ]
    return " union all ".join([*queries, _ALWAYS])


def chain(connection: Connection, constraints: Constraints) -> str:
    """See above; refused for many slots, where the joins come in a bad order."""
    slots = _load_slots(connection, constraints)
    if slots > 5:
        return ""
    queries = []
    for size in range(1, slots + 1):
        rest = [
            f"join long v{i} on v{i}.event = v.event and v{i}.attribute = s.a{i}"
            f" and v{i}.value between s.l{i} and s.h{i}"
            for i in range(1, size)
        ]
        queries += [
            f"select v.event, s.id from (select * from subscriptions where size = {size} and {which}) s"
            f" join long v on v.attribute = s.a0 and {test} {' '.join(rest)}"
            for which, test in _FIRST
        ]
    return " union all ".join([*queries, _ALWAYS])


_FIRST = (("l0 = h0", "v.value = s.l0"), ("l0 != h0", "v.value between s.l0 and s.h0"))
_ALWAYS = "select e.event, s.id from events e, subscriptions s where s.size = 0"


def _load_slots(connection: Connection, constraints: Constraints) -> int:
    """Subscriptions with their constraints in slots, equalities first and narrow ones before wide ones."""
    low, high = closed_bounds(constraints)
    share = _shares(constraints, low, high)
    order = np.lexsort((share, constraints.op != Op.EQUAL, constraints.owner))
    sizes = np.diff(constraints.start)
    columns: dict[str, NDArray[Any]] = {
        "id": np.arange(len(constraints), dtype=np.int32),
        "size": sizes.astype(np.int32),
    }
    slots = int(sizes.max(initial=0))
    for slot in range(slots):
        has = sizes > slot
        places = order[constraints.start[:-1][has] + slot]
        attribute = np.full(len(constraints), -1, np.int32)
        lower, upper = np.full(len(constraints), -np.inf), np.full(len(constraints), np.inf)
        attribute[has], lower[has], upper[has] = constraints.attribute[places], low[places], high[places]
        columns |= {f"a{slot}": attribute, f"l{slot}": lower, f"h{slot}": upper}
    _load(connection, "subscriptions", pa.table(columns))
    return slots


def count(connection: Connection, constraints: Constraints) -> str:
    """See above."""
    low, high = closed_bounds(constraints)
    sizes = np.diff(constraints.start).astype(np.int32)
    owner = constraints.owner.astype(np.int32)
    rows: dict[str, Any] = {"id": owner, "attribute": constraints.attribute.astype(np.int32), "low": low, "high": high}
    _load(connection, "tests", pa.table(rows))
    _load(connection, "subscriptions", pa.table({"id": np.arange(len(sizes), dtype=np.int32), "size": sizes}))
    return (
        "select event, id from (select v.event, t.id, count(*) hits from long v join tests t"
        " on v.attribute = t.attribute and v.value between t.low and t.high group by all) h"
        " join subscriptions s using (id) where h.hits = s.size"
        " union all select e.event, s.id from events e, subscriptions s where s.size = 0"
    )


FORMULATIONS: dict[str, Formulation] = {"wide": wide, "access": access, "chain": chain, "count": count}


def _shares(constraints: Constraints, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """How wide a constraint is among the constants of its attribute, from 0 to 1."""
    share = np.empty(len(low))
    for places in constraints.by_attribute:
        points = np.sort(np.concatenate((low[places], high[places])))
        points = points[np.isfinite(points)]
        inside = np.searchsorted(points, high[places], "right") - np.searchsorted(points, low[places])
        share[places] = inside / max(len(points), 1)
    return share


def _load(connection: Connection, name: str, table: pa.Table) -> None:
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        connection.load(name, table)
        return
    connection.register("incoming", table)
    connection.execute(f"create or replace table {name} as select * from incoming")
    connection.unregister("incoming")


def load_events(connection: Connection, events: Events) -> None:
    """`events`, one row each, and `long`, one row per attribute that is present; strings by number."""
    numbers = np.arange(len(events), dtype=np.int32)
    columns = {"event": pa.array(numbers)}
    pieces = []
    for place, (attribute, column) in enumerate(zip(events.attributes, events.columns, strict=True)):
        values = column.values.astype(np.float64)
        columns[attribute.name] = pa.array(values, mask=~column.present)
        there = numbers[column.present]
        pieces.append((there, np.full(len(there), place, np.int32), values[column.present]))
    stacked = np.stack([np.where(c.present, c.values, np.nan) for c in events.columns], axis=1)
    columns["list"] = pa.FixedSizeListArray.from_arrays(pa.array(stacked.ravel(), from_pandas=True), stacked.shape[1])
    _load(connection, "events", pa.table(columns))
    names = ("event", "attribute", "value")
    _load(connection, "long", pa.table(dict(zip(names, map(np.concatenate, zip(*pieces, strict=True)), strict=True))))


def run(connection: duckdb.DuckDBPyConnection, query: str, limit_s: float) -> tuple[float, int] | None:
    """Seconds and pairs of a query; None if it was stopped at the limit."""
    timer = threading.Timer(limit_s, connection.interrupt)
    timer.start()
    begin = clock.now()
    try:
        pairs = connection.sql(query).to_arrow_table().num_rows
    except duckdb.InterruptException:
        return None
    finally:
        timer.cancel()
    return clock.now() - begin, pairs


def join(constraints: Constraints, events: Events, *, limit_s: float = 4.0, threads: int = 1) -> Joined | None:
    """The best of all formulations, each on as many events as the limit allows; None if all are too slow."""
    found: list[Joined] = []
    with duckdb.connect() as connection:
        connection.execute(f"set threads = {threads}")
        for name, formulate in FORMULATIONS.items():
            query = formulate(connection, constraints)
            if query:
                found += _grown(connection, name, query, events, limit_s)
    return min(found, key=lambda joined: joined.us_per_event, default=None)


def _grown(
    connection: duckdb.DuckDBPyConnection, name: str, query: str, events: Events, limit_s: float
) -> Iterator[Joined]:
    """From 64 events to four times as many, and so on, because hash tables pay off late."""
    size = min(64, len(events))
    while True:
        load_events(connection, events.head(size))
        measured = run(connection, query, 2 * limit_s)
        if measured is None:
            return
        took_s, pairs = measured
        yield Joined(name, size, 1e6 * took_s / size, pairs)
        if size == len(events) or took_s * 4 > limit_s:
            return
        size = min(len(events), size * 4)
