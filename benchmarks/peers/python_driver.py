"""How peers in Python are driven: `python -m benchmarks.peers.<peer>.driver FOLDER`."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.protocol import CASE, EVENTS, Asked, Figures, read_rules, write_matches


class Peer(Protocol):
    """One engine; None where it has no such way."""

    version: str

    def build(self, rules: Sequence[tuple[int, str]], asked: Asked, late: Callable[[], bool]) -> bool:
        """Take all rules; False if it became too late."""
        ...

    def parse(self, line: bytes) -> Any:
        """One event in the form that `match` takes."""
        ...

    def match(self, event: Any) -> list[int] | list[str]:
        """The ids of its rules."""
        ...


class BatchPeer(Peer, Protocol):
    """One that has a way for many events at once."""

    def parse_all(self, text: bytes) -> Any:
        """JSON lines in the form that `match_all` takes."""
        ...

    def match_all(self, events: Any) -> Any:
        """The matches of all, in the peer's own form."""
        ...


def drive(peer: Peer, folder: Path) -> None:
    """Build, write the matches down, measure."""
    asked = Asked(**json.loads((folder / CASE).read_text()))
    rules = read_rules(folder)
    lines = (folder / EVENTS).read_bytes().splitlines()
    figures = Figures(peer.version)
    if hasattr(peer, "warm_up"):
        peer.warm_up(rules, asked)
    gc.collect()
    before, begin = resident(), time.perf_counter()
    whole = peer.build(rules, asked, lambda: time.perf_counter() - begin > asked.build_s)
    figures.build_s = time.perf_counter() - begin
    if not whole:
        figures.failed = f"building is not done after {asked.build_s:.0f} s"
        figures.write(folder)
        return
    rules.clear()
    gc.collect()
    figures.bytes = max(0.0, resident() - before)
    write_matches(folder, _matched(peer, lines, asked, figures))
    events = [peer.parse(line) for line in lines]
    match, parse = peer.match, peer.parse
    figures.parsed_per_s, figures.parsed_us = repeated(match, events, asked.match_s)
    figures.text_per_s, figures.text_us = repeated(lambda line: match(parse(line)), lines, asked.match_s)
    if hasattr(peer, "match_all"):
        _batches(peer, lines, asked, figures)  # type: ignore[arg-type]
    figures.notes += getattr(peer, "notes", [])
    figures.write(folder)


def _matched(peer: Peer, lines: Sequence[bytes], asked: Asked, figures: Figures) -> list[list[int]]:
    if hasattr(peer, "matched"):  # a way for many, where one after another would get nowhere
        several: list[list[int]] = peer.matched(lines[: asked.checked])
        figures.checked = len(several)
        return several
    found, end = [], time.perf_counter() + 2 * asked.match_s
    for line in lines[: asked.checked]:
        found.append(sorted(map(int, peer.match(peer.parse(line)))))
        if time.perf_counter() > end:
            break
    figures.checked = len(found)
    return found


def repeated(
    action: Callable[[Any], object], items: Sequence[Any], budget_s: float
) -> tuple[float, tuple[float, float]]:
    """Items a second, and p50 and p99 of one in microseconds; round and round until the time is up."""
    took: list[int] = []
    now = time.perf_counter_ns
    for seconds in (budget_s / 2, budget_s):  # the first one warms up
        took.clear()
        place, end = 0, now() + int(seconds * 1e9)
        while not took or now() < end:
            item = items[place]
            begin = now()
            action(item)
            took.append(now() - begin)
            place = place + 1 if place + 1 < len(items) else 0
    p50, p99 = np.percentile(took, [50, 99]) / 1e3
    return 1e9 * len(took) / sum(took), (float(p50), float(p99))


def _batches(peer: BatchPeer, lines: Sequence[bytes], asked: Asked, figures: Figures) -> None:
    """Where there is a way for many at once, it is what counts for events a second."""
    text = b"\n".join(lines)
    events = peer.parse_all(text)
    seconds = batch_seconds(lambda: peer.match_all(events), asked.match_s)
    figures.parsed_per_s = len(lines) / seconds
    seconds = batch_seconds(lambda: peer.match_all(peer.parse_all(text)), asked.match_s)
    figures.text_per_s = len(lines) / seconds


def batch_seconds(action: Callable[[], object], budget_s: float) -> float:
    """The median time; the first one warms up."""
    action()
    took: list[float] = []
    while not took or sum(took) < budget_s:
        begin = time.perf_counter()
        action()
        took.append(time.perf_counter() - begin)
    return float(np.median(took))


def resident() -> float:
    """Bytes of this process that are in memory, after what is free was given back."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        words = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0.0
    return float(words[1]) * 4096


def main(peer: Callable[[], Peer], *, deep: bool = False) -> None:
    """The command of a driver; `deep` for engines that follow long rules by calling themselves."""
    if not deep:
        drive(peer(), Path(sys.argv[1]))
        return
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(1 << 29)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            drive(peer(), Path(sys.argv[1]))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
