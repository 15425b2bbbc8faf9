"""The words of a text, without case, accents and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
