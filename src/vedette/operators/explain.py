"""Explanations of filters with operators: every part, the verdict, and the plan: what was evaluated when, and why."""

from __future__ import annotations

import html
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from vedette.errors import UnknownSubscription
from vedette.filters.explain import FilterExplanation
from vedette.filters.explain import explain as explain_parts
from vedette.filters.explanation import Explanation, PartExplanation
from vedette.filters.matcher import counted
from vedette.filters.reasons import Reason
from vedette.language.ast import Call
from vedette.language.check import check
from vedette.language.checked_tree import Residual
from vedette.language.parser import parse
from vedette.operators.bindings import Join, OutputPattern, Row, TooManyBindings
from vedette.operators.evaluation import Evaluation
from vedette.operators.evaluation_rounds import EvaluationRecord
from vedette.operators.matcher import OperatorMatcher, OperatorTrace
from vedette.operators.variable_constraints import constraint

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


_NEVER = 1 << 62
_LOOKED_AT = 1_000  # combinations of bindings that a constraint is tried with


def explain_operators(matcher: OperatorMatcher, event: Mapping[str, Any], id_: str) -> OperatorExplanation:
    """Why an event matches a subscription or does not, and how operators were planned for it.

    The event passes, and what was done is looked at; what was not needed is not evaluated for the explanation either.
    """
    if id_ not in matcher.ids:
        raise UnknownSubscription(f"there is no subscription {id_!r}")
    place = matcher.ids.index(id_)
    text = matcher.text(id_)
    trace = matcher.trace(event)
    matched, bindings = place in trace.found, trace.found.get(place)
    story = _EvaluationTrace(matcher, trace, place, bindings)
    parts = explain_parts(check(parse(text), matcher.schema, text), event, story.reason)
    return OperatorExplanation(
        parts,
        matched,
        bindings,
        matcher.planner,
        story.ruled_out_by(),
        story.steps(),
        story.skipped(),
        trace.counts.asked,
    )


