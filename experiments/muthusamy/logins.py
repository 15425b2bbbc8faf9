"""Logins: patterns whose matches were counted by other means, and a forecast of success after failures.

The forecast learns from the first half of the honeypot's sessions, by time, and is judged on the second half: at each
session of an address with a failed one before it, will a session succeed, after three that failed, within the next few
of that address? Its peer says always how often that was so in the first half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from experiments.muthusamy.calibration_plot import calibration_plot
from experiments.muthusamy.forecast_evaluation import outcomes, probabilities
from experiments.muthusamy.output import shared
from experiments.report.findings import Figure, Finding, beyond
from experiments.report.plots import style
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.forecasts.model import train
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.forecasts.score import Score
from vedette.patterns.matcher import PatternMatcher

LINES = "logins/ssh_events.parquet"
SESSIONS = "logins/cowrie_sessions.parquet"
BURST = " ; ".join(["[event = 'failed']"] * 5) + " by src_ip within 60 s"
BREAK = "[event = 'failed'] ; [event = 'accepted'] by src_ip within 600 s"
_FAILED = "[login_success = 0 and login_failed > 0]"
BREAK_IN = f"{_FAILED} ; {_FAILED} ; {_FAILED} ; [login_success > 0] by src_ip within 600 s"
WITHIN = 5
THRESHOLD = 0.5
FEATURES = ("login_failed > 1", "login_failed > 3", "duration > 5.0", "duration > 30.0")
FORECASTS: dict[str, tuple[int, ForecastSettings]] = {  # which record, and how it is forecast
    "chain, paper": (0, ForecastSettings(context=0, mode="paper")),
    "chain": (0, ForecastSettings(context=0)),
    "chain, context": (0, ForecastSettings()),
    "chain, context, features": (1, ForecastSettings()),
}
PEER = "always the same"


@dataclass(frozen=True)
class Count:
    """How often a pattern was found, and in how many partitions; as we find it, and as it was counted before."""

    data: str
    pattern: str
    matches: int
    addresses: int
    known_matches: int
    known_addresses: int | None

    @property
    def right(self) -> bool:
        """Both agree."""
        return self.matches == self.known_matches and self.known_addresses in (None, self.addresses)


@dataclass(frozen=True)
class Quality:
    """How good forecasts are, on the second half."""

    model: str
    forecasts: int
    came_true: float
    brier: float
    mcc: float
    auc: float
    worst_gap: float


def counted(data: str, events: pa.Table, pattern: str, matches: int, addresses: int | None) -> Count:
    """Let the whole log happen, in the order of time."""
    matcher = PatternMatcher([PatternRecord("p", pattern)], lateness=None)
    matcher.process(events)
    rows = matcher.finish().matches.event
    found = len(pc.unique(events["src_ip"].take(pa.array(rows))))
    return Count(data, pattern, len(rows), found, matches, addresses)


def log(source: str) -> pa.Table:
    """The lines of one log."""
    lines = pq.read_table(shared(LINES), columns=["source", "ts", "event", "src_ip"])
    return lines.filter(pc.equal(lines["source"], source)).rename_columns(["source", "time", "event", "src_ip"])


def sessions() -> pa.Table:
    """The honeypot's, in the order of time."""
    columns = ["start_time", "src_ip", "login_success", "login_failed", "duration"]
    return pq.read_table(shared(SESSIONS), columns=columns).rename_columns(["time", *columns[1:]]).sort_by("time")


def counts() -> list[Count]:
    """All patterns whose answers are known."""
    return [
        counted("loghub", log("loghub_openssh_2k"), BURST, 440, 9),
        counted("elastic", log("elastic_examples_auth"), BURST, 361, 45),
        counted("loghub", log("loghub_openssh_2k"), BREAK, 0, None),
        counted("elastic", log("elastic_examples_auth"), BREAK, 10, None),
        counted("cowrie", sessions(), BREAK_IN, 358, 193),
    ]


def scores(events: pa.Table) -> dict[str, Score]:
    """Forecasts of the second half, learnt from the first."""
    records = [
        PatternRecord("break-in", BREAK_IN, None, Predict(WITHIN, THRESHOLD)),
        PatternRecord("break-in with features", BREAK_IN, None, Predict(WITHIN, THRESHOLD, FEATURES)),
    ]
    matcher = PatternMatcher(records)
    half = len(events) // 2
    history = matcher.process(events.slice(0, half)).observations
    later = matcher.process(events.slice(half)).observations
    (before, known_before), (came_true, known) = outcomes(history, WITHIN), outcomes(later, WITHIN)
    found = {PEER: Score()}
    rows = known & (later.pattern == 0) & (later.depth > 0)
    rate = before[known_before & (history.pattern == 0) & (history.depth > 0)].mean()
    found[PEER].add(np.full(int(rows.sum()), rate), came_true[rows], THRESHOLD)
    for name, (one, settings) in FORECASTS.items():
        rows = known & (later.pattern == one) & (later.depth > 0)
        said = probabilities(train([history], records, settings), {one: records[one]}, later)
        found[name] = Score()
        found[name].add(said[rows], came_true[rows], THRESHOLD)
    return found


def figures(quick: bool) -> Iterator[Figure]:
    """Count and judge; the data are small, so that quick is the same."""
    del quick
    found, judged = counts(), scores(sessions())
    style()
    yield Figure(
        "logins",
        "Logins (not in the paper)",
        "Patterns over the lines of two logs of SSH and the sessions of a honeypot, counted by other means before; "
        f"and, of the honeypot, whether a login succeeds after three that failed within the next {WITHIN} sessions of "
        "an address, learnt from the first half and judged on the second.",
        {
            "": found,
            "scores": [
                Quality(
                    name,
                    score.forecasts,
                    (score.true_positive + score.false_negative) / max(1, score.forecasts),
                    score.brier,
                    score.mcc,
                    score.auc,
                    score.worst_gap(),
                )
                for name, score in judged.items()
            ],
        },
        calibration_plot(judged),
        findings(found, judged),
    )


def findings(found: Sequence[Count], judged: dict[str, Score]) -> list[Finding]:
    """What was found, and how good forecasts are."""
    each = ", ".join(f"{one.matches} in {one.data}{'' if one.right else ' (WRONG)'}" for one in found)
    right = "all" if all(one.right for one in found) else "NOT all"
    return [
        beyond(f"matches: {each}; {right} as counted before"),
        *(
            beyond(f"{name}: Brier {score.brier:.4f}, MCC {score.mcc:.3f}, AUC {score.auc:.3f}")
            for name, score in judged.items()
        ),
    ]
