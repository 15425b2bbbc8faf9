"""Who finds the pairs that meet: the local engine, the paper's queries in DuckDB, and one join there.

All of them are made ready before they are timed: the local engine has its tables and lists, DuckDB its relations, in
memory, with the paper's indexes. Their answers are numbers of publications and subscriptions. One thread each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks import clock
from benchmarks.meeting_workloads import BELOW, DIFFERENT, EQUAL, Constraints, Workload
from vedette.meeting import queries
from vedette.meeting.allowed_values import Area, PlaceTerm
from vedette.meeting.constraint_parser import Constraint
from vedette.meeting.constraint_parser import Constraints as Reader
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.kernels.meet_rows import PLACE, SET
from vedette.meeting.meet import MeetingPairs
from vedette.meeting.meeting_index import MeetingIndex
from vedette.meeting.relations import FAMILIES
from vedette.schema.columns import Column
from vedette.schema.keys import INT_MAX, INT_MIN
from vedette.schema.schema import Schema

Numbers = NDArray[np.int64]
Found = tuple[Numbers, Numbers]  # publications and subscriptions, by number


def in_order(found: Found) -> Numbers:
    """Pairs in order, as one number each."""
    together: Numbers = found[0].astype(np.int64) << 32 | found[1].astype(np.int64)
    together.sort()
    return together


# ---------------------------------------------------------------- the local engine


class Local:
    """The subscriptions with their index, and the publications that ask it.

    Both are made from columns of constants, since there are many; texts become the same tables, more slowly.
    """

    def __init__(self, workload: Workload) -> None:
        self._schema, self._space = workload.schema, AttributeSpace()
        self._subscriptions = table_of(workload.subscriptions, self._schema, self._space)
        self._index = MeetingIndex(self._subscriptions)
        self.publish(workload.publications)

    def publish(self, publications: Constraints) -> None:
        """These ask from now on."""
        self._publications = table_of(publications, self._schema, self._space)
        self.find()  # makes lists and compiles kernels, where that has not been done

    def find(self) -> Found:
        """All pairs."""
        pairs = self._index.pairs(self._publications, "publication", "subscription")
        return MeetingPairs(self._publications, self._subscriptions, *pairs).constraints()


def read(side: Constraints, schema: dict[str, str]) -> list[Constraint]:
    """From texts."""
    reader = Reader(Schema.of(schema))
    return [reader.read(text) for text in side.texts()]


def table_of(side: Constraints, schema: dict[str, str], space: AttributeSpace) -> ConstraintTable:
    """What `ConstraintTable.of` makes of the texts."""
    count, conjuncts = side.variable.shape
    spoken = Schema.of(schema)
    numbers = {name: space.number(Column(name, spoken[name])) for name in sorted(schema)}
    by_variable = np.zeros(int(side.variable.max(initial=0)) + 1, np.int32)
    for name, number in numbers.items():
        if int(name[1:]) < len(by_variable):
            by_variable[int(name[1:])] = number
    # The terms of a disjunct are in the order of the names of their attributes.
    order = np.argsort(np.char.mod("x%d", side.variable), axis=1, kind="stable")
    variable = np.take_along_axis(side.variable, order, 1).ravel()
    terms = count * conjuncts
    starts = np.arange(count + 1, dtype=np.int64) * conjuncts
    places: list[PlaceTerm] = []
    if side.edges is None:
        spans = _spans(np.take_along_axis(side.op, order, 1), np.take_along_axis(side.value, order, 1))
        place, sort = np.full(terms, -1, np.int32), SET
    else:
        edges = np.take_along_axis(side.edges, order[:, :, None], 1).reshape(-1, 4)
        places = [Area(_region(box)) for box in edges.tolist()]
        spans = np.zeros(terms + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        place, sort = np.arange(terms, dtype=np.int32), PLACE
    return ConstraintTable(
        [Constraint("", ())] * count,
        space,
        {},
        np.arange(count, dtype=np.int32),
        starts,
        by_variable[variable],
        np.full(terms, sort, np.uint8),
        np.zeros(terms, np.bool_),
        *spans,
        place,
        places,
    )


def _spans(op: Numbers, value: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Where the spans of every term start, and their ends; `!=` has two of them."""
    op, value = op.ravel(), value.ravel()
    starts = np.concatenate([[0], np.cumsum(np.where(op == DIFFERENT, 2, 1))]).astype(np.int64)
    low, last = (np.empty(starts[-1], np.int64) for _ in range(2))
    first = starts[:-1]
    low[first] = np.where((op == BELOW) | (op == DIFFERENT), INT_MIN, value)
    last[first] = np.where(op == EQUAL, value, np.where((op == BELOW) | (op == DIFFERENT), value - 1, INT_MAX))
    second = first[op == DIFFERENT] + 1
    low[second], last[second] = value[op == DIFFERENT] + 1, INT_MAX
    return starts, low, last


