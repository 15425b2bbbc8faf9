"""Explains why an event matched a filter or did not: every part, the value seen, and the nearest miss."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from vedette.errors import NotSupported, SchemaError
from vedette.filters.explanation import MARKS, Explanation, PartExplanation, cut
from vedette.filters.origins import NO_ORIGIN, Origin
from vedette.filters.reasons import Reason, reason
from vedette.language.checked_tree import AndPart, CheckedExpression, Leaf, NotPart, OrPart, Part, Residual, leaves
from vedette.language.evaluate import Event
from vedette.language.three_valued import every, opposite, some
from vedette.schema.encode import check_event

_COLOURS = {True: "#1a7f37", False: "#cf222e", None: "#9a6700"}

ResidualReason: TypeAlias = Callable[[Residual], Reason]  # results of parts that the event alone does not decide


@dataclass(frozen=True, slots=True)
class FilterExplanation(Explanation):
    """The explanation of a filter, part by part, with the rule it was translated from if it has another dialect."""

    root: PartExplanation
    origin: Origin = NO_ORIGIN

    @property
    def tree(self) -> PartExplanation:
        """The filter, part by part."""
        return self.root

    @property
    def nearest(self) -> tuple[PartExplanation, ...]:
        """The tests each of which, had its result been different, would have made the event match; nearest first."""
        if self.matched:
            return ()
        return tuple(sorted(_decisive(self.root, True), key=_nearness))

    @property
    def failed(self) -> tuple[PartExplanation, ...]:
        """The tests that kept the event from matching, from left to right."""
        return tuple(_blamed(self.root, True))

    def __str__(self) -> str:
        verdict = "matches" if self.matched else "does not match"
        rule = [f"Rule: {said}"] if (said := str(self.origin)) else []
        return "\n".join([f"The event {verdict}.", *rule, *self.lines(), *self.conclusion()])

    def lines(self) -> Iterator[str]:
        """The parts as a tree, without verdict and conclusion."""
        return self.root.lines()

    def conclusion(self) -> list[str]:
        """What was missing, in lines; empty if the event matches."""
        if self.matched:
            return []
        nearest = self.nearest
        if nearest:
            first = nearest[0]
            others = f" ({len(nearest) - 1} more would do)" if len(nearest) > 1 else ""
            return [f"Nearest miss: {cut(first.text)}: {first.why}{others}"]
        return [f"No single test would have been enough: {len(self.failed)} failed."]

    def _repr_html_(self) -> str:
        verdict = "matches" if self.matched else "does not match"
        conclusion = "".join(f"<p>{html.escape(line)}</p>" for line in self.conclusion())
        said = str(self.origin)
        rule = f"<p>Rule: <b>{html.escape(said)}</b></p>" if said else ""
        return f"<div><p>The event <b>{verdict}</b>.</p>{rule}{self.html()}{conclusion}</div>"

    def html(self) -> str:
        """The parts as a list, without verdict and conclusion."""
        return f"<ul>{_html(self.root)}</ul>"


def explain(
    checked: CheckedExpression, event: Event, beyond: ResidualReason | None = None, *, origin: Origin = NO_ORIGIN
) -> FilterExplanation:
    """Explain why the event matches the filter or does not; SchemaError if its values break the schema."""
    if checked.root is None:
        raise NotSupported("a pattern speaks of several events; explain one of its steps as a filter")
    return FilterExplanation(_explained(checked, checked.root, event, True, beyond), origin)


def failing(checked: CheckedExpression, events: Iterable[Event]) -> list[tuple[Leaf, int]]:
    """The tests that kept events from matching, with the number of events, most frequent first.

    Events that break the schema are left out.
    """
    if checked.root is None:
        raise NotSupported("a pattern speaks of several events; ask for one of its steps as a filter")
    counts: Counter[int] = Counter()
    for row, event in enumerate(events):
        check_event(event, row)
        try:
            root = _explained(checked, checked.root, event, True)
        except SchemaError:
            continue
        counts.update(id(found.part) for found in _blamed(root, True))
    counted = [(leaf, counts[id(leaf)]) for leaf in leaves(checked.root) if id(leaf) in counts]
    return sorted(counted, key=lambda entry: -entry[1])


def _explained(
    checked: CheckedExpression, part: Part, event: Event, wanted: bool, beyond: ResidualReason | None = None
) -> PartExplanation:
    text = checked.text_of(part)
    if isinstance(part, AndPart | OrPart):
        parts = tuple(_explained(checked, each, event, wanted, beyond) for each in part.parts)
        truths = [each.truth for each in parts]
        found = every(truths) if isinstance(part, AndPart) else some(truths)
        return PartExplanation(part, text, found, wanted, parts=parts)
    if isinstance(part, NotPart):
        inner = _explained(checked, part.part, event, not wanted, beyond)
        if inner.text == text and not inner.parts:  # `x not in (…)` is one test for its author
            return replace(inner, truth=opposite(inner.truth), wanted=wanted)
        return PartExplanation(part, text, opposite(inner.truth), wanted, parts=(inner,))
    if beyond is not None and isinstance(part, Residual):
        found_reason = beyond(part)
    else:
        found_reason = reason(part, event, checked.schema, wanted)
    return PartExplanation(
        part, text, found_reason.truth, wanted, found_reason.value, found_reason.why, found_reason.missed
    )


# ---------------------------------------------------------------- who is to blame


def _decisive(one: PartExplanation, wanted: bool) -> Iterator[PartExplanation]:
    """The leaves each of which alone can give this part the wanted truth."""
    if one.truth is wanted:
        return
    if isinstance(one.part, NotPart):
        yield from _decisive(one.parts[0], not wanted)
    elif not isinstance(one.part, AndPart | OrPart):
        yield one
    elif isinstance(one.part, AndPart) == wanted:
        # All parts are needed, so only one may be missing.
        missing = [each for each in one.parts if each.truth is not wanted]
        if len(missing) == 1:
            yield from _decisive(missing[0], wanted)
    else:
        for each in one.parts:
            yield from _decisive(each, wanted)


def _blamed(one: PartExplanation, wanted: bool) -> Iterator[PartExplanation]:
    """The leaves without the wanted truth whose parents do not have it either."""
    if one.truth is wanted:
        return
    if isinstance(one.part, NotPart):
        yield from _blamed(one.parts[0], not wanted)
    elif isinstance(one.part, AndPart | OrPart):
        for each in one.parts:
            yield from _blamed(each, wanted)
    else:
        yield one


def _nearness(one: PartExplanation) -> tuple[int, float]:
    """A sort key: measured misses first, then other false tests, then unknown ones."""
    if one.missed is not None:
        return 0, one.missed.share
    return (2 if one.truth is None else 1), 0.0


# ---------------------------------------------------------------- as a page


def _html(one: PartExplanation) -> str:
    mark = f'<span style="color:{_COLOURS[one.truth]}">{MARKS[one.truth]}</span>'
    why = f" <i>{html.escape(one.why)}</i>" if one.why else ""
    inside = f"<ul>{''.join(_html(each) for each in one.parts)}</ul>" if one.parts else ""
    return f'<li style="list-style:none">{mark} <code>{html.escape(cut(one.text))}</code>{why}{inside}</li>'
