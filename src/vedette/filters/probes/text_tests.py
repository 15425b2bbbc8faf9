"""Tests of strings: one pass searches for all literals; wildcards and expressions are tried only where one is found.

Every distinct value of a batch is scanned once for the literals of case-sensitive tests, and its lower case, where
some test ignores case, once for the literals of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.kernels.automaton import MODES, WHOLE, scan, scan_one
from vedette.filters.probes.kernels.automaton_build import LONGEST_GRAM, LiteralTable, build
from vedette.filters.probes.kernels.utf8_text import beyond_ascii, lowered_ascii
from vedette.filters.probes.kernels.wildcards import WildcardPrograms, like
from vedette.filters.probes.regex_tests import Expressions, expression_bytes
from vedette.filters.probes.test_pairs import (
    Arrays,
    PairsOfTests,
    crossed,
    frozen,
    joined,
    named,
    no_holds,
    pack,
    part_of,
    unpack,
)
from vedette.filters.probes.text_plans import TextAction, TextPlan, encoded, lowered, plan
from vedette.language.normalform import TextProbe
from vedette.lazy import once

# Literals below this length get a machine of their own: they are found so often that they would slow the others down.
SHORT = 4

# Bytes of values that are tested together: intermediate results stay in the cache, and in memory used before.
PIECE = 1 << 19
_SURELY_SHORT = 64  # assumed bytes per value: if that many do not fill a piece, lengths are not counted
_SIDES = ("exact", "lower")
_MACHINES = ("short", "long")


class _Values(NamedTuple):
    """Distinct values, concatenated."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]


_NONE = np.zeros(0, np.int32)


