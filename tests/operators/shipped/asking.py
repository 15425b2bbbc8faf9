"""Ask an operator about events, as a matcher does: by a call that is written down, through the runner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from vedette.language import ast
from vedette.language.parser import parse
from vedette.operators.evaluation import Evaluation
from vedette.operators.event_sources import EventSource
from vedette.operators.operator import Operator
from vedette.operators.operator_runner import OperatorRunner
from vedette.schema.schema import Schema


class Asker:
    """Some operators, and a schema of the events that they are asked about."""

    def __init__(self, operators: Iterable[Operator], schema: Mapping[str, str] | None = None) -> None:
        self.operators = {each.name: each for each in operators}
        self._schema = Schema.of(schema or {}, closed=False)
        self.runner = OperatorRunner()

    def ask(self, call: str, events: Any) -> list[Any]:
        """For each event what is found, or True or False; None: unknown. A call is written without its outputs."""
        evaluation = self.evaluation(call)
        answers = self.runner.run(evaluation, EventSource(events, self._schema), np.arange(len(events)))
        if answers.bindings is None:
            return [{1: True, 0: False, -1: None}[truth] for truth in answers.truth.tolist()]
        pairs = zip(answers.truth.tolist(), answers.bindings, strict=True)
        return [None if truth < 0 else [value for (value,) in bindings] for truth, bindings in pairs]

    def check(self, call: str) -> None:
        """As when a subscription is read: ValueError says what is wrong with the constants."""
        evaluation = self.evaluation(call)
        constants = tuple(each.value if isinstance(each, ast.Literal) else None for each in evaluation.inputs)
        assert evaluation.operator.check is not None
        evaluation.operator.check(constants)

    def evaluation(self, call: str) -> Evaluation:
        """What a call asks to evaluate."""
        read = parse(call)
        assert isinstance(read, ast.Call)
        return Evaluation(self.operators[read.name], read.arguments)

    @property
    def failures(self) -> Mapping[str, Mapping[Any, int]]:
        """What has gone wrong, by operator and kind."""
        return self.runner.failures.counts
