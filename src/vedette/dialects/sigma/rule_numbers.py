"""Restores the exact numbers of rules: pySigma rounds integers that no float equals to floats.

It keeps integers that a float equals, so a float without a fraction was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sigma.rule import SigmaDetection
from sigma.types import SigmaNumber

from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature


def restore_integers(detections: Mapping[str, SigmaDetection], written: Mapping[str, Any]) -> None:
    """Restore the numbers of detections from the mapping that they were read from."""
    for name, detection in detections.items():
        _restore(detection, written[name])


def _restore(detection: SigmaDetection, written: Any) -> None:
    """As `restore_integers`, for one detection: a mapping, a list of detections, or values."""
    items = detection.detection_items
    if isinstance(written, Mapping):
        parts = list(written.values())
    elif isinstance(items[0], SigmaDetection):
        parts = list(written)
    else:
        parts = [written]
    for item, part in zip(items, parts, strict=True):
        if isinstance(item, SigmaDetection):
            _restore(item, part)
            continue
        values = item.original_value or ()  # modifiers keep the number object
        for value, number in zip(values, part if isinstance(part, list) else [part], strict=True):
            if isinstance(value, SigmaNumber) and isinstance(number, int):
                value.number = number


def exact(value: SigmaNumber) -> int | float:
    """The number that is meant; Unsayable if a pipeline put it there, and pySigma rounded it."""
    number = value.number
    if isinstance(number, float) and number.is_integer():
        raise UnsupportedSigmaFeature(
            f"a pipeline's integer, which was rounded to {int(number)}: integers beyond 2**53 are not exact there",
            "write it as a text, or in the rule",
        )
    return number
