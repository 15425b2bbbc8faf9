"""`vedette match --covering`: the same output, byte by byte, and what was saved."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.session import vedette, write_lines
from tests.filters.test_live import random_event, random_text
from vedette.cli.choices import CoveringChoice

OPERATORS = """
from vedette.operators.operator import operator

@operator(reads=("n",))
def even(event):
    return event["n"] is not None and event["n"] % 2 == 0
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Subscriptions of few values, so that many cover others; some call an operator, some are patterns."""
    random = Random(3)
    subscriptions = [{"id": f"s{number}", "when": random_text(random)} for number in range(120)]
    subscriptions += [{"id": "called", "when": "n > 1 and even()"}, {"id": "also", "when": "s = 'a' and even()"}]
    events: list[dict[str, Any]] = [{"id": f"e{number}", **random_event(random)} for number in range(1500)]
    return (
        write_lines(tmp_path / "subscriptions.jsonl", subscriptions),
        write_lines(tmp_path / "events.jsonl", events),
    )


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    place = tmp_path / "operators.py"
    place.write_text(OPERATORS)
    return place


@pytest.mark.parametrize("method", list(CoveringChoice))
def test_the_same_bytes(method: CoveringChoice, files: tuple[Path, Path], operators: Path, tmp_path: Path) -> None:
    for name, options in (("without", ()), ("with", ("--covering", method.value))):
        place = tmp_path / f"{name}.jsonl"
        told = vedette("match", *files, "-o", place, "--operators", operators, *options)
        assert told.exit_code == 0, told.output
        if options:
            found = re.search(r"([\d,]+) of 120 subscriptions are covered by others; .+", told.stderr)
            assert found is not None, told.stderr
            assert 10 < int(found[1]) < 120
        else:
            assert "covered" not in told.stderr
    assert (tmp_path / "with.jsonl").read_bytes() == (tmp_path / "without.jsonl").read_bytes() != b""


def test_patterns_beside_covered_filters(files: tuple[Path, Path], tmp_path: Path) -> None:
    random = Random(5)
    subscriptions = [{"id": f"s{number}", "when": random_text(random)} for number in range(60)]
    subscriptions.append({"id": "pattern", "when": "[n = 1] , [n = 2]"})
    place = write_lines(tmp_path / "patterns.jsonl", subscriptions)
    events = write_lines(
        tmp_path / "timed.jsonl",
        [{"id": f"e{number}", "time": 10 * number, **random_event(random)} for number in range(400)],
    )
    for name, options in (("without", ()), ("with", ("--covering", "auto"))):
        told = vedette("match", place, events, "-o", tmp_path / f"{name}.jsonl", *options)
        assert told.exit_code == 0, told.output
    assert (tmp_path / "with.jsonl").read_bytes() == (tmp_path / "without.jsonl").read_bytes() != b""


def test_quiet_says_nothing(files: tuple[Path, Path], operators: Path, tmp_path: Path) -> None:
    told = vedette(
        "match", *files, "-o", tmp_path / "out.jsonl", "--operators", operators, "--covering", "auto", "--quiet"
    )
    assert told.exit_code == 0
    assert told.stderr == ""


def test_refused_on_spark(files: tuple[Path, Path], tmp_path: Path) -> None:
    told = vedette("match", *files, "-o", tmp_path / "out.jsonl", "--covering", "auto", "--engine", "spark")
    assert told.exit_code != 0
    assert "leave --covering or --engine spark out" in told.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_sampling_is_no_choice(files: tuple[Path, Path], tmp_path: Path) -> None:
    told = vedette("match", *files, "-o", tmp_path / "out.jsonl", "--covering", "sampling")
    assert told.exit_code == 2
    assert "pairwise" in told.stderr
