"""One peer on one case: a folder is filled, a driver runs in it on one core, and what it leaves is read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peers.building import ROOT, Built
from benchmarks.peers.cases import Case
from benchmarks.peers.protocol import CASE, EVENTS, FIGURES, MATCHES, RULES, Asked, Figures, read_matches
from benchmarks.peers.registry import Peer
from benchmarks.peers.rules import CannotSay
from benchmarks.peers.vedette_matcher import SAMPLE

_START_S = 60  # that a runtime may take to start, Spark among them


@dataclass(frozen=True)
class Limits:
    """How long a driver may take."""

    build_s: float = 20.0
    match_s: float = 1.0
    checked: int = 300


@dataclass(frozen=True)
class Outcome:
    """What a driver found and measured, and which rules it was given."""

    figures: Figures
    matches: list[list[int]]
    said: frozenset[int]  # the rules that could be said
    unsaid: dict[str, int]  # why others could not, and how many


def run(peer: Peer, built: Built, case: Case, limits: Limits) -> Outcome:
    """Raises CannotSay if no rule can be said."""
    with tempfile.TemporaryDirectory(prefix="vedette-peers-") as name:
        folder = Path(name)
        said, unsaid = fill(folder, peer, case, limits)
        if not said:
            raise CannotSay(", ".join(sorted(unsaid)))
        figures = _drive(built, folder, limits)
        matches = read_matches(folder) if (folder / MATCHES).exists() else []
        return Outcome(figures, matches, frozenset(said), unsaid)


def fill(folder: Path, peer: Peer, case: Case, limits: Limits) -> tuple[list[int], dict[str, int]]:
    """Write what a driver is handed; which rules could be said, and why others could not."""
    said: list[int] = []
    unsaid: dict[str, int] = {}
    with (folder / RULES).open("w", encoding="utf-8") as lines:
        for number, rule in enumerate(case.rules()):
            try:
                texts = peer.translate(rule, case)
            except CannotSay as reason:
                unsaid[str(reason)] = unsaid.get(str(reason), 0) + 1
                if not said and unsaid[str(reason)] >= 1_000:
                    break  # nothing of this kind can be said
                continue
            said.append(number)
            lines.writelines(f"{number}\t{text}\n" for text in texts)
    _write_lines(folder / EVENTS, case.events)
    _write_lines(folder / SAMPLE, case.sample)
    checked = min(limits.checked, len(case.events))
    kinds = dict(case.kinds)
    asked = Asked(case.workload, case.size, len(case.events), checked, limits.build_s, limits.match_s, kinds)
    (folder / CASE).write_text(json.dumps(asdict(asked)))
    return said, unsaid


def _write_lines(path: Path, events: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def _drive(built: Built, folder: Path, limits: Limits) -> Figures:
    """In a process group of its own, which ends whatever happens."""
    longest = _START_S + 1.5 * limits.build_s + 20 * limits.match_s
    environment = {**os.environ, **built.environment, "PYTHONHASHSEED": "0"}
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [*built.command, str(folder)],
            cwd=ROOT,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_one_core,  # noqa: PLW1509 - this process has no threads
        )
        try:
            process.wait(longest)
        except subprocess.TimeoutExpired:
            return Figures(failed=f"not done after {longest:.0f} s in all")
        finally:
            _end(process)
    if (folder / FIGURES).exists():
        return Figures.read(folder)
    words = [line for line in (folder / "said.txt").read_text(errors="replace").splitlines() if line.strip()]
    return Figures(failed=f"the driver ended with {process.returncode}: {' / '.join(words[-3:])[-400:]}")


def _one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
