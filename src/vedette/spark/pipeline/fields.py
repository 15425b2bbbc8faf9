"""What the parts of a pipeline file are made of: the strict base, places, durations, options, secrets."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo
from pydantic_core import PydanticCustomError

from vedette.errors import PipelineError
from vedette.spark.pipeline.durations import EXAMPLES, Duration
from vedette.spark.pipeline.locations import located


class Part(BaseModel):
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
    """A mistake in a value, for validators to raise."""
    # Braces would be read as places to fill in, so the texts are handed over as such.
    return PydanticCustomError("wrong", "{message}", {"message": message, "hint": hint or ""})


def _duration(value: Any) -> Any:
    if isinstance(value, Duration):
        return value
    if isinstance(value, bool) or not isinstance(value, str):
        raise wrong("is no length of time", EXAMPLES)
    try:
        return Duration.of(value)
    except ValueError as error:
        raise wrong(f"{value[:40]!r} {error}", EXAMPLES) from None


def _place(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        raise wrong("is not a text", 'write the path in quotes, e.g. "events/"')
    if not value.strip():
        raise wrong("is empty", 'write a path, e.g. "events/"; "." is the folder of the pipeline file')
    if "\0" in value:
        raise wrong("holds a character that no path can have")
    folder = (info.context or {}).get("folder", Path.cwd())
    return located(value, folder)


def _options(value: Any) -> Any:
    """Numbers and booleans may be written as such; Spark reads texts."""
    if not isinstance(value, dict):
        raise wrong("is no table of options", 'write e.g. { "kafka.security.protocol" = "SASL_SSL" }')
    texts: dict[str, str] = {}
    for name, each in value.items():
        if isinstance(each, bool):
            texts[name] = "true" if each else "false"
        elif isinstance(each, str | int | float):
            texts[name] = str(each)
        else:
            raise wrong(f"the option {name!r} is neither a text, a number nor a boolean", "write it in quotes")
    return texts


def _variable(value: Any) -> Any:
    if not isinstance(value, str):
        raise wrong("is not a text", "name an environment variable, not what it holds")
    if value not in os.environ:
        # What is written there may be the secret itself, by mistake: it is not repeated unless it looks like a name.
        named = re.fullmatch(r"[A-Z][A-Z0-9_]*", value) is not None
        raise wrong(
            f"the environment variable {value} is not set" if named else "names no environment variable",
            "set it before the pipeline starts; the file names the variable, not the secret",
        )
    return value


def _variables(value: Any) -> Any:
    if not isinstance(value, dict):
        raise wrong("is no table", 'write e.g. { "name" = "ENVIRONMENT_VARIABLE" }')
    for each in value.values():
        _variable(each)
    return value


def secret(variable: str) -> SecretStr:
    """What an environment variable holds, so wrapped that it is not shown by accident."""
    try:
        return SecretStr(os.environ[variable])
    except KeyError:
        raise PipelineError(f"the environment variable {variable} is not set\nHint: set it, and start again") from None


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]  # TOML has lists, not tuples
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
# Absolute path or address (s3a://…): what is relative in the file is so to the file's folder.
Place = Annotated[str, BeforeValidator(_place)]
Places = Annotated[tuple[Place, ...], Field(strict=False)]
Length = Annotated[Duration, BeforeValidator(_duration)]
Options = Annotated[dict[str, str], BeforeValidator(_options)]
Variable = Annotated[str, BeforeValidator(_variable)]  # the name of an environment variable that is set
Variables = Annotated[dict[str, str], BeforeValidator(_variables)]  # option -> environment variable
