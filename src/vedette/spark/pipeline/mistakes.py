"""What pydantic finds wrong with a pipeline file, in words for the one who wrote it.

Values are not repeated, since one of them may be a secret in the wrong place; only the short ones of a choice are.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias, get_args

from pydantic_core import ErrorDetails

from vedette.spark.pipeline.fields import Part, shortened
from vedette.spark.pipeline.models import OperatorsConfig, PatternsConfig, Pipeline, SparkConfig, SubscriptionsConfig
from vedette.spark.pipeline.positions import KeyPath
from vedette.spark.pipeline.sink_config import SINKS
from vedette.spark.pipeline.source_config import SOURCES, JdbcPartition

_Words: TypeAlias = tuple[str, str | None]  # what is wrong, how to mend it
_LONGEST_GUESS = 60  # longer names are not compared with others


def _by_type(models: Iterable[type[Part]]) -> Mapping[str, type[Part]]:
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in models}


_TYPES = {"source": _by_type(SOURCES), "quarantine": _by_type(SINKS), "sinks": _by_type(SINKS)}
_TABLES: Mapping[str, type[Part]] = {
    "subscriptions": SubscriptionsConfig,
    "patterns": PatternsConfig,
    "operators": OperatorsConfig,
    "spark": SparkConfig,
}


class Found(NamedTuple):
    """A mistake and the key it is about; its line comes later."""

    path: KeyPath
    message: str
    hint: str | None = None


def found(error: ErrorDetails) -> Found:
    """One error of pydantic about what a file says."""
    path, model = _placed(error)
    say = _WORDS.get(error["type"])
    if say is None:
        return Found(path, f"{called(path)}: {error['msg']}")
    return Found(path, *say(error, path, model))


def path_of(error: ErrorDetails) -> KeyPath:
    """Where in the file an error is."""
    return _placed(error)[0]


def _placed(error: ErrorDetails) -> tuple[KeyPath, type[Part]]:
    """Where in the file an error is, and the model of the table it is in."""
    loc: KeyPath = error["loc"]
    if error["type"].startswith("union_tag"):
        return (*loc, "type"), Pipeline
    match loc:  # the type of a source or a sink is among the steps, as if it were a key
        case ("source" | "quarantine" as part, str(type_), *rest):
            path, model = (part, *rest), _TYPES[part][type_]
        case ("sinks", int(number), str(type_), *rest):
            path, model = ("sinks", number, *rest), _TYPES["sinks"][type_]
        case (str(part), _, *_) if part in _TABLES:
            path, model = loc, _TABLES[part]
        case _:
            path, model = loc, Pipeline
    if path[:2] == ("source", "partition") and len(path) > 2:
        model = JdbcPartition
    return path, model


def called(path: KeyPath) -> str:
    """A key as messages call it: `path` of sink 2."""
    match path:
        case (str(part), first, *rest) if part in _TABLES or part in ("source", "quarantine"):
            return f"`{_dotted(first, rest)}` of [{part}]"
        case ("sinks", int(number), first, *rest):
            return f"`{_dotted(first, rest)}` of sink {number + 1}"
        case ("sinks", int(number)):
            return f"sink {number + 1}"
        case (str(part),) if part in _TABLES or part in ("source", "quarantine"):
            return f"[{part}]"
        case (first, *rest):
            return f"`{_dotted(first, rest)}`"
    return "the file"


def _dotted(first: str | int, rest: Iterable[str | int]) -> str:
    text = str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
    return shortened(text, 80)


def meant(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that somebody may have meant."""
    if len(name) > _LONGEST_GUESS:
        return None
    plain = {_plain(each): each for each in names}
    near = difflib.get_close_matches(_plain(name), plain, 1, 0.7)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def keys_of(model: type[Part]) -> dict[str, str]:
    """The keys that a table of the file may have, and what each is for."""
    keys = {field.alias or name: field.description or "" for name, field in model.model_fields.items()}
    return {"type": keys.pop("type"), **keys} if "type" in keys else keys


# ---------------------------------------------------------------- one kind of error after the other


def _unknown_key(_: ErrorDetails, path: KeyPath, model: type[Part]) -> _Words:
    name = str(path[-1])
    return f"{called(path)} is not a key that is known here", _unknown_key_hint(name, path, model)


def _unknown_key_hint(name: str, path: KeyPath, model: type[Part]) -> str:
    keys = keys_of(model)
    others = _TYPES.get(str(path[0]), {}) if model is not JdbcPartition else {}
    with_it = [type_ for type_, other in others.items() if name in keys_of(other)]
    if with_it:
        return f"it is a key of the {'type' if len(with_it) == 1 else 'types'} {', '.join(with_it)}"
    near = meant(name, keys)
    if near is not None:
        return f"did you mean `{near}`{', the name of an environment variable' if near.endswith('_env') else ''}?"
    if len(path) > 1 and name in keys_of(Pipeline):
        return "it belongs to the top of the file, before the first [table]"
    for table, other in _TABLES.items():
        if name in keys_of(other):
            return f"it is a key of [{table}]"
    return f"the keys here are {', '.join(keys)}"


