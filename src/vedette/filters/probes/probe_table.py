"""The probes of one column as numbered tokens, and the tokens that each event's value has.

A token is an OR of elementary tests. For lists, where "does not hold" may mean false or unknown, a token has a
second one that means false; not for lists without nulls (`Column.settles`), which, if they all have one element, may
also be given as the texts of these elements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.errors import NotSupported
from vedette.filters.probes.kernels.tokensets import (
    ElementLists,
    ListTests,
    TokensOfTests,
    ValueTokenSets,
    by_value,
    distinct_lists,
    sets_of_lists,
    sets_of_values,
)
from vedette.filters.probes.specs import ordered, tokens_from_bytes, tokens_to_bytes
from vedette.filters.probes.test_pairs import Arrays, frozen, named, part_of
from vedette.filters.probes.value_cache import ValueCache
from vedette.filters.probes.value_tests import Simple, SimpleTests, distinct
from vedette.language.normalform import Elementary, ElementProbe
from vedette.language.valuesets import ValueSet
from vedette.lazy import once
from vedette.schema.columns import Column, ColumnData, ListColumn, TextColumn


@dataclass(frozen=True, slots=True)
class TokenSets:
    """The tokens of event e are `tokens[start[n] : start[n + 1]]`, ascending, with n = `sets[e]` (-1: none).

    Events with the same value have the same code, hence the same set: `by_code[codes[e]]`, the last one for code -1.
    """

    codes: NDArray[np.int32]
    by_code: NDArray[np.int32]
    start: NDArray[np.int64]
    tokens: NDArray[np.int32]

    @property
    def sets(self) -> NDArray[np.int32]:
        """The number of each event's set."""
        return self.by_code[self.codes]


class ProbeTable:
    """The compiled probes of a column, immutable but for a cache; any number of threads may evaluate at once."""

    def __init__(
        self,
        column: Column,
        arrays: Mapping[str, NDArray[Any]],
        tokens: tuple[frozenset[Elementary], ...] | None = None,
    ) -> None:
        own = {name: frozen(array) for name, array in arrays.items()}
        self.column = column
        self._given = tokens
        self._written: NDArray[np.uint8] = own.get("tokens", np.zeros(0, np.uint8))
        self._count = int(own["count"][0])
        self._test_tokens = TokensOfTests(own["test.start"], own["test.tokens"])
        self._tests = SimpleTests(part_of(own, "simple."))
        self._one_to_one = np.array_equal(self._test_tokens.tokens, np.arange(len(self._test_tokens.start) - 1))
        self._lists: ListTests | None = None
        self._of_missing = np.zeros(0, np.int32)
        if column.type.is_list:
            parts = part_of(own, "list.")
            self._lists = ListTests(tests=self._test_tokens, **parts)
            self._of_missing = np.flatnonzero(parts["by_absence"]).astype(np.int32) + np.int32(self._count)
        self._cache: ValueCache[NDArray[np.int32]] = ValueCache()

    @classmethod
    def build(
        cls,
        column: Column,
        tokens: Sequence[frozenset[Elementary]],
        *,
        negated: Collection[int] | None = None,
        by_absence: bool = False,
    ) -> ProbeTable:
        """Compile the tokens, numbered from 0.

        `negated` are those of which some predicate asks whether they are false (None: all), since expressing that takes
        memory: mostly, most tokens are false. `by_absence` lets the table choose, for each token, to express it the
        other way round (see `false_by_absence`).
        """
        numbers: dict[Elementary, int] = {}
        members = [[numbers.setdefault(test, len(numbers)) for test in ordered(tests)] for tests in tokens]
        count = len(tokens)
        test = np.array([number for own in members for number in own], np.int64)
        token = np.repeat(np.arange(count, dtype=np.int32), [len(own) for own in members])
        start = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(np.bincount(test, minlength=len(numbers)), out=start[1:])
        simple = [_simple(column, elementary) for elementary in numbers]
        arrays: Arrays = {
            "count": np.array([count], np.int64),
            "test.start": start,
            "test.tokens": token[np.argsort(test, kind="stable")],
            **named("simple.", SimpleTests.build(column.type.kind, simple).arrays()),
        }
        if column.type.is_list:
            says_false = np.full(count, negated is None and not column.settles)
            if negated is not None and not column.settles:
                says_false[np.array(list(negated), np.int64)] = True
            absent = np.array([by_absence and all(map(_rarely_holds, tests)) for tests in tokens], np.bool_)
            absent &= says_false
            for_all = [isinstance(one, ElementProbe) and one.quantifier == "all" for one in numbers]
            null_holds = [isinstance(one, ValueSet) and one.null for one in simple]
            arrays |= {
                "list.for_all": np.array(for_all, np.bool_),
                "list.null_holds": np.array(null_holds, np.bool_),
                "list.false_tokens": np.flatnonzero(says_false & ~absent).astype(np.int32),
                "list.by_absence": absent,
            }
        return cls(column, arrays, tuple(tokens))

    def arrays(self) -> Arrays:
        """Plain arrays from which `restore` makes the same table."""
        arrays: Arrays = {
            "tokens": self._written if self._given is None else tokens_to_bytes(self._given),
            "count": np.array([self._count], np.int64),
            "test.start": self._test_tokens.start,
            "test.tokens": self._test_tokens.tokens,
            **named("simple.", self._tests.arrays()),
        }
        if self._lists is not None:
            parts = {name: array for name, array in self._lists._asdict().items() if name != "tests"}
            arrays |= named("list.", parts)
        return arrays

    @classmethod
    def restore(cls, column: Column, arrays: Mapping[str, NDArray[Any]]) -> ProbeTable:
        """The inverse of `arrays`, which may be mapped from files; everything else is made when first used."""
        return cls(column, arrays)

    @once
    def tokens(self) -> tuple[frozenset[Elementary], ...]:
        """The tests of every token."""
        return tokens_from_bytes(self._written) if self._given is None else self._given

    @property
    def size(self) -> int:
        """The upper bound (exclusive) of token numbers."""
        return self._count if self.column.settles else 2 * self._count

    def false_token(self, token: int) -> int | None:
        """The token that means that this one is false; None if its absence, for a value that is there, means that."""
        return None if self.column.settles else self._count + token

    def false_by_absence(self, token: int) -> bool:
        """Whether the token is false if its `false_token` is *not* in the set, rather than if it is."""
        return self._lists is not None and not self.column.settles and bool(self._lists.by_absence[token])

    def evaluate(self, data: ColumnData) -> TokenSets:
        """The tokens of all events of a batch; events with the same value share a set."""
        if isinstance(data, ListColumn):
            return self._evaluate_lists(data)
        codes, values = distinct(data)
        found = self._tests.holds(values)
        sets = sets_of_values(found.value, found.test, self._test_tokens, len(values), self._count)
        return _for_rows(sets, codes)

    def evaluate_one(self, value: bytes | ColumnData) -> NDArray[np.int32]:
        """The tokens of one event's value: the bytes of a text, or else a column of one row."""
        name = (value if self._lists is None else _SINGLE + value) if isinstance(value, bytes) else _named(value)
        known = None if name is None else self._cache.get(name)
        if known is None:
            known = self._tokens_of(value) if isinstance(value, bytes) else self._tokens_of_row(value)
            if name is not None:
                self._cache.put(name, known, known.nbytes)
        return known

    def _tokens_of_row(self, row: ColumnData) -> NDArray[np.int32]:
        found = self.evaluate(row)
        number = int(found.sets[0])
        return _NONE if number < 0 else found.tokens[found.start[number] : found.start[number + 1]]

    def _tokens_of(self, value: bytes) -> NDArray[np.int32]:
        tests = self._tests.hold_for_text(value)
        if self._one_to_one or not len(tests):
            found = tests
        else:
            start, tokens = self._test_tokens
            found = np.unique(np.concatenate([tokens[start[test] : start[test + 1]] for test in tests.tolist()]))
        found.setflags(write=False)
        return found

    def _evaluate_lists(self, data: ListColumn) -> TokenSets:
        if self._lists is None:
            raise TypeError(f"{self.column.path} is {self.column.type}, and its events hold lists")
        codes, values = distinct(data.elements)
        found = self._tests.holds(values)
        holding = by_value(found.value, found.test, len(values))
        rows, lists = distinct_lists(ElementLists(data.start, codes), data.present)
        sets = _for_rows(sets_of_lists(holding, lists, self._lists), rows)
        if not len(self._of_missing) or data.present.all():
            return sets
        # Nothing is false of a missing list.
        by_code = sets.by_code.copy()
        by_code[-1] = len(sets.start) - 1
        return TokenSets(
            sets.codes,
            by_code,
            np.append(sets.start, sets.start[-1] + len(self._of_missing)),
            np.concatenate((sets.tokens, self._of_missing)),
        )


