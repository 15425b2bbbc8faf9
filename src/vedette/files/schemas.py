"""Schema files: attribute -> type, as JSON or YAML."""

from __future__ import annotations

import json
import os
from typing import Any

from vedette.errors import FileError, SchemaError
from vedette.files.sources import Source, source_of
from vedette.files.yaml_text import yaml_content
from vedette.schema.schema import Schema


def read_schema(source: str | os.PathLike[str], *, format: str | None = None) -> Schema:
    """The schema in a file: `{"price": "float", "order": {"total": "float"}, "attrs": "map of string"}`.

    Objects in it are dotted paths. What a schema prints (`str(schema)`) is such a file, in YAML.
    """
    place = source_of(source, format, ("json", "yaml"))
    content = _json(place) if place.format == "json" else yaml_content(place)
    if not isinstance(content, dict):
        raise SchemaError(
            f"{place.name}: a schema is an object of attributes and their types, not {_called(content)}\n"
            'Hint: e.g. {"price": "float", "tags": "list of string"}'
        )
    try:
        return Schema.of(content)
    except SchemaError as error:
        raise SchemaError(f"{place.name}: {error}") from None


def _json(place: Source) -> Any:
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
