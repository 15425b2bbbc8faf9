"""A row counts only if its answers are Vedette's."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def difference(ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]], said: Collection[int]) -> str | None:
    """What is wrong, in words; None if both say the same of the rules that both were given."""
    if not theirs:
        return "no matches were written down"
    missing = extra = 0
    example = ""
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        wanted, found = {id_ for id_ in one if id_ in said}, set(other)
        missing += len(wanted - found)
        extra += len(found - wanted)
        if not example and wanted != found:
            rule = min(wanted ^ found)
            example = f"event {number}, rule {rule}: {'not found' if rule in wanted else 'found'} by the peer"
    if not missing and not extra:
        return None
    return f"{missing:,} matches are missing and {extra:,} too many in {len(theirs):,} events ({example})"