_NONE = np.zeros(0, np.int32)
_SINGLE = b"\x01\0\0\0\0"  # the beginning of the cache key of a list of one text
_SHORT_LIST, _SHORT_TEXTS = 32, 512  # elements, and bytes: longer lists are rarely repeated


def _named(row: ColumnData) -> bytes | None:
    """The cache key of a short list of texts, unique to it; None if the list is not cached."""
    if not isinstance(row, ListColumn) or not isinstance(row.elements, TextColumn):
        return None
    codes, values = row.elements.codes, row.elements.values
    if not 0 < len(codes) <= _SHORT_LIST or len(row.start) != 2 or not row.present[0]:
        return None
    texts = b"\0".join(values)
    if len(texts) > _SHORT_TEXTS or texts.count(b"\0") >= len(values):
        return None
    return bytes((len(codes),)) + codes.tobytes() + texts


def _for_rows(sets: ValueTokenSets, codes: NDArray[np.int32]) -> TokenSets:
    """The token sets of rows from those of distinct values; code -1 has the empty set."""
    return TokenSets(codes, np.append(sets.number, np.int32(-1)), sets.start, sets.tokens)


def _simple(column: Column, test: Elementary) -> Simple:
    """The test of a value or, for lists, of an element."""
    if isinstance(test, ElementProbe) != column.type.is_list:
        raise NotSupported(f"{column.path} is {column.type}, which cannot be put to this test: {test}")
    return test.test if isinstance(test, ElementProbe) else test


def _rarely_holds(test: Elementary) -> bool:
    """Whether the test asks for an element that is one of a few values, which is mostly false."""
    if not isinstance(test, ElementProbe) or test.quantifier == "all":
        return False
    return not isinstance(test.test, ValueSet) or all(interval.point is not None for interval in test.test.intervals)
