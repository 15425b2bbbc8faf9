"""Lints legal texts: filters that can never match or always match, and redundant parts.

Every part is examined with the polarity in which it counts: below a NOT, it matters when it is *false*.
A finding is reported at the smallest part that explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

from vedette.errors import FilterError, LimitError, NotSupported
from vedette.language.checked_tree import AndPart, Atom, CheckedExpression, NotPart, OrPart, Part, TruthPart
from vedette.language.contradictions import Contradictions, by_column, constant_verdict, together, truth_word
from vedette.language.normalform import Conjunction, NormalForm, Probe, TextProbe
from vedette.language.normalise import normal_form
from vedette.language.syntax import Span
from vedette.language.test_nodes.is_null import IsNull
from vedette.language.test_nodes.text_test import text_holds
from vedette.language.valuesets import intersection_all, is_subset, union_all
from vedette.schema.columns import Column
from vedette.schema.types import Kind

_CONJUNCTIONS = 256  # of a part that is examined; larger ones are not linted
_PARTS = 100  # of an AND or OR that are compared with each other
_TEXTS = 100  # that an attribute may have, which are tried on its other tests
_SHOWN = 100  # characters of a part in a message


@dataclass(frozen=True, slots=True)
class Lint:
    """One finding, at [start, end) in the text."""

    code: OneOf["never", "always", "redundant", "unbounded", "label"]
    message: str
    start: int
    end: int
    text: str = ""
    hint: str | None = None

    def __str__(self) -> str:
        return FilterError(self.message, text=self.text, start=self.start, end=self.end, hint=self.hint).render()


def lint(checked: CheckedExpression) -> tuple[Lint, ...]:
    """All findings of a filter, or of the steps of a pattern, in the order of the text."""
    if checked.root is not None:
        found = list(_Linter(checked, "filter").findings(checked.root))
    else:
        found = [each for step in checked.steps for each in _Linter(checked, "step").findings(step.root)]
    return tuple(sorted(found, key=lambda each: (each.start, -each.end)))


def merged(lints: Iterable[Lint]) -> Iterable[Lint]:
    """Merge two findings about the same part, of which the second gives the reason, into one."""
    found: dict[tuple[str, int, int], Lint] = {}
    for each in lints:
        before = found.get((each.code, each.start, each.end))
        if before is not None and before.message.startswith(each.message):
            continue
        if before is not None and each.message.startswith(before.message):
            before = None
        if before is not None:
            each = replace(before, message=f"{before.message}: {each.message}", hint=before.hint or each.hint)
        found[each.code, each.start, each.end] = each
    return found.values()


class _Linter:
    def __init__(self, checked: CheckedExpression, whole: str) -> None:
        self._checked = checked
        self._whole = whole
        self._forms: dict[tuple[int, bool], tuple[Part, NormalForm | None]] = {}
        self._contradictions = Contradictions(
            self._form, self._text_of, lambda atom: atom.test.why_never(atom.column)[0]
        )

    def findings(self, root: Part) -> Iterator[Lint]:
        form = self._form(root, True)
        if isinstance(root, TruthPart):
            code: OneOf["never", "always"] = "always" if root.value else "never"
            verb = "matches" if root.value else "never matches"
            said = constant_verdict(root, self._text_of(root))
            message = f"this {self._whole} {verb}, whatever the event"
            yield self._found(code, root, message if said is None else f"{message}: {said}")
            return
        below = list(self._part(root, True))
        if form is None:
            form = self._form_of_known(root)
            never = form is not None and not form.conjunctions
        else:
            never = not form.conjunctions
            if _is_always(form):
                yield self._found("always", root, f"this {self._whole} matches every event")
        if never:
            why = self._contradictions.why(root)
            here = [each for each in below if each.code == "never" and _span(each) == _span(root.node.span)]
            hint = next((each.hint for each in here if each.hint is not None), None)
            message = f"this {self._whole} can never match" + (f": {why}" if why else "")
            yield self._found("never", root, message, hint)
            below = [each for each in below if each not in here]
        yield from below

    def _part(self, part: Part, positive: bool) -> Iterator[Lint]:
        if isinstance(part, NotPart):
            yield from self._part(part.part, not positive)
        elif isinstance(part, AndPart | OrPart):
            for each in part.parts:
                yield from self._part(each, positive)
            if isinstance(part, AndPart) == positive:
                yield from self._all_of(part, positive)
            else:
                yield from self._any_of(part, positive)
        elif isinstance(part, Atom):
            form = self._form(part, positive)
            if form is not None and not form.conjunctions:
                yield self._never(part, positive)

    # ------------------------------------------------------------ one test

    def _never(self, atom: Atom, positive: bool) -> Lint:
        why, hint = atom.test.why_never(atom.column)
        return self._found("never", atom, f"{self._text_of(atom)} can never be {truth_word(positive)}{why}", hint)

    # ------------------------------------------------------------ parts of which all must hold

    def _all_of(self, whole: AndPart | OrPart, positive: bool) -> Iterator[Lint]:
        form = self._form(whole, positive)
        forms = [self._form(part, positive) for part in whole.parts]
        if form is None:
            form = self._form_of_known(whole, positive)
        if form is not None and not form.conjunctions:
            if all(each is None or each.conjunctions for each in forms):
                yield self._clash(whole, positive)
            return
        for part, each in zip(whole.parts, forms, strict=True):
            if each is not None and _is_always(each):
                yield self._found("redundant", part, f"{self._checked.text_of(part)} always holds and adds nothing")
        yield from self._redundant(whole.parts, positive, every=True)

    def _clash(self, whole: AndPart | OrPart, positive: bool) -> Lint:
        pair = self._contradictions.pair(whole, positive)
        if pair is None:
            why = self._contradictions.together(whole, positive)
            return self._found("never", whole, why or f"these can never all be {truth_word(positive)} together")
        said = together([self._text_of(each) for each in pair], positive)
        if len(whole.parts) == len(pair):
            return self._found("never", whole, said)
        return Lint("never", said, pair[0].node.span.start, pair[1].node.span.end, self._checked.text)

    # ------------------------------------------------------------ parts of which one must hold

    def _any_of(self, whole: AndPart | OrPart, positive: bool) -> Iterator[Lint]:
        form = self._form(whole, positive)
        if form is None:
            return
        forms = [self._form(part, positive) for part in whole.parts]
        if _is_always(form):
            for part, each in zip(whole.parts, forms, strict=True):
                if each is not None and _is_always(each):
                    yield self._found(
                        "always", part, f"{self._checked.text_of(part)} always holds, so the others are idle"
                    )
                    return
            yield self._found("always", whole, "one of these always holds")
            return
        present = _is_presence(form)
        if present is not None and not any(each is not None and _is_presence(each) for each in forms):
            path = present.name
            yield self._found("always", whole, "one of these always holds", f"it says no more than: {path} is not null")
            return
        yield from self._redundant(whole.parts, positive, every=False)

    # ------------------------------------------------------------ parts beside others

    def _redundant(self, parts: Sequence[Part], positive: bool, every: bool) -> Iterator[Lint]:
        """Find parts that others on the same column make redundant; of equal parts, the later one."""
        if len(parts) > _PARTS:
            return
        named_already: set[int] = set()
        for _, entries in by_column(self._form, parts, positive).items():
            left = list(entries)
            for entry in reversed(entries):
                others = [each for each in left if each is not entry]
                if not others or entry[1].is_empty or _asks_for_null(entry[0]):
                    continue
                sets = [values for _, values in others]
                if every:
                    idle = is_subset(intersection_all(sets), entry[1])
                else:
                    idle = is_subset(entry[1], union_all(sets))
                if idle:
                    left.remove(entry)
                    named_already.add(id(entry[0]))
                    yield self._beside(entry[0], others, entry[1], every)
        seen: dict[NormalForm, Part] = {}
        for part in parts:
            form = self._form(part, positive)
            if form is None or not form.conjunctions or id(part) in named_already or _is_always(form):
                continue
            if seen.setdefault(form, part) is not part:
                before = self._checked.text_of(seen[form])
                yield self._found("redundant", part, f"{self._checked.text_of(part)} was said before: {before}")

    def _beside(self, part: Part, others: list[tuple[Part, Any]], values: Any, every: bool) -> Lint:
        alone = [each for each, theirs in others if (is_subset(theirs, values) if every else is_subset(values, theirs))]
        enough = alone[:1] or [each for each, _ in others][:3]
        beside = " and ".join(self._checked.text_of(each) for each in enough)
        return self._found("redundant", part, f"{self._checked.text_of(part)} adds nothing beside {beside}")

    def _form_of_known(self, whole: Part, positive: bool = True) -> NormalForm | None:
        """As `_form`, of only those parts of an AND whose forms are known, i.e. that depend on the event alone."""
        if not isinstance(whole, AndPart | OrPart) or isinstance(whole, AndPart) != positive:
            return None
        known = tuple(part for part in whole.parts if self._form(part, positive) is not None)
        return self._form(replace(whole, parts=known), positive) if len(known) > 1 else None

    def _text_of(self, part: Part) -> str:
        """A part as messages show it: on one line, truncated, and in parentheses if it is an AND or OR."""
        text = " ".join(self._checked.text_of(part).split())
        short = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        return f"({short})" if isinstance(part, AndPart | OrPart) else short

    def _form(self, part: Part, positive: bool) -> NormalForm | None:
        """The normal form of the part being true (or false); None if that is unknown or too large."""
        key = (id(part), positive)
        if key not in self._forms:
            try:
                form: NormalForm | None = normal_form(part, positive, _CONJUNCTIONS, most=_CONJUNCTIONS)
            except (LimitError, NotSupported):
                form = None
            if form is not None and form.vetoes:
                form = None
            if form is not None:
                form = replace(form, conjunctions=tuple(filter(_is_possible, form.conjunctions)))
            self._forms[key] = part, form  # the part is referenced, so that its id is not reused
        return self._forms[key][1]

    def _found(
        self, code: OneOf["never", "always", "redundant"], part: Part, message: str, hint: str | None = None
    ) -> Lint:
        span = part.node.span
        return Lint(code, message, span.start, span.end, self._checked.text, hint)


def _is_possible(conjunction: Conjunction) -> bool:
    """Whether, for attributes restricted to a few texts, some text passes all tests of the conjunction."""
    left: dict[Column, list[str]] = {}
    for column, values in conjunction.values:
        points = [each.point for each in values.intervals[:_TEXTS]]
        few = len(values.intervals) <= _TEXTS and not values.null
        if few and column.type.kind is Kind.STRING and all(isinstance(each, bytes) for each in points):
            with suppress(UnicodeDecodeError):  # no text has such a key
                left[column] = [each.decode(errors="surrogatepass") for each in points if isinstance(each, bytes)]
    for column, probe in conjunction.probes:
        if column in left and all(isinstance(test, TextProbe) for test in probe.tests):
            left[column] = [text for text in left[column] if _passes(probe, text)]
            if not left[column]:
                return False
    return True


def _passes(probe: Probe, text: str) -> bool:
    holds = (
        text_holds(test.kind, test.pattern, text, escape="\\", ignore_case=test.ignore_case)
        for test in probe.tests
        if isinstance(test, TextProbe)
    )
    return any(holds) is probe.positive


def _asks_for_null(part: Part) -> bool:
    """Whether the part is a test for null, which people add for clarity even if three-valued logic does not need it."""
    if isinstance(part, NotPart):
        return _asks_for_null(part.part)
    return isinstance(part, Atom) and isinstance(part.test, IsNull)


def _span(found: Lint | Span) -> tuple[int, int]:
    return found.start, found.end


_ALWAYS = (Conjunction(),)


def _is_always(form: NormalForm) -> bool:
    return form.conjunctions == _ALWAYS


def _is_presence(form: NormalForm) -> Column | None:
    """The column, if the form only requires that it has a value."""
    if len(form.conjunctions) != 1:
        return None
    (one,) = form.conjunctions
    if one.probes or len(one.values) != 1:
        return None
    column, values = one.values[0]
    return column if values.is_all_values and not values.null else None
