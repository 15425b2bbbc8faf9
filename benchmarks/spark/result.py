"""What a part of the run has found: rows of figures, and the ratios that are aimed at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

Figure = float | int | str | None


@dataclass(frozen=True)
class Ratio:
    """Two figures of one run, divided."""

    what: str
    value: float
    aim: float | None = None  # at least so much

    def __str__(self) -> str:
        aimed = "" if self.aim is None else f" (aim: {self.aim:g}; {'met' if self.value >= self.aim else 'NOT met'})"
        return f"{self.what}: {self.value:,.3g}{aimed}"


@dataclass
class Result:
    """One part; every row has the same columns."""

    part: str
    title: str
    rows: list[dict[str, Figure]] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """As a table with its ratios below."""
        made = Table(title=f"({self.part}) {self.title}", title_justify="left", pad_edge=False)
        for name in self.rows[0] if self.rows else ():
            words = isinstance(self.rows[0][name], str)
            made.add_column(name, justify="left" if words else "right")
        for row in self.rows:
            made.add_row(*map(_shown, row.values()))
        console.print(made)
        for line in (*map(str, self.ratios), *self.notes):
            console.print(f"  {line}", highlight=False)
        console.print()

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Result:
        """The reverse."""
        return cls(**{**given, "ratios": [Ratio(**ratio) for ratio in given["ratios"]]})

    def __str__(self) -> str:
        return json.dumps(self.as_json())


def _shown(figure: Figure) -> str:
    if figure is None:
        return ""
    if isinstance(figure, str):
        return figure
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.0f}" if figure >= 1000 else f"{figure:.3g}"
