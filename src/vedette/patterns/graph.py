"""The machines of all patterns as one graph of states, merged where patterns have the same beginning.

A state is a set of items, each a pattern and a marking of it. An event that satisfies a step moves all items that
need just that step, under just the same conditions, to one new state: so equal prefixes of many patterns are one path.
States are built when they are first reached, and their arrays are what `vedette.patterns.kernels.runs` reads.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.language.ast import Comparator
from vedette.patterns.kernels import runs
from vedette.patterns.shape import DONE, Marking, Shape, must_go_on

OPERATORS: Final = {
    Comparator.EQ: runs.EQ,
    Comparator.NE: runs.NE,
    Comparator.LT: runs.LT,
    Comparator.LE: runs.LE,
    Comparator.GT: runs.GT,
    Comparator.GE: runs.GE,
    Comparator.SAME: runs.EQ,  # what is compared is never null
}
# Which time of the left side of a comparison is the better one, the later (1) or the earlier (-1); of the right
# side it is the other way round.
_BETTER: Final = {Comparator.LT: -1, Comparator.LE: -1, Comparator.GT: 1, Comparator.GE: 1}


class NumberedVariableTest(NamedTuple):
    """A comparison of the event's value in a column with a variable."""

    variable: int
    op: int
    column: int
    binds: bool


