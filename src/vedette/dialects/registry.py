"""Which dialects are there, and what does a rule of one of them say in Vedette's language?

A dialect is a module of this folder, imported when its first rule comes. It has

    translate(rule) -> ast.Expression               DialectError: the rule is wrong; NotSupported: it cannot be said

and, where its rules can do more,

    describe(rule) -> Described                     what the rule says of itself: id, title, level, author, tags
    translate(rule, pipelines=("name or file",))    by pipelines of pySigma, which map fields and values
    translate_all(documents, pipelines)             rules that name each other
        -> Iterator[Outcome]                        one for every rule, in the order in which they stand
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from vedette.dialects.rules import Described, Document, Outcome, Rule, Translated
from vedette.errors import InputError, NotSupported
from vedette.language.hints import similar
from vedette.language.render import render

OWN: Final = "vedette"  # what a rule is written in if nothing else is said
_MODULES: Final = {
    "cesql": "vedette.dialects.cesql",
    "cloudevents": "vedette.dialects.cloudevents",
    "eventbridge": "vedette.dialects.eventbridge",
    "sigma": "vedette.dialects.sigma",
}
NAMES: Final = tuple(_MODULES)


def known(dialect: object) -> str:
    """A dialect's name; NotSupported says which there are."""
    if isinstance(dialect, str) and (dialect in _MODULES or dialect == OWN):
        return dialect
    near = similar(dialect, NAMES) if isinstance(dialect, str) else None
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, NAMES))}"
    raise NotSupported(f"the dialect {dialect!r} is not known\nHint: {hint}")


def translate(dialect: str, rule: Rule, *, pipelines: Sequence[str] = ()) -> Translated:
    """What a rule says, in Vedette's language: DialectError if it is wrong, NotSupported if it cannot be said."""
    if known(dialect) == OWN:
        if not isinstance(rule, str):
            raise InputError(f"a subscription of Vedette's own language is a text, not a {type(rule).__name__}")
        return Translated(rule)
    if not isinstance(rule, str | Mapping):
        raise InputError(f"a rule must be a text or a mapping, not a {type(rule).__name__}")
    module = _module(dialect)
    if pipelines and not hasattr(module, "translate_all"):
        raise InputError(f"rules of {dialect!r} know no pipelines\nHint: leave `pipelines` out")
    text = render(module.translate(rule, pipelines) if pipelines else module.translate(rule))
    described = module.describe(rule) if hasattr(module, "describe") else Described()
    return Translated(text, described.origin, described.id)


def collects(dialect: str) -> bool:
    """Rules of this dialect come as files of their own, and may name each other."""
    return known(dialect) != OWN and hasattr(_module(dialect), "translate_all")


def translate_all(dialect: str, documents: Iterable[Document], *, pipelines: Sequence[str] = ()) -> Iterator[Outcome]:
    """What became of every rule of a collection; those that cannot be translated do not end it."""
    if not collects(dialect):
        raise NotSupported(
            f"rules of {dialect!r} do not come as files of their own\nHint: write them as records: "
            f'{{"id": "r1", "dialect": "{dialect}", "when": …}}'
        )
    return cast("Iterator[Outcome]", _module(dialect).translate_all(documents, pipelines))


def _module(dialect: str) -> Any:
    return importlib.import_module(_MODULES[dialect])
