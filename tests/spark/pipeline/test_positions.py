"""The line of a key, against documents whose every value is the number of its own line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from vedette.spark.pipeline.positions import KeyPath, Positions


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, int]]:
    """All numbers in a document and the paths to them."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from leaves(each, (*path, number))
    elif type(value) is int:
        yield path, value


def numbered(text: str) -> str:
    """Every `@` as the number of its line."""
    return "\n".join(line.replace("@", str(number)) for number, line in enumerate(text.split("\n"), 1))


def agree(text: str) -> int:
    """Every number of the document stands on its line; how many there are."""
    document = numbered(text)
    positions = Positions(document)
    found = list(leaves(tomllib.loads(document)))
    for path, line in found:
        assert positions.line(path) == line, (path, document)
    return len(found)


DOCUMENTS = {
    "keys": 'a = @\n\n# a comment with [brackets] and = signs\nb=@ # "not a string"\n  c   =   @\n',
    "tables": "[a]\nx = @\n[ b . c ] # tail\nx = @\n[a.d]\nx = @\n",
    "arrays of tables": "[[s]]\nx = @\n[s.o]\ny = @\n[[s]]\nx = @\n[[s.t]]\nz = @\n[[s.t]]\nz = @\n[s.t.u]\nv = @\n",
    "dotted": "a.b.c = @\na.b.\"d.e\" = @\n'q' . r = @\n",
    "quoted": '"a b" = @\n"\\u00e9\\"]" = @\n\'c\\d\' = @\n["x.y"."z]"]\n"" = @\n',
    "inline": "a = { b = @, c.d = @, e = [ { f = @ }, { f = @ } ], g = {} }\nh = @\n",
    "lists": "a = [\n  @, # one\n  @,\n\n  [ @, [\n @ ] ],\n  { x = @ },\n] # end\nb = [] \nc = @\nd = [@]\n",
    "long basic strings": 'a = """\n[x]\ny = 1\n\\""" "" \\\\"""\nb = @\nc = """x"""""\nd = @\n',
    "long literal strings": "a = '''\n# \"no\n[x]\n'''''\nb = @\nc = @\n",
    "strings": 'a = "x # y \\" ["\nb = \'c:\\\'\nc = @\nd = ["]", \']\', """\n]""", @]\ne = @\n',
    "plain values": "a = 1979-05-27 07:32:00\nb = +1e3\nc = @\nd = [true, 07:32:00, inf, @]\ne = @",
    "windows": "a = @\r\n[b]\r\nc = @\r\n",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_value_is_on_its_line(name: str) -> None:
    assert agree(DOCUMENTS[name]) >= 2


def test_a_key_that_is_not_there_is_where_its_table_is() -> None:
    positions = Positions("a = 1\n\n[b]\nc = 1\n\n[[s]]\nx = 1\n[[s]]\n")
    assert positions.line(("b", "missing", 3)) == 3
    assert positions.line(("s", 1, "missing")) == 8
    assert positions.line(("s", 7)) == 6
    assert positions.line(("nowhere",)) == 1
    assert positions.line(()) == 1


# ---------------------------------------------------------------- random documents

_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n@"), max_size=4)
_STRINGS = st.text(st.sampled_from("ab[]{}=,.#'\"\\ \t\n\u00e9"), max_size=8)
_GAPS = st.sampled_from(["", " ", "  ", "\t"])
_BREAKS = st.sampled_from(["", " ", "\n", " # [x] = \"'{\n", "\n\n\t"])


def _escaped(text: str, *, keep_breaks: bool = False) -> str:
    special = {'"': '\\"', "\\": "\\\\", "\n": "\n" if keep_breaks else "\\n", "\t": "\\t"}
    return "".join(special.get(sign, sign if sign.isprintable() else f"\\U{ord(sign):08X}") for sign in text)


@st.composite
def key(draw: st.DrawFn, name: str) -> str:
    """One way to write a name as a key."""
    ways = [f'"{_escaped(name)}"']
    if name and all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in name):
        ways.append(name)
    if "'" not in name and name.isprintable():
        ways.append(f"'{name}'")
    return draw(st.sampled_from(ways))


@st.composite
def string(draw: st.DrawFn) -> str:
    """One way to write a text."""
    text = draw(_STRINGS)
    ways = [f'"{_escaped(text)}"', f'"""{_escaped(text, keep_breaks=True)}"""']
    if '"' in text and "\\" not in text and '""' not in text:
        ways.append(f'"""{text}"""')  # quotes as they are, up to two at the end
    if "'" not in text:
        ways += [f"'''{text}'''", *([f"'{text}'"] if "\n" not in text else [])]
    return draw(st.sampled_from(ways))


@st.composite
def value(draw: st.DrawFn, depth: int = 0, *, one_line: bool = False) -> str:
    """`@`, a text, a date, a list or an inline table."""
    kind = draw(st.integers(0, 5 if depth < 3 else 2))
    if kind in (0, 5):
        return "@"
    if kind == 1:
        text = draw(string())
        return "'-'" if one_line and "\n" in text else text
    if kind == 2:
        return draw(st.sampled_from(["true", "1979-05-27 07:32:00", "-1.5e3", "nan"]))
    gaps = _GAPS if one_line else _BREAKS
    if kind == 3:
        items = draw(st.lists(value(depth + 1, one_line=one_line), max_size=3))
        parts = [draw(gaps) + item + draw(gaps) for item in items]
        return "[" + ",".join(parts) + ("," if bool(parts) and draw(st.booleans()) else "") + draw(gaps) + "]"
    names = draw(st.lists(_NAMES, max_size=3, unique=True))
    pairs = [f"{draw(key(name))}{draw(_GAPS)}={draw(_GAPS)}{draw(value(depth + 1))}" for name in names]
    return "{ " + ", ".join(pairs) + " }"


@st.composite
def document(draw: st.DrawFn) -> str:
    """Keys, dotted keys, tables, arrays of tables and tables in them."""
    lines: list[str] = []

    def pairs() -> None:
        for name in draw(st.lists(_NAMES, max_size=3, unique=True)):
            inner = draw(st.lists(_NAMES, max_size=2))
            path = f"{draw(_GAPS)}.{draw(_GAPS)}".join(draw(key(each)) for each in [name, *inner])
            lines.append(f"{draw(_GAPS)}{path}{draw(_GAPS)}={draw(_GAPS)}{draw(value())}{draw(_GAPS)}")
            lines.extend(draw(st.sampled_from([[], [""], ["# a = [ '''"]])))

    pairs()
    for number, name in enumerate(draw(st.lists(_NAMES, max_size=4, unique=True))):
        name = f"t{number}{name}"  # no name of the pairs before
        written = draw(key(name))
        if draw(st.booleans()):
            lines.append(f"[{draw(_GAPS)}{written}{draw(_GAPS)}]{draw(_GAPS)}# tail")
            pairs()
            continue
        for _ in range(draw(st.integers(1, 3))):
            lines.append(f"[[{draw(_GAPS)}{written}{draw(_GAPS)}]]")
            pairs()
            if draw(st.booleans()):
                lines.append(f"[{written} . sub{number}.{draw(key(draw(_NAMES)))}]")
                pairs()
    return "\n".join(lines)


@given(document())
def test_random_documents(text: str) -> None:
    try:
        tomllib.loads(numbered(text))
    except tomllib.TOMLDecodeError:  # a name that was taken
        reject()
    agree(text)
