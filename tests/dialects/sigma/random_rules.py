"""Rules and events that meet often: few fields, short texts of few letters."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.dialects.sigma.asking import rule

FIELDS = ("f", "g", "h")
_TEXTS = st.text("abA1.%_", min_size=1, max_size=4)
_WILD = st.text("abA*?", min_size=1, max_size=4)
_NUMBERS = st.integers(-2, 12) | st.sampled_from([0.5, 1.5, 2.25])
_ADDRESSES = st.sampled_from(["10.0.0.1", "10.1.2.3", "192.168.0.9", "8.8.8.8"])
_NETWORKS = st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/24", "8.8.0.0/16"])
_EXPRESSIONS = st.sampled_from(["a+b", "^a", "b$", "[ab]{2}", "a|1", "A.", r"\d"])

VALUES = st.none() | _TEXTS | _NUMBERS | _ADDRESSES | st.booleans() | st.just("")
EVENTS = st.dictionaries(st.sampled_from(FIELDS), VALUES)
# For rules that compare no fields: lists are compared with each other as a whole.
EVENTS_WITH_LISTS = st.dictionaries(st.sampled_from(FIELDS), VALUES | st.lists(VALUES, max_size=3))


def _several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | st.lists(values, min_size=1, max_size=3)


def _fields(*, nulls: bool, order: bool, truths: bool, references: bool) -> st.SearchStrategy[tuple[str, Any]]:
    """(modifiers, values)."""
    plain = _TEXTS | _WILD | _NUMBERS | (st.booleans() if truths else st.nothing())
    choices = [
        st.tuples(st.sampled_from(["", "|neq"]), _several(plain)),
        st.tuples(
            st.sampled_from(["|contains", "|startswith", "|endswith", "|contains|all", "|contains|neq"]),
            _several(_TEXTS | _WILD),
        ),
        st.tuples(st.sampled_from(["|cased", "|contains|cased"]), _several(_TEXTS)),
        st.tuples(st.sampled_from(["|re", "|re|i", "|re|all"]), _several(_EXPRESSIONS)),
        st.tuples(st.just("|cidr"), _several(_NETWORKS)),
        st.tuples(st.just("|exists"), st.booleans()),
    ]
    if references:
        choices.append(st.tuples(st.just("|fieldref"), st.sampled_from(FIELDS)))
    if nulls:
        choices.append(st.tuples(st.just(""), st.none() | st.lists(st.none() | _TEXTS, max_size=2)))
    if order:
        choices.append(st.tuples(st.sampled_from(["|gt", "|lt"]), _NUMBERS))
    return st.one_of(choices)


@st.composite
def rules(
    draw: st.DrawFn,
    *,
    keywords: bool = True,
    nulls: bool = True,
    order: bool = True,
    truths: bool = True,
    references: bool = True,
) -> dict[str, Any]:
    """A rule with up to four detections and a condition over all of them."""
    fields = _fields(nulls=nulls, order=order, truths=truths, references=references)

    def mapping() -> dict[str, Any]:
        made = {}
        for _ in range(draw(st.integers(1, 3))):
            modifiers, values = draw(fields)
            made[draw(st.sampled_from(FIELDS)) + modifiers] = values
        return made

    detection: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        name = f"{draw(st.sampled_from(['selection', 'filter']))}_{number}"
        kind = draw(st.sampled_from(["mapping", "mapping", "list", "keywords" if keywords else "list"]))
        if kind == "mapping":
            detection[name] = mapping()
        elif kind == "list":
            detection[name] = [mapping() for _ in range(draw(st.integers(1, 2)))]
        else:
            detection[name] = draw(st.lists(_TEXTS | _WILD, min_size=1, max_size=2))
    detection["condition"] = draw(_conditions(tuple(detection)))
    return rule(detection)


def _conditions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    selectors = [f"{count} of {which}" for count in ("1", "all") for which in ("them", f"{names[0].split('_')[0]}_*")]
    leaf = st.sampled_from([*names, *selectors])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("not {}".format, inner.map(_grouped)),
            st.builds("{} and {}".format, inner.map(_grouped), inner.map(_grouped)),
            st.builds("{} or {}".format, inner.map(_grouped), inner.map(_grouped)),
        ),
        max_leaves=5,
    )


def _grouped(condition: str) -> str:
    return f"({condition})" if " " in condition and not condition.startswith(("1 of", "all of")) else condition
