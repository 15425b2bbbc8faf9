"""Explains why one test held or did not: the value seen, what was needed, and by how much it was missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vedette.language.ast import Comparator, TextPair, directed
from vedette.language.checked_tree import Atom, Leaf, PairAtom, Residual, TruthPart
from vedette.language.distances import Miss, between, shown
from vedette.language.evaluate import Event, atom_value, truth, value_of, view_of
from vedette.language.render import render
from vedette.language.three_valued import Truth
from vedette.schema.paths import lookup
from vedette.schema.readings import viewer
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Reason:
    """The result of one leaf for an event; `missed` is set if its truth is not the wanted one and can be measured."""

    truth: Truth
    value: Any
    why: str
    missed: Miss | None = None


def reason(leaf: Leaf, event: Event, schema: Schema | None, wanted: bool) -> Reason:
    """The truth of a leaf, with its reason; `wanted` is the truth that would help the whole filter."""
    if isinstance(leaf, TruthPart):
        return Reason(leaf.value, None, "whatever the event")
    if isinstance(leaf, Residual):
        return Reason(None, None, f"{leaf.what} is not evaluated here")
    found = truth(leaf, event, schema)
    if isinstance(leaf, PairAtom):
        return _pair(leaf, event, schema, found, wanted)
    if isinstance(leaf.node, TextPair):
        return _text_pair(leaf.node, event, found, wanted)
    value = atom_value(leaf, event, schema)
    return _atom(leaf, event, value, found, wanted)


def _atom(atom: Atom, event: Event, value: Any, found: Truth, wanted: bool) -> Reason:
    path = atom.column.name
    if value is None:
        raw = None if atom.column.reading == "nested" else lookup(event, atom.column.path)
        if raw is not None:
            kind = atom.column.type.kind.value
            return Reason(found, None, f"{path} was {shown(raw)}, which is no {kind} and counts as missing")
        return Reason(found, None, f"{path} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{path} was {shown(value)}"
    if found is wanted:
        return Reason(found, value, seen)
    if found is None and atom.quantifier is None:
        return Reason(found, value, f"{seen}, and a comparison with null is unknown")
    missed = _missed(atom, value, wanted)
    return Reason(found, value, _missing(f"{seen}, needed {_need(atom, wanted)}", missed), missed)


def _pair(atom: PairAtom, event: Event, schema: Schema | None, found: Truth, wanted: bool) -> Reason:
    paths = (atom.left.name, atom.right.name)
    sides = (atom.left, atom.right)
    left, right = (
        value_of(each.path, None, event, schema) if each.reading is None else view_of(each, event) for each in sides
    )
    both = (left, right)
    absent = next((path for path, value in zip(paths, both, strict=True) if value is None), None)
    if absent is not None:
        return Reason(found, both, f"{absent} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{paths[0]} was {shown(left)} and {paths[1]} was {shown(right)}"
    if found is wanted:
        return Reason(found, both, seen)
    if found is None:
        return Reason(found, both, f"{seen}, which have no common order")
    op = directed(atom.op, wanted)
    missed = None if op is Comparator.NE else between(left, right)
    return Reason(found, both, _missing(f"{seen}, needed {paths[0]} {op.value} {paths[1]}", missed), missed)


def _text_pair(node: TextPair, event: Event, found: Truth, wanted: bool) -> Reason:
    names = [f"text({view.attribute.path})" for view in (node.left, node.right)]
    both = tuple(viewer("text", view.attribute.path)(event) for view in (node.left, node.right))
    absent = next((name for name, value in zip(names, both, strict=True) if value is None), None)
    if absent is not None:
        return Reason(found, both, f"{absent} is missing{_UNKNOWN if found is None else ''}")
    seen = f"{names[0]} was {shown(both[0])} and {names[1]} was {shown(both[1])}"
    return Reason(found, both, seen if found is wanted else f"{seen}, needed {'' if wanted else 'not '}{render(node)}")


def _missing(need: str, missed: Miss | None) -> str:
    return need if missed is None else f"{need}: missed by {missed.words}"


_UNKNOWN = ", so this is unknown"


# ---------------------------------------------------------------- what was needed


def _need(atom: Atom, wanted: bool) -> str:
    which = (
        "" if atom.quantifier is None else "some element " if (atom.quantifier == "any") == wanted else "every element "
    )
    return which + atom.test.needed(wanted)


# ---------------------------------------------------------------- by how much it was missed


def _missed(atom: Atom, value: Any, wanted: bool) -> Miss | None:
    if atom.quantifier is None:
        return atom.test.missed(value, wanted)
    elements = [each for each in value if each is not None and atom.test.holds(each) is not wanted]
    misses = [atom.test.missed(each, wanted) for each in elements]
    measured = [each for each in misses if each is not None]
    if not measured or len(measured) < len(misses):
        return None
    # If some element must hold, the nearest one counts; if all must, the farthest.
    return (min if (atom.quantifier == "any") == wanted else max)(measured, key=lambda each: each.share)
