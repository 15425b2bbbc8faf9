"""Statistics of operators: how often predicates hold and what evaluations cost, learned from the stream and saved.

Counts decay, so that statistics follow changes of the stream. A predicate with few observations is assumed to be
like its operator's others.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import DamageError, FileError, InputError
from vedette.operators.evaluation import Evaluation
from vedette.operators.predicate_numbering import Predicate

MEMORY: Final = 10_000  # observations of one thing after which half of what was known before is forgotten
_VERSION = 1
_PRIOR = 4.0  # observations that an operator's others are worth
_COST = 1e-3  # seconds, where nothing is known at all
_KEYS = {"version", "memory", "observed", "operators"}
_DAMAGED = "\nHint: restore it from a copy, or delete it: everything in it is learned again"
_TRIED, _HELD, _CALLS, _SECONDS = range(4)


class Statistics:
    """Observations by the text of predicates and evaluations, so that they outlive the numbers of one set."""

    def __init__(self, memory: float = MEMORY) -> None:
        if not memory > 0:
            raise InputError(f"a memory of {memory!r} observations\nHint: a number above 0, or inf to forget nothing")
        self.memory = float(memory)
        self.revision = 0  # how often something was taken over from elsewhere, which plans have to look at
        # By text: tried, held (of predicates); calls, seconds (of evaluations).
        self._known: dict[str, list[float]] = {}
        self._of_operators: dict[str, list[float]] = {}  # by name: all four

    def view(self, evaluations: Sequence[Evaluation], predicates: Sequence[Predicate]) -> StatisticsView:
        """A view of these predicates and evaluations by their numbers, through which more is learned."""
        return StatisticsView(self, evaluations, predicates)

    def __len__(self) -> int:
        """The number of predicates and evaluations with observations."""
        return sum(map(any, self._known.values()))

    def __add__(self, other: Statistics) -> Statistics:
        """The sum of what was learned in two places."""
        made = Statistics(max(self.memory, other.memory))
        for one in (self, other):
            for rows, known in ((made._known, one._known), (made._of_operators, one._of_operators)):
                for name, found in known.items():
                    if any(found):
                        before = rows.get(name, [0.0] * len(found))
                        rows[name] = [a + b for a, b in zip(before, found, strict=True)]
        return made

    def copy(self) -> Statistics:
        """An independent copy."""
        return self + Statistics(self.memory)

    def absorb(self, other: Statistics) -> None:
        """Add observations from elsewhere as if they were recent: earlier ones decay."""
        for name, found in other._known.items():
            _fade(self._row(name), 0, found[0], found[1], self.memory)
        for name, found in other._of_operators.items():
            row = self._operator(name)
            _fade(row, _TRIED, found[_TRIED], found[_HELD], self.memory)
            _fade(row, _CALLS, found[_CALLS], found[_SECONDS], self.memory)
        self.revision += 1

    def become(self, other: Statistics) -> None:
        """Replace all observations by the other's."""
        for mine, known in ((self._known, other._known), (self._of_operators, other._of_operators)):
            for name in {*mine, *known}:
                size = 2 if mine is self._known else 4
                mine.setdefault(name, [0.0] * size)[:] = known.get(name, [0.0] * size)
        self.memory = other.memory
        self.revision += 1

    def of_operators(self) -> dict[str, tuple[float | None, float | None]]:
        """By operator: the share of its predicates that hold, and the seconds per event; None where not known."""
        return {
            name: (held / tried if tried else None, seconds / calls if calls else None)
            for name, (tried, held, calls, seconds) in sorted(self._of_operators.items())
            if tried or calls
        }

    def most(self, count: int) -> Statistics:
        """Only the most frequent observations, so many of them; and all totals of operators."""
        made = self.copy()
        if len(made._known) > count:
            often = sorted(made._known, key=lambda text: -made._known[text][0])[:count]
            made._known = {text: made._known[text] for text in often}
        return made

    # ------------------------------------------------------------ kept

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "version": _VERSION,
            "memory": self.memory if math.isfinite(self.memory) else None,
            "observed": _rounded(self._known),
            "operators": _rounded(self._of_operators),
        }

    @classmethod
    def from_plain(cls, given: Mapping[str, Any], where: str = "statistics") -> Statistics:
        """Restore what `plain` returned; FileError, naming `where`, if it is something else."""
        try:
            if given["version"] != _VERSION:
                raise FileError(
                    f"{where}: written by another version ({given['version']!r}, this one reads {_VERSION})"
                )
            made = cls(math.inf if given["memory"] is None else float(given["memory"]))
            made._known = {str(text): _numbers(found, 2) for text, found in given["observed"].items()}
            made._of_operators = {str(name): _numbers(found, 4) for name, found in given["operators"].items()}
        except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{where}: not the statistics of operators ({error})") from None
        return made

    def save(self, path: str | Path) -> None:
        """Save to a file, atomically."""
        target = Path(path)
        beside = target.with_name(f".{target.name}.new")
        beside.write_bytes(_with_sum(self.plain()))
        beside.replace(target)

    @classmethod
    def load(cls, path: str | Path) -> Statistics:
        """Load from a file; DamageError if its checksum is wrong. Files of version 0.1 have none."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise FileError(f"{path}: {error}") from None
        try:
            given = json.loads(text)
        except ValueError as error:
            raise FileError(f"{path}: {error}{_DAMAGED}") from None
        if not isinstance(given, dict):
            raise FileError(f"{path}: not the statistics of operators")
        if given.pop("sum", None) is None:
            if given.keys() - _KEYS:
                raise DamageError(path, "is damaged", f": it has no checksum{_DAMAGED}")
        elif text != _with_sum(given):
            raise DamageError(path, "is damaged", f": its checksum is wrong{_DAMAGED}")
        return cls.from_plain(given, str(path))

    # ------------------------------------------------------------ for views

    def _row(self, text: str) -> list[float]:
        return self._known.setdefault(text, [0.0, 0.0])

    def _operator(self, name: str) -> list[float]:
        return self._of_operators.setdefault(name, [0.0] * 4)


def _with_sum(plain: Mapping[str, Any]) -> bytes:
    """The file's contents: the statistics and their checksum."""
    text = json.dumps(plain, ensure_ascii=False)
    return json.dumps({**plain, "sum": zlib.crc32(text.encode())}, ensure_ascii=False).encode()


