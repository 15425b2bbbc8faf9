"""Tests texts, read as JSON, against event patterns: against all at once, with an index of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vedette.filters.probes.test_pairs import Arrays, PairsOfTests, frozen, pack, unpack
from vedette.language.normalform import TextProbe
from vedette.lazy import once

if TYPE_CHECKING:
    from vedette.language.documents import EventPatternMatcher


class DocumentTests:
    """Numbered patterns of `fits`, stored in `arrays` alone."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, tests: Sequence[TextProbe]) -> DocumentTests:
        """Store the patterns; they are indexed when first needed."""
        text, start = pack([test.pattern.encode() for test in tests])
        return cls({"text": text, "start": start})

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _prepared(self) -> EventPatternMatcher:
        from vedette.language.documents import EventPatternMatcher

        return EventPatternMatcher([text.decode() for text in unpack(self._arrays["text"], self._arrays["start"])])

    def holds(self, values: Sequence[bytes]) -> PairsOfTests:
        """The patterns that each distinct value fits."""
        found = [self._prepared.fitting_text(value.decode()) for value in values]
        value = np.repeat(np.arange(len(found), dtype=np.int32), [len(numbers) for numbers in found])
        return PairsOfTests(value, np.array([number for numbers in found for number in numbers], np.int32))
