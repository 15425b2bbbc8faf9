"""What is a subscription: a filter, one that calls operators, a pattern? And can it stand at all?

Whatever could go wrong when it is matched is found here, before it stands: all tenants share the thread that matches.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from vedette.errors import FilterError
from vedette.matching.patterns import Predict
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.registry import Operators
from vedette.prediction.stream import StreamMatcher
from vedette.schema.schema import Schema

Kind = Literal["filter", "operators", "pattern"]


class Standing(NamedTuple):
    """A subscription as the engine knows it."""

    id: str
    when: str
    predict: Predict | None = None


def kind_of(standing: Standing, schema: Schema, operators: Operators | None) -> Kind:
    """What a subscription is; an error says why it cannot be one."""
    return kind_in(Subscriptions(schema), standing, operators)


def kind_in(empty: Subscriptions, standing: Standing, operators: Operators | None) -> Kind:
    """The same with a set that is empty before and after, and knows texts that were alike."""
    empty.add(standing.id, standing.when, predict=standing.predict)
    try:
        if empty.patterns:
            StreamMatcher(empty, operators=operators).close()  # its steps may call operators that are not there
            return "pattern"
        if empty.with_operators:
            Calling(operators).matcher(empty)
            return "operators"
        return "filter"
    except FilterError as error:
        raise _in_text(error, standing.when) from None
    finally:
        empty.remove(standing.id)


def _in_text(error: FilterError, text: str) -> FilterError:
    """An error in a part of a text, with its place in the whole."""
    first = text.find(error.text)
    if not error.text or first < 0:
        return error
    start, end = first + error.start, first + error.end
    return type(error)(error.message, text=text, start=start, end=end, hint=error.hint)
