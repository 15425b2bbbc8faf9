"""Reads YAML texts as rules of pySigma, one document at a time, so that a wrong one does not affect others.

It keeps integers that a float equals, so a float without a fraction was rounded.

A document with `action: global` has the common part of the following ones, `repeat` continues the one before it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml
from pyparsing import ParseException
from sigma.collection import SigmaCollection
from sigma.conditions import condition as grammar
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError
from sigma.filters import SigmaFilter
from sigma.rule import SigmaDetection, SigmaRule
from sigma.types import SigmaNumber

from vedette.dialects.rule_results import Refusal
from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature, refusal
from vedette.errors import DialectError, LimitError


def restore_integers(detections: Mapping[str, SigmaDetection], written: Mapping[str, Any]) -> None:
    """Restore the numbers of detections from the mapping that they were read from."""
    for name, detection in detections.items():
        _restore(detection, written[name])


def _restore(detection: SigmaDetection, written: Any) -> None:
    """As `restore_integers`, for one detection: a mapping, a list of detections, or values."""
    items = detection.detection_items
    if isinstance(written, Mapping):
        parts = list(written.values())
    elif isinstance(items[0], SigmaDetection):
        parts = list(written)
    else:
        parts = [written]
    for item, part in zip(items, parts, strict=True):
        if isinstance(item, SigmaDetection):
            _restore(item, part)
            continue
        values = item.original_value or ()  # modifiers keep the number object
        for value, number in zip(values, part if isinstance(part, list) else [part], strict=True):
            if isinstance(value, SigmaNumber) and isinstance(number, int):
                value.number = number


def exact(value: SigmaNumber) -> int | float:
    """The number that is meant; Unsayable if a pipeline put it there, and pySigma rounded it."""
    number = value.number
    if isinstance(number, float) and number.is_integer():
        raise UnsupportedSigmaFeature(
            f"a pipeline's integer, which was rounded to {int(number)}: integers beyond 2**53 are not exact there",
            "write it as a text, or in the rule",
        )
    return number


DEEPEST: Final = 64  # levels of a YAML document
CONDITION_CHARACTERS: Final = 16_384
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, if available, is ten times as fast
# For a scalar with a wrong tag, PyYAML raises not only its own error.
_YAML_ERRORS: Final = (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError)
# Exceptions that pySigma raises for values of unexpected types.
RULE_ERRORS: Final = (SigmaError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


@dataclass
class SigmaDocument:
    """One document: its rule, or why it has none."""

    place: str
    content: Any
    text: str = ""
    rule: SigmaRule | SigmaCorrelationRule | SigmaFilter | None = None
    problem: Refusal | None = None


def read_text(text: str, place: str) -> Iterator[SigmaDocument]:
    """The rules of a text, without documents that are empty or global."""
    try:
        parts = list(_parts(text))
    except DialectError as error:
        yield SigmaDocument(place, None, text, problem=error)
        return
    context: list[dict[str, Any]] = []  # the global document
    before: list[dict[str, Any]] = []  # the last rule, and the documents that repeat it
    for number, (line, own, content) in enumerate(parts, 1):
        read = SigmaDocument(place if len(parts) == 1 else f"{place}, document {number} (line {line})", content, own)
        action = content.get("action") if isinstance(content, Mapping) else None
        if action == "global":
            context, before = [content], [{name: value for name, value in content.items() if name != "action"}]
        elif action == "reset":
            context = []
        elif action == "repeat":
            before.append(content)
            yield _as_rule(read, [*context, *before])
        else:
            before = [content]
            yield _as_rule(read, [*context, content])


def read_mapping(rule: Mapping[str, Any], place: str) -> SigmaDocument:
    """A rule from a mapping, as YAML is parsed."""
    plain = _plain(rule)
    return _as_rule(SigmaDocument(place, plain), [plain])


def _plain(value: Any, depth: int = 0) -> Any:
    """A copy as dictionaries and lists, which pySigma requires; a copy, since it changes its input."""
    if depth > DEEPEST:
        raise DialectError(f"the rule is nested more than {DEEPEST} deep", hint="make it flatter")
    if isinstance(value, Mapping):
        return {str(name): _plain(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value]
    return value


def _as_rule(read: SigmaDocument, documents: list[Any]) -> SigmaDocument:
    """pySigma's rule from these documents, of which the last one is the rule."""
    if not isinstance(documents[-1], Mapping):
        what = type(documents[-1]).__name__
        read.problem = DialectError(f"a rule is a mapping of YAML, not a {what}", hint="it begins with `title: …`")
        return read
    documents = copy.deepcopy(documents)
    documents[0].setdefault("title", read.place)
    # pySigma merges all of them into the last one that is not a `repeat`.
    merged = next((each for each in reversed(documents) if "action" not in each), documents[-1])
    try:
        found = SigmaCollection.from_dicts(documents, collect_filters=True, resolve_references=False)
        read.rule = [*found.rules, *found.filters][-1]
        if read.rule.errors:
            raise read.rule.errors[0]
        if isinstance(read.rule, SigmaRule):
            restore_integers(read.rule.detection.detections, merged["detection"])
        elif isinstance(read.rule, SigmaFilter):
            restore_integers(read.rule.filter.detections, merged["filter"])
        read.problem = _of_conditions(read.rule)
    except RULE_ERRORS as error:
        read.problem = refusal(error)
    return read


