"""Which subscriptions with operators match an event: every substitution of variables is tried on the whole tree.

Written from LANGUAGE.md and the papers; it shares nothing with the engine but the parser, `check` and the evaluation of
plain filters. It knows no alternatives, predicates and joins: a call is true if what the operator found has a row that
equals its arguments, false if it has not, and unknown if the operator failed.

A variable may also stay unbound, since one side of an `or` need not speak of it: then no row has its value, and what
is asked of it is unknown. Operators of these tests never find null.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from vedette.errors import SchemaError
from vedette.language import ast
from vedette.language.check import check
from vedette.language.checked_tree import AndPart, CheckedExpression, NotPart, OrPart, Part, Residual, leaves
from vedette.language.evaluate import truth, value_of
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.language.three_valued import Truth, compared, every, opposite, some
from vedette.language.variables import inside
from vedette.schema.schema import Schema

Event: TypeAlias = Mapping[str, Any]
Substitution: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = list[tuple[Any, ...]] | None  # what an operator found; None: it failed


@dataclass(frozen=True)
class Found:
    """An operator: how many of its last arguments it finds, and what it finds: `[()]` for true, `[]` for false."""

    outputs: int
    rows: Callable[..., Rows]


_UNBOUND: Final = object()


class Oracle:
    """One subscription."""

    def __init__(self, text: str, operators: Mapping[str, Found], schema: Schema | None = None) -> None:
        self.text = text
        self._operators = operators
        self._schema = schema
        self._checked: CheckedExpression = check(parse(text), schema, text)
        assert self._checked.root is not None
        self._root: Part = self._checked.root
        self._worlds: dict[int, _World] = {}
        self.calls = [leaf.node for leaf in self._residuals() if isinstance(leaf.node, ast.Call)]

    def matches(self, event: Event) -> bool:
        """Is there a substitution that makes it true?"""
        return next(self.substitutions(event), None) is not None

    def substitutions(self, event: Event) -> Iterator[dict[str, Any]]:
        """All that make it true, with values only for the variables that are bound."""
        world = self._world(event)
        domains = world.domains()
        for values in itertools.product(*domains.values()):
            substitution = dict(zip(domains, values, strict=True))
            if world.truth(self._root, substitution) is True:
                yield {name: value for name, value in substitution.items() if value is not _UNBOUND}

    def accepts(self, event: Event, bindings: Substitution) -> bool:
        """Do these values make it true, and do they speak of its variables only?"""
        world = self._world(event)
        names = world.domains()
        whole = {name: bindings.get(name, _UNBOUND) for name in names}
        return set(bindings) <= set(names) and world.truth(self._root, whole) is True

    def evaluations(self, event: Event) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """What may have to be evaluated: the operator, the text of its inputs and their values."""
        world = self._world(event)
        for call in self.calls:
            inputs = call.arguments[: self.inputs(call)]
            values = tuple(world.value(each, {}) for each in inputs)
            yield call.name, ", ".join(render(each) for each in inputs), values

    @property
    def safe(self) -> bool:
        """Is every variable bound by an operator, in each of the ways in which the filter can be true?"""
        for way in _ways(self._root, True):
            needed: set[str] = set()
            bound: set[str] = set()
            for leaf, holds in way:
                if isinstance(leaf, Residual):
                    names = set(_variables(leaf.node))
                    (bound if isinstance(leaf.node, ast.Call) and holds else needed).update(names)
            if not needed <= bound:
                return False
        return True

    def inputs(self, call: ast.Call) -> int:
        """How many of its arguments go into an operator."""
        return len(call.arguments) - self._operators[call.name].outputs

    def found(self, name: str, event: Event, values: tuple[Any, ...]) -> Rows:
        """What an operator finds."""
        return self._operators[name].rows(event, *values)

    def attribute(self, path: str, event: Event) -> Any:
        """What an event has at a path."""
        return value_of(path, None, event, self._schema)

    def plain(self, part: Part, event: Event) -> Truth:
        """The truth of a leaf that speaks of the event alone."""
        return truth(part, event, self._schema)

    def _world(self, event: Event) -> _World:
        # A world keeps its event, so that no other has its id.
        return self._worlds.setdefault(id(event), _World(self, event))

    def _residuals(self) -> Iterator[Residual]:
        return (leaf for leaf in leaves(self._root) if isinstance(leaf, Residual))


class _World:
    """An oracle and one event: what operators find is asked for once."""

    def __init__(self, oracle: Oracle, event: Event) -> None:
        self._oracle = oracle
        self._event = event
        self._found: dict[int, Rows] = {}  # by the call, a node of the tree

    def domains(self) -> dict[str, list[Any]]:
        """What each variable may be: whatever some operator found where it stands, or unbound."""
        domains: dict[str, list[Any]] = {}
        for call in self._oracle.calls:
            outputs = call.arguments[self._oracle.inputs(call) :]
            for place, operand in enumerate(outputs):
                if isinstance(operand, ast.Variable):
                    values = domains.setdefault(operand.name, [_UNBOUND])
                    for row in self._rows(call) or []:
                        if not any(_same(row[place], each) for each in values):
                            values.append(row[place])
        return domains

    def truth(self, part: Part, substitution: Substitution) -> Truth:
        if isinstance(part, AndPart):
            return every([self.truth(each, substitution) for each in part.parts])
        if isinstance(part, OrPart):
            return some([self.truth(each, substitution) for each in part.parts])
        if isinstance(part, NotPart):
            return opposite(self.truth(part.part, substitution))
        if not isinstance(part, Residual):
            return self._oracle.plain(part, self._event)
        if isinstance(part.node, ast.Call):
            return self._call(part.node, substitution)
        return self._constraint(part.node, substitution)

    def _call(self, call: ast.Call, substitution: Substitution) -> Truth:
        rows = self._rows(call)
        if rows is None:
            return None
        outputs = [self.value(each, substitution) for each in call.arguments[self._oracle.inputs(call) :]]
        return any(all(_same(a, b) for a, b in zip(row, outputs, strict=True)) for row in rows)

    def _rows(self, call: ast.Call) -> Rows:
        if id(call) not in self._found:
            values = tuple(self.value(each, {}) for each in call.arguments[: self._oracle.inputs(call)])
            self._found[id(call)] = self._oracle.found(call.name, self._event, values)
        return self._found[id(call)]

    def _constraint(self, node: Any, substitution: Substitution) -> Truth:
        if isinstance(node, ast.Range):
            return every([self._constraint(end, substitution) for end in node.conjuncts()])
        if any(substitution[name] is _UNBOUND for name in _variables(node)):
            return None
        try:
            if isinstance(node, ast.Comparison):
                return compared(self.value(node.left, substitution), node.op, self.value(node.right, substitution))
            found: Truth = node.holds(self.value(node.operand, substitution))
            return found
        except (SchemaError, TypeError):  # values of different types
            return None

    def value(self, operand: ast.Operand, substitution: Substitution) -> Any:
        if isinstance(operand, ast.Literal):
            return operand.value
        if isinstance(operand, ast.Variable):
            return substitution[operand.name]
        if isinstance(operand, ast.Attribute):
            return self._oracle.attribute(operand.path, self._event)
        assert isinstance(operand, ast.Arithmetic)
        return _arithmetic(operand.op, self.value(operand.left, substitution), self.value(operand.right, substitution))


def _arithmetic(op: str, a: Any, b: Any) -> Any:
    """Numbers of these tests are small, so nothing overflows."""
    if type(a) not in (int, float) or type(b) not in (int, float) or (op in "/%" and b == 0):
        return None
    if op == "%":
        rest = math.fmod(a, b)
        return int(rest) if type(a) is int and type(b) is int else rest
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()


def _same(left: Any, right: Any) -> bool:
    if left is _UNBOUND or right is _UNBOUND:
        return left is right
    try:
        return compared(left, ast.Comparator.EQ, right) is True
    except SchemaError:
        return False


def _variables(node: Any) -> Iterator[str]:
    if isinstance(node, ast.Call):
        operands = node.arguments
    elif isinstance(node, ast.Comparison):
        operands = (node.left, node.right)
    elif isinstance(node, ast.Range):
        operands = (node.operand, node.low, node.high)
    else:
        operands = (node.operand,)
    for operand in operands:
        yield from (each.name for each in inside(operand) if isinstance(each, ast.Variable))


def _ways(part: Part, holds: bool) -> list[list[tuple[Part, bool]]]:
    """Which leaves have to hold, or not to hold, for the part to be so; one list for each way."""
    if isinstance(part, NotPart):
        return _ways(part.part, not holds)
    if not isinstance(part, AndPart | OrPart):
        return [[(part, holds)]]
    parts = [_ways(each, holds) for each in part.parts]
    if isinstance(part, AndPart) is holds:
        return [list(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]
    return list(itertools.chain(*parts))
