"""The workloads W1 - W4: seeded, vectorised, described by constants that every form is made from.

W1  Aguilera 1999, §7: equality over K = 30 attributes of V = 3 or 30 values; about 100 matches per event
    whatever the number of subscriptions
W2  stock-like: a symbol (Zipf over 5,000), a price range and a volume range; 0.017 % match
W3  ranges only: 3 to 5 of 10 numeric attributes; 0.01 % match
W4  mixed: 100 attributes of which 20 are present, strings and numbers, equality and ranges; 0.14 % match
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.constants import Attribute, Constraints, Events, Op, Values

Floats = NDArray[np.float64]


class Workload(Protocol):
    """Makes as many subscriptions and events as are asked for; the same seed makes the same ones."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def matches_per_event(self, count: int) -> float:
        """How many of `count` subscriptions an event matches, on average and about."""
        ...

    def subscriptions(self, count: int, seed: int = 1) -> Constraints:
        """`count` conjunctions."""
        ...

    def events(self, count: int, seed: int = 2) -> Events:
        """`count` events."""
        ...


def zipf(values: int, exponent: float = 1.0) -> Floats:
    """Probabilities proportional to 1 / rank ** exponent."""
    weights = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    weights /= weights.sum()
    return weights


def draw(random: np.random.Generator, probabilities: Floats, count: int) -> NDArray[np.int64]:
    """`count` places, each with its probability."""
    cumulative = np.cumsum(probabilities)
    places: NDArray[np.int64] = np.searchsorted(cumulative, random.random(count) * cumulative[-1], side="right")
    return places


def _filled(values: NDArray[np.float64] | NDArray[np.int64]) -> Values:
    return Values(values, np.ones(len(values), np.bool_))


# ---------------------------------------------------------------- W1


@dataclass(frozen=True)
class Aguilera:
    """W1: attribute i + 1 is tested D times as often as attribute i; Zipf values asked for, uniform events."""

    values: int
    attributes: int = 30
    matches: float = 100.0

    @property
    def name(self) -> str:
        """W1-3 or W1-30."""
        return f"W1-{self.values}"

    def matches_per_event(self, count: int) -> float:
        """Independent of the number of subscriptions, but never more than a half of them."""
        return min(self.matches, count / 2)

    def popularity(self, count: int) -> Floats:
        """P(attribute i is tested), from p1 and D such that an event matches `matches` of `count`.

        An event's value is uniform, so a test holds with probability 1 / V whatever value it asks for, and
        log P(match) = sum of log(1 - p_i (1 - 1 / V)). p1 is 0.95 and D is solved for, unless that
        takes D under 0.5 (few subscriptions): then D is 0.5 and p1 is solved for.
        """
        wanted = np.log(self.matches_per_event(count) / count)
        steps = np.arange(self.attributes, dtype=np.float64)

        def surplus(first: float, degradation: float) -> float:
            return float(np.log1p(-first * degradation**steps * (1 - 1 / self.values)).sum() - wanted)

        if surplus(0.95, 0.5) > 0:
            first, degradation = 0.95, _root(lambda d: surplus(0.95, d), 0.5, 1.0)
        else:
            first, degradation = _root(lambda p: surplus(p, 0.5), 0.0, 0.95), 0.5
        return np.multiply(first, np.power(degradation, steps), dtype=np.float64)

    def subscriptions(self, count: int, seed: int = 1) -> Constraints:
        """Some, with few subscriptions, test nothing and always match: as the paper's distribution has it."""
        random = np.random.default_rng([seed, self.values])
        popularity = self.popularity(count).astype(np.float32)
        pieces = [
            random.random((min(250_000, count - begin), self.attributes), np.float32) < popularity
            for begin in range(0, count, 250_000)
        ]
        tested = np.concatenate(pieces)
        attribute = np.nonzero(tested)[1].astype(np.int16)
        start = np.zeros(count + 1, np.int64)
        np.cumsum(tested.sum(axis=1), out=start[1:])
        value = draw(random, zipf(self.values), len(attribute)).astype(np.float64)
        return Constraints(self._schema(), start, attribute, np.zeros(len(attribute), np.int8), value, value)

    def events(self, count: int, seed: int = 2) -> Events:
        """Every attribute present, uniform."""
        random = np.random.default_rng([seed, self.values])
        columns = tuple(_filled(random.integers(0, self.values, count)) for _ in range(self.attributes))
        return Events(self._schema(), columns)

    def _schema(self) -> tuple[Attribute, ...]:
        return tuple(Attribute(f"a{i:02}", "int") for i in range(1, self.attributes + 1))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Bisection for a falling function."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


# ---------------------------------------------------------------- W2


