"""Errors for rules that are not translated: wrong according to pySigma, or impossible in Vedette's language."""

from __future__ import annotations

import re
from typing import Final

from sigma import exceptions
from sigma.exceptions import SigmaError, SigmaFeatureNotSupportedByBackendError

from vedette.errors import DialectError, LimitError, NotSupported

# Things that a rule may lack or have wrong, and how to mend them.
_HINTS: Final[tuple[tuple[type[SigmaError], str], ...]] = (
    (exceptions.SigmaIdentifierError, "an id is a UUID; a rule may have none"),
    (exceptions.SigmaTitleError, "write `title: …`, of at most 256 characters"),
    (exceptions.SigmaLogsourceError, "write `logsource:` with a category, a product or a service"),
    (exceptions.SigmaTypeError, "the modifier does not fit the value: a number, a text, a truth value"),
    (exceptions.SigmaModifierError, "modifiers stand behind the field, as in `Image|endswith: \\cmd.exe`"),
    (
        exceptions.SigmaConditionError,
        "a condition joins the names of detections with and, or, not, `1 of` and `all of`",
    ),
    (exceptions.SigmaDetectionError, "write `detection:` with named detections and a `condition`"),
    (exceptions.SigmaRuleNotFoundError, "hand in the rule that is named as well, by its id or name"),
    (exceptions.SigmaTimespanError, "a timespan is a number and one of s, m, h, d, w, M, y, as in `5m`"),
    (exceptions.SigmaSecurityError, "pySigma allows it only where its own environment variables say so"),
)


class UnsupportedSigmaFeature(SigmaFeatureNotSupportedByBackendError):
    """A valid part of a rule that has no counterpart in Vedette's language."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def refusal(error: Exception, whose: str | None = None) -> DialectError | NotSupported | LimitError:
    """An exception of pySigma's as one of Vedette's."""
    if isinstance(error, RecursionError):
        return LimitError("the rule is nested too deeply", hint="make it flatter", where=whose)
    if isinstance(error, exceptions.SigmaRegularExpressionError):
        return _expression(error, whose)
    if isinstance(error, UnsupportedSigmaFeature):
        return unsupported(error.message, error.hint, whose)
    if isinstance(error, SigmaFeatureNotSupportedByBackendError | NotImplementedError):
        return unsupported(message_of(error), None, whose)
    if isinstance(error, exceptions.SigmaTransformationError):
        return unsupported(f"a pipeline refuses it: {message_of(error)}", None, whose)
    if not isinstance(error, SigmaError):
        return DialectError(f"a value has a type that it must not have: {message_of(error)}", where=whose)
    hint = next((hint for kind, hint in _HINTS if isinstance(error, kind)), None)
    return DialectError(message_of(error), hint=hint, where=whose)


def unsupported(message: str, hint: str | None, whose: str | None = None) -> NotSupported:
    """The error for a valid rule that cannot be translated, with the reason."""
    lines = [*([] if whose is None else [f"{whose}:"]), message, *([] if hint is None else [f"Hint: {hint}"])]
    return NotSupported("\n".join(lines))


def message_of(error: Exception) -> str:
    """pySigma's message, without the place in the file."""
    text = str(error.args[0]) if error.args else type(error).__name__
    return text.strip().removesuffix(".")


def _expression(error: Exception, whose: str | None) -> DialectError | NotSupported:
    """The error for a regular expression, which is PCRE in Sigma: it is wrong, or needs more than RE2 has."""
    message = message_of(error)
    try:
        re.compile(message.partition("'")[2].rpartition("' is invalid")[0])
    except (re.error, OverflowError, RecursionError):
        return DialectError(message, hint="a backslash stands before what is meant literally", where=whose)
    hint = "RE2 has no look-around, back-references, possessive quantifiers or atomic groups"
    return unsupported(message.replace(" is invalid:", " cannot be said in RE2:"), hint, whose)
