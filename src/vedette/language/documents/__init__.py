"""Event patterns over JSON documents: the dialect of AWS EventBridge, and what the test `fits` asks.

parse(text or mapping) -> EventPattern      PatternError (a ValueError) says what is wrong, and where in it
fits(pattern, value) -> bool                the exact, obvious way: for one pattern and one JSON value
Prepared(patterns).fitting(value)           which of many patterns a value fits, by an inverted index
"""

from __future__ import annotations

from vedette.language.documents.fitting import fits, fits_text
from vedette.language.documents.nodes import EventPattern
from vedette.language.documents.parsing import parse
from vedette.language.documents.prepared import Prepared
from vedette.language.documents.reading import PatternError
from vedette.language.documents.writing import text_of

__all__ = ["EventPattern", "PatternError", "Prepared", "fits", "fits_text", "parse", "text_of"]
