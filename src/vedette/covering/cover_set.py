"""A changing set of subscriptions with covering (Ouksel 2006, section 3).

A subscription that is covered when it comes is parked. It names those that cover it, which are all active, so only
those that name a cancelled one have to be decided again, in the order of arrival; they become active if they are not
covered by others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from vedette.covering.boxes import MOST_BOXES, Box, BoxSpace, NoBoxes
from vedette.covering.candidates import BoxTable
from vedette.covering.cover_judge import BUDGET, CoverJudge, CoverSettings, CoverVerdict, Method
from vedette.covering.witness import plain_point, values_at
from vedette.errors import InputError, UnknownSubscription
from vedette.filters.subscription_input import check_texts
from vedette.filters.subscription_set import schema_of
from vedette.filters.templates import HasOperators, IsPattern, Templates
from vedette.language.check import check
from vedette.language.normalform import NormalForm
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class OpaqueSubscription:
    """A filter with operators, or a pattern, which only an equal one can cover. `text` is all that is compared."""

    text: str
    pattern: bool = False  # it speaks of several events, so that it never does what a filter does


CoverInput: TypeAlias = str | NormalForm | OpaqueSubscription
CoverForm: TypeAlias = NormalForm | OpaqueSubscription


@dataclass(frozen=True, slots=True)
class CoverAnswer:
    """The answer for a subscription: whether others cover it, which, how that was found, and how certain it is.

    `method`: one other covers it (`pairwise`), several do or an event shows that they do not (`exact`, `witness`), no
    other matches an event with only its attributes (`empty`), points were drawn (`sampling`), the search was given up
    (`budget`), it can never match (`never`), another has the same meaning (`equal`), or it has no boxes: an
    operator, a pattern (`opaque`), a union of too many (`limit`). If it is uncertain, "not covered" may be wrong,
    which does no harm; "covered" is wrong with probability `error` at most.
    """

    subscription: str
    covered: bool
    by: tuple[str, ...]
    method: str
    certain: bool
    error: float = 0.0
    witness: Mapping[str, Any] | None = None  # an event that this one matches and no other does


class CoveringSet:
    """Active subscriptions, and covered ones with those that cover them, in the order of arrival."""

    def __init__(
        self,
        schema: Schema | Mapping[str, Any] | None = None,
        *,
        method: Method = "auto",
        error: float = 1e-6,
        budget: int = BUDGET,
        witnesses: bool = False,
    ) -> None:
        self._schema = schema_of(schema)
        self._templates = Templates(self._schema, MOST_BOXES)
        self._witnesses = witnesses
        self._space = BoxSpace()
        self._table: BoxTable[str] = BoxTable(self._space)
        self._judge = CoverJudge(self._space, self._table, CoverSettings(method, error, budget))
        self._arrivals = 0
        self._said: dict[str, tuple[int, CoverInput]] = {}  # a text where nobody has asked what it says so far
        self._active: dict[str, None] = {}
        self._covered: dict[str, CoverAnswer] = {}
        self._covering: dict[str, dict[str, None]] = {}  # those that an active one helps to cover
        self._alike: dict[CoverForm, str] = {}  # active ones without boxes
        self._unknown = 0  # of these, filters: what they match, nobody knows

    def __len__(self) -> int:
        return len(self._said)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._said

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    @property
    def active(self) -> tuple[str, ...]:
        """The subscriptions that no others cover, in the order in which they became active."""
        return tuple(self._active)

    @property
    def covered(self) -> Mapping[str, CoverAnswer]:
        """The subscriptions that active ones cover, with the answers."""
        return MappingProxyType(self._covered)

    @property
    def space(self) -> BoxSpace:
        """The space of the boxes."""
        return self._space

    @property
    def table(self) -> BoxTable[str]:
        """The table of the active subscriptions' boxes."""
        return self._table

    def boxes(self, id_: str) -> list[Box]:
        """The boxes of a subscription, if it has any."""
        said = self._form(id_)
        if not isinstance(said, NormalForm):
            return []
        try:
            return self._boxes(said)
        except NoBoxes:
            return []

    def covers(self, id_: str) -> tuple[str, ...]:
        """The covered subscriptions that name this one."""
        return tuple(self._covering.get(id_, ()))

    # ------------------------------------------------------------ changes

    def add(self, id_: str, what: CoverInput) -> CoverAnswer:
        """Add a subscription; InputError if the id is taken, FilterError if the text is invalid."""
        self._arrive(id_, what)
        return self._settle(id_)

    def add_decided(self, id_: str, what: CoverInput, answer: CoverAnswer | None) -> None:
        """Add a subscription with a known answer: covered by active ones (`answer`), or not."""
        self._arrive(id_, what)
        self._place(id_, answer, None if answer is not None else self._boxes_or_none(id_))

    def add_judged(self, id_: str, text: str, boxes: list[Box], verdict: CoverVerdict[str] | None) -> CoverAnswer:
        """Add a text with its boxes and a verdict, if the judge would give the same one here.

        The texts of the boxes have been numbered in the space before.
        """
        self._follow_moves()
        self._arrive(id_, text, read=False)
        found = self._judge.judge(boxes, seed=self._arrivals) if verdict is None else verdict
        answer = self._answer(id_, found, boxes)
        self._place(id_, answer if answer.covered else None, boxes)
        return answer

    def _arrive(self, id_: str, what: CoverInput, *, read: bool = True) -> None:
        if id_ in self._said:
            raise InputError(f"the id {id_!r} is taken\nHint: remove it first, or give every one its own id")
        said = what
        if not isinstance(what, NormalForm | OpaqueSubscription):
            check_texts(id_, what, None)
            said = self._read(what) if read else what
        self._arrivals += 1
        self._said[id_] = self._arrivals, said

    def _form(self, id_: str) -> CoverForm:
        number, said = self._said[id_]
        if isinstance(said, str):
            said = self._read(said)
            self._said[id_] = number, said
        return said

    def remove(self, id_: str) -> tuple[str, ...]:
        """Cancel a subscription; return the ids that become active because of it, in the order of arrival."""
        if id_ not in self._said:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        said = self._form(id_)
        del self._said[id_]
        answer = self._covered.pop(id_, None)
        if answer is not None:
            self._forget(answer)
            return ()
        del self._active[id_]
        if id_ in self._table:
            self._table.remove(id_)
        else:
            del self._alike[said]
            self._unknown -= not _is_pattern(said)
        orphans = sorted(self._covering.pop(id_, ()), key=lambda each: self._said[each][0])
        for orphan in orphans:
            self._forget(self._covered.pop(orphan))
        return tuple(orphan for orphan in orphans if not self._settle(orphan).covered)

    def _settle(self, id_: str) -> CoverAnswer:
        """Decide a subscription against the active ones, and add it to one of the two lists."""
        boxes = self._boxes_or_none(id_)
        if boxes is None:
            answer = self._beside_boxes(id_, self._form(id_))
        else:
            answer = self._answer(id_, self._judge.judge(boxes, seed=self._said[id_][0]), boxes)
        self._place(id_, answer if answer.covered else None, boxes)
        return answer

    def _place(self, id_: str, answer: CoverAnswer | None, boxes: list[Box] | None) -> None:
        """Add it to the covered ones, with the answer, or to the active ones."""
        if answer is not None:
            self._covered[id_] = answer
            for other in answer.by:
                self._covering.setdefault(other, {})[id_] = None
            return
        self._active[id_] = None
        if boxes is None:
            said = self._form(id_)
            self._alike[said] = id_
            self._unknown += not _is_pattern(said)
        else:
            self._table.add(id_, boxes)

    def _boxes_or_none(self, id_: str) -> list[Box] | None:
        said = self._form(id_)
        if isinstance(said, NormalForm):
            with contextlib.suppress(NoBoxes):
                return self._boxes(said)
        return None

    def _boxes(self, said: NormalForm) -> list[Box]:
        try:
            return self._space.boxes(said)
        finally:
            self._follow_moves()

    def _follow_moves(self) -> None:
        for dimension, move in self._space.take_moves():
            self._table.renumber(dimension, move)

    def _beside_boxes(self, id_: str, said: CoverForm) -> CoverAnswer:
        other = self._alike.get(said)
        if other is not None:
            return CoverAnswer(id_, True, (other,), "equal", True)
        return CoverAnswer(id_, False, (), "opaque" if isinstance(said, OpaqueSubscription) else "limit", False)

    def _answer(self, id_: str, verdict: CoverVerdict[str], boxes: list[Box]) -> CoverAnswer:
        witness = None
        certain = verdict.certain and (verdict.covered or not self._unknown)
        if self._witnesses and verdict.witness is not None and certain:
            witness = values_at(self._space, plain_point(self._table, boxes, self._space, verdict.witness))
        return CoverAnswer(id_, verdict.covered, verdict.by, verdict.method, certain, verdict.error, witness)

    def _forget(self, answer: CoverAnswer) -> None:
        """Forget the answer of one that is covered no more, or is gone."""
        for other in answer.by:
            others = self._covering.get(other)
            if others is not None:
                others.pop(answer.subscription, None)
                if not others:
                    del self._covering[other]

    def _read(self, text: str) -> CoverForm:
        try:
            return self._templates.normal_form(text)
        except HasOperators:
            return OpaqueSubscription(text)
        except IsPattern as found:
            check(found.composite, self._schema, text)
            return OpaqueSubscription(text, pattern=True)


def _is_pattern(said: CoverForm) -> bool:
    return isinstance(said, OpaqueSubscription) and said.pattern
