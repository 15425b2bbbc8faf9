"""Finds the event patterns, among many, that a JSON value fits.

Every alternative is filed under one of its fields, the one whose values are the rarest among the patterns: under the
values themselves, else under prefixes or suffixes, else under the path. Only alternatives that a value's leaves find
are tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from vedette.language.documents.document_match import FieldChoice, FieldMatcher, can_choose, read_json
from vedette.language.documents.leaves import DocumentLeaf, leaves, paths_above
from vedette.language.documents.nodes import (
    EventPattern,
    EventPatternAlternative,
    EventPatternField,
    LeafConstant,
    LeafEquals,
    LeafTextTest,
    LeafWildcard,
)
from vedette.language.documents.pattern_parser import parse
from vedette.schema.readings import json_leaf

_AlternativeMatchers: TypeAlias = tuple[FieldMatcher, ...]  # a prepared alternative
# The number of the pattern, one of its alternatives, and the field of it that most others have too.
_PathEntry: TypeAlias = tuple[int, _AlternativeMatchers, FieldMatcher]
_Key: TypeAlias = tuple[str, Hashable]  # the kind of filing, and the key


class EventPatternMatcher:
    """An inverted index over patterns, which are numbered from 0 in their order."""

    def __init__(self, patterns: Iterable[str | EventPattern]) -> None:
        self._files: dict[str, _PathIndex] = {}
        self._always: list[_PathEntry] = []  # alternatives that may hold without any leaf
        made: list[tuple[int, EventPatternAlternative]] = []
        for number, pattern in enumerate(patterns):
            parsed = pattern if isinstance(pattern, EventPattern) else parse(pattern)
            made += ((number, alternative) for alternative in parsed.alternatives)
        keys = {field: _keys(field) for _, alternative in made for field in alternative.fields}
        ready = {field: FieldMatcher(field) for field in keys}
        self._paths = frozenset(field.path for field in keys)
        self._above = paths_above(self._paths)
        wanted = Counter(
            (field.path, key) for _, alternative in made for field in alternative.fields for key in keys[field] or ()
        )
        # How often all fields of a path use each key: the rarer the key, the more alternatives are skipped.
        rank = {
            field: (1, 0) if found is None else (0, sum(wanted[field.path, key] for key in found))
            for field, found in keys.items()
        }
        popular = Counter(field for _, alternative in made for field in alternative.fields)
        shared: dict[EventPatternAlternative, _AlternativeMatchers] = {}
        for number, alternative in made:
            asked = shared.setdefault(alternative, tuple(ready[field] for field in alternative.fields))
            entry = number, asked, ready[max(alternative.fields, key=popular.__getitem__)]
            filed = min(
                (field for field in alternative.fields if not field.may_miss), key=rank.__getitem__, default=None
            )
            if filed is None:
                self._always.append(entry)
            else:
                self._files.setdefault(filed.path, _PathIndex()).add(keys[filed], entry)

    def fitting(self, value: Any) -> list[int]:
        """The numbers of the patterns that a JSON value fits, in order."""
        found = leaves(value, self._paths, self._above)
        known: dict[FieldMatcher, FieldChoice | None] = {}
        verdicts: dict[_AlternativeMatchers, bool] = {}
        fit: set[int] = set()
        for number, asked, first in self._brought_up(found):
            if first not in known:
                known[first] = first.choice(found)
            if known[first] is None:  # which rules out most of them before anything else is tested
                continue
            verdict = verdicts.get(asked)
            if verdict is None:
                verdict = verdicts[asked] = can_choose(asked, found, known)
            if verdict:
                fit.add(number)
        return sorted(fit)

    def fitting_text(self, text: str) -> list[int]:
        """As `fitting`, for a JSON text; a text that is not JSON fits nothing."""
        read, value = read_json(text)
        return self.fitting(value) if read else []

    def _brought_up(self, found: dict[str, list[DocumentLeaf]]) -> Iterator[_PathEntry]:
        yield from self._always
        for path, here in found.items():
            file = self._files.get(path)
            if file is not None:
                for leaf in here:
                    yield from file.of(leaf.value)
                yield from file.anything


class _PathIndex:
    """The alternatives filed under one path, by the values that its leaves must have."""

    def __init__(self) -> None:
        self.anything: list[_PathEntry] = []
        self.by_key: dict[_Key, list[_PathEntry]] = {}
        self.prefixes: set[int] = set()  # the lengths of prefixes or suffixes
        self.suffixes: set[int] = set()

    def add(self, keys: Sequence[_Key] | None, entry: _PathEntry) -> None:
        if keys is None:
            self.anything.append(entry)
            return
        for key in keys:
            self.by_key.setdefault(key, []).append(entry)
            kind, text = key
            if kind == "prefix":
                self.prefixes.add(len(str(text)))
            elif kind == "suffix":
                self.suffixes.add(len(str(text)))

    def of(self, leaf: Any) -> Iterator[_PathEntry]:
        """The entries that a leaf may satisfy."""
        by_key = self.by_key
        if not isinstance(leaf, str):
            yield from by_key.get(("constant", json_leaf(leaf)), ())
            return
        yield from by_key.get(("equal", leaf), ())
        for length in self.prefixes:
            if length <= len(leaf):
                yield from by_key.get(("prefix", leaf[:length]), ())
        for length in self.suffixes:
            if length <= len(leaf):
                yield from by_key.get(("suffix", leaf[len(leaf) - length :]), ())


def _keys(field: EventPatternField) -> list[_Key] | None:
    """Keys of which every leaf that passes a test of the field finds at least one; None: any leaf may pass."""
    keys: list[_Key] = []
    for test in field.tests:
        if isinstance(test, LeafEquals):
            keys.append(("equal", test.text))
        elif isinstance(test, LeafConstant):
            keys.append(("constant", test.json))
        elif isinstance(test, LeafTextTest) and not test.ignore_case and test.text:
            keys.append((test.kind, test.text))
        elif isinstance(test, LeafWildcard) and len(test.pieces) == 1:
            keys.append(("equal", test.pieces[0]))
        elif isinstance(test, LeafWildcard) and test.pieces[0]:
            keys.append(("prefix", test.pieces[0]))
        elif isinstance(test, LeafWildcard) and test.pieces[-1]:
            keys.append(("suffix", test.pieces[-1]))
        else:
            return None
    return keys
