"""Explanations of filters with operators: every part, the verdict, the plan."""

from __future__ import annotations

import html
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vedette.filters.explain import FilterExplanation
from vedette.filters.explanation import Explanation, PartExplanation
from vedette.filters.matcher import counted
from vedette.language.checked_tree import Residual
from vedette.operators.bindings import Row
from vedette.operators.evaluation_rounds import EvaluationRecord

VALUES: Final = 5  # bindings that are shown
TRUTH_WORDS: Final = {1: "true", 0: "false", -1: "unknown: it failed, or does not know"}
_UNFIT: Final = "no values of the variables fit together"
_SHOWN = 12  # evaluations, and subscriptions, that are listed one by one


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One evaluation made for the event: its result, and the subscriptions that it ruled out."""

    text: str
    found: str
    settled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperatorExplanation(Explanation):
    """The filter part by part, and the plan of operators for all subscriptions together."""

    parts: FilterExplanation
    holds: bool  # values of its variables fit together, too
    bindings: Mapping[str, Any] | None
    planner: str
    ruled_out_by: str | None  # the predicate that settled it, where operators did
    steps: tuple[PlannedStep, ...]
    skipped: tuple[tuple[str, str], ...]  # evaluations that were not made, and why
    asked: int  # evaluations that subscriptions with operators ask for, after the index

    @property
    def tree(self) -> PartExplanation:
        """The filter, part by part."""
        root = self.parts.root
        if self.holds:
            return replace(root, truth=True)
        return replace(root, truth=False, why=_UNFIT) if self.parts.matched else root

    @property
    def matched(self) -> bool:
        """Whether the event matches."""
        return self.holds

    @property
    def saved(self) -> int:
        """The number of evaluations asked for and not needed."""
        return self.asked - len(self.steps)

    @property
    def blamed(self) -> list[str]:
        """What ruled the event out: a predicate, or the parts that failed; never parts that were not evaluated."""
        if self.matched:
            return []
        if self.ruled_out_by is not None:
            return [self.ruled_out_by]
        if self.parts.matched:
            return [_UNFIT]
        failed = self.parts.failed
        asked = [each for each in failed if each.truth is False or not isinstance(each.part, Residual)]
        return list(dict.fromkeys(each.text for each in asked or failed))

    def __str__(self) -> str:
        verdict = "matches" if self.matched else "does not match"
        return "\n".join([f"The event {verdict}.", *self.lines()])

    def lines(self) -> Iterator[str]:
        """The explanation without the verdict, as lines."""
        yield from self.parts.lines()
        yield from self._conclusion()
        yield from self._plan()

    def _conclusion(self) -> list[str]:
        if self.matched:
            return [f"Bindings: {bound(self.bindings)}"] if self.bindings else []
        if self.parts.matched:
            return ["Each part can be true, but no values of the variables make all of them true at once."]
        if self.ruled_out_by is not None:
            return [f"Ruled out by {self.ruled_out_by}."]
        return self.parts.conclusion()

    def _plan(self) -> Iterator[str]:
        made = counted(len(self.steps), "evaluation")
        yield f"Plan ({self.planner}): {made} of {self.asked:,} that were asked for, {self.saved:,} saved."
        width = max((len(step.text) for step in self.steps[:_SHOWN]), default=0)
        for number, step in enumerate(self.steps[:_SHOWN], 1):
            settled = f"   rules out {listed(step.settled)}" if step.settled else ""
            yield f"{number:>4}. {step.text:<{width}}  {step.found}{settled}"
        if len(self.steps) > _SHOWN:
            yield f"      … and {len(self.steps) - _SHOWN:,} more"
        for text, why in self.skipped[:_SHOWN]:
            yield f"   –  {text}  not evaluated: {why}"
        if len(self.skipped) > _SHOWN:
            yield f"      … and {len(self.skipped) - _SHOWN:,} more were not evaluated"

    def _repr_html_(self) -> str:
        verdict = "matches" if self.matched else "does not match"
        after = "".join(f"<p>{html.escape(line)}</p>" for line in self._conclusion())
        plan = html.escape("\n".join(self._plan()))
        return f"<div><p>The event <b>{verdict}</b>.</p>{self.parts.html()}{after}<pre>{plan}</pre></div>"


# ---------------------------------------------------------------- in words

_RENAMED = re.compile(r"'(?:[^']|'')*'|\?(\d+)")  # in the canonical text of a predicate; constants stay as they are


def written(text: str, names: Sequence[str]) -> str:
    """A predicate with the variable names of a subscription instead of ?0, ?1, …."""
    return _RENAMED.sub(lambda found: found[0] if found[1] is None else f"?{names[int(found[1])]}", text)


def shown(made: EvaluationRecord) -> str:
    truth = int(made.truth[0])
    return TRUTH_WORDS[truth] if made.bindings is None or truth < 0 else shown_rows(made.bindings[0])


def shown_rows(rows: Sequence[Row]) -> str:
    if not rows:
        return "nothing"
    shown = [", ".join(map(reprlib.repr, row)) for row in rows[:VALUES]]
    more = f" and {len(rows) - VALUES:,} more" if len(rows) > VALUES else ""
    return "; ".join(shown) + more


def bound(bindings: Mapping[str, Any] | None, names: frozenset[str] | None = None) -> str:
    chosen = {name: value for name, value in (bindings or {}).items() if names is None or name in names}
    return ", ".join(f"?{name} = {reprlib.repr(value)}" for name, value in chosen.items())


def listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 4:,} more" if len(ids) > 4 else ""
    return ", ".join(ids[:4]) + more
