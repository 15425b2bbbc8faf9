"""The operator `cesql`: an expression of CloudEvents SQL as a test of an event.

    cesql('hop < ttl')          true if the expression is true for the event, without an error

Rules of the dialect `cesql` call it for what tests of single attributes cannot express; a filter may call it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vedette.dialects.cesql.evaluate import evaluate
from vedette.dialects.cesql.parser import parse
from vedette.errors import InputError
from vedette.operators.operator import Operator, operator
from vedette.operators.shipped.table_settings import OperatorSettings


def operators(settings: Mapping[str, Any]) -> Iterable[Operator]:
    """`cesql`, which has no settings."""
    OperatorSettings(settings, "cesql").end()
    return [cesql]


def _check(given: tuple[Any, ...]) -> None:
    if not isinstance(given[0], str):
        raise ValueError("an expression of CloudEvents SQL is a constant text: cesql('hop < ttl')")
    try:
        parse(given[0], wrapped=True)
    except InputError as error:
        raise ValueError(str(error)) from None


@operator(time_limit=None, check=_check)
def cesql(event: Mapping[str, Any], expression: str) -> bool:
    """Whether the expression is the Boolean true for an event, without an error."""
    return evaluate(parse(expression, wrapped=True), event).holds
