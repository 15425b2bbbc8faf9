"""Heat waves of 324 cities, five days in a row above 86 °F, as the pattern engine observes them, worked out by runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from vedette.patterns.outputs import Observations, Witnesses

DAYS = Path(__file__).resolve().parents[3] / "shared/data/city_temperature_dayton/daily_1995_2014_324cities.parquet"
_HOT = 86.0
STREAK_TABLE = (0.0, 0.175, 0.333, 0.527, 0.753)  # P(five in a row | a streak of 0, 1, … 4)


@cache
def temperatures() -> NDArray[np.float64]:
    """Degrees Fahrenheit by day of the calendar and city; nan where none was measured."""
    if not DAYS.exists():
        pytest.skip(f"{DAYS.name} is not among the shared data")
    days = pq.read_table(DAYS, columns=["date", "code", "temp_f"])
    day = days["date"].cast(pa.int32()).to_numpy()
    city = pc.rank(days["code"], tiebreaker="dense").to_numpy().astype(np.int64) - 1
    grid = np.full((day.max() - day.min() + 1, city.max() + 1), np.nan)
    grid[day - day.min(), city] = days["temp_f"].to_numpy()
    return grid


def observed(
    grid: NDArray[np.float64], features: Callable[[NDArray[np.float64]], NDArray[np.int64]] | None = None
) -> tuple[Observations, NDArray[np.int64]]:
    """Observations of `[temp_f > 86]{5} by code`, day by day, and the streak of hot days at each of them."""
    days, cities = grid.shape
    hot = grid > _HOT
    streak = np.zeros(grid.shape, np.int64)
    for day in range(days):
        streak[day] = np.where(hot[day], (streak[day - 1] if day else 0) + 1, 0)
    run = streak.reshape(-1)
    rows = run.size
    depth = np.minimum(run, 4)
    event = np.arange(rows)
    first = np.where(depth > 0, event - (depth - 1) * cities, -1)
    symbol = hot.reshape(-1).astype(np.int64)
    if features is not None:
        symbol |= features(grid).reshape(-1) << 1
    start = np.concatenate([[0], np.cumsum(depth)])
    position = np.arange(start[-1]) - np.repeat(start[:-1], depth)
    seen = Observations(
        event=event,
        pattern=np.zeros(rows, np.int64),
        key=np.stack([np.tile(np.arange(cities), days), np.zeros(rows, np.int64)], axis=1),
        state=(1 << (depth + 1)) - 2,
        hit=run >= 5,
        symbol=symbol,
        depth=depth,
        age=np.where(depth > 0, (depth - 1) * 86_400_000_000, -1),
        first=first,
        time=np.repeat(np.arange(days) * 86_400_000_000, cities),
        span=np.where(run >= 5, 4 * 86_400_000_000, -1),
        begun=np.where(run >= 5, event - 4 * cities, -1),
        witness=Witnesses(start, position.astype(np.int32), np.repeat(first, depth) + position * cities),
    )
    return seen, run
