"""pySigma's backend for Vedette: translates conditions of rules to filters, and correlations to patterns.

pySigma parses rules, expands modifiers and applies pipelines; what remains are values of a few types, one method each.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeAlias, cast

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.conversion.base import Backend
from sigma.conversion.state import ConversionState
from sigma.correlations import SigmaCorrelationRule
from sigma.rule import SigmaRule
from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaFieldReference,
    SigmaNumber,
    SigmaQueryExpression,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
)

from vedette.dialects.sigma.correlations import no_aggregate, pattern_of
from vedette.dialects.sigma.pipelines import check_scope
from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature
from vedette.dialects.sigma.truth import every, none, some
from vedette.dialects.sigma.values import (
    KEYWORDS,
    compared,
    expression_test,
    field_items,
    field_test,
    keyword_test,
    missing,
    number_test,
    number_text,
    text_test,
    time_test,
)
from vedette.dialects.sigma.yaml_documents import exact
from vedette.errors import InputError
from vedette.language import ast
from vedette.language.parser import parse_filter
from vedette.language.render import render

_Field: TypeAlias = ConditionFieldEqualsValueExpression
_Value: TypeAlias = ConditionValueExpression
_Correlation: TypeAlias = SigmaCorrelationRule


class VedetteBackend(Backend):
    """Converts rules to `ast.Filter`, and correlations to `ast.Composite`."""

    name: ClassVar[str] = "Vedette"
    identifier: ClassVar[str] = "vedette"
    correlation_methods: ClassVar[dict[str, str] | None] = {"default": "a pattern over several events"}

    def finish_query(self, rule: SigmaRule | SigmaCorrelationRule, query: Any, state: ConversionState) -> Any:
        """Check that the rule's log source is mapped, if pipelines map log sources."""
        if isinstance(rule, SigmaRule):
            check_scope(self.last_processing_pipeline, rule)
        return query

    def finalize_query(
        self,
        rule: SigmaRule | SigmaCorrelationRule,
        query: Any,
        index: int,
        state: ConversionState,
        output_format: str,
    ) -> Any:
        """Return the tree unchanged: changes to the text of a query are refused when pipelines are read."""
        return query

    # ------------------------------------------------------------ and, or, not

    def convert_condition_and(self, cond: ConditionAND, state: ConversionState) -> ast.Filter | None:
        """The AND of conditions; those that a pipeline has dropped are ignored."""
        parts = self._parts(cond, state)
        return every(parts) if parts else None

    def convert_condition_or(self, cond: ConditionOR, state: ConversionState) -> ast.Filter | None:
        """The OR of conditions."""
        parts = self._parts(cond, state)
        return some(parts) if parts else None

    def convert_condition_not(self, cond: ConditionNOT, state: ConversionState) -> ast.Filter | None:
        """The negation of a condition."""
        parts = self._parts(cond, state)
        return none(parts[0]) if parts else None

    def _parts(self, cond: ConditionAND | ConditionOR | ConditionNOT, state: ConversionState) -> list[ast.Filter]:
        found = (self.convert_condition(cast(Any, argument), state) for argument in cond.args)
        return [part for part in found if part is not None]

    def convert_condition_as_in_expression(self, cond: ConditionOR | ConditionAND, state: ConversionState) -> NoReturn:
        """Not supported: lists of values stay alternatives, which the normal form merges."""
        raise NotImplementedError("lists of values are not converted as such")

    # ------------------------------------------------------------ a field and a value

    def convert_condition_field_eq_val_str(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`Image: *\\cmd.exe`."""
        return text_test(field_items(cond.field), cast(SigmaString, cond.value), cased=False)

    def convert_condition_field_eq_val_str_case_sensitive(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`Image|cased: …`."""
        return text_test(field_items(cond.field), cast(SigmaString, cond.value), cased=True)

    def convert_condition_field_eq_val_num(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`EventID: 4624`."""
        return number_test(field_items(cond.field), exact(cast(SigmaNumber, cond.value)))

    def convert_condition_field_eq_val_bool(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`Initiated: true`."""
        word = SigmaString("true" if cast(SigmaBool, cond.value).boolean else "false")
        return text_test(field_items(cond.field), word, cased=False)

    def convert_condition_field_eq_val_timestamp_part(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`UtcTime|hour: 3`."""
        return time_test(field_items(cond.field), cast(SigmaTimestampPart, cond.value))

    def convert_condition_field_eq_val_re(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`CommandLine|re: …`."""
        return expression_test(field_items(cond.field), cast(SigmaRegularExpression, cond.value))

    def convert_condition_field_eq_val_cidr(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`SourceIp|cidr: 10.0.0.0/8`."""
        addresses = ast.QuantifiedAttribute("any", ast.View("strings", ast.Attribute(cond.field)))
        return ast.InNetwork(addresses, (str(cast(SigmaCIDRExpression, cond.value).network),))

    def convert_condition_field_compare_op_val(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`Size|gt: 1000`."""
        value = cast(SigmaCompareExpression, cond.value)
        if isinstance(value.number, SigmaTimestampPart):
            return time_test(field_items(cond.field), value.number, value.op)
        if value.op is CompareOperators.NEQ:
            return none(number_test(field_items(cond.field), exact(value.number)))
        return compared(cond.field, value.op, exact(value.number))

    def convert_condition_field_eq_field(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`TargetUser|fieldref: SourceUser`."""
        value = cast(SigmaFieldReference, cond.value)
        return field_test(cond.field, value.field, starts=value.starts_with, ends=value.ends_with)

    def convert_condition_field_eq_val_null(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`ParentImage: null`: the field is missing, or empty."""
        operand = field_items(cond.field)
        return some((missing(operand), ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(""))))

    def convert_condition_field_exists(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`ParentImage|exists: true`."""
        return ast.Not(missing(field_items(cond.field)))

    def convert_condition_field_not_exists(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """`ParentImage|exists: false`."""
        return missing(field_items(cond.field))

    def convert_condition_field_eq_query_expr(self, cond: _Field, state: ConversionState) -> ast.Filter:
        """A filter in Vedette's language that a pipeline puts in place of a placeholder."""
        return _own(cast(SigmaQueryExpression, cond.value), render(ast.Attribute(cond.field)))

    # ------------------------------------------------------------ keywords: values without a field

    def convert_condition_val_str(self, cond: _Value, state: ConversionState) -> ast.Filter:
        """A text that may be anywhere in the event."""
        value = cast(SigmaString, cond.value)
        return keyword_test(value, cased=isinstance(value, SigmaCasedString))

    def convert_condition_val_num(self, cond: _Value, state: ConversionState) -> ast.Filter:
        """A number that may be anywhere in the event, in a text as well."""
        return keyword_test(SigmaString(number_text(exact(cast(SigmaNumber, cond.value)))), cased=False)

    def convert_condition_val_re(self, cond: _Value, state: ConversionState) -> ast.Filter:
        """An expression that may match anywhere in the event."""
        return expression_test(KEYWORDS, cast(SigmaRegularExpression, cond.value))

    def convert_condition_query_expr(self, cond: _Value, state: ConversionState) -> ast.Filter:
        """A filter in Vedette's language."""
        return _own(cast(SigmaQueryExpression, cond.value), None)

    # ------------------------------------------------------------ correlations

    def convert_correlation_event_count_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """A number of events."""
        return [pattern_of(rule)]

    def convert_correlation_value_count_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """Events with a number of different values."""
        return [pattern_of(rule)]

    def convert_correlation_temporal_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """An event of each rule, in any order."""
        return [pattern_of(rule)]

    def convert_correlation_temporal_ordered_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """An event of each rule, one after another."""
        return [pattern_of(rule)]

    def convert_correlation_extended_temporal_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """Events of rules that `and` and `or` join."""
        return [pattern_of(rule)]

    def convert_correlation_extended_temporal_ordered_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        """Events of rules that `and` and `or` join, one after another."""
        return [pattern_of(rule)]

    def convert_correlation_value_sum_rule(
        self, rule: _Correlation, output_format: str | None = None, method: str = "default"
    ) -> NoReturn:
        """A sum, which no pattern can express."""
        raise no_aggregate(rule)

    convert_correlation_value_avg_rule = convert_correlation_value_sum_rule
    convert_correlation_value_percentile_rule = convert_correlation_value_sum_rule
    convert_correlation_value_median_rule = convert_correlation_value_sum_rule


def _own(value: SigmaQueryExpression, name: str | None) -> ast.Filter:
    """Parse a filter in Vedette's language, given by a pipeline."""
    try:
        return parse_filter(value.expr.replace("{field}", name or "{field}").replace("{id}", value.id))
    except InputError as error:
        raise UnsupportedSigmaFeature(
            f"a pipeline puts this in place of a placeholder, which is no filter: {error}"
        ) from None
