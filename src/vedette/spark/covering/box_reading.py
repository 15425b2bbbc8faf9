"""Reads subscriptions into boxes, in the workers; each batch of texts has a space of its own.

Dimensions and texts have the numbers of that space. With the boxes travels what the driver needs to find their numbers
in the space that all subscriptions share: the texts that come first in a batch, and which subscriptions name a
dimension first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from vedette.covering.boxes import MOST_BOXES, Box, BoxSpace, Dimension, NoBoxes
from vedette.errors import InputError, NotSupported
from vedette.filters.templates import Templates
from vedette.language.normalform import NormalForm
from vedette.schema.schema import Schema

# `own` is what the driver reads itself, as it names a dimension first, or has no boxes, or some in an order of its own.
COLUMNS = (
    "number bigint, batch bigint, own boolean, boxes array<int>, dimension array<int>, low array<bigint>, "
    "high array<bigint>, text_dimension array<int>, text_number array<bigint>, text array<binary>"
)
_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("batch", pa.int64()),
        ("own", pa.bool_()),
        ("boxes", pa.list_(pa.int32())),  # entries of each
        ("dimension", pa.list_(pa.int32())),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
        ("text_dimension", pa.list_(pa.int32())),  # texts that come first here
        ("text_number", pa.list_(pa.int64())),
        ("text", pa.list_(pa.binary())),
    ]
)


def reading(schema: Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a worker runs: rows of `number` and `when` -> rows of COLUMNS; no `when`, no boxes."""

    def boxes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        templates = Templates(schema, MOST_BOXES)
        for batch in batches:
            numbers, texts = (column.to_pylist() for column in batch.columns)
            if numbers:
                yield from _table(numbers, read(texts, templates)).to_batches()

    return boxes


@dataclass(slots=True)
class TextBoxes:
    """The boxes of one text."""

    own: bool = True
    boxes: list[Box] = field(default_factory=list)
    texts: list[tuple[int, int, bytes]] = field(default_factory=list)  # dimension, number, text


def read(texts: Sequence[str | None], templates: Templates) -> list[TextBoxes]:
    """Read all texts of one batch."""
    space = _FirstTextSpace()
    forms: list[NormalForm | None] = []
    found: list[TextBoxes] = []
    # First all texts are numbered: later ones would move those of boxes that are made already.
    for text in texts:
        forms.append(_labelled(text, templates, space))
        found.append(TextBoxes(texts=[(dimension, 0, key) for dimension, key in space.taken()]))
    space.named.clear()
    for form, one in zip(forms, found, strict=True):
        one.texts = [(dimension, space.number_of(dimension, key), key) for dimension, _, key in one.texts]
        if form is None:
            continue
        before = len(space.named)
        try:
            one.boxes = space.labelled_boxes(form)
        except NoBoxes:
            continue
        one.own = several_tests(form) or space.first_in_box(one.boxes) or len(space.named) > before
    return found


class _FirstTextSpace(BoxSpace):
    """A space that records which texts and dimensions came first."""

    def __init__(self) -> None:
        super().__init__()
        self.named: set[int] = set()
        self._in_box: set[int] = set()
        self._taken: list[tuple[int, bytes]] = []
        self._known: set[tuple[int, bytes]] = set()

    def number(self, dimension: Dimension) -> int:
        found = super().number(dimension)
        self.named.add(found)
        return found

    def take_up(self, dimension: int, keys: Sequence[bytes]) -> None:
        for key in keys:
            if (dimension, key) not in self._known:
                self._known.add((dimension, key))
                self._taken.append((dimension, key))
        super().take_up(dimension, keys)

    def taken(self) -> list[tuple[int, bytes]]:
        """The texts that came since the last call."""
        taken, self._taken = self._taken, []
        return taken

    def first_in_box(self, boxes: Sequence[Box]) -> bool:
        """Whether a dimension of these boxes was in no box before."""
        before = len(self._in_box)
        for box in boxes:
            self._in_box.update(box.dimensions)
        return len(self._in_box) > before


def _labelled(text: str | None, templates: Templates, space: BoxSpace) -> NormalForm | None:
    """The normal form of a text, with its texts numbered; None if it has no boxes, or errors (the driver reports)."""
    if text is None:
        return None
    try:
        form = templates.normal_form(text)
        space.label(form)
    except (InputError, NotSupported):  # NoBoxes among them
        return None
    return form


def several_tests(form: NormalForm) -> bool:
    """Whether some probe has several tests, whose order depends on their numbers."""
    return any(len(probe.tests) > 1 for one in form.conjunctions for _, probe in one.probes)


def _table(numbers: Sequence[int], found: Sequence[TextBoxes]) -> pa.Table:
    first = numbers[0]
    columns = [
        numbers,
        [first] * len(numbers),
        [one.own for one in found],
        [[len(box.dimensions) for box in one.boxes] for one in found],
        [[each for box in one.boxes for each in box.dimensions] for one in found],
        [[each for box in one.boxes for each in box.low] for one in found],
        [[each for box in one.boxes for each in box.high] for one in found],
        *([[text[place] for text in one.texts] for one in found] for place in range(3)),
    ]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA)
