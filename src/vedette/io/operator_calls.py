"""Find the operators that the subscriptions of a file call, and check the calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from vedette.errors import FilterError, NotSupported
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem
from vedette.io.subscription_rows import SubscriptionRecord
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.parser import parse
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema

_OPTION = "--operators FILE brings others"
_ALWAYS = NormalForm((Conjunction(),))

ConstantTruth: TypeAlias = Literal["never", "always"]


class OperatorCalls:
    """The operators of a file, given ones, or the installed ones; and the records that may call some."""

    def __init__(self, place: str | Path | Operators | None = None, elsewhere: str = _OPTION) -> None:
        # What is wrong with a file is to be known at once.
        self._read = place if place is None or isinstance(place, Operators) else Operators.read(place)
        self._elsewhere = elsewhere  # how to bring others than those that are installed
        self.records: list[SubscriptionRecord] = []  # filters with operators, and patterns

    @cached_property
    def operators(self) -> Operators:
        """The operators by name; installed ones are looked up on first use."""
        if self._read is not None:
            return self._read
        found = Operators.installed()
        found.elsewhere = self._elsewhere
        return found

    def needed(self, schema: Schema) -> Operators | None:
        """The operators, if some record calls any; else None, without looking them up."""
        return self.operators if any(_record_calls(each, schema) for each in self.records) else None

    def check(self, checked: CheckedExpression) -> ConstantTruth | None:
        """Check the calls of a filter; return whether it can never match, or always does; FilterError for a wrong call.

        For a pattern every call is checked by itself: the needs of a step depend on its join variables.
        """
        from vedette.operators.predicate_numbering import PredicateNumbering

        if checked.root is None:
            for leaf in checked.calls:
                PredicateNumbering(self.operators).planned(replace(checked, root=leaf, steps=()))
            return None
        planned = PredicateNumbering(self.operators).planned(checked)
        if any(not one.predicates and one.plain == _ALWAYS for one in planned):
            return "always"
        return None if planned else "never"

    def check_record(self, record: SubscriptionRecord, schema: Schema | None) -> ConstantTruth | None:
        """Check the calls of a record, and those in the features of its forecasts."""
        found = self.check(check(parse(record.when), schema, record.when))
        features = () if record.predict is None else Predict.of(record.predict).features
        for number, text in enumerate(features, 1):
            try:
                self.check(check(parse(text), schema, text))
            except FilterError as error:
                raise error.of(f"feature {number} of `predict`") from None
        return found

    def problems(self, schema: Schema) -> list[SubscriptionProblem]:
        """The errors in the calls of all records."""
        return [SubscriptionProblem.of_error(record, error) for record, error in self.wrong(schema)]

    def wrong(self, schema: Schema) -> list[tuple[SubscriptionRecord, FilterError | NotSupported]]:
        """The records with invalid calls, and the reasons."""
        found: list[tuple[SubscriptionRecord, FilterError | NotSupported]] = []
        for record in self.records:
            try:
                self.check_record(record, schema)
            except (FilterError, NotSupported) as error:
                found.append((record, error))
        return found

    def refuse_wrong(self, schema: Schema, source: str, consequence: str = "nothing was written") -> None:
        """Raise BadSubscriptions with all invalid calls of all records."""
        problems = self.problems(schema)
        if problems:
            raise BadSubscriptions(source, problems, consequence)


def _record_calls(record: SubscriptionRecord, schema: Schema) -> bool:
    features = () if record.predict is None else Predict.of(record.predict).features
    return any(check(parse(text), schema, text).calls for text in (record.when, *features))


def patterns_call(patterns: Iterable[PatternRecord], schema: Schema) -> bool:
    """Whether some step, or some feature, calls an operator."""
    return any(each.calls_operators(schema) for each in patterns)