class TextTests:
    """Numbered tests of strings, stored in `arrays` alone."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}
        self._sides = [_CasePrograms(part_of(self._arrays, f"{name}.")) for name in _SIDES]
        self._action: NDArray[np.uint8] = self._arrays["action"]
        self._detail: NDArray[np.int32] = self._arrays["detail"]
        self._plain = bool((self._action == TextAction.NOTHING).all())
        self._unguided = bool(self._arrays["expression.number"].size > self._arrays["expression.guided"][0])

    @classmethod
    def build(cls, tests: Sequence[TextProbe]) -> TextTests:
        """Compile the tests."""
        plans = [plan(test) for test in tests]
        numbers = range(len(plans))
        detail = np.full(len(plans), -1, np.int32)
        arrays: Arrays = {"action": np.array([one.action for one in plans], np.uint8), "detail": detail}
        arrays["always"] = _numbers(n for n in numbers if _unconditional(plans[n]))
        arrays["empty"] = _numbers(n for n in numbers if not plans[n].literal and plans[n].mode == WHOLE)
        for lower, name in enumerate(_SIDES):
            own = [n for n in numbers if plans[n].lower == lower]
            arrays |= named(f"{name}.", _side_arrays(plans, own, detail))
        arrays |= named("expression.", _expression_arrays(tests, plans, detail))
        return cls(arrays)

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _expressions(self) -> Expressions:
        own = part_of(self._arrays, "expression.")
        return Expressions(unpack(own["text"], own["start"]), int(own["guided"][0]))

    def holds(self, values: list[bytes]) -> PairsOfTests:
        """The tests that hold for each of the distinct values."""
        parts = [self._trivial(values)]
        for first, some in _pieces(values):
            packed = _Values(*pack(some))
            for side, lower in zip(self._sides, (False, True), strict=True):
                if side.used:
                    own = self._one_side(side, _lowered(some, packed) if lower else packed)
                    parts += [PairsOfTests(one.value + np.int32(first), one.test) for one in own] if first else own
        if not self._arrays["expression.number"].size:
            return joined(parts)
        candidates = joined(parts)
        asked = self._action[candidates.test] == TextAction.EXPRESSION
        found = self._expressions.holds(
            values, PairsOfTests(candidates.value[asked], self._detail[candidates.test[asked]])
        )
        tests = self._arrays["expression.number"][found.test]
        return joined(
            [PairsOfTests(candidates.value[~asked], candidates.test[~asked]), PairsOfTests(found.value, tests)]
        )

    def hold_for(self, value: bytes) -> NDArray[np.int32]:
        """The tests that hold for one value, ascending: as `holds`, with as few calls as possible."""
        own = self._arrays
        parts = [own["always"]] if own["always"].size else []
        if not value and own["empty"].size:
            parts.append(own["empty"])
        for side, lower in zip(self._sides, (False, True), strict=True):
            if side.used:
                text = np.frombuffer(lowered(value) if lower else value, np.uint8)
                found = [tests for image in side.images if len(tests := scan_one(image, text))]
                if side.unguided.size:
                    found.append(side.unguided)
                parts += found if self._plain else [self._satisfied(side, text, tests) for tests in found]
        tests = _NONE if not parts else parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        if self._unguided or (len(tests) and own["expression.number"].size):
            return self._with_expressions(value, tests)
        return tests

    def _satisfied(self, side: _CasePrograms, text: NDArray[np.uint8], tests: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those tests, among the ones whose literals are in the text, whose wildcards match too."""
        start = np.array([0, len(text)], np.int64)
        return self._with_wildcards(
            side, _Values(text, start), PairsOfTests(np.zeros(len(tests), np.int32), tests)
        ).test

    def _with_expressions(self, value: bytes, tests: NDArray[np.int32]) -> NDArray[np.int32]:
        """Try the expressions among the tests, and those that are tried on every value."""
        asked = self._action[tests] == TextAction.EXPRESSION
        matches = self._expressions.hold_for(value, self._detail[tests[asked]].tolist())
        return np.sort(np.concatenate((tests[~asked], self._arrays["expression.number"][matches])))

    def _trivial(self, values: list[bytes]) -> PairsOfTests:
        """The tests that hold for every value, or for the empty one."""
        always, empty = self._arrays["always"], self._arrays["empty"]
        parts = [crossed(np.arange(len(values)), always)] if always.size else []
        if empty.size and b"" in values:
            parts.append(crossed(np.array([values.index(b"")]), empty))
        return joined(parts) if parts else no_holds()

    def _one_side(self, side: _CasePrograms, packed: _Values) -> list[PairsOfTests]:
        """The tests that hold or are candidates because of their literals; expressions are still to be tried."""
        parts = side.scan(packed)
        if side.unguided.size:
            parts.append(crossed(np.arange(len(packed.start) - 1), side.unguided))
        if self._plain:
            return parts
        return [self._with_wildcards(side, packed, part) for part in parts]

    def _with_wildcards(self, side: _CasePrograms, packed: _Values, found: PairsOfTests) -> PairsOfTests:
        """Remove the LIKE patterns that are not satisfied."""
        asked = np.flatnonzero(self._action[found.test] == TextAction.LIKE)
        if not len(asked):
            return found
        keep = np.ones(len(found.test), np.bool_)
        keep[asked] = like(
            side.programs, packed.text, packed.start, found.value[asked], self._detail[found.test[asked]]
        )
        return PairsOfTests(found.value[keep], found.test[keep])


class _CasePrograms:
    """The automata and LIKE programs for values as they are, or for their lower case."""

    def __init__(self, arrays: Arrays) -> None:
        self.images = [arrays[name] for name in _MACHINES if name in arrays]
        self.programs = WildcardPrograms(arrays["like.start"], arrays["like.operations"])
        self.unguided: NDArray[np.int32] = arrays["unguided"]
        self.used = bool(self.images) or self.unguided.size > 0

    def scan(self, packed: _Values) -> list[PairsOfTests]:
        """Find the tests whose literals are in the values."""
        return [PairsOfTests(*scan(image, packed.text, packed.start)) for image in self.images]


def _unconditional(one: TextPlan) -> bool:
    return not one.literal and one.mode != WHOLE and one.action is TextAction.NOTHING


