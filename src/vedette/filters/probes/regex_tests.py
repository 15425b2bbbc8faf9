"""Tests of regular expressions: RE2, many at once, and only where a required literal has not ruled them out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.errors import FilterError
from vedette.filters.probes.test_pairs import PairsOfTests, joined
from vedette.filters.probes.value_cache import ValueCache
from vedette.lazy import once

# Expressions in one RE2 set: more of them make its automaton grow faster than the work they share.
BUNDLE = 64
# Up to so many candidates in a bundle are tried one by one.
FEW = 2

# Memory of all automata of a table together; RE2 divides its share between a program and its states.
MEMORY = 512 << 20
SET_MEMORY = (4 << 20, 32 << 20)
SINGLE_MEMORY = (256 << 10, 8 << 20)


class Expressions:
    """Numbered expressions: the first `guided` ones are tried only on candidates, the others on every value."""

    def __init__(self, patterns: Sequence[bytes], guided: int) -> None:
        self._patterns = patterns
        self._guided = guided
        self._cache: ValueCache[list[int]] = ValueCache()  # of those that are tried on every value

    @once
    def _bundles(self) -> list[_ExpressionGroup]:
        count = len(self._patterns)
        firsts = [*range(0, self._guided, BUNDLE), *range(self._guided, count, BUNDLE)]
        memory = MEMORY // max(1, count)
        return [_ExpressionGroup(self._patterns, range(*span), memory) for span in itertools.pairwise([*firsts, count])]

    @once
    def _asked_always(self) -> list[_ExpressionGroup]:
        return self._bundles[-(-self._guided // BUNDLE) :]

    def holds(self, values: Sequence[bytes], candidates: PairsOfTests) -> PairsOfTests:
        """The expressions found in each value; guided ones are tried only on their candidates."""
        parts = []
        if len(candidates.value):
            # If a value has several candidates in a bundle, the bundle's set finds them all at once.
            places = candidates.value.astype(np.int64) * len(self._bundles) + candidates.test // BUNDLE
            together, number, count = np.unique(places, return_inverse=True, return_counts=True)
            few = count[number] <= FEW
            parts.append(self._one_by_one(values, PairsOfTests(candidates.value[few], candidates.test[few])))
            parts.append(self._in_bundles(values, together[count > FEW]))
        if self._asked_always:
            found = [(value, test) for value, text in enumerate(values) for test in self._found_always(text)]
            parts.append(_holds(found))
        return joined(parts)

    def hold_for(self, value: bytes, candidates: list[int]) -> list[int]:
        """The expressions found in one value."""
        if len(candidates) > FEW:
            asked = PairsOfTests(np.zeros(len(candidates), np.int32), np.array(candidates, np.int32))
            several: list[int] = self.holds([value], asked).test.tolist()
            return several
        found = [number for number in candidates if self._bundles[number // BUNDLE].has(value, number)]
        return found + self._found_always(value) if self._asked_always else found

    def _one_by_one(self, values: Sequence[bytes], candidates: PairsOfTests) -> PairsOfTests:
        order = np.argsort(candidates.test, kind="stable")
        found: list[tuple[int, int]] = []
        number, search = -1, None
        for value, test in zip(candidates.value[order].tolist(), candidates.test[order].tolist(), strict=True):
            if test != number or search is None:
                number, search = test, self._bundles[test // BUNDLE].search_of(test)
            if search(values[value]) is not None:
                found.append((value, test))
        return _holds(found)

    def _in_bundles(self, values: Sequence[bytes], places: NDArray[np.int64]) -> PairsOfTests:
        found: list[tuple[int, int]] = []
        for place in places.tolist():
            value, bundle = divmod(place, len(self._bundles))
            found += [(value, test) for test in self._bundles[bundle].find(values[value])]
        return _holds(found)

    def _found_always(self, value: bytes) -> list[int]:
        matches = self._cache.get(value)
        if matches is None:
            matches = [number for bundle in self._asked_always for number in bundle.find(value)]
            self._cache.put(value, matches, 8 * len(matches))
        return matches


def _holds(found: list[tuple[int, int]]) -> PairsOfTests:
    pairs = np.array(found, np.int32).reshape(-1, 2)
    return PairsOfTests(pairs[:, 0].copy(), pairs[:, 1].copy())


class _ExpressionGroup:
    """Consecutive expressions, compiled when first needed."""

    def __init__(self, patterns: Sequence[bytes], numbers: range, memory: int) -> None:
        self._patterns = patterns
        self._numbers = numbers
        self._memory = memory
        self._searches: dict[int, Callable[[bytes], Any]] = {}

    def find(self, value: bytes) -> list[int]:
        """The numbers of the expressions found in the value."""
        found: list[int] = []
        for compiled, numbers in self._sets:
            found += [numbers[place] for place in compiled.Match(value) or ()]
        return found + [number for number in self._alone if self.has(value, number)]

    def has(self, value: bytes, number: int) -> bool:
        """Whether one expression is found in the value."""
        return self.search_of(number)(value) is not None

    def search_of(self, number: int) -> Callable[[bytes], Any]:
        """A function that searches for one expression alone."""
        search = self._searches.get(number)
        if search is None:
            search = self._searches.setdefault(number, _compiled(self._patterns[number], self._memory).search)
        return search

    @once
    def _compiled_sets(self) -> tuple[list[tuple[Any, range]], list[int]]:
        """RE2 sets, and the numbers of the expressions that fit into no set."""
        sets: list[tuple[Any, range]] = []
        alone: list[int] = []
        waiting = [self._numbers]
        while waiting:
            numbers = waiting.pop()
            compiled = _compiled_set([self._patterns[number] for number in numbers], self._memory)
            if compiled is not None:
                sets.append((compiled, numbers))
            elif len(numbers) == 1:
                alone.append(numbers[0])
            else:
                half = len(numbers) // 2
                waiting += [numbers[:half], numbers[half:]]
        return sets, alone

    @property
    def _sets(self) -> list[tuple[Any, range]]:
        return self._compiled_sets[0]

    @property
    def _alone(self) -> list[int]:
        return self._compiled_sets[1]


def _options(memory: int, bounds: tuple[int, int]) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = min(max(memory, bounds[0]), bounds[1])
    return options


def _compiled(pattern: bytes, memory: int) -> Any:
    """Compile one expression; with too little memory for its automaton RE2 simulates it instead."""
    import re2

    for most in (memory, SINGLE_MEMORY[1]):
        try:
            return re2.compile(pattern, _options(most, SINGLE_MEMORY))
        except re2.error as error:
            reason = error
    shown = pattern.decode("utf-8", "replace")
    raise FilterError(f"not a regular expression: {shown!r} ({reason.args[0] if reason.args else reason})")


def _compiled_set(patterns: Sequence[bytes], memory: int) -> Any:
    """Compile a set that finds all expressions at once, or None if it would need too much memory."""
    import re2

    compiled = re2.Set.SearchSet(_options(memory * len(patterns), SET_MEMORY))
    try:
        for pattern in patterns:
            compiled.Add(pattern)
        compiled.Compile()
    except re2.error:
        return None
    return compiled


def expression_bytes(pattern: bytes, ignore_case: bool) -> bytes:
    """The pattern as bytes, with the flag for ignoring case inside."""
    return b"(?i)" + pattern if ignore_case else pattern
