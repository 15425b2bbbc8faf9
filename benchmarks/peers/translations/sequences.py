"""A sequence in the languages of engines for patterns."""

from __future__ import annotations

import json

from benchmarks.peers.sequence_cases import WINDOW_MS, Sequence


def vedette(sequence: Sequence) -> str:
    """In streams by user."""
    steps = (" ; " if sequence.loose else " , ").join(f"[kind = {kind}]" for kind in sequence.kinds)
    return f"{steps} by user" + (f" within {WINDOW_MS} ms" if sequence.loose else "")


def esper(sequence: Sequence) -> str:
    """A statement of EPL without its head, which gives the event that completes it as `completed`."""
    names = [f"s{place}" for place in range(len(sequence.kinds))]
    last = names[-1]
    if not sequence.loose:
        defined = ", ".join(f"{n} as {n}.kind = {kind}" for n, kind in zip(names, sequence.kinds, strict=True))
        return (
            f"select * from Happened match_recognize (partition by user measures {last}.number as completed "
            f"all matches after match skip to next row pattern ({' '.join(names)}) define {defined})"
        )
    first, *rest = zip(names, sequence.kinds, strict=True)
    later = " -> ".join(f"every {n}=Happened(kind = {kind}, user = {first[0]}.user)" for n, kind in rest)
    return (
        f"select {last}.number as completed from pattern [every {first[0]}=Happened(kind = {first[1]}) -> "
        f"(({later}) where timer:within({WINDOW_MS} msec))]"
    )


def flink(sequence: Sequence) -> str:
    """What the driver makes a pattern of."""
    return json.dumps({"kinds": sequence.kinds, "window_ms": WINDOW_MS if sequence.loose else None})
