"""Event patterns over JSON documents, as in AWS EventBridge; used by that dialect and by the test `fits`.

parse(text or mapping) -> EventPattern      PatternError (a ValueError) says what is wrong, and where in it
fits(pattern, value) -> bool                the exact reference: for one pattern and one JSON value
Prepared(patterns).fitting(value)           which of many patterns a value fits, by an inverted index
"""

from __future__ import annotations

from vedette.language.documents.document_match import fits, fits_text
from vedette.language.documents.json_reader import PatternError
from vedette.language.documents.nodes import EventPattern
from vedette.language.documents.pattern_index import EventPatternMatcher
from vedette.language.documents.pattern_parser import parse
from vedette.language.documents.pattern_text import text_of

__all__ = ["EventPattern", "EventPatternMatcher", "PatternError", "fits", "fits_text", "parse", "text_of"]
