"""Read untrusted YAML: plain data only, with a limit on nesting, and errors with their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from vedette.errors import FileError
from vedette.io.byte_sources import InputSource

DEEPEST = 64
# What PyYAML lets through from a scalar with a wrong tag, such as an empty `!!int`, is not only its own error.
_ERRORS = (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError)
# libyaml's parser is ten times as fast, where there is one.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_records(source: InputSource) -> Iterator[tuple[int, Any]]:
    """The documents, and the items of lists instead of these, each with its first line (counted from 1)."""
    text = source.read()
    try:
        _check_depth(source, text)
        loader = _LOADER(text)
        while loader.check_node():
            node = loader.get_node()
            listed = isinstance(node, yaml.SequenceNode)
            for part in node.value if listed else [node]:
                if listed or not _is_nothing(part):
                    yield part.start_mark.line + 1, loader.construct_document(part)
    except _ERRORS as error:
        raise _not_yaml(source, error) from None


def yaml_content(source: InputSource, mended: Callable[[bytes], bytes] = bytes) -> Any:
    """The only document of a file, after its text was `mended`."""
    text = mended(source.read())
    try:
        _check_depth(source, text)
        return yaml.load(text, _LOADER)
    except _ERRORS as error:
        raise _not_yaml(source, error) from None


def _check_depth(source: InputSource, text: bytes) -> None:
    """Refuse deep nesting, before composing, which is recursive, in C too."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                where = f" (line {event.start_mark.line + 1})" if event.start_mark is not None else ""
                raise FileError(f"{source.name} is nested more than {DEEPEST} deep{where}\nHint: make it flatter")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _not_yaml(source: InputSource, error: Exception) -> FileError:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    what = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return FileError(f"{source.name} is not YAML: {where}{what}\nHint: mend that place")


def _is_nothing(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"
