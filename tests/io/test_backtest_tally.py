"""Tallies of a backtest: held against the obvious way, and the same however a history is divided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from vedette.errors import InputError, SnapshotError
from vedette.io import backtest_samples, backtest_tally
from vedette.io.backtest_output import moment_text
from vedette.io.backtest_samples import BacktestSample
from vedette.io.backtest_tally import KINDS, NO_DAY, UNTIMED, BacktestRows, BacktestTally, DayCounts, day_text, days_of
from vedette.patterns.forecasts.score import Score

IDS = ["a", "b", "c", "d"]
DAY = 86_400_000_000
Row = tuple[int, int, int, str]  # place, time, number, kind


def made_up(random: Random, size: int) -> list[Row]:
    """Rows of three of four subscriptions, over ten days around 1970, some without a time."""
    rows = []
    for number in range(size):
        time = UNTIMED if random.random() < 0.1 else random.randrange(-3 * DAY, 7 * DAY)
        places = random.sample([0, 1, 2], random.choice([0, 1, 1, 2]))
        rows += [(place, time, number, random.choice(KINDS)) for place in places]
    return rows


def tally_of(rows: Sequence[Row], most: int = 4) -> BacktestTally:
    """What `rows` come to; their events are those of the rows."""
    tally = BacktestTally(IDS, most)
    for kind in KINDS:
        mine = [row for row in rows if row[3] == kind]
        told = BacktestRows(*(np.array([row[column] for row in mine], np.int64) for column in range(3)))

        def samples(places: NDArray[np.int64], mine: list[Row] = mine, kind: str = kind) -> list[BacktestSample]:
            return [BacktestSample(f"e{mine[place][2]}", mine[place][1], {"kind": kind}) for place in places.tolist()]

        tally.take(kind, told, samples)
    tally.see(np.array([time for _, time, _, _ in rows], np.int64))
    return tally


def counts_of(tally: BacktestTally) -> dict[tuple[str, int, str], int]:
    found: dict[tuple[str, int, str], int] = {}
    for one in tally.summaries():
        for kind, counts in zip(KINDS, (one.matches, one.predictions), strict=True):
            found |= {
                (one.subscription, day, kind): count
                for day, count in zip(one.days.tolist(), counts.tolist(), strict=True)
                if count
            }
    return found


@pytest.fixture(params=[False, True])
def crowded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without sizes that make a few rows many."""
    if request.param:
        monkeypatch.setattr(backtest_tally, "_DENSE", 0)
        monkeypatch.setattr(backtest_samples, "_FEW", 3)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_a_plain_counter(seed: int) -> None:
    rows = made_up(Random(seed), 200)
    tally = tally_of(rows)
    day = {time: NO_DAY if time == UNTIMED else time // DAY for _, time, _, _ in rows}
    assert counts_of(tally) == Counter((IDS[place], day[time], kind) for place, time, _, kind in rows)
    assert tally.events == Counter(day[time] for _, time, _, _ in rows)
    for one in tally.summaries():
        mine = [(kind, time) for place, time, _, kind in rows if IDS[place] == one.subscription]
        told = min((kind for kind, _ in mine), default="match")  # matches, if there are any
        times = [time for kind, time in mine if kind == told and time != UNTIMED]
        assert (one.first, one.last) == (min(times, default=UNTIMED), max(times, default=UNTIMED))


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("seed", range(8))
def test_parts_add_up_in_any_order_and_division(seed: int) -> None:
    random = Random(seed)
    rows = made_up(random, 300)
    whole = tally_of(rows)
    parts: list[list[Row]] = [[] for _ in range(random.randrange(1, 6))]
    shuffled = random.sample(rows, len(rows))
    for row in shuffled:
        random.choice(parts).append(row)
    together = BacktestTally(IDS, 4)
    for part in parts:
        together = tally_of(part) + together
    assert counts_of(together) == counts_of(whole)
    assert together.events == whole.events
    assert together.samples() == whole.samples()
    carried = BacktestTally.from_bytes(together.to_bytes())
    assert counts_of(carried) == counts_of(whole)
    assert carried.samples() == whole.samples()
    assert [(one.first, one.last) for one in carried.summaries()] == [
        (one.first, one.last) for one in whole.summaries()
    ]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_samples_begin_with_the_first_end_with_the_last_and_are_no_more_than_asked_for(most: int) -> None:
    rows = made_up(Random(3), 300)
    found = tally_of(rows, most).samples()
    by_group = defaultdict(list)
    for place, time, number, kind in rows:
        by_group[IDS[place], kind].append((time, number))
    assert set(found) == {id_ for id_, _ in by_group}
    for (id_, kind), told in by_group.items():
        mine = [sample for sample in found[id_] if sample.said["kind"] == kind]
        names = [(time, f"e{number}") for time, number in sorted(told)]
        assert len(mine) == most
        assert [(sample.time, sample.event) for sample in mine] == [
            name for name in names if name[1] in {sample.event for sample in mine}
        ]
        assert mine[0].event == names[0][1]
        assert most == 1 or mine[-1].event == names[-1][1]


def test_without_samples_nobody_asks_for_any() -> None:
    assert tally_of(made_up(Random(1), 50), 0).samples() == {}


def test_every_row_is_drawn_about_as_often() -> None:
    drawn: Counter[str] = Counter()
    for name in range(400):
        tally = BacktestTally([f"s{name}"], 7)
        numbers = np.arange(20)
        tally.take(
            "match",
            BacktestRows(np.zeros(20, np.int32), numbers, numbers),
            lambda rows: [BacktestSample(f"e{row}", row, {}) for row in rows.tolist()],
        )
        drawn.update(sample.event for sample in tally.samples()[f"s{name}"])
    assert drawn["e0"] == drawn["e19"] == 400
    inner = [drawn[f"e{number}"] for number in range(1, 19)]
    assert sum(inner) == 400 * 5
    assert 70 < min(inner) <= max(inner) < 155  # 111 each, and nothing here is left to chance


def test_scores_add_up() -> None:
    one, other = BacktestTally(IDS), BacktestTally(IDS)
    for tally, came_true in ((one, [True, False]), (other, [True])):
        score = Score()
        score.add_predictions(np.array(came_true))
        tally.score({"a": score})
    both = BacktestTally.from_bytes((one + other).to_bytes())
    assert (both.scores["a"].predictions, both.scores["a"].fulfilled) == (3, 2)
    assert both.summaries()[0].score is not None
    assert both.summaries()[1].score is None


def test_other_subscriptions_do_not_add_up() -> None:
    with pytest.raises(InputError, match="different subscriptions"):
        BacktestTally(["a"]) + BacktestTally(["b"])
    with pytest.raises(InputError, match="more or fewer samples"):
        BacktestTally(["a"], 1) + BacktestTally(["a"], 2)


def test_other_bytes_are_no_tally() -> None:
    with pytest.raises(SnapshotError):
        BacktestTally.from_bytes(b"something else")


def test_memory_is_that_of_groups_and_days() -> None:
    counts = DayCounts()
    for _ in range(50):
        counts.add(np.tile(np.arange(3), 1000), np.repeat(np.arange(2), 1500))
    assert counts.cells().counts.tolist() == [25_000] * 6


def test_days_and_moments_as_texts() -> None:
    assert days_of(np.array([0, -1, DAY - 1, DAY, UNTIMED])).tolist() == [0, -1, 0, 1, NO_DAY]
    assert [day_text(day) for day in (0, -1, 19_844, NO_DAY)] == ["1970-01-01", "1969-12-31", "2024-05-01", ""]
    assert moment_text(1_714_557_600_000_000) == "2024-05-01T10:00:00Z"
    assert moment_text(1_714_557_600_250_000) == "2024-05-01T10:00:00.25Z"
    assert moment_text(UNTIMED) == ""
