"""Where a figure of this paper is written, and how processor time is taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from experiments.muthusamy.output import write_csv

Asked = TypeVar("Asked")
Given = TypeVar("Given")


def write(out: Path, name: str, rows: Sequence[Any]) -> None:
    """The data of a figure."""
    write_csv(out / f"ouksel2006-{name}.csv", rows)


def save(picture: Any, out: Path, name: str) -> None:
    """The plot of a figure, as pixels and as lines."""
    for suffix in ("png", "svg"):
        picture.savefig(out / f"ouksel2006-{name}.{suffix}", dpi=150)


def timed(answer: Callable[[Asked], Given], questions: Iterable[Asked]) -> tuple[float, list[Given]]:
    """Answers in a second of processor time, and the answers."""
    begin = time.process_time()
    answers = [answer(question) for question in questions]
    return len(answers) / (time.process_time() - begin), answers
