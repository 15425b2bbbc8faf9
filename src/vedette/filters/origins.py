"""The origin of a subscription: facts that its notifications carry, and the rule of another dialect it was."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from vedette.dialects.registry import OWN, known_dialect, translate
from vedette.dialects.rule_results import Rule
from vedette.errors import InputError

FACTS_BYTES: Final = 64 * 1024  # of the facts in every notification, as JSON
# Facts that records of other dialects may have beside the rule; Sigma's rules have them inside.
DESCRIBING: Final = ("title", "description", "level", "status", "author", "date", "modified", "tags", "references")


class Origin(NamedTuple):
    """The facts that notifications carry, as a JSON object; the dialect and the original rule, if it was translated."""

    facts: str | None = None
    dialect: str | None = None
    rule: str | None = None

    @property
    def told(self) -> dict[str, Any]:
        """The facts that notifications carry: title, level, author, tags and so on."""
        found: dict[str, Any] = {} if self.facts is None else orjson.loads(self.facts)
        return found

    def __str__(self) -> str:
        """The origin as a line for people; empty if there are no facts."""
        told = self.told
        title, level = told.get("title"), told.get("level")
        notes = [*([] if level is None else [f"level {level}"]), *([] if self.dialect is None else [self.dialect])]
        return " ".join([*([] if title is None else [str(title)]), *([f"({', '.join(notes)})"] if notes else [])])


NO_ORIGIN: Final = Origin()


def facts_of(given: object) -> str | None:
    """The facts of an `origin` as JSON; None if there are none, InputError if it is not a plain object."""
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


def text_and_origin(
    when: Rule, dialect: str | None, origin: object = None, pipelines: Sequence[str] = ()
) -> tuple[str, Origin | None]:
    """The text in Vedette's language, and the origin, of a rule in any dialect."""
    if dialect is None or known_dialect(dialect) == OWN:
        facts = facts_of(origin)
        return translate(OWN, when).when, None if facts is None else Origin(facts)
    made = translate(dialect, when, pipelines=pipelines)
    facts_of(origin)  # before it is joined: it may not be an object
    facts = facts_of({**made.origin, **(origin if isinstance(origin, Mapping) else {})})
    return made.when, Origin(facts, dialect, when if isinstance(when, str) else json_of(when))


def json_of(rule: Mapping[str, Any]) -> str:
    """A rule that is an object, as JSON text; types that YAML has and JSON lacks (dates) are written as texts."""
    return orjson.dumps(dict(rule), default=str, option=orjson.OPT_NON_STR_KEYS).decode()
