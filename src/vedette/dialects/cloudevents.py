"""The dialect of the CloudEvents Subscriptions API: filters exact, prefix, suffix, all, any, not and sql, as JSON.

    {"all": [{"prefix": {"type": "com.github."}}, {"not": {"exact": {"subject": "test"}}}, {"sql": "hop < ttl"}]}

A rule is one filter, or a whole subscription object: its `filters`, all of which have to be true, its `source` and its
`types`. A filter is true or false, never unknown: a test of an attribute that is missing is false, and its negation
true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.dialects.cesql.conditions import all_of, among, any_of, equal, is_text, text, untrue
from vedette.dialects.cesql.translate import translate as translate_expression
from vedette.dialects.cesql.values import NO_ATTRIBUTES
from vedette.errors import DialectError, LimitError
from vedette.language.ast import Filter
from vedette.language.hints import shortened, similar

NESTING: Final = 64  # filters inside one another
_ATTRIBUTE: Final = re.compile(r"[a-z0-9]+\Z")
_SUBSCRIPTION: Final = frozenset(
    {"id", "source", "types", "filters", "config", "sink", "sinkcredential", "protocol", "protocolsettings"}
)


def translate(rule: str | Mapping[str, Any]) -> Filter:
    """Translate a filter; DialectError says which part of it is wrong."""
    said = _read(rule) if isinstance(rule, str) else rule
    if isinstance(said, list):
        return _together(said, "", _NestingContext())
    if isinstance(said, Mapping) and not said.keys().isdisjoint(_SUBSCRIPTION):
        return _subscription(said)
    return _filter(said, "", _NestingContext())


def _read(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        hint = 'a filter is JSON: {"exact": {"type": "com.example.created"}}'
        raise DialectError(f"not JSON: {error.msg}", text=text, start=error.pos, hint=hint) from None
    except RecursionError:
        raise LimitError(f"more than {NESTING} filters inside one another") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise DialectError(f"{twice!r} stands twice in one object", hint="put each into a filter of its own, in 'all'")
    return made


# ---------------------------------------------------------------- one filter


class _NestingContext(NamedTuple):
    """The nesting depth of a filter, and whether it is negated."""

    depth: int = 0
    negated: bool = False

    def deeper(self, *, negated: bool = False) -> _NestingContext:
        return _NestingContext(self.depth + 1, self.negated is not negated)

    def all(self, parts: Iterable[Filter]) -> Filter:
        """The AND of parts (the OR if negated; the parts are negated already)."""
        return any_of(*parts) if self.negated else all_of(*parts)


def _filter(said: Any, path: str, inside: _NestingContext) -> Filter:
    if inside.depth > NESTING:
        raise LimitError(f"more than {NESTING} filters inside one another", hint="split it into several subscriptions")
    if not isinstance(said, Mapping):
        raise _wrong(path, f"a filter is an object, not {_called(said)}", 'such as {"exact": {"type": "…"}}')
    if len(said) != 1:
        names = ", ".join(repr(str(name)) for name in said)
        what = (
            f"a filter has one dialect, and this one has {len(said)}: {names}" if said else "a filter without a dialect"
        )
        raise _wrong(path, what, 'several filters stand in a list: {"all": [{"exact": {…}}, {"prefix": {…}}]}')
    ((name, given),) = said.items()
    dialect = _DIALECTS.get(name)
    if dialect is None:
        near = similar(str(name), _DIALECTS)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, _DIALECTS))}"
        raise _wrong(path, f"the filter dialect {str(name)!r} is not known", hint)
    return dialect(given, _below(path, name), inside)


def _compared(test: Callable[[str, str], Filter]) -> _Dialect:
    """A filter dialect that compares attributes with texts, all of which must match."""

    def dialect(given: Any, path: str, inside: _NestingContext) -> Filter:
        if not isinstance(given, Mapping):
            raise _wrong(path, f"attributes and texts are expected, not {_called(given)}", 'such as {"type": "…"}')
        pairs = [(_name(name, path), _value(value, _below(path, name))) for name, value in given.items()]
        tests = [test(name, value) for name, value in pairs]
        return inside.all(untrue(each) if inside.negated else each for each in tests)

    return dialect


def _name(name: Any, path: str) -> str:
    if not isinstance(name, str) or not name:
        raise _wrong(path, "the name of an attribute is empty" if name == "" else f"{name!r} is no name")
    if name in NO_ATTRIBUTES:
        raise _wrong(path, f"{name!r} is no attribute", "filters look at context attributes only")
    if not _ATTRIBUTE.match(name):
        lower = re.sub("[^a-z0-9]", "", name.lower())
        hint = "they have lower-case letters and digits only" + (f": {lower!r}" if lower else "")
        raise _wrong(path, f"{shortened(name)!r} cannot be the name of an attribute", hint)
    return name


def _value(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong(path, f"a text is expected, not {_called(value)}", 'attributes are compared as texts: "5", "true"')
    if not value:
        raise _wrong(path, "the text is empty")
    return value


def _all(given: Any, path: str, inside: _NestingContext) -> Filter:
    return _together(_listed(given, path), path, inside)


def _together(filters: Sequence[Any], path: str, inside: _NestingContext) -> Filter:
    return inside.all([_filter(each, f"{path}[{place}]", inside.deeper()) for place, each in enumerate(filters)])


def _any(given: Any, path: str, inside: _NestingContext) -> Filter:
    parts = [_filter(each, f"{path}[{place}]", inside.deeper()) for place, each in enumerate(_listed(given, path))]
    return all_of(*parts) if inside.negated else any_of(*parts)


def _listed(given: Any, path: str) -> list[Any]:
    if not isinstance(given, list):
        raise _wrong(path, f"a list of filters is expected, not {_called(given)}")
    if not given:
        raise _wrong(path, "there has to be at least one filter in the list")
    return given


def _not(given: Any, path: str, inside: _NestingContext) -> Filter:
    return _filter(given, path, inside.deeper(negated=True))


def _sql(given: Any, path: str, inside: _NestingContext) -> Filter:
    if not isinstance(given, str):
        raise _wrong(path, f"an expression of CloudEvents SQL is expected, not {_called(given)}")
    try:
        made = translate_expression(given)
    except (DialectError, LimitError) as error:
        raise type(error)(
            f"{path}: {error.message}", text=error.text, start=error.start, end=error.end, hint=error.hint
        ) from None
    return untrue(made) if inside.negated else made


_Dialect: TypeAlias = Callable[[Any, str, _NestingContext], Filter]
_DIALECTS: Final[Mapping[str, _Dialect]] = {
    "exact": _compared(lambda name, value: equal(text(name), value)),
    "prefix": _compared(lambda name, value: is_text("startswith", name, value)),
    "suffix": _compared(lambda name, value: is_text("endswith", name, value)),
    "all": _all,
    "any": _any,
    "not": _not,
    "sql": _sql,
}


# ---------------------------------------------------------------- a whole subscription


def _subscription(said: Mapping[str, Any]) -> Filter:
    for key in said:
        if key not in _SUBSCRIPTION:
            near = similar(str(key), _SUBSCRIPTION)
            hint = f"did you mean {near!r}?" if near else "filters stand in the list 'filters'"
            raise _wrong("", f"a subscription has no {str(key)!r}", hint)
    parts: list[Filter] = []
    if said.get("source") is not None:
        parts.append(equal(text("source"), _value(said["source"], "source")))
    if said.get("types") is not None:
        types = said["types"]
        if not isinstance(types, list):
            raise _wrong("types", f"a list of texts is expected, not {_called(types)}")
        if not types:
            raise _wrong("types", "there has to be at least one type in the list")
        values = [_value(each, f"types[{place}]") for place, each in enumerate(types)]
        parts.append(among(text("type"), dict.fromkeys(values)))
    filters = said.get("filters")
    if filters is not None and not isinstance(filters, list):
        raise _wrong("filters", f"a list of filters is expected, not {_called(filters)}")
    return all_of(*parts, _together(filters or [], "filters", _NestingContext()))


def _below(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _wrong(path: str, what: str, hint: str | None = None) -> DialectError:
    return DialectError(f"{path}: {what}" if path else what, hint=hint)


_CALLED: Final = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}


def _called(value: Any) -> str:
    return _CALLED.get(type(value), f"the number {value}" if isinstance(value, int | float) else type(value).__name__)
