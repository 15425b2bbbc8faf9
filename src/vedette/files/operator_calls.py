"""Which operators are there for the subscriptions of a file, and are they called as they are meant to be?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from vedette.errors import FilterError, NotSupported
from vedette.files.problems import BadSubscriptions, Problem
from vedette.files.subscriptions import SubscriptionRecord
from vedette.language.ast import Call
from vedette.language.check import check
from vedette.language.checked import Checked, Residual, leaves
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.parser import parse
from vedette.matching.patterns import PatternRecord, Predict
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema

_OPTION = "--operators FILE brings others"
_ALWAYS = NormalForm((Conjunction(),))

Verdict: TypeAlias = Literal["never", "always"]


class OperatorCalls:
    """The operators of a file, those handed in, or those that are installed; and the records that may call some."""

    def __init__(self, place: str | Path | Operators | None = None, elsewhere: str = _OPTION) -> None:
        # What is wrong with a file is to be known at once.
        self._read = place if place is None or isinstance(place, Operators) else Operators.read(place)
        self._elsewhere = elsewhere  # how to bring others than those that are installed
        self.records: list[SubscriptionRecord] = []  # filters with operators, and patterns

    @cached_property
    def operators(self) -> Operators:
        """By name; installed ones are looked for when they are first needed."""
        if self._read is not None:
            return self._read
        found = Operators.installed()
        found.elsewhere = self._elsewhere
        return found

    def check(self, checked: Checked) -> Verdict | None:
        """Whether a filter can never match, or always does, as far as the index can tell; FilterError for a wrong call.

        Of a pattern every call is looked at by itself: what a step needs besides depends on its join variables.
        """
        from vedette.operators.predicates import Predicates

        if checked.root is None:
            for leaf in _asked_of_steps(checked):
                Predicates(self.operators).planned(replace(checked, root=leaf, steps=()))
            return None
        planned = Predicates(self.operators).planned(checked)
        if any(not one.predicates and one.plain == _ALWAYS for one in planned):
            return "always"
        return None if planned else "never"

    def check_record(self, record: SubscriptionRecord, schema: Schema | None) -> Verdict | None:
        """The same for what a record says, and for the features that it asks forecasts to look at."""
        found = self.check(check(parse(record.when), schema, record.when))
        features = () if record.predict is None else Predict.of(record.predict).features
        for number, text in enumerate(features, 1):
            try:
                self.check(check(parse(text), schema, text))
            except FilterError as error:
                raise error.of(f"feature {number} of `predict`") from None
        return found

    def problems(self, schema: Schema) -> list[Problem]:
        """What is wrong with the calls of all records."""
        found = []
        for record in self.records:
            try:
                self.check_record(record, schema)
            except (FilterError, NotSupported) as error:
                found.append(Problem.of_error(record, error))
        return found

    def refuse_wrong(self, schema: Schema, source: str, consequence: str = "nothing was written") -> None:
        """BadSubscriptions says of all records at once which of their calls make no sense."""
        problems = self.problems(schema)
        if problems:
            raise BadSubscriptions(source, problems, consequence)


def patterns_call(patterns: Iterable[PatternRecord], schema: Schema) -> bool:
    """Some step, or some feature, calls an operator."""
    return any(_calls(each, schema) for each in patterns)


def _calls(record: PatternRecord, schema: Schema) -> bool:
    if _asked_of_steps(check(parse(record.text), schema, record.text)):
        return True
    features = () if record.predict is None else record.predict.features
    return any(has_operators(check(parse(text), schema, text)) for text in features)


def has_operators(checked: Checked) -> bool:
    """A filter of which operators decide some part."""
    return checked.root is not None and any(isinstance(leaf, Residual) for leaf in leaves(checked.root))


def _asked_of_steps(checked: Checked) -> list[Residual]:
    return [
        leaf
        for step in checked.steps
        for leaf in leaves(step.root)
        if isinstance(leaf, Residual) and isinstance(leaf.node, Call)
    ]
