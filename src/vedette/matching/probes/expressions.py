"""Regular expressions: RE2, many at once, and only where a piece of plain text has not ruled them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vedette.errors import FilterError
from vedette.kernels.tokensets import by_value
from vedette.matching.once import once
from vedette.matching.probes.cache import ValueCache
from vedette.matching.probes.holds import Holds, no_holds

# Expressions in one RE2 set: more of them make its automaton grow faster than the work they share.
BUNDLE = 64
# With so few candidates in a bundle they are tried one by one.
FEW = 2

# All automata of a table together; RE2 divides what it is given between a program and its states.
MEMORY = 512 << 20
SET_MEMORY = (4 << 20, 32 << 20)
SINGLE_MEMORY = (1 << 20, 8 << 20)


class Expressions:
    """Expressions in the order of `guided`: those that have to be asked for every value come last."""

    def __init__(self, patterns: Sequence[bytes], guided: int) -> None:
        self._patterns = patterns
        self._guided = guided
        self._cache: ValueCache[list[int]] = ValueCache()

    @once
    def _bundles(self) -> list[_Bundle]:
        count = len(self._patterns)
        firsts = [*range(0, self._guided, BUNDLE), *range(self._guided, count, BUNDLE)]
        ends = [*firsts[1:], count]
        memory = MEMORY // max(1, count)
        return [_Bundle(self._patterns, range(*span), memory) for span in zip(firsts, ends, strict=True)]

    @once
    def _asked_always(self) -> list[_Bundle]:
        return self._bundles[-(-self._guided // BUNDLE) :]

    def holds(self, values: Sequence[bytes], candidates: Holds) -> Holds:
        """The expressions found in each value; of guided ones only the candidates can be."""
        if not self._patterns:
            return no_holds()
        grouped = by_value(candidates.value, candidates.test, len(values))
        asked = range(len(values)) if self._asked_always else np.unique(candidates.value).tolist()
        value_of: list[int] = []
        found: list[int] = []
        bounds, guided = grouped.start.tolist(), grouped.tests.tolist()
        for number in asked:
            matches = self.hold_for(values[number], guided[bounds[number] : bounds[number + 1]])
            value_of += [number] * len(matches)
            found += matches
        return Holds(np.array(value_of, np.int32), np.array(found, np.int32))

    def hold_for(self, value: bytes, candidates: list[int]) -> list[int]:
        """The expressions found in one value."""
        if not candidates and not self._asked_always:
            return []
        matches = self._cache.get(value)
        if matches is None:
            matches = self._find(value, candidates)
            self._cache.put(value, matches, 8 * len(matches))
        return matches

    def _find(self, value: bytes, candidates: list[int]) -> list[int]:
        found: list[int] = []
        by_bundle: dict[int, list[int]] = {}
        for number in candidates:
            by_bundle.setdefault(number // BUNDLE, []).append(number)
        for bundle, numbers in by_bundle.items():
            found += self._bundles[bundle].find_some(value, numbers)
        for always in self._asked_always:
            found += always.find(value)
        return found


class _Bundle:
    """Neighbouring expressions, compiled when they are first asked for."""

    def __init__(self, patterns: Sequence[bytes], numbers: range, memory: int) -> None:
        self._patterns = patterns
        self._numbers = numbers
        self._memory = memory
        self._single: dict[int, Any] = {}

    def find(self, value: bytes) -> list[int]:
        """The numbers of those that the value has a match of."""
        found: list[int] = []
        for compiled, numbers in self._sets:
            found += [numbers[place] for place in compiled.Match(value) or ()]
        for number in self._alone:
            found += self._find_one(value, number)
        return found

    def find_some(self, value: bytes, numbers: list[int]) -> list[int]:
        """As `find`, where only these can be found."""
        if len(numbers) > FEW:
            return self.find(value)
        return [found for number in numbers for found in self._find_one(value, number)]

    def _find_one(self, value: bytes, number: int) -> list[int]:
        compiled = self._single.get(number)
        if compiled is None:
            compiled = self._single.setdefault(number, _compiled(self._patterns[number], self._memory))
        return [] if compiled.search(value) is None else [number]

    @once
    def _compiled_sets(self) -> tuple[list[tuple[Any, range]], list[int]]:
        """RE2 sets and what no set could take."""
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
    """One expression; with too little memory for its automaton RE2 simulates it instead."""
    import re2

    for most in (memory, SINGLE_MEMORY[1], MEMORY):
        try:
            return re2.compile(pattern, _options(most, (SINGLE_MEMORY[0], MEMORY)))
        except re2.error as error:
            reason = error
    shown = pattern.decode("utf-8", "replace")
    raise FilterError(f"not a regular expression: {shown!r} ({reason.args[0] if reason.args else reason})")


def _compiled_set(patterns: Sequence[bytes], memory: int) -> Any:
    """A set that finds all of them at once, or None if it would need too much memory."""
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
    """The pattern with its flag inside."""
    return b"(?i)" + pattern if ignore_case else pattern
