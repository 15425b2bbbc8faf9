"""The operators `mentions` and `similar`: phrases in a text, and the similarity of texts.

mentions(title, 'used bicycle', 'e-bike')           one of the phrases is in it, as whole words
    similar(title, 'used bicycle', ?s) and ?s > 0.8     how much the words of both agree, from 0 to 1

Case, accents and punctuation do not matter (`words`). Words are separated by spaces and punctuation: in a language
that writes none, such as Chinese, a phrase is found only between them.

`similar` is RapidFuzz's `token_set_ratio`, because a subscription names what is sought in a few words, and an event
has that and much more: the order of words and the words that only one side has do not count against common ones.
So 1.0 means that all words of one side are among those of the other, and a misspelt word is not as good as the word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.operators.operator import Operator, operator
from vedette.operators.shipped.table_settings import OperatorSettings, needs
from vedette.schema.arrays import is_text, is_text_dictionary, plain

_WORD = re.compile(r"[^\W_]+")
_KEPT = 8192  # texts: many filters ask about the same ones
_LONG = 4096  # characters: what is longer is not kept


def words(text: str) -> str:
    """The words of a text with one space between them: `"Café-Crème!"` is `"cafe creme"`.

    Characters are decomposed (Unicode's NFKD), so that `ﬁ` is `fi`, and marks are left out.
    """
    return _words(text) if len(text) > _LONG else _kept_words(text)


def _words(text: str) -> str:
    if text.isascii():
        return " ".join(_WORD.findall(text.lower()))
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return " ".join(_WORD.findall("".join(each for each in parts if not unicodedata.combining(each))))


_kept_words = lru_cache(_KEPT)(_words)


def of_distinct(
    texts: pa.Array | pa.ChunkedArray | str | None, size: int, answer: Callable[[list[str]], NDArray[Any]]
) -> pa.Array:
    """Apply a function to the words of each distinct text; null where there is none.

    `texts` is an array, or one text for all of `size` events.
    """
    if texts is None or isinstance(texts, str):
        texts = pa.repeat(pa.scalar(texts, pa.string()), size)
    array = plain(texts)
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    if not is_text(array.type) and not is_text_dictionary(array.type):
        raise TypeError(f"a text is needed, and the attribute is of type {array.type}")
    encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = encoded.dictionary.to_pylist()
    there = np.array([each is not None for each in distinct] + [False], np.bool_)
    # The answer behind the last one is for texts that are not there; it is masked.
    answers = answer([*(words(each or "") for each in distinct), ""])
    return pa.array(answers[codes], mask=~there[codes])


def operators(settings: Mapping[str, Any]) -> Iterable[Operator]:
    """`mentions` and `similar`, which have no settings."""
    OperatorSettings(settings, "text").end()
    return [mentions, similar]


def _check_mentions(given: tuple[Any, ...]) -> None:
    for phrase in given[1:]:
        _check_phrase(phrase, "mentions")


def _check_similar(given: tuple[Any, ...]) -> None:
    needs("rapidfuzz", "similar")
    _check_phrase(given[1], "similar")


def _check_phrase(phrase: object, call: str) -> None:
    if not isinstance(phrase, str):
        raise ValueError(f"what {call} looks for is a constant text: {call}(title, 'used bicycle')")
    if not words(phrase):
        raise ValueError(f"{phrase!r} has no word that {call} could look for")


@operator(batch=True, reads=(), time_limit=None, check=_check_mentions)
def mentions(events: Any, text: Any, phrase: str, *others: str) -> Any:
    """Whether one of the phrases is in each text."""
    sought = [f" {words(each)} " for each in (phrase, *others)]

    def found(texts: list[str]) -> NDArray[Any]:
        spaced = [f" {each} " for each in texts]
        return np.array([any(each in one for each in sought) for one in spaced], np.bool_)

    return of_distinct(text, events.num_rows, found)


@operator(outputs=1, batch=True, reads=(), time_limit=None, check=_check_similar)
def similar(events: Any, text: Any, like: str) -> Any:
    """How far the words of each text agree with those of the other one."""
    from rapidfuzz import fuzz, process

    sought = words(like)

    def scored(texts: list[str]) -> NDArray[Any]:
        scores: NDArray[np.float64] = process.cdist([sought], texts, scorer=fuzz.token_set_ratio, dtype=np.float64)[0]
        return scores / 100

    return of_distinct(text, events.num_rows, scored)
