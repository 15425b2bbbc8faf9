"""Detection rules of Sigma, read by pySigma and said in Vedette's language (extra `sigma`).

pySigma is loaded when the first rule comes, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vedette.dialects.rules import Described, Document, Outcome, Rule
from vedette.errors import NotInstalled
from vedette.language import ast


def translate(rule: Rule, pipelines: Sequence[Any] = ()) -> ast.Expression:
    """What a rule says of events; a correlation comes as a text with the rules that it names."""
    _check_installed()
    from vedette.dialects.sigma.collection import translate_one

    return translate_one(rule, pipelines)


def describe(rule: Rule) -> Described:
    """What a rule says of itself: its id, and title, level, status, author, tags, logsource and references."""
    _check_installed()
    from vedette.dialects.sigma.collection import describe_one

    return describe_one(rule)


def translate_all(documents: Iterable[Document], pipelines: Sequence[Any] = ()) -> Iterator[Outcome]:
    """What became of every rule of a collection, in the order in which they stand."""
    _check_installed()
    from vedette.dialects.sigma.collection import translate_documents

    return translate_documents(documents, pipelines)


def _check_installed() -> None:
    try:
        import sigma.collection  # noqa: F401
    except ImportError:
        raise NotInstalled("rules of Sigma are read by pySigma\nHint: pip install 'vedette[sigma]'") from None
