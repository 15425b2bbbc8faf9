"""Tests whether a JSON value fits a pattern: the exact reference, with AWS's consistency of lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from vedette.language.documents.leaf_tests import holds
from vedette.language.documents.leaves import DocumentLeaves, Membership, leaves, paths_above
from vedette.language.documents.nodes import EventPattern, EventPatternField
from vedette.language.documents.pattern_parser import parse

_ElementChoice: TypeAlias = frozenset[tuple[int, int]]  # the element chosen of each list


def fits(pattern: str | Mapping[str, Any] | EventPattern, value: Any) -> bool:
    """Whether a JSON value (an object, or a list of objects) fits; PatternError if the pattern is invalid."""
    parsed = pattern if isinstance(pattern, EventPattern) else parse(pattern)
    paths = frozenset(field.path for alternative in parsed.alternatives for field in alternative.fields)
    found = leaves(value, paths, paths_above(paths))
    return any(can_choose(map(FieldMatcher, alternative.fields), found, {}) for alternative in parsed.alternatives)


def fits_text(pattern: str | Mapping[str, Any] | EventPattern, text: str) -> bool:
    """Whether a JSON text fits; a text that is not JSON does not."""
    parsed = pattern if isinstance(pattern, EventPattern) else parse(pattern)
    read, value = read_json(text)
    return read and fits(parsed, value)


def read_json(text: str) -> tuple[bool, Any]:
    """Whether a text is JSON, and its value."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


class FieldMatcher:
    """A prepared field of patterns; patterns with equal fields share one, so that it is tested once."""

    __slots__ = ("may_miss", "path", "tests")

    def __init__(self, field: EventPatternField) -> None:
        self.path = field.path
        self.tests = tuple(map(holds, field.leaf_tests))
        self.may_miss = field.may_miss

    def choice(self, found: DocumentLeaves) -> FieldChoice | None:
        """The leaves that the field can choose from; None if it cannot hold."""
        here = found.get(self.path, ())
        passing = {leaf.membership for leaf in here if any(passes(leaf.value) for passes in self.tests)}
        if not passing and not self.may_miss:
            return None
        present = {leaf.membership for leaf in here}
        if not passing and () in present:  # a leaf outside of all lists is always present
            return None
        return FieldChoice(passing, present, self.may_miss)


class FieldChoice(NamedTuple):
    """The memberships of the leaves that pass, and of all leaves."""

    passing: set[Membership]
    present: set[Membership]
    may_miss: bool


def can_choose(
    fields: Iterable[FieldMatcher], found: DocumentLeaves, known: dict[FieldMatcher, FieldChoice | None]
) -> bool:
    """Whether leaves can be chosen, one for each field, that pass and do not lie in different elements of a list.

    `known` caches the choices of fields; it is extended.
    """
    choices: list[FieldChoice] = []
    in_lists = False
    for field in fields:
        choice = known[field] if field in known else known.setdefault(field, field.choice(found))
        if choice is None:
            return False
        choices.append(choice)
        in_lists = in_lists or any(choice.present)
    return not in_lists or _consistent(choices)


class _MembershipTree:
    """Memberships as a tree, from the outermost list on; finds those that agree without visiting others."""

    __slots__ = ("below", "membership")

    def __init__(self, memberships: Iterable[Membership]) -> None:
        self.membership: Membership | None = None  # the one that ends here
        self.below: dict[int, dict[int, _MembershipTree]] = {}
        for membership in memberships:
            at = self
            for number, index in membership:
                elements = at.below.setdefault(number, {})
                at = elements.get(index) or elements.setdefault(index, _MembershipTree(()))
            at.membership = membership

    def agreeing(self, chosen: Mapping[int, int]) -> Iterator[Membership]:
        """The memberships that are in no list element other than the chosen ones."""
        if self.membership is not None:
            yield self.membership
        for number, elements in self.below.items():
            index = chosen.get(number)
            if index is None:
                for each in elements.values():
                    yield from each.agreeing(chosen)
            elif index in elements:
                yield from elements[index].agreeing(chosen)


def _consistent(choices: Sequence[FieldChoice]) -> bool:
    """Search for a consistent choice, field by field; failures with the same elements are not repeated."""
    matters: list[frozenset[int]] = [frozenset()]
    for choice in reversed(choices):
        matters.append(matters[-1].union(number for each in choice.present for number, _ in each))
    matters.reverse()
    passing = [_MembershipTree(choice.passing) for choice in choices]
    present = [_MembershipTree(choice.present) if choice.may_miss else None for choice in choices]
    failed: set[tuple[int, _ElementChoice]] = set()

    def go_on(at: int, state: _ElementChoice) -> bool:
        if at == len(choices):
            return True
        state = frozenset(pair for pair in state if pair[0] in matters[at])
        if (at, state) in failed:
            return False
        chosen = dict(state)
        if any(go_on(at + 1, state.union(membership)) for membership in passing[at].agreeing(chosen)):
            return True
        # A field is missing if no leaf of it agrees with the elements chosen so far.
        here = present[at]
        if here is not None and next(here.agreeing(chosen), None) is None and go_on(at + 1, state):
            return True
        failed.add((at, state))
        return False

    return go_on(0, frozenset())
