"""Publications and subscriptions of Tomasic 2006, §4, by its four workloads and its factors.

The paper says what each workload has to be like, and not how it was made. So every one is made such that its property
holds by construction, whatever is drawn. A constraint has a number of conjuncts (1, as in the paper's examples, where
none is given) over a group of neighbouring variables; publications and subscriptions of a group speak of the same
ones. Of every variable the publications say something else than nearly all subscriptions, by the variable's number:

    below      publications: = and < below a cut     subscriptions: = and >= above it
    above      the other way round
    listed     publications: = c                     subscriptions: != c        (c: the variable's own constant)
    left out   publications: != c                    subscriptions: = c
    apart      publications: = even numbers          subscriptions: = odd ones  (where = is the only operator)

So these never meet, in any variable. Those that do meet are planted: copies of a publication, and, if != is an
operator, every fifth of them `!= 0` throughout, which meets all publications of its group.

fixed                       10 planted, whatever the number of subscriptions
proportional                a tenth of the subscriptions are planted
large-intermediate-results  as fixed in the first variable of a group, and all others meet for every pair of the group;
                            it takes two variables at least
fixed-geometric             as fixed; variables are places within rectangles, those of publications in the west, those
                            of subscriptions in the east
uniform                     nothing planted: every operator and, from 1 to the number of subscriptions, every value is
                            as likely. The paper starts from it: with = alone two pairs or so meet, with != far too many
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from vedette.meeting.direction import RankSide
from vedette.meeting.relations import EDGES, WITHIN, relations

Name = Literal["fixed", "proportional", "large-intermediate-results", "fixed-geometric", "uniform"]
NAMES: tuple[Name, ...] = get_args(Name)
EQUAL, DIFFERENT, BELOW, FROM = range(4)
WORDS = ("=", "!=", "<", ">=")
PLANTED = 10
_SPAN = 1_000_000  # of values
_CUT = _SPAN // 2
_SIDE = 0.5  # of rectangles, in degrees
_APART = 4  # the mode of variables where = is the only operator
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Factors:
    """The factors of §4."""

    publications: int = 100
    subscriptions: int = 100_000
    variables: int = 50
    all_operators: bool = True  # =, !=, < and >=; else = alone
    conjuncts: int = 1

    @property
    def groups(self) -> int:
        """So many sets of variables are spoken of together."""
        return max(1, self.variables // self.conjuncts)


@dataclass(frozen=True)
class Constraints:
    """Constraint i has row i of all arrays: for each conjunct a variable, an operator and a value, or a rectangle."""

    variable: Numbers
    op: Numbers
    value: Numbers
    edges: NDArray[np.float64] | None = None  # (constraint, conjunct, west south east north)

    def __len__(self) -> int:
        return len(self.variable)

    def part(self, first: int, count: int) -> Constraints:
        """Some of them, in a row."""
        some = slice(first, first + count)
        edges = None if self.edges is None else self.edges[some]
        return Constraints(self.variable[some], self.op[some], self.value[some], edges)

    def texts(self) -> list[str]:
        """As people write them."""
        if self.edges is not None:
            tests = [
                [f"x{name} within region box({', '.join(map(repr, box))})" for name, box in zip(*row, strict=True)]
                for row in zip(self.variable.tolist(), self.edges.tolist(), strict=True)
            ]
        else:
            rows = zip(self.variable.tolist(), self.op.tolist(), self.value.tolist(), strict=True)
            tests = [[f"x{n} {WORDS[op]} {value}" for n, op, value in zip(*row, strict=True)] for row in rows]
        return [" and ".join(each) for each in tests]

    def relations(self, side: RankSide) -> dict[str, pa.Table]:
        """The relations of the paper; ids are numbers."""
        count, conjuncts = self.variable.shape
        made = dict(relations({}, side))
        letter, ending = side[0], f"{side[:3]}s"
        ids, zeros = pa.array(np.arange(count)), pa.array(np.zeros(count, np.int32))
        counts = pa.array(np.full(count, conjuncts, np.int32))
        made[f"{side[:3]}_master"] = pa.table({"id": ids, "disjunct_id": zeros, "count": counts})
        number = self.variable.ravel()
        names = pa.array([f"x{n}" for n in range(int(number.max(initial=0)) + 1)])
        columns = {
            f"{letter}_id": pa.array(np.repeat(np.arange(count), conjuncts)),
            f"{letter}_disjunct_id": pa.array(np.zeros(count * conjuncts, np.int32)),
            "field": names.take(pa.array(number)),
        }
        if self.edges is None:
            values = {"val": pa.array(self.value.ravel()), "val2": pa.nulls(count * conjuncts, pa.int64())}
            made[f"integer_{ending}"] = pa.table({**columns, **values, "op": pa.array(WORDS).take(self.op.ravel())})
        else:
            flat = self.edges.reshape(-1, 4)
            edges = {name: pa.array(flat[:, place]) for place, name in enumerate(EDGES)}
            made[f"point_{ending}"] = pa.table({**columns, **edges, "op": pa.array([WITHIN] * len(flat))})
        return made


@dataclass(frozen=True)
class Workload:
    """Both sides."""

    name: Name
    publications: Constraints
    subscriptions: Constraints

    @property
    def schema(self) -> dict[str, str]:
        """The type of every variable."""
        kind = "int" if self.publications.edges is None else "point"
        spoken = np.unique(np.concatenate((self.publications.variable, self.subscriptions.variable)))
        return {f"x{number}": kind for number in spoken.tolist()}


def generate(name: Name, factors: Factors, seed: int = 1) -> Workload:
    """One workload."""
    if name == "large-intermediate-results" and factors.conjuncts < 2:
        raise ValueError("large intermediate results take two conjuncts at least")
    if factors.variables < factors.conjuncts:
        raise ValueError("there are more conjuncts than variables")
    random = np.random.default_rng(seed)
    published = _constraints(name, factors, random, np.arange(factors.publications) % factors.groups, "publication")
    group = random.integers(0, factors.groups, factors.subscriptions)
    subscribed = _constraints(name, factors, random, group, "subscription")
    if name == "uniform":
        return Workload(name, published, subscribed)
    planted = factors.subscriptions // 10 if name == "proportional" else PLANTED
    return Workload(name, published, _planted(published, subscribed, planted, factors, random))


def _constraints(name: Name, factors: Factors, random: Generator, group: Numbers, side: RankSide) -> Constraints:
    variable = group[:, None] * factors.conjuncts + np.arange(factors.conjuncts)
    if name == "fixed-geometric":
        west = random.uniform(-170, -10, variable.shape) * (1 if side == "publication" else -1)
        south = random.uniform(-80, 80, variable.shape)
        edges = np.stack((west, south, west + _SIDE, south + _SIDE), axis=-1)
        return Constraints(variable, np.zeros_like(variable), np.zeros_like(variable), edges)
    if name == "uniform":
        op = random.integers(0, len(WORDS), variable.shape) if factors.all_operators else np.zeros_like(variable)
        return Constraints(variable, op, random.integers(1, factors.subscriptions + 1, variable.shape))
    mode = variable % 4 if factors.all_operators else np.full_like(variable, _APART)
    op, value = _apart(mode, variable, random, side)
    if name == "large-intermediate-results":
        if factors.all_operators:
            others = np.where(random.random(variable.shape) < 0.5, FROM, DIFFERENT)
            values = random.integers(1, _SPAN, variable.shape)
        else:
            others, values = np.full_like(variable, EQUAL), _own(variable)
        op[:, 1:], value[:, 1:] = others[:, 1:], values[:, 1:]
    return Constraints(variable, op, value)


def _own(variable: Numbers) -> Numbers:
    """The constant of a variable."""
    return variable + 1


def _apart(mode: Numbers, variable: Numbers, random: Generator, side: RankSide) -> tuple[Numbers, Numbers]:
    """Operators and values that never meet those of the other side."""
    publishes = side == "publication"
    low, high = random.integers(1, _CUT, mode.shape), random.integers(_CUT, _SPAN, mode.shape)
    equal = random.random(mode.shape) < 0.5
    beneath = np.where(equal, EQUAL, BELOW), low
    beyond = np.where(equal, EQUAL, FROM), high
    same = np.full_like(mode, EQUAL), _own(variable)
    other = np.full_like(mode, DIFFERENT), _own(variable)
    parity = np.full_like(mode, EQUAL), 2 * low + (0 if publishes else 1)
    by_mode = (beneath, same, beyond, other, parity) if publishes else (beyond, other, beneath, same, parity)
    op = np.choose(mode, [each[0] for each in by_mode])
    return op, np.choose(mode, [each[1] for each in by_mode])


def _planted(published: Constraints, own: Constraints, count: int, factors: Factors, random: Generator) -> Constraints:
    """The subscriptions with some of them, anywhere, replaced."""
    count = min(count, len(own))
    places = random.permutation(len(own))[:count]
    source = np.arange(count) % len(published)
    arrays = [own.variable.copy(), own.op.copy(), own.value.copy()]
    for mine, theirs in zip(arrays, (published.variable, published.op, published.value), strict=True):
        mine[places] = theirs[source]
    edges = own.edges
    if edges is not None and published.edges is not None:
        edges[places] = published.edges[source]
    elif factors.all_operators:
        fifth = places[4::5]
        arrays[1][fifth], arrays[2][fifth] = DIFFERENT, 0
    return Constraints(arrays[0], arrays[1], arrays[2], edges)