def _missing(_: ErrorDetails, path: KeyPath, model: type[Part]) -> _Words:
    name = str(path[-1])
    if path == ("source",):
        return "there is no [source]", f"say where events come from: type = {_quoted(_TYPES['source'])}"
    if path == ("subscriptions",):
        return "there are no [subscriptions]", 'say where they come from, e.g. file = "subscriptions.jsonl"'
    if path == ("sinks",):
        return "there is no sink", 'say where notifications go, in a table [[sinks]], e.g. type = "console"'
    return f"{called(path)} is missing", _first_sentence(keys_of(model).get(name, ""))


def _first_sentence(description: str) -> str | None:
    text = " ".join(description.split())
    text = text.partition(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:] or None


def _no_type(_: ErrorDetails, path: KeyPath, __: type[Part]) -> _Words:
    return f"{called(path)} is missing", f"it is one of {_quoted(_TYPES[str(path[0])])}"


def _unknown_type(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    types = _TYPES[str(path[0])]
    given = error["ctx"]["tag"]
    return f"{called(path)} is {_choice(given)}, which is not known", _guess(given, types)


def _other_choice(error: ErrorDetails, path: KeyPath, model: type[Part]) -> _Words:
    field = next(field for name, field in model.model_fields.items() if (field.alias or name) == path[-1])
    choices = [choice for each in (field.annotation, *get_args(field.annotation)) for choice in get_args(each)]
    texts = [choice for choice in choices if isinstance(choice, str)]
    given = error["input"]
    if not isinstance(given, str):
        return f"{called(path)} is {_kind(given)}, not a text", f"it is one of {_quoted(texts)}"
    return f"{called(path)} is {_choice(given)}", _guess(given, texts)


def _guess(given: str, choices: Iterable[str]) -> str:
    near = meant(given, choices)
    return f'did you mean "{near}"?' if near else f"it is one of {_quoted(choices)}"


def _choice(given: str) -> str:
    return f'"{shortened(given)}"'


def _quoted(choices: Iterable[str]) -> str:
    return ", ".join(f'"{choice}"' for choice in choices)


def _wrong_kind(right: str, hint: str | None = None) -> Callable[[ErrorDetails, KeyPath, type[Part]], _Words]:
    def say(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
        return f"{called(path)} is {_kind(error['input'])}, not {right}", hint

    return say


def _no_table(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    what = f"[[{path[0]}]]" if path[0] == "sinks" else f"[{path[0]}]"
    nested = len(path) > 1 and path[0] != "sinks"
    return f"{called(path)} is {_kind(error['input'])}, not a table", None if nested else f"write it as a table, {what}"


def _no_list(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    hint = "write [[sinks]] over each of them" if path == ("sinks",) else 'write a list, e.g. ["one", "two"]'
    return f"{called(path)} is {_kind(error['input'])}, not a list", hint


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


def _empty(_: ErrorDetails, path: KeyPath, __: type[Part]) -> _Words:
    return f"{called(path)} is empty", "write something there, or leave the key out"


def _too_many(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    hint = "make several pipelines" if path == ("sinks",) else None
    return f"{called(path)} has {len(error['input']):,} elements; {error['ctx']['max_length']:,} are the most", hint


def _too_few(_: ErrorDetails, path: KeyPath, __: type[Part]) -> _Words:
    if path == ("sinks",):
        return "there is no sink", 'say where notifications go, in a table [[sinks]], e.g. type = "console"'
    return f"{called(path)} is an empty list", "write something in it, or leave the key out"


def _out_of_range(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    context = error["ctx"]
    limit = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']:,}"
    return f"{called(path)} is {shortened(str(error['input']), 20)}; it must be {limit}", None


def _no_name(_: ErrorDetails, path: KeyPath, __: type[Part]) -> _Words:
    return f"{called(path)} cannot be a name", "letters, digits, `_`, `-` and `.`, at most 64, no space"


def _own_words(error: ErrorDetails, path: KeyPath, _: type[Part]) -> _Words:
    return f"{called(path)} {error['ctx']['message']}", error["ctx"]["hint"] or None


_WORDS: Mapping[str, Callable[[ErrorDetails, KeyPath, type[Part]], _Words]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "union_tag_not_found": _no_type,
    "union_tag_invalid": _unknown_type,
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
}
