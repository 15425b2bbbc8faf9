"""Where a subscription comes from: what notifications say of it, and the rule of another dialect that it was."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from vedette.dialects.registry import OWN, known, translate
from vedette.dialects.rules import Rule
from vedette.errors import InputError

FACTS_BYTES: Final = 64 * 1024  # of what is told with every notification, as JSON
# What records of other dialects say of a rule beside it, as Sigma's rules do inside.
DESCRIBING: Final = ("title", "description", "level", "status", "author", "date", "modified", "tags", "references")


class Origin(NamedTuple):
    """What is told of a subscription, as a JSON object; its dialect and the rule as it was written, if it was one."""

    facts: str | None = None
    dialect: str | None = None
    rule: str | None = None

    @property
    def told(self) -> dict[str, Any]:
        """Title, level, author, tags and so on: what notifications carry."""
        found: dict[str, Any] = {} if self.facts is None else orjson.loads(self.facts)
        return found

    def __str__(self) -> str:
        """In a line, for people; empty where there is nothing to say."""
        told = self.told
        title, level = told.get("title"), told.get("level")
        notes = [*([] if level is None else [f"level {level}"]), *([] if self.dialect is None else [self.dialect])]
        return " ".join([*([] if title is None else [str(title)]), *([f"({', '.join(notes)})"] if notes else [])])


NO_ORIGIN: Final = Origin()


def facts_of(given: object) -> str | None:
    """What is told of a subscription as JSON; None where that is nothing, InputError where it is no plain object."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError(
            f"`origin` is {reprlib.repr(given)}, not an object\n"
            'Hint: write e.g. {"title": "Too many logins", "level": "high"}'
        )
    if not given:
        return None
    try:
        text = orjson.dumps(dict(given))
    except TypeError as error:
        raise InputError(f"`origin` is no plain object: {error}\nHint: write texts, numbers, lists, objects") from None
    if len(text) > FACTS_BYTES:
        raise InputError(
            f"`origin` is {len(text):,} bytes of JSON, more than {FACTS_BYTES:,}\n"
            "Hint: it goes with every notification: keep what its readers need"
        )
    return text.decode()


def described(record: Mapping[str, Any], dialect: str | None) -> Any:
    """The origin that a record gives: its `origin`, and, of another dialect's rule, its own title, level and so on."""
    origin = record.get("origin")
    if dialect in (None, OWN) or not (origin is None or isinstance(origin, Mapping)):
        return origin
    own = {name: record[name] for name in DESCRIBING if record.get(name) is not None}
    return {**own, **(origin or {})} or None


def said(
    when: Rule, dialect: str | None, origin: object = None, pipelines: Sequence[str] = ()
) -> tuple[str, Origin | None]:
    """The text in Vedette's language and where it comes from, of a rule in whatever dialect."""
    if dialect is None or known(dialect) == OWN:
        facts = facts_of(origin)
        return translate(OWN, when).when, None if facts is None else Origin(facts)
    made = translate(dialect, when, pipelines=pipelines)
    facts_of(origin)  # before it is joined: it may be no object
    facts = facts_of({**made.origin, **(origin if isinstance(origin, Mapping) else {})})
    return made.when, Origin(facts, dialect, when if isinstance(when, str) else json_of(when))


def json_of(rule: Mapping[str, Any]) -> str:
    """A rule that came as an object, as text; what YAML knows and JSON does not (dates) is written as text, too."""
    return orjson.dumps(dict(rule), default=str, option=orjson.OPT_NON_STR_KEYS).decode()
