"""Fuzzing: whatever the text, it is parsed or refused with a FilterError."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.cases import pairs, refusals
from tests.seeds import EXAMPLES
from vedette.errors import FilterError
from vedette.language.lexer import CONTEXTUAL, RESERVED
from vedette.language.parser import parse
from vedette.language.render import render

SEEDS = [text for name in ("filters.txt", "patterns.txt") for text, _ in pairs(name)]
SEEDS += [text for text, _ in refusals("errors.txt") if text]
WORDS = [
    *sorted(RESERVED | CONTEXTUAL),
    *"()[]{},;:@+-*/%=<>.?$!&|'\"`\\#~",
    *("..", "<=>", "!=", "--", "/*", "*/", "?x", "$y", "'a'", "'10.0.0.0/8'", "1", "2.5", "km", "min", "a", "b.c"),
    *("`q r`", "'POLYGON((0 0, 1 0, 1 1, 0 0))'", "a:[", "1e999", "\0", "é", "\n"),
]


def survives(text: str) -> None:
    """Parsed to something that renders, or refused with a place inside the text."""
    refused: FilterError | None = None
    try:
        found = parse(text)
    except FilterError as error:
        refused = error
    if refused is None:
        assert parse(render(found)) == found
    else:
        assert 0 <= refused.start <= len(text)
        assert str(refused)


@given(st.binary(max_size=200))
@settings(max_examples=3 * EXAMPLES, deadline=None)
def test_bytes(raw: bytes) -> None:
    survives(raw.decode("latin-1"))
    survives(raw.decode("utf-8", errors="surrogateescape"))


@given(st.lists(st.sampled_from(WORDS), max_size=20), st.sampled_from(["", " "]))
@settings(max_examples=6 * EXAMPLES, deadline=None)
def test_words_in_any_order(words: list[str], between: str) -> None:
    survives(between.join(words))


@given(st.data())
@settings(max_examples=6 * EXAMPLES, deadline=None)
def test_valid_texts_with_changes(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        put = data.draw(st.one_of(st.just(""), st.sampled_from(WORDS), st.text(max_size=3), st.just(text[:start])))
        text = text[:start] + put + text[end:]
    survives(text)
