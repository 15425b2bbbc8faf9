"""The facts about one text by itself, outside any set: its kind, its lints, its picture, its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.errors import NotSupported
from vedette.filters.subscription_records import NEEDS_PATTERN, Predict
from vedette.language.ast import Composite, Expression
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.lint import Lint
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.filters.subscription_set import SubscriptionKind
    from vedette.language.normalform import NormalForm
    from vedette.patterns.state_diagrams import Picture


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A valid text: a filter, with or without operators, or a pattern."""

    checked: CheckedExpression
    predict: Predict | None = None

    @classmethod
    def of(cls, expression: Expression, schema: Schema | None, text: str, predict: object = None) -> CheckedText:
        """Parse and check a text and its forecast options; FilterError or NotSupported if it is invalid."""
        made = cls(check(expression, schema, text), None if predict is None else Predict.of(predict))
        if made._pattern is None:
            if made.predict is not None:
                raise NotSupported(NEEDS_PATTERN)
            if not made.checked.calls:
                normalise(made.checked)  # refuses what would become too large
        elif made.predict is not None:
            made.predict.check(Schema({}, closed=False) if schema is None else schema)
        return made

    @property
    def _pattern(self) -> Composite | None:
        tree = self.checked.expression
        return tree if isinstance(tree, Composite) else None

    @property
    def kind(self) -> SubscriptionKind:
        """The kind of a subscription with this text, as shown to people."""
        if self._pattern is not None:
            return "pattern"
        return "operators" if self.checked.calls else "filter"

    @property
    def calls_operators(self) -> bool:
        """Whether some part of it, or some feature of its forecasts, calls operators."""
        if self.checked.calls:
            return True
        features = () if self.predict is None else self.predict.features
        return any(check(parse(text), self.checked.schema, text).calls for text in features)

    @property
    def is_followed_whole(self) -> bool:
        """Whether one process has to follow all events for it, because it has no partitions."""
        from vedette.patterns.explain import partition_of

        return self._pattern is not None and not partition_of(self._pattern)

    def lints(self) -> tuple[Lint, ...]:
        """Warnings about what is legal but hardly meant."""
        from vedette.patterns.lint import lint

        return lint(self.checked)

    def picture(self) -> Picture | None:
        """A picture of its machine; None for a filter, which has none."""
        from vedette.patterns.machine_pictures import machine_picture

        return None if self._pattern is None else machine_picture(self._pattern, self.checked.text)

    def normal_form(self) -> NormalForm | None:
        """The normal form of a filter; None for a pattern, and where operators decide some part of the filter."""
        try:
            return None if self._pattern is not None else normalise(self.checked)
        except NotSupported:
            return None
