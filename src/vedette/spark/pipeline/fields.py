"""Types of the fields of a pipeline file: strict base model, paths, durations, options, secrets."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo
from pydantic_core import PydanticCustomError

from vedette.errors import PipelineError
from vedette.plugins import DIALECTS, has, meant, names
from vedette.spark.pipeline.durations import EXAMPLES, Duration
from vedette.spark.pipeline.locations import located

_LONGEST_PLACE = 4096
_SERVER = re.compile(r"(?:[^\s,/:\[\]]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}")
_WEB = re.compile(r"https?://([^\s/]*)")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SECRET_NAME = re.compile(
    r"(?:password|passwd|pwd|secret|secret[._-]?key|jaas\.config|token|authorization|api[._-]?key)$"
)


class PipelineTable(BaseModel):
    """A part of the file: nothing is guessed, no key is overlooked, nothing changes once it is read."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
    )


def wrong(message: str, hint: str | None = None) -> PydanticCustomError:
    """An error for validators to raise."""
    # Braces would be read as places to fill in, so the texts are handed over as such.
    return PydanticCustomError("wrong", "{message}", {"message": message, "hint": hint or ""})


def shortened(text: str, most: int = 40) -> str:
    """A text for messages: of limited length, on one line."""
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _duration(value: Any) -> Any:
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise wrong("is no length of time", EXAMPLES)
    try:
        return Duration.of(value)
    except ValueError as error:
        raise wrong(f'is "{shortened(value)}", which {error}', EXAMPLES) from None


def _place(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        raise wrong("is not a text", 'write the path in quotes, e.g. "events/"')
    if not value.strip():
        raise wrong("is empty", 'write a path, e.g. "events/"; "." is the folder of the pipeline file')
    if len(value) > _LONGEST_PLACE:
        raise wrong(f"is longer than {_LONGEST_PLACE:,} characters", "write a path")
    if "\0" in value:
        raise wrong("has a character that no path can have", "leave it out")
    return located(value, folder_of(info))


def folder_of(info: ValidationInfo) -> Path:
    """The folder of the pipeline file, which relative paths are relative to."""
    folder: Path = (info.context or {}).get("folder", Path.cwd())
    return folder


def _server(value: str) -> str:
    if _SERVER.fullmatch(value) is None:
        raise wrong(f'is "{shortened(value)}", not host:port', 'write e.g. "localhost:9092"')
    return value


def _topic(value: str) -> str:
    if _TOPIC.fullmatch(value) is None:  # a comma, above all: Spark would take it for two
        hint = "letters, digits, `.`, `_` and `-`, at most 249; several topics are a list"
        raise wrong(f'is "{shortened(value)}", which is no name of a topic', hint)
    return value


def _web_address(value: str) -> str:
    """Check a web address; messages do not repeat it, as it may contain a secret."""
    found = _WEB.match(value)
    if found is None:
        raise wrong("does not begin with http:// or https://", 'write e.g. "http://localhost:8080/hook"')
    if not found[1]:
        raise wrong("names no host", 'write e.g. "http://localhost:8080/hook"')
    return value


def _bound(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong("is neither a whole number nor a date", 'write e.g. 0, or "2024-01-01"')
    return value


def _options(value: Any, info: ValidationInfo) -> Any:
    """Options as texts, which Spark reads; numbers and booleans are allowed in the file."""
    if not isinstance(value, dict):
        raise wrong("is no table", 'write e.g. { "name" = "value" }')
    texts: dict[str, str] = {}
    for name, each in value.items():
        if _SECRET_NAME.search(name.lower()):
            hint = f"name an environment variable that holds it, in `{info.field_name}_env` or `password_env`"
            raise wrong(f'has a secret in the file, "{shortened(name)}"', hint)
        if isinstance(each, bool):
            texts[name] = "true" if each else "false"
        elif isinstance(each, str | int | float):
            texts[name] = str(each)
        else:
            hint = "write it in quotes"
            raise wrong(f'has "{shortened(name)}", which is neither a text, a number nor a boolean', hint)
    return texts


def _dialect(value: Any) -> Any:
    if not isinstance(value, str):
        raise wrong("is not a text", one_of(DIALECTS))
    if not has(DIALECTS, value):
        raise wrong(f'is "{shortened(value)}"', one_of(DIALECTS, value))
    return value


def one_of(group: str, name: str = "") -> str:
    """A hint that names the plug-in that was probably meant, or else all of them."""
    near = meant(group, name)
    return (
        "it is one of " + ", ".join(f'"{each}"' for each in names(group)) if near is None else f'did you mean "{near}"?'
    )


def _variable(value: Any) -> Any:
    if not isinstance(value, str):
        raise wrong("is not a text", "name an environment variable, not what it holds")
    _is_set(value, "is")
    return value


def _variables(value: Any) -> Any:
    if not isinstance(value, dict):
        raise wrong("is no table", 'write e.g. { "name" = "ENVIRONMENT_VARIABLE" }')
    for name, each in value.items():
        if not isinstance(each, str):
            raise wrong(f'has "{shortened(name)}", which is not a text', "name an environment variable")
        _is_set(each, f'has "{shortened(name)}" =')
    return value


def _is_set(variable: str, so: str) -> None:
    if variable in os.environ:
        return
    hint = "set it before the pipeline starts"
    # What is written there may be the secret itself, by mistake: it is shown only if it looks like a variable.
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", variable) is None:
        raise wrong(f"{so} something that is no environment variable", "name a variable, not what it holds")
    raise wrong(f"{so} {shortened(variable)}, an environment variable that is not set", hint)


def secret(variable: str) -> SecretStr:
    """The value of an environment variable, wrapped so that it is not shown by accident."""
    try:
        return SecretStr(os.environ[variable])
    except KeyError:
        raise PipelineError(f"the environment variable {variable} is not set\nHint: set it, and start again") from None


Text = Annotated[str, Field(min_length=1)]
Server = Annotated[str, AfterValidator(_server)]
Topic = Annotated[str, AfterValidator(_topic)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Bound = Annotated[int | str, BeforeValidator(_bound)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]  # TOML has lists, not tuples
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
# Absolute path or address (s3a://…): what is relative in the file is so to the file's folder.
Place = Annotated[str, BeforeValidator(_place)]
Places = Annotated[tuple[Place, ...], Field(strict=False)]
Length = Annotated[Duration, BeforeValidator(_duration)]
Options = Annotated[dict[str, str], BeforeValidator(_options)]
DialectName = Annotated[str, BeforeValidator(_dialect)]
EnvironmentVariable = Annotated[str, BeforeValidator(_variable)]  # the name of an environment variable that is set
EnvironmentVariables = Annotated[dict[str, str], BeforeValidator(_variables)]  # option -> environment variable
