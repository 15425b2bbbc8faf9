"""Which of many patterns does a JSON value fit?

Every alternative is filed under one of its fields, the one whose values are asked for most rarely: under the values
themselves, else under prefixes or suffixes, else under the path. Only what a value's leaves bring up is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from vedette.language.documents.fitting import Asked, Choice, can_choose, read_json
from vedette.language.documents.leaves import Leaf, leaves, paths_above
from vedette.language.documents.nodes import Alternative, Constant, Equal, EventPattern, Field, TextTest, Wildcard
from vedette.language.documents.parsing import parse
from vedette.schema.readings import json_leaf

_Asked: TypeAlias = tuple[Asked, ...]  # an alternative, made ready
# The number of the pattern, one of its alternatives, and the field of it that most others have as well.
_Entry: TypeAlias = tuple[int, _Asked, Asked]
_Key: TypeAlias = tuple[str, Hashable]  # how it is filed, and under what


class Prepared:
    """Patterns, numbered from 0 in their order, that values are held against all at once."""

    def __init__(self, patterns: Iterable[str | EventPattern]) -> None:
        self._files: dict[str, _File] = {}
        self._always: list[_Entry] = []  # alternatives that hold where nothing is there
        made: list[tuple[int, Alternative]] = []
        for number, pattern in enumerate(patterns):
            parsed = pattern if isinstance(pattern, EventPattern) else parse(pattern)
            made += ((number, alternative) for alternative in parsed.alternatives)
        keys = {field: _keys(field) for _, alternative in made for field in alternative.fields}
        ready = {field: Asked(field) for field in keys}
        self._paths = frozenset(field.path for field in keys)
        self._above = paths_above(self._paths)
        wanted = Counter(
            (field.path, key) for _, alternative in made for field in alternative.fields for key in keys[field] or ()
        )
        # Whatever all fields of a path want: the rarer it is, the more is passed over.
        rank = {
            field: (1, 0) if found is None else (0, sum(wanted[field.path, key] for key in found))
            for field, found in keys.items()
        }
        popular = Counter(field for _, alternative in made for field in alternative.fields)
        shared: dict[Alternative, _Asked] = {}
        for number, alternative in made:
            asked = shared.setdefault(alternative, tuple(ready[field] for field in alternative.fields))
            entry = number, asked, ready[max(alternative.fields, key=popular.__getitem__)]
            filed = min(
                (field for field in alternative.fields if not field.may_miss), key=rank.__getitem__, default=None
            )
            if filed is None:
                self._always.append(entry)
            else:
                self._files.setdefault(filed.path, _File()).add(keys[filed], entry)

    def fitting(self, value: Any) -> list[int]:
        """The numbers of the patterns that a JSON value fits, in order."""
        found = leaves(value, self._paths, self._above)
        known: dict[Asked, Choice | None] = {}
        verdicts: dict[_Asked, bool] = {}
        fit: set[int] = set()
        for number, asked, first in self._brought_up(found):
            if first not in known:
                known[first] = first.choice(found)
            if known[first] is None:  # which ends most of them before anything else is asked
                continue
            verdict = verdicts.get(asked)
            if verdict is None:
                verdict = verdicts[asked] = can_choose(asked, found, known)
            if verdict:
                fit.add(number)
        return sorted(fit)

    def fitting_text(self, text: str) -> list[int]:
        """The same of a JSON text; one that is no JSON fits nothing."""
        read, value = read_json(text)
        return self.fitting(value) if read else []

    def _brought_up(self, found: dict[str, list[Leaf]]) -> Iterator[_Entry]:
        yield from self._always
        for path, here in found.items():
            file = self._files.get(path)
            if file is not None:
                for leaf in here:
                    yield from file.of(leaf.value)
                yield from file.anything


class _File:
    """Alternatives of one path, by what its leaves must be."""

    def __init__(self) -> None:
        self.anything: list[_Entry] = []
        self.by_key: dict[_Key, list[_Entry]] = {}
        self.prefixes: set[int] = set()  # their lengths
        self.suffixes: set[int] = set()

    def add(self, keys: Sequence[_Key] | None, entry: _Entry) -> None:
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

    def of(self, leaf: Any) -> Iterator[_Entry]:
        """What a leaf may satisfy."""
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


def _keys(field: Field) -> list[_Key] | None:
    """One key at least of which every leaf brings up that passes some test of the field; None: any leaf may pass."""
    keys: list[_Key] = []
    for test in field.tests:
        if isinstance(test, Equal):
            keys.append(("equal", test.text))
        elif isinstance(test, Constant):
            keys.append(("constant", test.json))
        elif isinstance(test, TextTest) and not test.ignore_case and test.text:
            keys.append((test.kind, test.text))
        elif isinstance(test, Wildcard) and len(test.pieces) == 1:
            keys.append(("equal", test.pieces[0]))
        elif isinstance(test, Wildcard) and test.pieces[0]:
            keys.append(("prefix", test.pieces[0]))
        elif isinstance(test, Wildcard) and test.pieces[-1]:
            keys.append(("suffix", test.pieces[-1]))
        else:
            return None
    return keys
