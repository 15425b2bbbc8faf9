"""Writes a pattern as canonical JSON, each field with its whole path as its key."""

from __future__ import annotations

import json
from typing import Any

from vedette.language.documents.nodes import (
    EventPattern,
    EventPatternAlternative,
    FieldTest,
    LeafAddress,
    LeafAnythingBut,
    LeafConstant,
    LeafEquals,
    LeafExists,
    LeafInNetwork,
    LeafRange,
    LeafTextTest,
    LeafWildcard,
)
from vedette.schema.readings import number_text


def text_of(pattern: EventPattern) -> str:
    """The canonical text: `parse(text_of(pattern)) == pattern`."""
    written = [_object(alternative) for alternative in pattern.alternatives]
    return written[0] if len(written) == 1 else f'{{"$or": [{", ".join(written)}]}}'


def _object(alternative: EventPatternAlternative) -> str:
    fields = (f"{_string(field.path)}: [{', '.join(map(_test, field.tests))}]" for field in alternative.fields)
    return f"{{{', '.join(fields)}}}"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _test(test: FieldTest) -> str:
    if isinstance(test, LeafEquals):
        return _string(test.text)
    if isinstance(test, LeafAddress):
        return _string(test.address)
    if isinstance(test, LeafConstant):
        return test.json
    return f"{{{_operator(test)}}}"


def _operator(test: Any) -> str:
    if isinstance(test, LeafTextTest):
        text = _string(test.text)
        if test.kind == "equals":
            return f'"equals-ignore-case": {text}'
        return f'"{test.kind}": {{"equals-ignore-case": {text}}}' if test.ignore_case else f'"{test.kind}": {text}'
    if isinstance(test, LeafWildcard):
        return f'"wildcard": {_string(wildcard_text(test))}'
    if isinstance(test, LeafRange):
        return f'"numeric": [{", ".join(_bounds(test))}]'
    if isinstance(test, LeafInNetwork):
        return f'"cidr": {_string(test.network)}'
    if isinstance(test, LeafAnythingBut):
        return f'"anything-but": {_excluded(test)}'
    return '"exists": true' if isinstance(test, LeafExists) else '"exists": false'


def wildcard_text(test: LeafWildcard) -> str:
    """The text of a wildcard, with its escapes."""
    return "*".join(piece.replace("\\", "\\\\").replace("*", "\\*") for piece in test.pieces)


def _bounds(test: LeafRange) -> list[str]:
    if test.low is not None and test.low == test.high:
        return ['"="', number_text(test.low)]
    parts: list[str] = []
    if test.low is not None:
        parts += ['">="' if test.low_closed else '">"', number_text(test.low)]
    if test.high is not None:
        parts += ['"<="' if test.high_closed else '"<"', number_text(test.high)]
    return parts


def _excluded(test: LeafAnythingBut) -> str:
    first = test.excluded[0]
    if isinstance(first, LeafEquals | LeafConstant):
        return f"[{', '.join(map(_test, test.excluded))}]"
    name = (
        "wildcard"
        if isinstance(first, LeafWildcard)
        else "equals-ignore-case"
        if first.kind == "equals"
        else first.kind
    )
    texts = (wildcard_text(one) if isinstance(one, LeafWildcard) else one.text for one in test.excluded)  # type: ignore[union-attr]
    return f'{{"{name}": [{", ".join(map(_string, texts))}]}}'
