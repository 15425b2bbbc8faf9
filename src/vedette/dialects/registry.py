"""The registry of dialects: finds a dialect by name, and translates rules with it.

Dialects are entry points of the group `vedette.dialects`: modules (or anything else with such functions) that are
imported when they translate their first rule. A dialect has

    translate(rule) -> ast.Expression, or its text  DialectError: the rule is wrong; NotSupported: no translation

and, optionally,

    describe(rule) -> RuleDescription               the rule's own facts: id, title, level, author, tags
    translate(rule, pipelines=("name or file",))    by pipelines of pySigma, which map fields and values
    translate_all(documents, pipelines)             rules that refer to each other
        -> Iterator[RuleResult]                     one for every rule, in their order
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from vedette.dialects.rule_results import Rule, RuleDescription, RuleDocument, RuleResult, RuleTranslation
from vedette.errors import InputError, NotSupported
from vedette.language.hints import similar
from vedette.language.render import render
from vedette.plugins import DIALECTS, Door, has, lacking, names

OWN: Final = "vedette"  # the default dialect


def _check(name: str, found: object) -> Any:
    if name == OWN:
        raise TypeError(f"{OWN!r} is Vedette's own language")
    why = lacking(found, "translate")
    if why is not None:
        raise TypeError(why)
    return found


_DIALECTS: Final = Door(DIALECTS, _check, called=("dialect", "dialects"), error=NotSupported)


def known_dialect(dialect: object) -> str:
    """Check a dialect's name and return it; NotSupported says which exist."""
    if isinstance(dialect, str) and (dialect == OWN or has(DIALECTS, dialect)):
        return dialect
    near = similar(dialect, names(DIALECTS)) if isinstance(dialect, str) else None
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, names(DIALECTS)))}"
    raise NotSupported(f"the dialect {dialect!r} is not known\nHint: {hint}")


def translate(dialect: str, rule: Rule, *, pipelines: Sequence[str] = ()) -> RuleTranslation:
    """Translate a rule into Vedette's language; DialectError if it is wrong, NotSupported if that is impossible."""
    if known_dialect(dialect) == OWN:
        if not isinstance(rule, str):
            raise InputError(f"a subscription of Vedette's own language is a text, not a {type(rule).__name__}")
        return RuleTranslation(rule)
    if not isinstance(rule, str | Mapping):
        raise InputError(f"a rule must be a text or a mapping, not a {type(rule).__name__}")
    module = _module(dialect)
    if pipelines and not hasattr(module, "translate_all"):
        raise InputError(f"rules of {dialect!r} know no pipelines\nHint: leave `pipelines` out")
    said = module.translate(rule, pipelines) if pipelines else module.translate(rule)
    text = said if isinstance(said, str) else render(said)
    described = module.describe(rule) if hasattr(module, "describe") else RuleDescription()
    return RuleTranslation(text, described.origin, described.id)


def collects(dialect: str) -> bool:
    """Whether rules of this dialect are in files of their own, and may refer to each other."""
    return known_dialect(dialect) != OWN and hasattr(_module(dialect), "translate_all")


def collecting() -> list[str]:
    """The dialects, among those that can be loaded, whose rules are in files of their own."""
    return [name for name, module in _DIALECTS.loadable().items() if hasattr(module, "translate_all")]


def translate_all(
    dialect: str, documents: Iterable[RuleDocument], *, pipelines: Sequence[str] = ()
) -> Iterator[RuleResult]:
    """Translate every rule of a collection; rules that cannot be translated do not end it."""
    if not collects(dialect):
        raise NotSupported(
            f"rules of {dialect!r} do not come as files of their own\nHint: write them as records: "
            f'{{"id": "r1", "dialect": "{dialect}", "when": …}}'
        )
    return cast("Iterator[RuleResult]", _module(dialect).translate_all(documents, pipelines))


def _module(dialect: str) -> Any:
    return _DIALECTS.find(dialect)
