"""Schema files: attribute -> type, as JSON or YAML."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from vedette.errors import FileError, SchemaError
from vedette.io.byte_sources import InputSource, source_of
from vedette.io.yaml_text import yaml_content
from vedette.language.lexer import NAME, backticked, quote_name, scan
from vedette.schema.schema import Schema
from vedette.schema.types import STRING

_TAKEN_BY_YAML: Final = frozenset({"yes", "no", "on", "off", "y", "n"})  # names without quotes that are none there


def read_schema(source: str | os.PathLike[str], *, format: str | None = None) -> Schema:
    """Read a schema file: `{"price": "float", "order": {"total": "float"}, "attrs": "map of string"}`.

    Objects in it are dotted paths. `str(schema)` is such a file, in YAML. In YAML, names may
    also be written as filters write them, in backticks.
    """
    place = source_of(source, format, ("json", "yaml"))
    content = _json(place) if place.format == "json" else yaml_content(place, _in_double_quotes)
    if not isinstance(content, dict):
        raise SchemaError(
            f"{place.name}: a schema is an object of attributes and their types, not {_called(content)}\n"
            'Hint: e.g. {"price": "float", "tags": "list of string"}'
        )
    try:
        return Schema.of(content)
    except SchemaError as error:
        raise SchemaError(f"{place.name}: {error}") from None


def attribute_name(path: str) -> str:
    """A path as both filters and schema files write it (in a file only, if it cannot stand on one line)."""
    name = path.removesuffix(".*")
    if not name or not name.isprintable():
        return str(Schema({path: STRING})).removesuffix(": string")
    written = backticked(name) if name.lower() in _TAKEN_BY_YAML else quote_name(name)
    return written + path[len(name) :]


def _in_double_quotes(content: bytes) -> bytes:
    """Put names in backticks, with which no name can begin in YAML, into YAML's own quotes."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    return "".join(map(_line, text.splitlines(keepends=True))).encode() if "`" in text else content


def _line(line: str) -> str:
    tokens = scan(line)
    if "`" not in line[tokens.starts[0] : tokens.ends[0]] or tokens.tags[0] != NAME:
        return line
    below = tokens.texts[1:3] == [".", "*"]
    colon = 3 if below else 1
    if tokens.tags[colon] != ":":
        return line
    path = json.dumps(tokens.texts[0] + (".*" if below else ""), ensure_ascii=False)
    return line[: tokens.starts[0]] + path + line[tokens.starts[colon] :]


def _json(place: InputSource) -> Any:
    try:
        return json.loads(place.read().decode())
    except UnicodeDecodeError as error:
        raise FileError(f"{place.name} is not UTF-8 text (byte {error.start})\nHint: save it as UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"{place.name} is not JSON: {where}: {error.msg}\nHint: mend that place") from None
    except RecursionError:
        raise FileError(f"{place.name} is nested too deeply\nHint: make it flatter") from None


def _called(content: object) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(content), repr(content))
