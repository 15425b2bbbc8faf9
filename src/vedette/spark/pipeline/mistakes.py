"""Words for pydantic's errors in a pipeline file, for the person who wrote it.

Values are not repeated, since one of them may be a secret in the wrong place; only the short ones of a choice are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, get_args

from pydantic_core import ErrorDetails

from vedette import plugins
from vedette.plugins import Door
from vedette.spark.pipeline.fields import PipelineTable, shortened
from vedette.spark.pipeline.findings import PipelineMistake, key_name, similar_name
from vedette.spark.pipeline.kinds import SINKS, SOURCES, Kind
from vedette.spark.pipeline.pipeline_models import (
    OperatorsConfig,
    PatternsConfig,
    Pipeline,
    SparkConfig,
    SubscriptionsConfig,
)
from vedette.spark.pipeline.positions import KeyPath

_Words: TypeAlias = tuple[str, str | None]  # what is wrong, how to mend it


_DOORS: Mapping[str, Door[Any]] = {"source": SOURCES, "quarantine": SINKS, "sinks": SINKS}
_TABLES: Mapping[str, type[PipelineTable]] = {
    "subscriptions": SubscriptionsConfig,
    "patterns": PatternsConfig,
    "operators": OperatorsConfig,
    "spark": SparkConfig,
}


def found(error: ErrorDetails, raw: Mapping[str, Any]) -> PipelineMistake:
    """A pydantic error as a mistake of the file; `raw` is the whole content of the file."""
    path = path_of(error)
    say = _WORDS.get(error["type"])
    if say is None:
        return PipelineMistake(path, f"{key_name(path)}: {error['msg']}")
    model = Pipeline if error["type"] == "wrong_type" else _model(path, raw)
    return PipelineMistake(path, *say(error, path, model))


def path_of(error: ErrorDetails) -> KeyPath:
    """The key that an error is about."""
    loc: KeyPath = error["loc"]
    return (*loc, "type") if error["type"] == "wrong_type" else loc


def _model(path: KeyPath, raw: Mapping[str, Any]) -> type[PipelineTable]:
    """The model of the table that a key is in."""
    match path:
        case ("source" | "quarantine" as part, _, *_):
            return _inner(_chosen(part, raw[part]), path[1:-1])
        case ("sinks", int(number), _, *_):
            return _inner(_chosen("sinks", raw["sinks"][number]), path[2:-1])
        case (str(part), _, *_) if part in _TABLES:
            return _TABLES[part]
    return Pipeline


def _chosen(part: str, table: Mapping[str, Any]) -> type[PipelineTable]:
    """The model of a source or a sink; where its type is wrong there are no other mistakes."""
    kind: type[Kind] = _DOORS[part].find(table["type"])
    return kind


def _inner(model: type[PipelineTable], keys: KeyPath) -> type[PipelineTable]:
    """The model of a table within a table."""
    for key in keys:
        field = model.model_fields.get(str(key))
        annotation = None if field is None else field.annotation
        for each in (annotation, *get_args(annotation)):
            if isinstance(each, type) and issubclass(each, PipelineTable):
                model = each
    return model


def keys_of(model: type[PipelineTable]) -> dict[str, str]:
    """The keys of a table of the file, with their descriptions."""
    keys = {field.alias or name: field.description or "" for name, field in model.model_fields.items()}
    return {"type": keys.pop("type"), **keys} if "type" in keys else keys


# ---------------------------------------------------------------- one kind of error after the other


def _unknown_key(_: ErrorDetails, path: KeyPath, model: type[PipelineTable]) -> _Words:
    name = str(path[-1])
    return f"{key_name(path)} is not a key that is known here", _unknown_key_hint(name, path, model)


def _unknown_key_hint(name: str, path: KeyPath, model: type[PipelineTable]) -> str:
    keys = keys_of(model)
    others = _DOORS[str(path[0])].loadable() if issubclass(model, Kind) else {}
    with_it = [type_ for type_, other in others.items() if name in keys_of(other)]
    if with_it:
        return f"it is a key of the {'type' if len(with_it) == 1 else 'types'} {', '.join(with_it)}"
    near = similar_name(name, keys)
    if near is not None:
        return f"did you mean `{near}`{', the name of an environment variable' if near.endswith('_env') else ''}?"
    if len(path) > 1 and name in keys_of(Pipeline):
        return "it belongs to the top of the file, before the first [table]"
    for table, other in _TABLES.items():
        if name in keys_of(other):
            return f"it is a key of [{table}]"
    return f"the keys here are {', '.join(keys)}"


def _missing(_: ErrorDetails, path: KeyPath, model: type[PipelineTable]) -> _Words:
    name = str(path[-1])
    if path == ("source",):
        return "there is no [source]", f"say where events come from: type = {_quoted(plugins.names(plugins.SOURCES))}"
    if path == ("subscriptions",):
        return "there are no [subscriptions]", 'say where they come from, e.g. file = "subscriptions.jsonl"'
    if path == ("sinks",):
        return "there is no sink", 'say where notifications go, in a table [[sinks]], e.g. type = "console"'
    return f"{key_name(path)} is missing", _first_sentence(keys_of(model).get(name, ""))


def _first_sentence(description: str) -> str | None:
    text = " ".join(description.split())
    text = text.partition(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:] or None


def _other_choice(error: ErrorDetails, path: KeyPath, model: type[PipelineTable]) -> _Words:
    field = next(field for name, field in model.model_fields.items() if (field.alias or name) == path[-1])
    choices = [choice for each in (field.annotation, *get_args(field.annotation)) for choice in get_args(each)]
    texts = [choice for choice in choices if isinstance(choice, str)]
    given = error["input"]
    if not isinstance(given, str):
        return f"{key_name(path)} is {_kind(given)}, not a text", f"it is one of {_quoted(texts)}"
    return f"{key_name(path)} is {_choice(given)}", _guess(given, texts)


def _guess(given: str, choices: Iterable[str]) -> str:
    near = similar_name(given, choices)
    return f'did you mean "{near}"?' if near else f"it is one of {_quoted(choices)}"


def _choice(given: str) -> str:
    return f'"{shortened(given)}"'


def _quoted(choices: Iterable[str]) -> str:
    return ", ".join(f'"{choice}"' for choice in choices)


def _wrong_kind(right: str, hint: str | None = None) -> Callable[[ErrorDetails, KeyPath, type[PipelineTable]], _Words]:
    def say(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
        return f"{key_name(path)} is {_kind(error['input'])}, not {right}", hint

    return say


def _no_table(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
    what = f"[[{path[0]}]]" if path[0] == "sinks" else f"[{path[0]}]"
    nested = len(path) > 1 and path[0] != "sinks"
    return (
        f"{key_name(path)} is {_kind(error['input'])}, not a table",
        None if nested else f"write it as a table, {what}",
    )


def _no_list(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
    hint = "write [[sinks]] over each of them" if path == ("sinks",) else 'write a list, e.g. ["one", "two"]'
    return f"{key_name(path)} is {_kind(error['input'])}, not a list", hint


def _kind(value: object) -> str:
    for kinds, name in (
        (bool, "a boolean"),
        (int | float, "a number"),
        (str, "a text"),
        (list, "a list"),
        (dict, "a table"),
        (dt.date | dt.time, "a date or time"),
    ):
        if isinstance(value, kinds):
            return name
    return "something else"


def _empty(_: ErrorDetails, path: KeyPath, __: type[PipelineTable]) -> _Words:
    return f"{key_name(path)} is empty", "write something there, or leave the key out"


def _too_many(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
    hint = "make several pipelines" if path == ("sinks",) else None
    return f"{key_name(path)} has {len(error['input']):,} elements; {error['ctx']['max_length']:,} are the most", hint


def _too_few(_: ErrorDetails, path: KeyPath, __: type[PipelineTable]) -> _Words:
    if path == ("sinks",):
        return "there is no sink", 'say where notifications go, in a table [[sinks]], e.g. type = "console"'
    return f"{key_name(path)} is an empty list", "write something in it, or leave the key out"


def _out_of_range(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
    context = error["ctx"]
    limit = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']:,}"
    return f"{key_name(path)} is {shortened(str(error['input']), 20)}; it must be {limit}", None


def _no_name(_: ErrorDetails, path: KeyPath, __: type[PipelineTable]) -> _Words:
    return f"{key_name(path)} cannot be a name", "letters, digits, `_`, `-` and `.`, at most 64, no space"


def _own_words(error: ErrorDetails, path: KeyPath, _: type[PipelineTable]) -> _Words:
    return f"{key_name(path)} {error['ctx']['message']}", error["ctx"]["hint"] or None


_WORDS: Mapping[str, Callable[[ErrorDetails, KeyPath, type[PipelineTable]], _Words]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _other_choice,
    "string_type": _wrong_kind("a text", "put it in quotes"),
    "int_type": _wrong_kind("a whole number"),
    "tuple_type": _no_list,
    "model_type": _no_table,
    "model_attributes_type": _no_table,
    "string_too_short": _empty,
    "too_short": _too_few,
    "too_long": _too_many,
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "string_pattern_mismatch": _no_name,  # names alone have a pattern
    "wrong": _own_words,
    "wrong_type": _own_words,
    "no_table": _no_table,
}