class _EvaluationTrace:
    """What was evaluated for one event, and why not more."""

    def __init__(
        self, matcher: OperatorMatcher, trace: OperatorTrace, place: int, bindings: Mapping[str, Any] | None
    ) -> None:
        self._matcher, self._trace, self._bindings = matcher, trace, bindings
        self._asked = matcher.plan.asked
        self._made = {made.evaluation: made for made in trace.made}
        self._order = {made.evaluation: number for number, made in enumerate(trace.made, 1)}
        own = [each for each, at in enumerate(matcher.plan.place.tolist()) if at == place]
        self._passed = [each for each in own if each in trace.passed]
        self._matched = place in trace.found
        # Which predicates were found not to hold, in the order in which they were.
        self._failed = {
            number: self._order[each.evaluation]
            for number, each in enumerate(self._asked.predicates)
            if each.evaluation in self._made and not self._holds(number)
        }

    def _value(self, path: str) -> Any:
        return self._trace.source.value(path, 0)

    def _holds(self, number: int) -> bool:
        predicate = self._asked.predicates[number]
        made = self._made[predicate.evaluation]
        truth = int(made.truth[0])
        if made.bindings is None:
            return truth == (1 if predicate.positive else 0)
        return predicate.holds(truth, predicate.selected(made.bindings[0], self._value))

    # ------------------------------------------------------------ parts of the filter

    def reason(self, part: Residual) -> Reason:
        """What is known of a call or of a value constraint."""
        return self._call(part.node) if isinstance(part.node, Call) else self._constraint(part)

    def _call(self, node: Call) -> Reason:
        number, pattern = self._evaluation(node)
        made = self._made.get(number)
        if made is None:
            return Reason(None, None, f"not evaluated: {self._why_not(number)}")
        truth = int(made.truth[0])
        when = f"(evaluation {self._order[number]} of {len(self._made)})"
        if made.bindings is None or truth < 0:
            return Reason({1: True, 0: False, -1: None}[truth], None, f"{TRUTH_WORDS[truth]} {when}")
        rows = made.bindings[0]
        found = self._agrees(number, pattern, pattern.select(rows, self._value))
        return Reason(found, None, f"found {shown_rows(rows)} {when}")

    def _agrees(self, number: int, pattern: OutputPattern, selected: Sequence[Row]) -> bool | None:
        """Whether a call is true of some values; under `not`, of the reported ones, or of all that others bind."""
        names = pattern.names
        if not names or not selected or not self._is_negative(number, names):
            return bool(selected)
        reported = self._bindings is not None and set(names) <= self._bindings.keys()
        bound = [self._bindings] if self._bindings is not None and reported else self._substitutions(frozenset(names))
        if not bound:
            return None
        rows = [tuple(each[name] for name in names) for each in bound]
        return not self._joined([(names, True), (names, False)], [rows, selected])

    def _is_negative(self, number: int, names: tuple[str, ...]) -> bool:
        return any(
            call == (number, names) and not self._asked.predicates[part].positive
            for each in self._passed
            for part, call in zip(
                self._asked.alternatives[each].parts, self._asked.alternatives[each].calls, strict=True
            )
        )

    def _evaluation(self, node: Call) -> tuple[int, OutputPattern]:
        operator = self._matcher.operators.find(node.name)
        inputs = operator.inputs_of(len(node.arguments))
        evaluation = Evaluation(operator, node.arguments[:inputs])
        return self._asked.evaluations.index(evaluation), OutputPattern(node.arguments[inputs:])

    def _constraint(self, part: Residual) -> Reason:
        assert not isinstance(part.node, Call)
        asked = constraint(part.node)
        if self._bindings is not None and asked.variables <= set(self._bindings):
            return Reason(asked.holds(self._bindings, self._value), None, bound(self._bindings, asked.variables))
        substitutions = self._substitutions(asked.variables)
        if substitutions is None:
            unknown = ", ".join(f"?{name}" for name in sorted(asked.variables))
            return Reason(None, None, f"{unknown} {'is' if len(asked.variables) == 1 else 'are'} not known")
        truths = [asked.holds(each, self._value) for each in substitutions]
        found = True if True in truths else (False if False in truths else None)
        seen = [bound(each, asked.variables) for each in substitutions[:VALUES]]
        more = f" (and {len(substitutions) - len(seen):,} more)" if len(substitutions) > len(seen) else ""
        return Reason(found, None, ("; ".join(dict.fromkeys(seen)) or "nothing was found") + more)

    def _substitutions(self, variables: frozenset[str]) -> list[dict[str, Any]] | None:
        """Values that operators found for some variables; None where the one that binds them was not evaluated."""
        for alternative in self._passed:
            planned = self._asked.alternatives[alternative]
            shapes: list[tuple[tuple[str, ...], bool]] = []
            rows: list[Sequence[Row]] = []
            for call, (number, names) in zip(planned.parts, planned.calls, strict=True):
                predicate = self._asked.predicates[call]
                made = self._made.get(number)
                if predicate.positive and variables.intersection(names) and made is not None and made.bindings:
                    shapes.append((names, True))
                    rows.append(predicate.pattern.select(made.bindings[0], self._value))
            if variables <= {name for names, _ in shapes for name in names}:
                return self._joined(shapes, rows)
        return None

    def _joined(
        self, shapes: Sequence[tuple[tuple[str, ...], bool]], rows: Sequence[Sequence[Row]]
    ) -> list[dict[str, Any]]:
        """The first combinations of values."""
        found: list[dict[str, Any]] = []
        with suppress(TooManyBindings):  # those before it are enough to speak of
            found.extend(islice(Join(shapes, []).substitutions(rows, self._value), _LOOKED_AT))
        return found

    def _why_not(self, number: int) -> str:
        """Why the subscription did not need an evaluation."""
        if self._matched:
            return "it matches without it"
        asked = self._asked
        passed = [
            each
            for each in self._passed
            if any(asked.predicates[one].evaluation == number for one in asked.alternatives[each].predicates)
        ]
        if not passed:
            return "the tests of attributes settle it"
        return f"{self._settled_by(passed[0]) or 'another alternative'} settles it"

    def ruled_out_by(self) -> str | None:
        """The predicate that settled the only alternative that passed the index."""
        if self._matched or len(self._passed) != 1:
            return None
        return self._settled_by(self._passed[0]) or None

    def _settled_by(self, alternative: int) -> str:
        planned = self._asked.alternatives[alternative]
        failed = [one for one in planned.predicates if one in self._failed]
        if not failed:
            return ""
        first = min(failed, key=lambda one: self._failed[one])
        return written(self._asked.predicates[first].text, planned.calls[planned.parts.index(first)][1])

    # ------------------------------------------------------------ the plan

    def steps(self) -> tuple[PlannedStep, ...]:
        """What was evaluated, for whichever subscription, and whom it ruled out."""
        settled: dict[int, list[str]] = {made.evaluation: [] for made in self._trace.made}
        for place, alternatives in self._missed().items():
            last = max(self._first_failed(each) for each in alternatives)
            if last < _NEVER:
                settled[self._trace.made[last - 1].evaluation].append(self._matcher.ids[place])
        return tuple(
            PlannedStep(self._asked.evaluations[made.evaluation].text, shown(made), tuple(settled[made.evaluation]))
            for made in self._trace.made
        )

    def _missed(self) -> dict[int, list[int]]:
        """The alternatives that passed the index, by the place of their subscription; of those that do not match."""
        missed: dict[int, list[int]] = {}
        for alternative in sorted(self._trace.passed):
            place = int(self._matcher.plan.place[alternative])
            if place not in self._trace.found:
                missed.setdefault(place, []).append(alternative)
        return missed

    def _first_failed(self, alternative: int) -> int:
        """The number of the evaluation, from 1, that settled an alternative."""
        predicates = self._asked.alternatives[alternative].predicates
        return min((self._failed[one] for one in predicates if one in self._failed), default=_NEVER)

    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Evaluations that some subscription asked for after the index, and that were not needed."""
        why: dict[int, str] = {}
        for alternative in sorted(self._trace.passed):
            for one in self._asked.alternatives[alternative].predicates:
                number = self._asked.predicates[one].evaluation
                if number not in self._made and number not in why:
                    place = int(self._matcher.plan.place[alternative])
                    owner = self._matcher.ids[place]
                    why[number] = (
                        f"{owner} matches without it"
                        if place in self._trace.found
                        else f"{self._settled_by(alternative) or 'another alternative'} settles {owner}"
                    )
        return tuple((self._asked.evaluations[number].text, said) for number, said in why.items())