def _numbers(numbers: Any) -> NDArray[np.int32]:
    return np.fromiter(numbers, np.int32)


def _pieces(values: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The values in pieces, each with the number of its first value."""
    if len(values) * _SURELY_SHORT <= PIECE:
        yield 0, values
        return
    ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
    first = done = 0
    while first < len(values):
        last = max(first + 1, int(np.searchsorted(ends, done + PIECE, "right")))
        yield first, values[first:last]
        first, done = last, int(ends[last - 1])


def _lowered(values: list[bytes], packed: _Values) -> _Values:
    """The lower case of packed values; those beyond ASCII are assumed to be few, and mostly to keep their length."""
    text, ascii_only = lowered_ascii(packed.text)
    if not ascii_only:
        owners = beyond_ascii(*packed).tolist()
        own = [lowered(values[owner]) for owner in owners]
        if any(len(one) != len(values[owner]) for one, owner in zip(own, owners, strict=True)):
            return _Values(*pack([lowered(value) for value in values]))
        for one, owner in zip(own, owners, strict=True):
            text[packed.start[owner] : packed.start[owner + 1]] = np.frombuffer(one, np.uint8)
    text.setflags(write=False)  # kernels are compiled for read-only arrays
    return _Values(text, packed.start)


def _side_arrays(plans: Sequence[TextPlan], numbers: list[int], detail: NDArray[np.int32]) -> Arrays:
    """The arrays of a `_CasePrograms`; writes the numbers of LIKE programs to `detail`."""
    likes = [n for n in numbers if plans[n].action is TextAction.LIKE]
    detail[likes] = np.arange(len(likes))
    operations = [np.array(plans[n].operations, np.int16) for n in likes]
    arrays: Arrays = {
        "like.start": np.cumsum([0, *map(len, operations)], dtype=np.int64),
        "like.operations": np.concatenate([np.zeros(0, np.int16), *operations]),
        "unguided": _numbers(n for n in likes if not plans[n].literal),
    }
    literal = [n for n in numbers if plans[n].literal]
    short = [n for n in literal if len(plans[n].literal) < SHORT]
    long = [n for n in literal if len(plans[n].literal) >= SHORT]
    for name, own in zip(_MACHINES, (short, long), strict=True):
        if own:
            arrays[name] = _machine([(plans[n].literal, plans[n].mode, n) for n in own])
    return arrays


def _machine(reports: list[tuple[bytes, int, int]]) -> NDArray[np.uint64]:
    """The automaton that reports (literal, mode, test)."""
    literals = sorted({literal for literal, _, _ in reports})
    place = {literal: number for number, literal in enumerate(literals)}
    run = np.fromiter((place[literal] * MODES + mode for literal, mode, _ in reports), np.int64, len(reports))
    order = np.argsort(run, kind="stable")
    tests = np.fromiter((test for _, _, test in reports), np.int32, len(reports))
    target_start = np.zeros(len(literals) * MODES + 1, np.int64)
    np.cumsum(np.bincount(run, minlength=len(literals) * MODES), out=target_start[1:])
    shortest = min(map(len, literals))
    return build(LiteralTable(*pack(literals), target_start, tests[order]), min(LONGEST_GRAM, shortest))


def _expression_arrays(tests: Sequence[TextProbe], plans: Sequence[TextPlan], detail: NDArray[np.int32]) -> Arrays:
    """Expressions sorted by their literals, those without one last; writes their positions to `detail`."""
    numbers = [n for n, one in enumerate(plans) if one.action is TextAction.EXPRESSION]
    numbers.sort(key=lambda n: (not plans[n].literal, plans[n].literal))
    detail[numbers] = np.arange(len(numbers))
    text, start = pack([expression_bytes(encoded(tests[n].pattern), tests[n].ignore_case) for n in numbers])
    guided = sum(1 for n in numbers if plans[n].literal)
    return {"text": text, "start": start, "guided": np.array([guided], np.int64), "number": _numbers(iter(numbers))}