def _rounded(known: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {name: [round(each, 9) for each in found] for name, found in known.items() if any(found)}


def _numbers(found: Any, count: int) -> list[float]:
    numbers = [float(each) for each in found]
    if len(numbers) != count or not all(each >= 0 and np.isfinite(each) for each in numbers):
        raise ValueError(f"{found!r} are no {count} counts")
    return numbers


def _fade(row: list[float], place: int, count: float, total: float, memory: float) -> None:
    """Add observations and their sum at a place of a row; earlier ones decay."""
    kept = 0.5 ** (count / memory)
    row[place] = row[place] * kept + count
    row[place + 1] = row[place + 1] * kept + total


class StatisticsView:
    """The statistics of one set, by number."""

    def __init__(self, kept: Statistics, evaluations: Sequence[Evaluation], predicates: Sequence[Predicate]) -> None:
        self._kept = kept
        self._operators = [evaluation.operator for evaluation in evaluations]
        self._predicates = [kept._row(each.text) for each in predicates]
        self._evaluations = [kept._row(f"{each.text} costs") for each in evaluations]
        self._of_predicate = [evaluations[each.evaluation].operator.name for each in predicates]
        self._positive = [each.positive for each in predicates]

    def selectivity(self) -> NDArray[np.float64]:
        """The probability that each predicate holds."""
        shares = {}
        for name in set(self._of_predicate):
            pooled = self._kept._operator(name)
            shares[name] = (pooled[_HELD] + 1.0) / (pooled[_TRIED] + 2.0)
        made = np.empty(len(self._predicates))
        for number, (tried, held) in enumerate(self._predicates):
            share = shares[self._of_predicate[number]]
            prior = share if self._positive[number] else 1.0 - share
            made[number] = (held + _PRIOR * prior) / (tried + _PRIOR)
        return made

    def cost(self) -> NDArray[np.float64]:
        """The cost of each evaluation, in seconds per event."""
        made = np.empty(len(self._evaluations))
        for number, (calls, seconds) in enumerate(self._evaluations):
            operator = self._operators[number]
            if operator.cost is not None:
                made[number] = operator.cost
                continue
            pooled = self._kept._operator(operator.name)
            usual = (pooled[_SECONDS] + _COST) / (pooled[_CALLS] + 1.0)
            made[number] = (seconds + _PRIOR * usual) / (calls + _PRIOR)
        return made

    def learn_outcomes(self, predicate: int, tried: int, held: int) -> None:
        """Record that a predicate was tested so many times and held so many."""
        self._fade(self._predicates[predicate], 0, tried, held)
        pooled = self._kept._operator(self._of_predicate[predicate])
        self._fade(pooled, _TRIED, tried, held if self._positive[predicate] else tried - held)

    def learn_cost(self, evaluation: int, events: int, seconds: float) -> None:
        """Record that an evaluation for so many events took so long."""
        self._fade(self._evaluations[evaluation], 0, events, seconds)
        self._fade(self._kept._operator(self._operators[evaluation].name), _CALLS, events, seconds)

    def _fade(self, row: list[float], place: int, count: float, total: float) -> None:
        _fade(row, place, count, total, self._kept.memory)

    @property
    def revision(self) -> int:
        """Changes when statistics from elsewhere are added."""
        return self._kept.revision


class StatisticsDelta(Statistics):
    """The statistics of one of several learning processes: `taken` is what to report to the others."""

    def __init__(self, memory: float = MEMORY) -> None:
        super().__init__(memory)
        self._fresh = Statistics(math.inf)  # added up, so that nothing is forgotten on the way

    def view(self, evaluations: Sequence[Evaluation], predicates: Sequence[Predicate]) -> StatisticsView:
        """A view whose observations are also kept for the next report."""
        return _StatisticsDeltaView(self, self._fresh.view(evaluations, predicates), evaluations, predicates)

    def taken(self) -> Statistics:
        """The observations since the last call."""
        made = self._fresh.copy()
        self._fresh.become(Statistics(math.inf))
        return made


class _StatisticsDeltaView(StatisticsView):
    def __init__(
        self,
        kept: Statistics,
        fresh: StatisticsView,
        evaluations: Sequence[Evaluation],
        predicates: Sequence[Predicate],
    ) -> None:
        super().__init__(kept, evaluations, predicates)
        self._fresh = fresh

    def learn_outcomes(self, predicate: int, tried: int, held: int) -> None:
        """Record that a predicate was tested so many times and held so many."""
        super().learn_outcomes(predicate, tried, held)
        self._fresh.learn_outcomes(predicate, tried, held)

    def learn_cost(self, evaluation: int, events: int, seconds: float) -> None:
        """Record that an evaluation for so many events took so long."""
        super().learn_cost(evaluation, events, seconds)
        self._fresh.learn_cost(evaluation, events, seconds)
