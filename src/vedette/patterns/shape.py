"""The order of a pattern's steps: its steps as places, and the markings that a partial match passes through.

A pattern is a tree of threads. A thread is a sequence machine: places, each a step or an `and`, and what may follow
each of them, contiguously or after a while. The parts of an `and` are threads of their own: they start with its first
event (the in-trigger), and it is complete when all of them are (the out-trigger). So an `and` of long sequences costs
the sum of their places, and only those combinations that are reached are ever built.

A marking is the progress of a partial match:

    None                  the thread has not begun
    (NEXT, place)         the place is taken, and the very next event must go on
    (WAIT, place)         the place is taken, and any later event may go on
    (INSIDE, place, …)    within an `and`: the marking of each of its threads
    DONE                  the thread is complete
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.language.ast import (
    Absence,
    Comparator,
    Composite,
    Pattern,
    PatternAnd,
    PatternOr,
    Repeat,
    Sequence,
    Step,
    TimeCondition,
    TimedPattern,
)

NEXT: Final = 0
WAIT: Final = 1
INSIDE: Final = 2
DONE: Final = (3,)

Marking: TypeAlias = tuple[Any, ...] | None
RepetitionPath: TypeAlias = tuple[tuple[int, int], ...]  # which repetition, of the repetitions around it


@dataclass(slots=True)
class ThreadNode:
    """A step, or an `and`, of one thread."""

    number: int
    thread: PatternThread
    position: int = -1  # of the step; -1 for an `and`
    threads: list[PatternThread] = field(default_factory=list)  # of an `and`
    next: list[ThreadNode] = field(default_factory=list)  # what the very next event may take
    later: list[ThreadNode] = field(default_factory=list)  # what any later event may take
    absent: tuple[int, ...] = ()  # the steps that must not happen before it does


@dataclass(slots=True)
class PatternThread:
    """A sequence machine: where it begins, and where it may end."""

    first: list[ThreadNode] = field(default_factory=list)
    last: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Position:
    """A step that takes an event, with repetitions written out."""

    step: Step
    name: str
    copies: RepetitionPath
    optional: bool  # it is in an `or`, or in a repetition beyond the least


@dataclass(frozen=True, slots=True)
class MarkingCondition:
    """`t(left) - t(right) op microseconds`, if both are known; without a right side it is the time itself.

    The sides are slots: each keeps the time of the last event that took one of some positions.
    """

    left: int
    right: int  # -1: none
    op: Comparator
    microseconds: int
    absolute: bool  # of the difference, not the difference itself
    positions: frozenset[int]  # of all slots: it is settled when none of them can be taken any more
    scope: int = -1  # a slot: it holds only where that is set, since what it is a condition of may take no part


class MarkingMove(NamedTuple):
    """An event takes a position."""

    position: int
    contiguous: bool  # only the very next event may
    absent: frozenset[int]  # what it ends the wait of
    markings: tuple[Marking, ...]  # the markings after it: DONE is a match


class Shape:
    """The places and conditions of a pattern. `absent` are the steps that must not happen."""

    def __init__(self, composite: Composite) -> None:
        self.positions: list[Position] = []
        self.absent: list[Step] = []
        self.conditions: list[MarkingCondition] = []
        self._places: list[ThreadNode] = []
        self._asked: list[tuple[TimeCondition, RepetitionPath, frozenset[int] | None]] = []
        self._repetitions = 0
        self._choices = self._extras = 0  # the `or`s and repetitions beyond the least around what is being built
        self._has_choices = False
        self._master = PatternThread()
        first, last = self._built(composite.pattern, self._master, ())
        self._master.first, self._master.last = first, {place.number for place in last}
        self._moves: dict[Marking, tuple[MarkingMove, ...]] = {}
        self._futures: dict[Marking, frozenset[int]] = {}
        self._after: dict[int, frozenset[int]] = {}
        self.slots: dict[frozenset[int], int] = {}
        self._settle(composite.pattern)
        self.registers = self._shared_registers()

    # ------------------------------------------------------------ building

    def _built(
        self, node: Pattern, thread: PatternThread, copies: RepetitionPath
    ) -> tuple[list[ThreadNode], list[ThreadNode]]:
        """The places that may come first, and those that may come last."""
        if isinstance(node, Step):
            self.positions.append(
                Position(node, node.label or str(len(self.positions) + 1), copies, self._choices + self._extras > 0)
            )
            place = self._place(thread, position=len(self.positions) - 1)
            return [place], [place]
        if isinstance(node, TimedPattern):
            begin = len(self.positions)
            ends = self._built(node.part, thread, copies)
            taking_part = frozenset(range(begin, len(self.positions))) if self._choices else None
            self._asked += [(condition, copies, taking_part) for condition in node.conditions]
            return ends
        if isinstance(node, PatternAnd):
            place = self._place(thread)
            for part in node.parts:
                child = PatternThread()
                child.first, last = self._built(part, child, copies)
                child.last = {each.number for each in last}
                place.threads.append(child)
            return [place], [place]
        if isinstance(node, PatternOr):
            self._has_choices = True
            self._choices += 1
            built = [self._built(part, thread, copies) for part in node.parts]
            self._choices -= 1
            return [p for first, _ in built for p in first], [p for _, last in built for p in last]
        if isinstance(node, Repeat):
            return self._repeated(node, thread, copies)
        assert isinstance(node, Sequence)  # absent steps occur in sequences only
        return self._sequence(node, thread, copies)

    def _place(self, thread: PatternThread, position: int = -1) -> ThreadNode:
        place = ThreadNode(len(self._places), thread, position)
        self._places.append(place)
        return place

    def _repeated(
        self, node: Repeat, thread: PatternThread, copies: RepetitionPath
    ) -> tuple[list[ThreadNode], list[ThreadNode]]:
        self._repetitions += 1
        which = self._repetitions
        first: list[ThreadNode] = []
        ends: list[ThreadNode] = []
        before: list[ThreadNode] = []
        for copy in range(1, node.most + 1):
            self._extras += copy > node.least
            begin, last = self._built(node.part, thread, (*copies, (which, copy)))
            self._extras -= copy > node.least
            _join(before, begin, contiguous=True)
            first = first or begin
            if copy >= node.least:
                ends += last
            before = last
        return first, ends

    def _sequence(
        self, node: Sequence, thread: PatternThread, copies: RepetitionPath
    ) -> tuple[list[ThreadNode], list[ThreadNode]]:
        first: list[ThreadNode] = []
        before: list[ThreadNode] = []
        absent: tuple[int, ...] = ()
        for number, part in enumerate(node.parts):
            if isinstance(part, Absence):
                absent = (*absent, len(self.absent))
                self.absent.append(part.step)
                continue
            begin, last = self._built(part, thread, copies)
            _join(before, begin, contiguous=number > 0 and node.links[number - 1] == ",", absent=absent)
            first = first or begin
            before, absent = last, ()
        return first, before

    # ------------------------------------------------------------ conditions

    def _settle(self, pattern: Pattern) -> None:
        """The time conditions, with a slot for every step (or its repetitions) that one refers to."""
        siblings = _Siblings(pattern)
        labelled: dict[str, list[int]] = {}
        for number, position in enumerate(self.positions):
            if position.step.label is not None:
                labelled.setdefault(position.step.label, []).append(number)
        for asked, copies, part in self._asked:
            left = self._reachable(labelled[asked.later], copies)
            right = frozenset() if asked.earlier is None else self._reachable(labelled[asked.earlier], copies)
            absolute = asked.earlier is not None and asked.microseconds > 0 and siblings(asked.later, asked.earlier)
            scope = part if part is not None and not (left <= part or (right and right <= part)) else frozenset()
            self.conditions.append(
                MarkingCondition(
                    self._slot(left),
                    self._slot(right),
                    asked.op,
                    asked.microseconds,
                    absolute,
                    left | right | scope,
                    self._slot(scope),
                )
            )

    def _slot(self, positions: frozenset[int]) -> int:
        return self.slots.setdefault(positions, len(self.slots)) if positions else -1

    def _reachable(self, positions: list[int], copies: RepetitionPath) -> frozenset[int]:
        """Those in the same repetitions as the condition, if it is inside them."""
        mine = dict(copies)
        return frozenset(
            number
            for number in positions
            if all(mine.get(which, copy) == copy for which, copy in self.positions[number].copies)
        )

    def _shared_registers(self) -> list[int]:
        """The register of every slot; slots that are never needed at the same time share one."""
        # In an `and` steps come in no fixed order, and with an `or` it may stay open whether a step was there.
        alone = any(place.threads for place in self._places) or self._has_choices
        lives: list[list[int]] = [[] for _ in self.slots]
        for condition in self.conditions:
            for slot in {condition.left, condition.right, condition.scope} - {-1}:
                lives[slot] += condition.positions
        registers = [0] * len(lives)
        until: list[int] = []  # of each register: the last position that needs it
        for slot in sorted(range(len(lives)), key=lambda each: min(lives[each])):
            free = (number for number, last in enumerate(until) if not alone and last < min(lives[slot]))
            registers[slot] = next(free, len(until))
            until[registers[slot] : registers[slot] + 1] = [max(lives[slot])]
        return registers

    def slots_of(self, position: int) -> list[int]:
        """The slots that keep the time of this position."""
        return [slot for positions, slot in self.slots.items() if position in positions]

    def positions_of(self, slot: int) -> frozenset[int]:
        """The positions whose time a slot keeps."""
        return next(positions for positions, each in self.slots.items() if each == slot)

    def hopeless_after(self, marking: Marking) -> Iterator[tuple[int, int]]:
        """Slots, and for how many microseconds after their time a step may still come in time."""
        unsettled = self.unsettled(marking)
        future = self.future(marking) if unsettled else frozenset()
        for number in unsettled:
            one = self.conditions[number]
            if one.op not in (Comparator.LT, Comparator.LE) or one.right < 0 or one.scope >= 0:
                continue
            due = self.positions_of(one.left)
            sure = not all(self.positions[position].optional for position in due)
            if sure and due <= future and not self.positions_of(one.right) & future:
                yield one.right, one.microseconds - (one.op is Comparator.LT)

    # ------------------------------------------------------------ moving

    def moves(self, marking: Marking) -> tuple[MarkingMove, ...]:
        """All moves of a partial match with this marking."""
        found = self._moves.get(marking)
        if found is None:
            found = tuple(self._thread_moves(self._master, marking))
            nexts = _count_next(marking)
            if nexts:  # if something must continue with the next event, only that can move
                found = tuple(move for move in found if move.contiguous)
            found = tuple(
                MarkingMove(move.position, move.contiguous, move.absent, kept)
                for move in found
                if (kept := tuple(each for each in move.markings if _count_next(each) <= 1))
            )
            self._moves[marking] = found
        return found

    def waits(self, marking: Marking) -> frozenset[int]:
        """The absent steps that would end it, by their numbers."""
        return frozenset(_waiting(marking, self._places))

    def _thread_moves(self, thread: PatternThread, marking: Marking) -> Iterator[MarkingMove]:
        if marking is None:
            for place in thread.first:
                yield from self._entries(place, False, frozenset())
        elif marking[0] == NEXT:
            for place in self._places[marking[1]].next:
                yield from self._entries(place, True, frozenset())
        elif marking[0] == WAIT:
            waiting = self._places[marking[1]]
            for place in waiting.later:
                yield from self._entries(place, False, frozenset(waiting.absent))
        elif marking[0] == INSIDE:
            yield from self._inner_moves(self._places[marking[1]], marking[2:])

    def _entries(self, place: ThreadNode, contiguous: bool, absent: frozenset[int]) -> Iterator[MarkingMove]:
        if place.position >= 0:
            yield MarkingMove(place.position, contiguous, absent, tuple(self._taken(place)))
            return
        for move in self._inner_moves(place, (None,) * len(place.threads)):
            yield MarkingMove(move.position, contiguous, absent, move.markings)

    def _inner_moves(self, place: ThreadNode, markings: tuple[Marking, ...]) -> Iterator[MarkingMove]:
        for number, (thread, marking) in enumerate(zip(place.threads, markings, strict=True)):
            for move in self._thread_moves(thread, marking):
                stood: list[Marking] = []
                for each in move.markings:
                    now = (*markings[:number], each, *markings[number + 1 :])
                    if all(one == DONE for one in now):
                        stood += self._taken(place)
                    else:
                        stood.append((INSIDE, place.number, *now))
                yield MarkingMove(move.position, move.contiguous, move.absent, tuple(stood))

    def _taken(self, place: ThreadNode) -> Iterator[Marking]:
        """The markings of its thread once a place is taken."""
        if place.next:
            yield (NEXT, place.number)
        if place.later:
            yield (WAIT, place.number)
        if place.number in place.thread.last:
            yield DONE

    # ------------------------------------------------------------ what is still to come

    def future(self, marking: Marking) -> frozenset[int]:
        """The positions that may still be taken from this marking."""
        found = self._futures.get(marking)
        if found is None:
            found = self._futures[marking] = self._future(self._master, marking)
        return found

    def _future(self, thread: PatternThread, marking: Marking) -> frozenset[int]:
        if marking is None:
            return frozenset().union(*(self._from(place) for place in thread.first))
        if marking == DONE:
            return frozenset()
        place = self._places[marking[1]]
        if marking[0] == INSIDE:
            inner = (self._future(child, one) for child, one in zip(place.threads, marking[2:], strict=True))
            return self._beyond(place).union(*inner)
        return frozenset().union(*(self._from(each) for each in (place.next if marking[0] == NEXT else place.later)))

    def _from(self, place: ThreadNode) -> frozenset[int]:
        """The positions that may be taken from this place on."""
        own = frozenset({place.position}) if place.position >= 0 else frozenset()
        return own.union(self._beyond(place), *(self._future(child, None) for child in place.threads))

    def _beyond(self, place: ThreadNode) -> frozenset[int]:
        if not self._after:  # from the last place to the first: what follows a place has a greater number
            for each in reversed(self._places):
                self._after[each.number] = frozenset().union(*(self._from(one) for one in (*each.next, *each.later)))
        return self._after[place.number]

    def unsettled(self, marking: Marking) -> tuple[int, ...]:
        """The conditions that later events may decide."""
        if not self.conditions:
            return ()
        future = self.future(marking)
        return tuple(number for number, one in enumerate(self.conditions) if one.positions & future)

    # ------------------------------------------------------------ names

    @cached_property
    def names(self) -> list[str]:
        """The name of each position in a witness."""
        copies: dict[str, int] = {}
        repeated: dict[str, int] = {}
        for position in self.positions:
            if position.step.label is not None:
                repeated[position.name] = repeated.get(position.name, 0) + 1
        named = []
        for position in self.positions:
            name = position.name
            if repeated.get(name, 0) > 1 and position.step.label is not None:
                copies[name] = copies.get(name, 0) + 1
                name = f"{name}[{copies[name]}]"
            named.append(name)
        return named


def must_go_on(marking: Marking) -> bool:
    """Whether the very next event has to continue the match."""
    return _count_next(marking) > 0


def _join(before: list[ThreadNode], after: list[ThreadNode], *, contiguous: bool, absent: tuple[int, ...] = ()) -> None:
    for place in before:
        if contiguous:
            place.next += after
        else:
            place.later += after
            place.absent = absent


def _count_next(marking: Marking) -> int:
    """The number of threads that need the very next event: more than one cannot get it."""
    if marking is None or marking[0] == NEXT:
        return 0 if marking is None else 1
    return sum(_count_next(each) for each in marking[2:]) if marking[0] == INSIDE else 0


def _waiting(marking: Marking, places: list[ThreadNode]) -> Iterator[int]:
    if marking is None:
        return
    if marking[0] == WAIT:
        yield from places[marking[1]].absent
    elif marking[0] == INSIDE:
        for each in marking[2:]:
            yield from _waiting(each, places)


class _Siblings:
    """Whether two labels are in different parts of one `and`."""

    def __init__(self, pattern: Pattern) -> None:
        self._paths: dict[str, tuple[tuple[bool, int, int], ...]] = {}
        self._nodes = 0
        self._walk(pattern, ())

    def _walk(self, node: Pattern, path: tuple[tuple[bool, int, int], ...]) -> None:
        self._nodes += 1
        if isinstance(node, Step):
            if node.label is not None:
                self._paths[node.label] = path
        elif isinstance(node, Sequence | PatternAnd | PatternOr):
            own = self._nodes
            for number, part in enumerate(node.parts):
                self._walk(part, (*path, (isinstance(node, PatternAnd), own, number)))
        elif isinstance(node, Repeat | TimedPattern):
            self._walk(node.part, path)

    def __call__(self, one: str, other: str) -> bool:
        for (both, _, left), (_, _, right) in zip(self._paths[one], self._paths[other], strict=False):
            if left != right:
                return both
        return False
