"""Checks subscriptions that users pass in, one or many; errors say which record is wrong."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from vedette.dialects.registry import OWN, known_dialect
from vedette.dialects.rule_results import Rule
from vedette.errors import FilterError, InputError, NotSupported
from vedette.filters.origins import Origin, described, text_and_origin
from vedette.filters.subscription_records import EVENTS
from vedette.schema.keys import read
from vedette.schema.types import Kind

NEEDS_DIALECT = 'an object needs a dialect, e.g. "eventbridge"'


def id_exists_message(id_: str) -> str:
    """The error message for an id that exists already."""
    return f"there is a subscription {id_!r} already\nHint: replace() changes what it says"


def check_texts(id_: object, when: object, subscriber: object) -> None:
    """InputError if one of them is not a text with a UTF-8 form."""
    for name, value in (("id", id_), ("when", when), ("subscriber", subscriber)):
        if value is None and name == "subscriber":
            continue
        if not isinstance(value, str):
            raise InputError(f"the {name} of a subscription must be a text, not {value!r}")
        if name != "when" and not value.isascii():  # the parser shows where a text is broken
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InputError(f"the {name} of a subscription holds a broken character: {value!a}") from None
    if not id_:
        raise InputError("the id of a subscription must not be empty")


def text_of(rule: Rule, dialect: str | None, told: Mapping[str, Any] | None) -> tuple[str, Origin | None]:
    """The text in Vedette's language, and the origin, of a rule in any dialect."""
    when, origin = (rule, None) if dialect is None and told is None else text_and_origin(rule, dialect, told)
    if isinstance(when, Mapping):
        raise InputError(f"the when of a subscription is a mapping\nHint: {NEEDS_DIALECT}")
    return when, origin


def located_error(error: InputError | NotSupported, where: str) -> InputError | NotSupported:
    """The error with the record that it is about in its message."""
    if isinstance(error, FilterError):
        return error.of(where)
    return (NotSupported if isinstance(error, NotSupported) else type(error))(f"{where}: {error}")


class SubscriptionInput(NamedTuple):
    """A subscription as users pass it in; its rule is not translated yet."""

    id: str
    when: Rule
    subscriber: str | None
    predict: Any
    dialect: str | None
    origin: Any
    where: str  # names the record in messages
    to: Any = EVENTS


def read_records(records: Iterable[Mapping[str, Any]]) -> Iterator[SubscriptionInput]:
    """The records that have not expired; an error says which record is wrong."""
    if isinstance(records, Mapping | str | bytes) or not isinstance(records, Iterable):
        raise InputError(
            f"the records are one {type(records).__name__}, not several mappings\n"
            'Hint: hand in a list, such as [{"id": "s1", "when": "price < 120"}]'
        )
    now = dt.datetime.now(dt.UTC)
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            hint = "record._asdict() is one" if hasattr(record, "_asdict") else 'e.g. {"id": "s1", "when": "price < 1"}'
            raise InputError(f"record {number} is a {type(record).__name__}, not a mapping\nHint: {hint}")
        line = record.get("line")
        place = f"line {line}" if type(line) is int else f"record {number}"
        id_, when, dialect = record.get("id"), record.get("when"), record.get("dialect")
        if not isinstance(id_, str):
            raise InputError(f"{place}: 'id' must be a text, not {id_!r}")
        where = f"{place}, subscription {id_!r}"
        try:
            own = dialect is None or known_dialect(dialect) == OWN
        except NotSupported as error:
            raise located_error(error, where) from None
        if not isinstance(when, str) and (own or not isinstance(when, Mapping)):
            hint = f"\nHint: {NEEDS_DIALECT}" if isinstance(when, Mapping) else ""
            raise InputError(f"{place}: 'when' must be a text, not {when!r}{hint}")
        if (expires := record.get("expires")) is not None:
            try:
                if read(Kind.TIMESTAMP, expires) <= now:
                    continue
            except ValueError as error:
                raise InputError(f"{where}: 'expires': {error}\nHint: write the time in ISO 8601") from None
        yield SubscriptionInput(
            id_,
            when,
            record.get("subscriber"),
            record.get("predict"),
            dialect,
            described(record, dialect),
            where,
            record.get("to", EVENTS),
        )