def _region(box: Iterable[float]) -> Any:
    from vedette.language.ast import Region

    west, south, east, north = box
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return Region(f"POLYGON(({', '.join(f'{x!r} {y!r}' for x, y in corners)}))")


# ---------------------------------------------------------------- DuckDB


class Relational:
    """The relations of both sides in DuckDB."""

    def __init__(self, workload: Workload) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("set threads = 1")
        self._subscriptions = workload.subscriptions.relations("subscription")
        for name, table in self._subscriptions.items():
            self._load(name, table)
        self.pairs: list[queries.Pair] = []
        self.publish(workload.publications)

    def publish(self, publications: Constraints) -> None:
        """These are the publications from now on."""
        relations = publications.relations("publication")
        for name, table in relations.items():
            self._load(name, table)
        self.pairs = queries.pairs_in(relations, self._subscriptions)

    def __enter__(self) -> Relational:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _load(self, name: str, table: pa.Table) -> None:
        if not len(table):
            return  # a workload has the same types throughout, and no query speaks of others
        self._connection.register("incoming", table)
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
        self._connection.unregister("incoming")
        indexed = {"val": "op, val", "count": "id, disjunct_id"}
        for column, columns in indexed.items():
            if column in table.column_names:
                self._connection.execute(f"CREATE INDEX {name}_index ON {name} ({columns})")

    def execute(self, query: str, /) -> Any:
        """One statement; a SELECT is run when its answer is taken."""
        return self._connection.sql(query)

    def papers_queries(self) -> Found:
        """As the paper issues them: every pair of operators into the intermediate table, then the count."""
        return _numbers(queries.issue(self, self.pairs))

    def one_join(self) -> Found:
        """One query, whose only join has all rules as alternatives."""
        return _numbers(self.execute(one_join(self.pairs)))

    def intermediate(self) -> int:
        """Rows of the intermediate table, after the paper's queries."""
        ((found,),) = self._connection.sql("SELECT COUNT(*) FROM intermediate_answer").fetchall()
        return int(found)

    def timed(self, name: str, limit_s: float) -> tuple[float, Found] | None:
        """Seconds of one way, and its pairs; None if it was stopped at the limit."""
        timer = threading.Timer(limit_s, self._connection.interrupt)
        timer.start()
        begin = clock.now()
        try:
            found = self.papers_queries() if name == "paper" else self.one_join()
        except duckdb.InterruptException:
            return None
        finally:
            timer.cancel()
        return clock.now() - begin, found


def _numbers(answer: Any) -> Found:
    table = answer.to_arrow_table()
    return table.column(0).to_numpy(), table.column(1).to_numpy()


def one_join(pairs: Iterable[queries.Pair]) -> str:
    """The counting over a single join of publications and subscriptions."""
    by_name: dict[str, list[str]] = {}
    for pair in pairs:
        rule = queries.rule(pair)
        test = f"(p.op = '{pair.published}' AND s.op = '{pair.subscribed}'{rule and f' AND {rule}'})"
        by_name.setdefault(FAMILIES[pair.kind].name, []).append(test)
    joins = [
        "SELECT p_id, p_disjunct_id, s_id, s_disjunct_id, p.field AS field"
        f" FROM {name}_pubs p JOIN {name}_subs s ON p.field = s.field AND ({' OR '.join(tests)})"
        for name, tests in by_name.items()
    ]
    return f"WITH intermediate_answer AS ({' UNION ALL '.join(joins)}) {queries.counting()}"
