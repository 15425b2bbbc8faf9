"""Pictures of the machine of one pattern, and of the merged machines of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord
from vedette.filters.subscription_set import schema_of
from vedette.language.ast import Composite, Step
from vedette.language.parser import parse
from vedette.language.render import duration, render
from vedette.patterns.explain import condition_text, partition_of
from vedette.patterns.graph import Graph
from vedette.patterns.kernels import runs
from vedette.patterns.machines import PatternNumbering, draft, graph_of
from vedette.patterns.shape import DONE, INSIDE, Marking, MarkingMove, Shape
from vedette.patterns.state_diagrams import Picture, PictureEdge, PictureNode
from vedette.schema.schema import Schema

MOST_DRAWN = 200  # states
# Of a number of steps taken: how probably the pattern completes from there; None where nothing is known.
Probability: TypeAlias = Callable[[int], float | None]
# The number of partial matches in each state.
MarkingCounts: TypeAlias = Mapping[Marking, int]


def machine_picture(
    pattern: Composite | str,
    text: str = "",
    probability: Probability | None = None,
    standing: MarkingCounts | None = None,
) -> Picture:
    """A picture of one pattern, given as its text or its syntax tree (and perhaps its text)."""
    if isinstance(pattern, str):
        text, found = pattern, parse(pattern)
        if not isinstance(found, Composite):
            raise InputError("a filter over one event has no machine\nHint: a pattern has steps: [a = 1] ; [b = 2]")
        pattern = found
    return _Machine(Shape(pattern), pattern, text).picture(probability, standing)


@dataclass(frozen=True, slots=True)
class MachineProgress:
    """The progress of a pattern at one moment, and the score of its forecasts: an immutable copy."""

    text: str
    standing: MarkingCounts
    probability: Mapping[int, float] = field(default_factory=dict)  # by steps taken; empty where nothing is known
    score: Mapping[str, float] | None = None  # None without forecasts

    def picture(self) -> Picture:
        """A picture of its machine at that moment; large ones take a while."""
        return machine_picture(self.text, probability=self.probability.get, standing=self.standing)

    def plain(self) -> dict[str, Any]:
        """Plain JSON values, so that another process can draw it."""
        return {
            "text": self.text,
            "standing": list(self.standing.items()),
            "probability": list(self.probability.items()),
            "score": None if self.score is None else dict(self.score),
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> MachineProgress:
        """Restore what `plain` returned."""
        standing = {_marking(marking): count for marking, count in plain["standing"]}
        return cls(plain["text"], standing, dict(plain["probability"]), plain["score"])


def _marking(plain: Any) -> Any:
    """A marking from JSON, which has no tuples."""
    return tuple(map(_marking, plain)) if isinstance(plain, list) else plain


class _Machine:
    def __init__(self, shape: Shape, composite: Composite, text: str) -> None:
        self._shape, self._composite, self._text = shape, composite, text

    def picture(self, probability: Probability | None, standing: MarkingCounts | None) -> Picture:
        numbers: dict[Marking, int] = {None: 0}
        depths: dict[Marking, int] = {None: 0}
        names: dict[Marking, tuple[str, ...]] = {
            None: ()
        }  # the step taken last; within an `and` all of its steps so far
        edges: dict[tuple[int, int, str, bool], PictureEdge] = {}
        queue: list[Marking] = [None]
        left_out = 0
        for marking in queue:  # which grows on the way
            if marking == DONE:
                continue
            for move in self._shape.moves(marking):
                for after in move.markings:
                    if after not in numbers:
                        if len(numbers) >= MOST_DRAWN:
                            left_out += 1
                            continue
                        numbers[after], depths[after] = len(numbers), depths[marking] + 1
                        before = names[marking] if marking is not None and marking[0] == INSIDE else ()
                        inside = after is not None and after[0] == INSIDE
                        names[after] = (*(before if inside else ()), self._shape.names[move.position])
                        queue.append(after)
                    edge = PictureEdge(numbers[marking], numbers[after], self._label(move), move.contiguous)
                    edges[edge.source, edge.target, edge.label, edge.next] = edge
        # A match is to the right of everything.
        depths[DONE] = 1 + max(depth for marking, depth in depths.items() if marking != DONE)
        nodes = [_node(marking, names[marking], depths[marking], probability, standing) for marking in numbers]
        if left_out:
            nodes.append(PictureNode(f"… {left_out:,} more", "more", 0))
        return Picture(self._title(), tuple(nodes), tuple(edges.values()))

    def _label(self, move: MarkingMove) -> str:
        position = self._shape.positions[move.position]
        unless = [self._said(self._shape.absent[number]) for number in sorted(move.absent)]
        name = self._shape.names[move.position]
        said = self._said(position.step)
        named = said if position.step.label == name else f"{name}: {said}"
        return named + (f" unless {' or '.join(unless)} before" if unless else "")

    def _said(self, step: Step) -> str:
        return " ".join((self._text[step.span.start : step.span.end] or render(step)).split())

    def _title(self) -> str:
        by = partition_of(self._composite)
        asked = [condition_text(self._shape, condition) for condition in self._shape.conditions]
        parts = [
            _counted(len(self._shape.positions), "step"),
            *([f"by {', '.join(by)}"] if by else []),
            *([] if self._composite.within is None else [f"within {duration(self._composite.within)}"]),
            *([f"@ ({' and '.join(asked)})"] if asked else []),
        ]
        return " ".join(parts)


def _node(
    marking: Marking,
    taken: tuple[str, ...],
    depth: int,
    probability: Probability | None,
    standing: MarkingCounts | None,
) -> PictureNode:
    if marking == DONE:
        return PictureNode("match", "match", depth)
    known = None if probability is None else probability(depth)
    if marking is None:
        return PictureNode("start", "start", depth, known)
    here = None if standing is None else standing.get(marking, 0)
    return PictureNode(f"after {' + '.join(taken)}", "state", depth, known, here)


def merged_picture(records: Iterable[PatternRecord], schema: Schema | None = None) -> Picture:
    """A picture of the machines of many patterns as the engine has them: equal beginnings are one path."""
    numbers = PatternNumbering()
    records = list(records)
    drafts = [draft(record, uid, schema_of(schema), numbers) for uid, record in enumerate(records)]
    graph, _ = graph_of(drafts, numbers, merge=True)
    return _MergedMachine(graph, numbers.texts(), [record.id for record in records]).picture()


class _MergedMachine:
    def __init__(self, graph: Graph, filters: list[str], ids: list[str]) -> None:
        self._graph, self._filters, self._ids = graph, filters, ids
        self._nodes: list[PictureNode] = [PictureNode("start", "start", 0)]
        self._edges: dict[PictureEdge, None] = {}
        self._states: dict[int, int] = {}  # state of the graph -> node
        self._matches: dict[tuple[int, ...], int] = {}  # what is completed -> node

    def picture(self) -> Picture:
        queue: list[int] = []
        for _, edge in self._graph.arrays().roots.tolist():
            queue += self._draw(0, edge, False)
        for state in queue:  # which grows on the way
            self._graph.expand(state)
            row = self._graph.arrays().states[state]
            for begin, end, is_next in (
                (runs.NEXT_BEGIN, runs.NEXT_END, True),
                (runs.WAIT_BEGIN, runs.WAIT_END, False),
            ):
                for edge in range(int(row[begin]), int(row[end])):
                    queue += self._draw(self._states[state], edge, is_next)
        deepest = max(node.depth for node in self._nodes)
        nodes = [
            node if node.kind != "match" else PictureNode(node.label, node.kind, deepest + 1) for node in self._nodes
        ]
        title = f"{_counted(len(self._ids), 'pattern')}, {_counted(len(self._states), 'state')}"
        return Picture(title, tuple(nodes), tuple(self._edges))

    def _draw(self, source: int, edge: int, is_next: bool) -> Iterator[int]:
        """Draw an edge and its target; return the states that were not drawn before."""
        arrays = self._graph.arrays()
        row = arrays.edges[edge]
        label = f"[{self._filters[int(row[runs.PRIMITIVE])]}]"
        for target in arrays.targets[int(row[runs.TARGET_BEGIN]) : int(row[runs.TARGET_END])]:
            state = int(target[runs.STATE])
            if state >= 0:
                if state not in self._states:
                    if len(self._states) >= MOST_DRAWN:
                        continue
                    self._states[state] = len(self._nodes)
                    self._nodes.append(PictureNode(self._named(state), "state", self._nodes[source].depth + 1))
                    yield state
                self._edges[PictureEdge(source, self._states[state], label, is_next)] = None
            completed = self._completed(arrays.accepts, target)
            if completed:
                if completed not in self._matches:
                    self._matches[completed] = len(self._nodes)
                    self._nodes.append(PictureNode(_few([self._ids[number] for number in completed]), "match", 0))
                self._edges[PictureEdge(source, self._matches[completed], label, is_next)] = None

    def _named(self, state: int) -> str:
        return _few([self._ids[uid] for uid in sorted({uid for uid, _ in self._graph.items[state]})])

    @staticmethod
    def _completed(accepts: NDArray[np.int64], target: NDArray[np.int64]) -> tuple[int, ...]:
        rows = accepts[int(target[runs.ACCEPT_BEGIN]) : int(target[runs.ACCEPT_END])]
        return tuple(sorted(int(row[0]) for row in rows))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _few(ids: list[str]) -> str:
    return ", ".join(ids) if len(ids) <= 2 else f"{ids[0]} and {len(ids) - 1} more"
