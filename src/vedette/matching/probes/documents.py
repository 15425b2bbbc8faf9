"""Event patterns that texts, read as JSON, are held against: all at once, by an index of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vedette.language.normalform import TextProbe
from vedette.matching.once import once
from vedette.matching.probes.holds import Arrays, Holds, frozen, pack, unpack

if TYPE_CHECKING:
    from vedette.language.documents import Prepared


class DocumentTests:
    """Numbered patterns of `fits`; `arrays` is all there is to it."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, tests: Sequence[TextProbe]) -> DocumentTests:
        """Keep the patterns, which are indexed when they are first asked for."""
        text, start = pack([test.pattern.encode() for test in tests])
        return cls({"text": text, "start": start})

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _prepared(self) -> Prepared:
        from vedette.language.documents import Prepared

        return Prepared([text.decode() for text in unpack(self._arrays["text"], self._arrays["start"])])

    def holds(self, values: Sequence[bytes]) -> Holds:
        """The patterns that each of the distinct values fits."""
        found = [self._prepared.fitting_text(value.decode()) for value in values]
        value = np.repeat(np.arange(len(found), dtype=np.int32), [len(numbers) for numbers in found])
        return Holds(value, np.array([number for numbers in found for number in numbers], np.int32))
