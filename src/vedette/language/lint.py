"""What is legal and yet hardly meant: filters that can never or always match, and parts that can never matter.

Every part is looked at in the direction in which it counts: below a NOT, what matters is when it is *false*.
A finding is reported at the smallest part that explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

from vedette.errors import FilterError, LimitError, NotSupported
from vedette.language.ast import Comparator, Comparison, In, IsNull, Literal, Range
from vedette.language.checked import AndPart, Atom, Checked, NotPart, OrPart, Part, TruthPart
from vedette.language.families import named
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.normalise import normal_form
from vedette.language.render import constant
from vedette.language.valuesets import ValueSet, intersection, intersection_all, is_subset, union_all
from vedette.schema.columns import Column

_CONJUNCTIONS = 256  # of a part that is looked at; larger ones are taken on trust
_PARTS = 100  # of an AND or OR that are compared with each other


@dataclass(frozen=True, slots=True)
class Lint:
    """One finding, and where it is: [start, end) in the text."""

    code: OneOf["never", "always", "redundant", "unbounded", "label"]
    message: str
    start: int
    end: int
    text: str = ""
    hint: str | None = None

    def __str__(self) -> str:
        return FilterError(self.message, text=self.text, start=self.start, end=self.end, hint=self.hint).render()


def lint(checked: Checked) -> tuple[Lint, ...]:
    """All findings of a filter, or of the steps of a pattern, in the order of the text."""
    if checked.root is not None:
        found = list(_Linter(checked, "filter").findings(checked.root))
    else:
        found = [each for step in checked.steps for each in _Linter(checked, "step").findings(step.root)]
    return tuple(sorted(found, key=lambda each: (each.start, -each.end)))


def merged(lints: Iterable[Lint]) -> Iterable[Lint]:
    """Of two findings about the same part the second says why: they become one."""
    found: dict[tuple[str, int, int], Lint] = {}
    for each in lints:
        before = found.get((each.code, each.start, each.end))
        if before is not None and before.message == each.message:
            continue
        if before is not None:
            each = replace(before, message=f"{before.message}: {each.message}", hint=before.hint or each.hint)
        found[each.code, each.start, each.end] = each
    return found.values()


class _Linter:
    def __init__(self, checked: Checked, whole: str) -> None:
        self._checked = checked
        self._whole = whole
        self._forms: dict[tuple[int, bool], tuple[Part, NormalForm | None]] = {}

    def findings(self, root: Part) -> Iterator[Lint]:
        form = self._form(root, True)
        if isinstance(root, TruthPart):
            code: OneOf["never", "always"] = "always" if root.value else "never"
            verb = "matches" if root.value else "never matches"
            yield self._found(code, root, f"this {self._whole} {verb}, whatever the event")
            return
        if form is not None and not form.conjunctions:
            yield self._found("never", root, f"this {self._whole} can never match")
        elif form is not None and _is_always(form):
            yield self._found("always", root, f"this {self._whole} matches every event")
        yield from self._part(root, True)

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
        text = self._checked.text_of(atom)
        why, hint = _reason(atom)
        state = "true" if positive else "false"
        return self._found("never", atom, f"{text} can never be {state}{why}", hint)

    # ------------------------------------------------------------ parts of which all must hold

    def _all_of(self, whole: AndPart | OrPart, positive: bool) -> Iterator[Lint]:
        form = self._form(whole, positive)
        forms = [self._form(part, positive) for part in whole.parts]
        if form is None:  # what depends on other events is left to them
            known = tuple(part for part, each in zip(whole.parts, forms, strict=True) if each is not None)
            form = self._form(replace(whole, parts=known), positive) if len(known) > 1 else None
        if form is not None and not form.conjunctions:
            if all(each is None or each.conjunctions for each in forms):
                yield self._clash(whole, positive)
            return
        for part, each in zip(whole.parts, forms, strict=True):
            if each is not None and _is_always(each):
                yield self._found("redundant", part, f"{self._checked.text_of(part)} always holds and adds nothing")
        yield from self._redundant(whole.parts, positive, every=True)

    def _clash(self, whole: AndPart | OrPart, positive: bool) -> Lint:
        state = "true" if positive else "false"
        for _, entries in self._by_column(whole.parts[:_PARTS], positive).items():
            for place, (part, values) in enumerate(entries):
                for other, others in entries[:place]:
                    if intersection(values, others).is_empty:
                        both = f"{self._checked.text_of(other)} and {self._checked.text_of(part)}"
                        start, end = other.node.span.start, part.node.span.end
                        text = self._checked.text
                        return Lint("never", f"{both} can never both be {state}", start, end, text)
        return self._found("never", whole, f"these can never all be {state} together")

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
        """Parts that the others on the same column make idle; of equal ones the later."""
        if len(parts) > _PARTS:
            return
        named_already: set[int] = set()
        for _, entries in self._by_column(parts, positive).items():
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

    def _by_column(self, parts: Sequence[Part], positive: bool) -> dict[Column, list[tuple[Part, ValueSet[Any]]]]:
        """The parts that ask one thing of one column, by column."""
        made: dict[Column, list[tuple[Part, ValueSet[Any]]]] = {}
        for part in parts:
            form = self._form(part, positive)
            if form is None or len(form.conjunctions) != 1:
                continue
            (one,) = form.conjunctions
            if len(one.values) == 1 and not one.probes:
                column, values = one.values[0]
                made.setdefault(column, []).append((part, values))
        return made

    def _form(self, part: Part, positive: bool) -> NormalForm | None:
        """When the part is true (false); None if that is unknown or too large."""
        key = (id(part), positive)
        if key not in self._forms:
            try:
                form: NormalForm | None = normal_form(part, positive, _CONJUNCTIONS, most=_CONJUNCTIONS)
            except (LimitError, NotSupported):
                form = None
            if form is not None and form.vetoes:
                form = None
            self._forms[key] = part, form  # the part is kept, so that its id stays its own
        return self._forms[key][1]

    def _found(
        self, code: OneOf["never", "always", "redundant"], part: Part, message: str, hint: str | None = None
    ) -> Lint:
        span = part.node.span
        return Lint(code, message, span.start, span.end, self._checked.text, hint)


def _asks_for_null(part: Part) -> bool:
    """A test for null: people add it to be clear, where three-valued logic would not need it."""
    if isinstance(part, NotPart):
        return _asks_for_null(part.part)
    return isinstance(part, Atom) and isinstance(part.test, IsNull)


_ALWAYS = (Conjunction(),)


def _is_always(form: NormalForm) -> bool:
    return form.conjunctions == _ALWAYS


def _is_presence(form: NormalForm) -> Column | None:
    """The column of which the form asks no more than that it has a value."""
    if len(form.conjunctions) != 1:
        return None
    (one,) = form.conjunctions
    if one.probes or len(one.values) != 1:
        return None
    column, values = one.values[0]
    return column if values.is_all_values and not values.null else None


def _reason(atom: Atom) -> tuple[str, str | None]:
    """Why a test that can never hold cannot, and what may have been meant."""
    test, path = atom.test, atom.column.name
    if isinstance(test, Comparison) and isinstance(test.right, Literal):
        if test.right.value is None:
            negation = "not " if test.op is Comparator.NE else ""
            return ": a comparison with null is always unknown", f"write {path} is {negation}null"
        value = constant(test.right.value)
        if test.op in (Comparator.EQ, Comparator.SAME):
            return f": {path} is {named(atom.column.type.element)}, and none equals {value}", None
        return f": no {atom.column.type.kind.value} is so", None
    if isinstance(test, In) and any(item.value is None for item in test.items):
        return ": null is among the items, so a miss is unknown", f"write {path} is null apart from the list"
    if isinstance(test, Range):
        if any(isinstance(end, Literal) and end.value is None for end in (test.low, test.high)):
            return ": a comparison with null is always unknown", None
        return ": the range is empty", "the lower end comes first"
    return "", None