@dataclass(frozen=True)
class Stock:
    """W2: `symbol = 'KQZA' and price < 31.5 and volume between 900 and 2400`.

    Prices of a symbol are log-normal around its own level, in cents; volumes log-normal. A subscriber asks
    for the tails of the price or for a band of it, for a band or the upper tail of the volume.
    """

    symbols: int = 5000
    name: str = "W2"

    def matches_per_event(self, count: int) -> float:
        """A fixed share."""
        return count * 1.7e-4

    def subscriptions(self, count: int, seed: int = 1) -> Constraints:
        """Three constraints each: symbol, price, volume."""
        random = np.random.default_rng([seed, 2])
        by_popularity, level = self._market()
        symbol = by_popularity[draw(random, zipf(self.symbols), count)]
        op = np.zeros((count, 3), np.int8)
        low, high = np.zeros((count, 3)), np.zeros((count, 3))
        low[:, 0] = high[:, 0] = symbol
        op[:, 1] = draw(random, np.array([0.0, 0.4, 0.3, 0.3]), count)
        low[:, 1], high[:, 1] = self._bounds(random, op[:, 1], tail=1.4, width=0.22)
        low[:, 1], high[:, 1] = self._price(level[symbol], low[:, 1]), self._price(level[symbol], high[:, 1])
        op[:, 2] = draw(random, np.array([0.0, 0.6, 0.0, 0.4]), count)
        low[:, 2], high[:, 2] = self._bounds(random, op[:, 2], tail=1.6, width=0.4)
        low[:, 2], high[:, 2] = self._volume(low[:, 2]), self._volume(high[:, 2])
        start = np.arange(0, 3 * count + 1, 3, dtype=np.int64)
        attribute = np.tile(np.arange(3, dtype=np.int16), count)
        return Constraints(self._schema(), start, attribute, op.ravel(), low.ravel(), high.ravel())

    def events(self, count: int, seed: int = 2) -> Events:
        """Symbols as popular with traders as with subscribers."""
        random = np.random.default_rng([seed, 2])
        by_popularity, level = self._market()
        symbol = by_popularity[draw(random, zipf(self.symbols), count)]
        price = self._price(level[symbol], random.standard_normal(count))
        volume = self._volume(random.standard_normal(count)).astype(np.int64)
        return Events(self._schema(), (_filled(symbol), _filled(price), _filled(volume)))

    def _market(self) -> tuple[NDArray[np.int64], Floats]:
        """Symbols by popularity, and the price level of each; the same market for every seed."""
        random = np.random.default_rng(2001)
        return random.permutation(self.symbols), np.exp(random.normal(3.5, 1.0, self.symbols))

    @staticmethod
    def _bounds(random: np.random.Generator, op: NDArray[np.int8], tail: float, width: float) -> tuple[Floats, Floats]:
        """Bounds in standard deviations: a tail starts around `tail`, a band is `width` wide."""
        centre = random.standard_normal(len(op))
        edge = tail + random.normal(0.0, 0.5, len(op))
        low = np.where(op == Op.ABOVE, edge, centre - width / 2)
        high = np.where(op == Op.BELOW, -edge, centre + width / 2)
        return low, high

    @staticmethod
    def _price(level: Floats, deviation: Floats) -> Floats:
        price: Floats = np.round(level * np.exp(0.1 * deviation), 2)
        return price

    @staticmethod
    def _volume(deviation: Floats) -> Floats:
        volume: Floats = np.rint(np.exp(7.0 + 1.2 * deviation))
        return volume

    def _schema(self) -> tuple[Attribute, ...]:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        codes = [i * 89 for i in range(self.symbols)]  # spread over the four-letter words, in order
        words = tuple("".join(letters[code // 26**k % 26] for k in (3, 2, 1, 0)) for code in codes)
        return (Attribute("symbol", "string", words), Attribute("price", "float"), Attribute("volume", "int"))


# ---------------------------------------------------------------- W3


@dataclass(frozen=True)
class Ranges:
    """W3: intervals on 3 to 5 of 10 numeric attributes, uniform events; the volume of every box is 1e-4."""

    attributes: int = 10
    share: float = 1e-4
    name: str = "W3"

    def matches_per_event(self, count: int) -> float:
        """A fixed share."""
        return count * self.share

    def subscriptions(self, count: int, seed: int = 1) -> Constraints:
        """The widths of a box differ moderately (their logarithms are Dirichlet), its place is uniform."""
        random = np.random.default_rng([seed, 3])
        sizes = random.integers(3, 6, count)
        start = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        chosen = np.argsort(random.random((count, self.attributes), np.float32), axis=1) if count else np.empty((0, 10))
        taken = np.arange(self.attributes) < sizes[:, None]
        attribute = np.sort(np.where(taken, chosen, self.attributes), axis=1)[taken].astype(np.int16)
        shares = random.standard_gamma(8.0, len(attribute))
        if count:
            shares /= np.repeat(np.add.reduceat(shares, start[:-1]), sizes)
        width = self.share**shares
        low = random.random(len(attribute)) * (1 - width)
        op = np.full(len(attribute), Op.BETWEEN, np.int8)
        return Constraints(self._schema(), start, attribute, op, low, low + width)

    def events(self, count: int, seed: int = 2) -> Events:
        """Uniform in the unit cube."""
        random = np.random.default_rng([seed, 3])
        return Events(self._schema(), tuple(_filled(random.random(count)) for _ in range(self.attributes)))

    def _schema(self) -> tuple[Attribute, ...]:
        return tuple(Attribute(f"x{i}", "float") for i in range(self.attributes))


# ---------------------------------------------------------------- W4


@dataclass(frozen=True)
class Mixed:
    """W4: 2 to 4 tests on 100 attributes: half of them strings, a quarter integers, a quarter floats.

    Popularity of attributes is Zipf, with events as with subscribers; an event has 20 of them.
    """

    attributes: int = 100
    present: int = 20
    name: str = "W4"

    def matches_per_event(self, count: int) -> float:
        """A fixed share."""
        return count * 1.4e-3

    def subscriptions(self, count: int, seed: int = 1) -> Constraints:
        """Equality on strings; on numbers equality (one in five), a band or a tail."""
        random = np.random.default_rng([seed, 4])
        sizes = 2 + draw(random, np.array([0.32, 0.4, 0.28]), count)
        start = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        taken = np.arange(4) < sizes[:, None]
        chosen = _without_repeats(random, zipf(self.attributes, 0.8), count, 4)
        attribute = np.sort(np.where(taken, chosen, self.attributes), axis=1)[taken].astype(np.int16)
        constraints = Constraints(
            self._schema(),
            start,
            attribute,
            np.zeros(len(attribute), np.int8),
            np.zeros(len(attribute)),
            np.zeros(len(attribute)),
        )
        for place, (described, where) in enumerate(zip(constraints.attributes, constraints.by_attribute, strict=True)):
            self._constrain(random, place, described, constraints, where)
        return constraints

    def _constrain(
        self,
        random: np.random.Generator,
        place: int,
        attribute: Attribute,
        constraints: Constraints,
        where: NDArray[np.int64],
    ) -> None:
        if attribute.kind == "string":
            value = self._string(random, place, len(where)).astype(np.float64)
            constraints.low[where] = constraints.high[where] = value
            return
        op = draw(random, np.array([0.2 if attribute.kind == "int" else 0.0, 0.4, 0.2, 0.2]), len(where))
        centre = random.standard_normal(len(where))
        width = 0.1 + 0.6 * random.random(len(where))
        edge = 0.8 + 0.5 * random.random(len(where))
        low = np.where(op == Op.ABOVE, edge, np.where(op == Op.BETWEEN, centre - width / 2, centre))
        high = np.where(op == Op.BELOW, -edge, np.where(op == Op.BETWEEN, centre + width / 2, centre))
        constraints.op[where] = op
        constraints.low[where] = self._number(attribute, low)
        constraints.high[where] = self._number(attribute, high)

    def events(self, count: int, seed: int = 2) -> Events:
        """Attributes sampled without replacement, so that popular ones are nearly always there."""
        random = np.random.default_rng([seed, 4])
        there = np.zeros((count, self.attributes), np.bool_)
        chosen = _without_repeats(random, zipf(self.attributes, 0.8), count, self.present)
        np.put_along_axis(there, chosen, True, axis=1)
        columns = []
        for place, attribute in enumerate(self._schema()):
            values: NDArray[np.int64] | Floats
            if attribute.kind == "string":
                values = self._string(random, place, count)
            else:
                values = self._number(attribute, random.standard_normal(count))
                values = values.astype(np.int64) if attribute.kind == "int" else values
            columns.append(Values(values, np.ascontiguousarray(there[:, place])))
        return Events(self._schema(), tuple(columns))

    def _string(self, random: np.random.Generator, place: int, count: int) -> NDArray[np.int64]:
        size = self._cardinality(place)
        return np.random.default_rng([4, place]).permutation(size)[draw(random, zipf(size), count)]

    @staticmethod
    def _number(attribute: Attribute, deviation: Floats) -> Floats:
        number: Floats = np.rint(100 + 30 * deviation) if attribute.kind == "int" else np.round(deviation, 6)
        return number

    @staticmethod
    def _cardinality(place: int) -> int:
        return (5, 20, 100, 1000)[place // 2 % 4]

    def _schema(self) -> tuple[Attribute, ...]:
        made = []
        for place in range(self.attributes):
            if place % 2 == 0:
                words = tuple(f"v{k:04}" for k in range(self._cardinality(place)))
                made.append(Attribute(f"s{place:02}", "string", words))
            else:
                made.append(Attribute(f"n{place:02}", "int" if place % 4 == 1 else "float"))
        return tuple(made)


def _without_repeats(random: np.random.Generator, weights: Floats, count: int, size: int) -> NDArray[np.int64]:
    """`size` distinct places for each of `count`, drawn one after the other by weight (Gumbel's trick)."""
    pieces = [np.empty((0, size), np.int64)]
    for begin in range(0, count, 100_000):
        shape = (min(100_000, count - begin), len(weights))
        # Exponential arrival times: those that come first are a weighted sample without replacement.
        arrival = random.standard_exponential(shape, np.float32) / weights.astype(np.float32)
        pieces.append(np.argpartition(arrival, size, axis=1)[:, :size])
    return np.concatenate(pieces)


WORKLOADS: dict[str, Workload] = {w.name: w for w in (Aguilera(3), Aguilera(30), Stock(), Ranges(), Mixed())}
