"""What a regular expression is said to require is in everything it matches."""

from __future__ import annotations

import pytest
import re2
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vedette.filters.probes.text_plans import RequiredLiteral, required_text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("curl/[0-9]+", "curl/"),
        ("abc", "abc"),
        (r"a\.b.*cdef", "cdef"),
        ("ab?c", "a"),
        ("abc*def", "def"),
        ("abcd{2}e", "abc"),
        ("ab+c", "ab"),
        ("ab+?c", "ab"),
        ("(foo|bar)baz", "baz"),
        ("foo|bar", ""),
        ("x[]a]yz", "yz"),
        ("x[[:alpha:]]yz", "yz"),
        ("xyz{,5}y", "xyz"),
        (r"\d+foo\b", "foo"),
        (r"\Qa|b\E", ""),
        ("a(?i)bcd", ""),
        ("(?s)abc", ""),
        ("(?P<n>a(?:b)c)def", "def"),
        ("(?i)HELP me", "help me"),
        ("(?i)Straße and", "e and"),
        ("é+ö", "é"),
        ("", ""),
    ],
)
def test_pieces(pattern: str, text: str) -> None:
    assert required_text(pattern).text == text


def test_a_plain_expression_is_its_own_piece() -> None:
    assert required_text("abc") == RequiredLiteral("abc", True, False)
    assert not required_text("a.c").whole
    assert not required_text("(?i)abc").whole


PLAIN = ["a", "b", "s", "k", "é", "ab", "sk", "1", "_", "K", "ſ", "İ", "{", "}"]
SPECIAL = [
    ".",
    r"\.",
    r"\d",
    r"\w",
    r"\b",
    r"\(",
    r"\pL",
    "$",
    "^",
    "|",
    "(?i)",
    "(?i:k)",
    "(?:ab)",
    "(a|b)",
    "(s(k)?)",
]
CLASSES = ["[ab]", "[^a]", "[]s]", "[[:digit:]k]"]
atoms = st.sampled_from(PLAIN + SPECIAL + CLASSES)
repeats = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0}", "{0,1}", "{1,}", "{,2}", "+?", "*?"])
expressions = st.lists(st.tuples(atoms, repeats).map("".join), max_size=6).map("".join)
texts = st.text("abskKSAB1.é_({}|\u212a\u017fİ2 ", max_size=12)


@given(st.booleans(), expressions, st.lists(texts, max_size=8), st.data())
@example(True, "s", ["\u017f"], None)
@example(True, "k", ["\u212a"], None)
def test_what_matches_contains_it(folded: bool, pattern: str, texts: list[str], data: st.DataObject | None) -> None:
    pattern = f"(?i){pattern}" if folded else pattern
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        assume(False)
    required = required_text(pattern)
    for text in texts:
        found = compiled.search(text) is not None
        inside = required.text in (text.lower() if required.ignore_case else text)
        assert inside or not found
        if required.whole:
            assert found == inside