class NumberedAlternative(NamedTuple):
    """One way to satisfy a step: a primitive (the number of a filter), and tests of variables."""

    primitive: int
    tests: tuple[NumberedVariableTest, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A pattern, ready to run. `uid` is its permanent number, `group` the number of its partitioning."""

    uid: int
    shape: Shape
    within: int  # microseconds; -1: no window
    group: int
    steps: tuple[tuple[NumberedAlternative, ...], ...]  # of each position
    absent: tuple[tuple[NumberedAlternative, ...], ...]


Item: TypeAlias = tuple[int, Marking]  # a pattern's uid, and the marking of its partial match


class PartitionGroup(NamedTuple):
    """Patterns that share partitions: `keys` is the number of their key column (-1: one partition for all)."""

    keys: int
    observed: int  # the uid of the one pattern that is observed; -1
    symbols: tuple[int, ...]  # the primitives whose truth is observed


@dataclass(slots=True)
class _IntegerTable:
    """A growing table of rows of integers."""

    width: int
    rows: int = 0
    array: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.array = np.zeros((16, self.width), np.int64)

    def add(self, *rows: Sequence[int]) -> tuple[int, int]:
        """Add rows; return where they begin and end."""
        begin, end = self.rows, self.rows + len(rows)
        if end > len(self.array):
            wider = np.zeros((max(end, 2 * len(self.array)), self.width), np.int64)
            wider[:begin] = self.array[:begin]
            self.array = wider
        if rows:
            self.array[begin:end] = rows
        self.rows = end
        return begin, end

    def copy(self) -> _IntegerTable:
        """An independent copy."""
        made = copy.copy(self)
        made.array = self.array.copy()
        return made


class Graph:
    """States and the moves between them."""

    def __init__(self, machines: Iterable[Machine], groups: Sequence[PartitionGroup], primitives: int) -> None:
        self.machines = {machine.uid: machine for machine in machines}
        self.groups = list(groups)
        self.primitives = primitives
        self._numbers = {uid: number for number, uid in enumerate(self.machines)}
        self.uids = np.array(list(self.machines), np.int64)
        self._states = _IntegerTable(runs.STATE_WIDTH)
        self._edges = _IntegerTable(runs.EDGE_WIDTH)
        self._targets = _IntegerTable(runs.TARGET_WIDTH)
        self._tests = _IntegerTable(runs.TEST_WIDTH)
        self._blocks = _IntegerTable(runs.BLOCK_WIDTH)
        self._saves = _IntegerTable(1)
        self._conditions = _IntegerTable(runs.CONDITION_WIDTH)
        self._live = _IntegerTable(2)
        self._expiries = _IntegerTable(2)
        self._accepts = _IntegerTable(1)
        self.items: list[frozenset[Item]] = []
        self._known: dict[tuple[int, frozenset[Item]], int] = {}
        self._promise = np.full(16, np.nan)  # of each state: how probably a partial match in it completes
        self._promised: dict[int, Mapping[Marking, float]] = {}  # what is known of that, by group
        self.registers = max((max(m.shape.registers, default=-1) + 1 for m in self.machines.values()), default=0)
        self.variables = 1 + max(
            (test.variable for m in self.machines.values() for asked in m.steps for a in asked for test in a.tests),
            default=-1,
        )
        self._arrays: runs.GraphArrays | None = None
        self._roots = self._built_roots()
        self._groups = _group_arrays(self.groups, self._numbers)

    def copy(self) -> Graph:
        """An independent copy, which another thread may use."""
        made = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, _IntegerTable):
                setattr(made, name, value.copy())
        made.items, made._known = list(self.items), dict(self._known)
        made._promise, made._promised = self._promise.copy(), dict(self._promised)
        made._arrays = None
        return made

    # ------------------------------------------------------------ states

    def state(self, group: int, items: frozenset[Item]) -> int:
        """The number of a state, new or known."""
        found = self._known.get((group, items))
        if found is not None:
            return found
        self._arrays = None
        some = self.machines[next(iter(items))[0]]
        killers = self._blocked_by(*self._waits(next(iter(items))))
        row = [0] * runs.STATE_WIDTH
        row[runs.WINDOW] = some.within
        row[runs.GROUP] = group
        for _, marking in items:
            transient = must_go_on(marking)
            row[runs.HAS_NEXT] |= transient
            row[runs.HAS_WAIT] |= not transient
        row[runs.KILL_BEGIN], row[runs.KILL_END] = self._blocks.add(*killers) if row[runs.HAS_WAIT] else (0, 0)
        directions = self._directions(items)
        row[runs.LIVE_BEGIN], row[runs.LIVE_END] = self._live.add(*sorted(directions.items()))
        row[runs.EXPIRY_BEGIN], row[runs.EXPIRY_END] = self._expiries.add(*self._expiring(items))
        row[runs.DIGEST] = _digest(items)
        number = self._known[group, items] = self._states.add(row)[0]
        self.items.append(items)
        if len(self._promise) < len(self._states.array):
            more = np.full(len(self._states.array) - len(self._promise), np.nan)
            self._promise = np.concatenate([self._promise, more])
        self._promise[number] = self._promise_of(group, items)
        return number

    def promise(self, group: int, probability: Mapping[Marking, float]) -> None:
        """Set the probability that partial matches of a group complete; beyond the cap, the least probable go first."""
        self._promised[group] = probability
        for state in np.flatnonzero(self._states.array[: len(self.items), runs.GROUP] == group).tolist():
            self._promise[state] = self._promise_of(group, self.items[state])

    def _promise_of(self, group: int, items: Iterable[Item]) -> float:
        """The greatest probability of some items, 1 for markings not considered; NaN if unknown for the group."""
        known = self._promised.get(group)
        return float("nan") if known is None else max(known.get(marking, 1.0) for _, marking in items)

    def expand(self, state: int) -> None:
        """Compute the moves from a state."""
        row = self._states.array[state]
        if row[runs.EXPANDED]:
            return
        self._arrays = None
        edges = self._moves(int(row[runs.GROUP]), self.items[state])
        row = self._states.array[state]  # the table may have grown
        now = [edge for key, edge in edges.items() if key[3]]
        later = [edge for key, edge in edges.items() if not key[3]]
        row[runs.NEXT_BEGIN], row[runs.NEXT_END] = self._edges.add(*now)
        row[runs.WAIT_BEGIN], row[runs.WAIT_END] = self._edges.add(*later)
        row[runs.EXPANDED] = 1

    def expand_all(self) -> None:
        """Build all states that can be reached."""
        state = 0
        while state < len(self.items):
            self.expand(state)
            state += 1

    def __len__(self) -> int:
        """The number of states built so far."""
        return len(self.items)

    def _moves(self, group: int, items: Iterable[Item]) -> dict[Any, list[int]]:
        """The edges that leave some items, each a row of the table of edges."""
        found: dict[Any, dict[Any, tuple[set[Item], list[int]]]] = {}
        for uid, marking in items:
            machine = self.machines[uid]
            shape = machine.shape
            open_before = shape.unsettled(marking)
            waits = shape.waits(marking)
            for move in shape.moves(marking):
                blocks = tuple(self._asked_absent(machine, waits - move.absent))
                saves = self._saved(shape, move.position, open_before)
                for asked in machine.steps[move.position]:
                    edge = found.setdefault((asked.primitive, move.position, asked.tests, move.contiguous, blocks), {})
                    for each in move.markings:
                        open_after = () if each == DONE else shape.unsettled(each)
                        settled = tuple(
                            self._condition(shape, number, move.position)
                            for number in open_before
                            if number not in open_after
                        )
                        kills = () if each == DONE or must_go_on(each) else self._waits((uid, each))
                        target = edge.setdefault((settled, saves, kills, machine.within), (set(), []))
                        if each == DONE:
                            target[1].append(self._numbers[uid])
                        else:
                            target[0].add((uid, each))
        return {key: self._edge(group, key, targets) for key, targets in found.items()}

    def _edge(self, group: int, key: Any, targets: dict[Any, tuple[set[Item], list[int]]]) -> list[int]:
        primitive, position, tests, _, blocks = key
        rows = []
        for (settled, saves, _, _), (items, accepted) in targets.items():
            row = [0] * runs.TARGET_WIDTH
            row[runs.STATE] = self.state(group, frozenset(items)) if items else -1
            row[runs.SAVE_BEGIN], row[runs.SAVE_END] = self._saves.add(*((each,) for each in saves))
            row[runs.CONDITION_BEGIN], row[runs.CONDITION_END] = self._conditions.add(*settled)
            row[runs.ACCEPT_BEGIN], row[runs.ACCEPT_END] = self._accepts.add(*((each,) for each in accepted))
            rows.append(row)
        edge = [0] * runs.EDGE_WIDTH
        edge[runs.PRIMITIVE], edge[runs.POSITION] = primitive, position
        edge[runs.TEST_BEGIN], edge[runs.TEST_END] = self._tests.add(*tests)
        edge[runs.BLOCK_BEGIN], edge[runs.BLOCK_END] = self._blocks.add(*self._blocked_by(*blocks))
        edge[runs.TARGET_BEGIN], edge[runs.TARGET_END] = self._targets.add(*rows)
        return edge

    # ------------------------------------------------------------ parts of them

    def _waits(self, item: Item) -> tuple[NumberedAlternative, ...]:
        """The absent steps that would end an item."""
        machine = self.machines[item[0]]
        return tuple(self._asked_absent(machine, machine.shape.waits(item[1])))

    @staticmethod
    def _asked_absent(machine: Machine, absent: Iterable[int]) -> list[NumberedAlternative]:
        return [asked for number in sorted(absent) for asked in machine.absent[number]]

    def _blocked_by(self, *asked: NumberedAlternative) -> list[list[int]]:
        return [[each.primitive, *self._tests.add(*each.tests)] for each in asked]

    @staticmethod
    def _saved(shape: Shape, position: int, unsettled: tuple[int, ...]) -> tuple[int, ...]:
        """The registers that keep a position's time."""
        open_ = [shape.conditions[number] for number in unsettled]
        asked = {slot for each in open_ for slot in (each.left, each.right, each.scope)}
        return tuple(sorted(shape.registers[slot] for slot in shape.slots_of(position) if slot in asked))

    @staticmethod
    def _condition(shape: Shape, number: int, position: int) -> tuple[int, ...]:
        one = shape.conditions[number]
        left, right, scope = (-1 if slot < 0 else shape.registers[slot] for slot in (one.left, one.right, one.scope))
        of_now = int(position in one.positions)
        return (left, right, OPERATORS[one.op], one.microseconds, int(one.absolute), scope, of_now)

    def _directions(self, items: Iterable[Item]) -> dict[int, int]:
        """The registers still needed, and whether a later time is better (1), an earlier (-1), or neither."""
        found: dict[int, int] = {}
        for uid, marking in items:
            shape = self.machines[uid].shape
            future = shape.future(marking) if shape.conditions else frozenset()
            for number in shape.unsettled(marking):
                one = shape.conditions[number]
                for slot, sign in ((one.left, 1), (one.right, -1), (one.scope, 0)):
                    if slot < 0 or shape.positions_of(slot) <= future:  # there, or not yet
                        continue
                    better = sign * _BETTER.get(one.op, 0)
                    if one.absolute and sign:  # what is still to come is later than what was
                        other = one.right if slot == one.left else one.left
                        better = -_BETTER.get(one.op, 0) if shape.positions_of(other) <= future else 0
                    register = shape.registers[slot]
                    found[register] = better if found.get(register, better) == better else 0
        return found

    def _expiring(self, items: Iterable[Item]) -> list[tuple[int, int]]:
        """Registers, and how long after their time the partial match can no longer complete."""
        agreed: set[tuple[int, int]] | None = None
        for uid, marking in items:
            shape = self.machines[uid].shape
            mine = {(shape.registers[slot], hope) for slot, hope in shape.hopeless_after(marking)}
            agreed = mine if agreed is None else agreed & mine
        return sorted(agreed or ())

    # ------------------------------------------------------------ roots

    def _built_roots(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The edges that begin a partial match, by primitive, then by group."""
        rows: list[tuple[int, int, list[int]]] = []
        by_group: dict[int, list[Item]] = {}
        for machine in self.machines.values():
            by_group.setdefault(machine.group, []).append((machine.uid, None))
        for group, items in by_group.items():
            for edge in self._moves(group, items).values():
                rows.append((edge[runs.PRIMITIVE], group, edge))
        rows.sort(key=lambda row: row[:2])
        first = self._edges.add(*(row[2] for row in rows))[0]
        start = np.zeros(self.primitives + 1, np.int64)
        for primitive, _, _ in rows:
            start[primitive + 1] += 1
        roots = np.array([(group, first + n) for n, (_, group, _) in enumerate(rows)], np.int64).reshape(-1, 2)
        return np.cumsum(start), roots

    def arrays(self) -> runs.GraphArrays:
        """The arrays for the kernels; renewed whenever a state was added or expanded."""
        if self._arrays is None:
            self._arrays = runs.GraphArrays(
                self._states.array,
                self._edges.array,
                self._targets.array,
                self._tests.array,
                self._blocks.array,
                self._saves.array,
                self._conditions.array,
                self._live.array,
                self._expiries.array,
                self._accepts.array,
                *self._roots,
                *self._groups,
                self._promise,
            )
        return self._arrays

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays())


def _group_arrays(
    groups: Sequence[PartitionGroup], numbers: dict[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    symbols = [(primitive,) for group in groups for primitive in group.symbols]
    rows = []
    begin = 0
    for group in groups:
        rows.append((group.keys, numbers.get(group.observed, -1), begin, begin + len(group.symbols)))
        begin += len(group.symbols)
    return np.array(rows, np.int64).reshape(-1, 4), np.array(symbols, np.int64).reshape(-1, 1)


def _digest(items: frozenset[Item]) -> int:
    """A number for the state that is the same in every process and order of building."""
    text = repr(sorted((repr(marking) for _, marking in items)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