def _of_conditions(rule: SigmaRule | SigmaCorrelationRule | SigmaFilter) -> Refusal | None:
    """What is wrong with the conditions of a rule, and where; None if nothing is."""
    detection = rule.filter if isinstance(rule, SigmaFilter) else getattr(rule, "detection", None)
    for condition in () if detection is None else detection.condition:
        if not isinstance(condition, str):
            return DialectError(f"a condition is a text, not {condition!r}", hint="write `condition: selection`")
        if len(condition) > CONDITION_CHARACTERS:
            return LimitError(f"a condition of {len(condition):,} characters: the limit is {CONDITION_CHARACTERS:,}")
        if "|" in condition:
            return DialectError(
                "`|` in a condition, which Sigma no longer has", hint="write a correlation", **_at(condition, "|")
            )
        wrong = _wrong_at(condition)
        if wrong is not None:
            what = "the condition ends too early" if wrong >= len(condition) else "the condition makes no sense here"
            hint = "names of detections are joined with and, or, not, `1 of` and `all of`"
            return DialectError(what, text=condition, start=wrong, hint=hint)
    return None


@functools.lru_cache(maxsize=1024)  # many rules have the same condition
def _wrong_at(condition: str) -> int | None:
    """The position at which a condition cannot be parsed further, if any."""
    try:
        grammar.parse_string(condition, parse_all=True)
    except ParseException as error:
        return int(error.loc)
    return None


def _at(text: str, part: str) -> dict[str, Any]:
    return {"text": text, "start": text.index(part)}


def _parts(text: str) -> Iterator[tuple[int, str, Any]]:
    """The documents that are not empty: their first line, their text, and their content."""
    try:
        _check_depth(text)
        loader = _LOADER(text)
        while loader.check_node():
            node = loader.get_node()
            if not (isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"):
                own = text[node.start_mark.index : node.end_mark.index]
                yield node.start_mark.line + 1, own, loader.construct_document(node)
    except _YAML_ERRORS as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        what = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DialectError(f"this is not YAML: {where}{what}", hint="mend that place") from None


def _check_depth(text: str) -> None:
    """Refuse a text that is nested too deeply, since composing is recursive, also in C."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            where = "" if event.start_mark is None else f"line {event.start_mark.line + 1}: "
            raise DialectError(f"{where}nested more than {DEEPEST} deep", hint="make it flatter")
