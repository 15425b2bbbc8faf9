"""The report of a backtest for people: which subscriptions would have reported how much, when, and forecast scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.cli.terminal import counted
from vedette.io.backtest_output import moment_text
from vedette.io.backtest_samples import BacktestSample
from vedette.io.backtest_tally import NO_DAY, UNTIMED, BacktestSummary, day_text
from vedette.patterns.forecasts.score import Score

_SHOWN: Final = 20  # subscriptions
_NAMED: Final = 10  # that never reported anything
_WIDE: Final = 32  # characters of a picture of all days
_LONG: Final = 28  # characters of an id
_LOUD: Final = 0.5  # of all events
_BARS: Final = "▁▂▃▄▅▆▇█"
_HEADS: Final = ("subscription", "matches", "days", "busiest day", "first", "last")


def report(
    summaries: Sequence[BacktestSummary],
    events: Mapping[int, int],
    samples: Mapping[str, Sequence[BacktestSample]],
    *,
    everything: bool = False,
) -> Iterator[str]:
    """Lines: subscriptions that would report the most first, then those that never would."""
    heard = sorted((one for one in summaries if one.total), key=lambda one: -one.total)
    silent = [one.subscription for one in summaries if not one.total]
    yield _heading(summaries, heard, events)
    shown = heard if everything else heard[:_SHOWN]
    if shown:
        yield ""
        yield from _table(shown, events, samples)
    if len(shown) < len(heard):
        yield f"… and {len(heard) - len(shown):,} more (--all shows them)"
    if silent:
        named = silent if everything else silent[:_NAMED]
        more = f" … and {len(silent) - len(named):,} more (--all names them)" if len(named) < len(silent) else ""
        yield ""
        yield f"Never reported anything: {', '.join(named)}{more}"


def _heading(summaries: Sequence[BacktestSummary], heard: Sequence[BacktestSummary], events: Mapping[int, int]) -> str:
    days = [day for day in events if day != NO_DAY]
    total = counted(sum(events.values()), "event")
    if days:
        total += f" on {counted(len(days), 'day')}, {day_text(min(days))} to {day_text(max(days))}"
        total += f" ({events[NO_DAY]:,} without a time)" if NO_DAY in events else ""
    elif events:
        total += " without a time"
    return f"{total}: {len(heard):,} of {counted(len(summaries), 'subscription')} would have reported something"


def _table(
    shown: Sequence[BacktestSummary], events: Mapping[int, int], samples: Mapping[str, Sequence[BacktestSample]]
) -> Iterator[str]:
    spans = _Spans(events)
    rows = [(*_HEADS, spans.unit), *(_row(one, spans) for one in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = (
            cell.rjust(width) if column in (1, 2) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
        if number:
            one = shown[number - 1]
            yield from (f"  {remark}" for remark in _remarks(one, sum(events.values())))
            yield from (f"    {_told(sample)}" for sample in samples.get(one.subscription, ()))


def _row(one: BacktestSummary, spans: _Spans) -> tuple[str, ...]:
    reported = one.told
    dated = (one.days != NO_DAY) & (reported > 0)
    busiest = ""
    if dated.any():
        most = int(np.argmax(np.where(dated, reported, -1)))
        busiest = f"{day_text(int(one.days[most]))} ({int(reported[most]):,})"
    name = one.subscription if len(one.subscription) <= _LONG else f"{one.subscription[: _LONG - 1]}…"
    return (
        name,
        f"{int(one.matches.sum()):,}",
        f"{int(dated.sum()):,}",
        busiest,
        _second(one.first),
        _second(one.last),
        spans.picture(one.days, reported),
    )


def _second(time: int) -> str:
    return "" if time == UNTIMED else moment_text(time - time % 1_000_000).replace("T", " ")


def _remarks(one: BacktestSummary, events: int) -> Iterator[str]:
    share = int(one.matches.sum()) / max(events, 1)
    if share >= _LOUD:
        yield f"would report {share:.0%} of all events"
    if one.score is not None:
        yield _scored(int(one.predictions.sum()), one.score)


def _scored(predictions: int, score: Score) -> str:
    told = counted(predictions, "prediction")
    if score.predictions:
        told += f", {score.fulfilled:,} of {score.predictions:,} came true ({_percent(score.precision)})"
    if score.matches:
        told += f"; {score.foreseen:,} of {counted(score.matches, 'match', 'matches')} foreseen"
        told += f" ({_percent(score.recall)})"
    return told + ("" if math.isnan(score.brier) else f"; Brier {score.brier:.3f}")


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _told(sample: BacktestSample) -> str:
    said = sample.said
    parts = [sample.event, moment_text(sample.time).replace("T", " ")]
    if "probability" in said:
        parts.append(f"prediction: {said['probability']:.0%} within {counted(said['within'], 'event')}")
    for what in ("steps", "bindings"):
        if what in said:
            mark = "" if what == "steps" else "$"
            parts.append(", ".join(f"{mark}{name} = {value}" for name, value in said[what].items()))
    return "  ".join(part for part in parts if part)


class _Spans:
    """All days of a history, in as many spans as fit into a line."""

    def __init__(self, events: Mapping[int, int]) -> None:
        days = [day for day in events if day != NO_DAY]
        self._first = min(days, default=0)
        whole = max(days, default=-1) - self._first + 1
        self._length = next((days for days in (1, 7) if whole <= days * _WIDE), math.ceil(whole / _WIDE))
        self._count = math.ceil(whole / self._length)

    @property
    def unit(self) -> str:
        """The time span of one character."""
        if self._count < 2:
            return ""
        return {1: "by day", 7: "by week"}.get(self._length, f"by {self._length:,} days")

    def picture(self, days: NDArray[np.int64], counts: NDArray[np.int64]) -> str:
        """A bar for every span: nothing is a dot, the most is the highest bar."""
        if self._count < 2:
            return ""
        dated = days != NO_DAY
        sums = np.bincount((days[dated] - self._first) // self._length, counts[dated], minlength=self._count)
        most = max(sums.max(), 1)
        return "".join(_BARS[math.ceil(each / most * len(_BARS)) - 1] if each else "·" for each in sums.tolist())
