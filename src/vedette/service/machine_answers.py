"""Models of a pattern's machine: states, steps, probabilities, number of partial matches in each state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from vedette.patterns.machine_pictures import MachineProgress
from vedette.patterns.state_diagrams import Picture


class MachineState(BaseModel):
    """A state of the machine. `probability` is that of completing from there, where forecasts are asked for."""

    label: str
    kind: str  # start, state, match, more
    depth: int
    probability: float | None
    standing: int | None


class MachineMove(BaseModel):
    """A step from one state to another, by their places; at the very `next` event, or at any later one."""

    source: int
    target: int
    label: str
    next: bool


class MachineForecasts(BaseModel):
    """Settings of forecasts, and how good they have been."""

    within: int
    threshold: float
    score: dict[str, float | None] | None


class MachineDescription(BaseModel):
    """A pattern as states and steps; `mermaid` is the same as a text that other tools draw."""

    title: str
    states: list[MachineState]
    moves: list[MachineMove]
    mermaid: str
    forecasts: MachineForecasts | None = None  # None: no forecasts are asked for


def machine_of(picture: Picture, forecasts: MachineForecasts | None = None) -> MachineDescription:
    """A picture of a machine as an answer."""
    return MachineDescription(
        title=picture.title,
        states=[
            MachineState(
                label=node.label,
                kind=node.kind,
                depth=node.depth,
                probability=node.probability,
                standing=node.standing,
            )
            for node in picture.nodes
        ],
        moves=[MachineMove(source=e.source, target=e.target, label=e.label, next=e.next) for e in picture.edges],
        mermaid=picture.to_mermaid(),
        forecasts=forecasts,
    )


def drawn(progress: MachineProgress, predict: Mapping[str, Any] | None) -> MachineDescription:
    """The machine of a pattern as an answer, with its forecasts if it has any."""
    if predict is None:
        return machine_of(progress.picture())
    score = _finite(progress.score)
    asks = MachineForecasts(within=predict["within"], threshold=predict.get("threshold", 0.5), score=score)
    return machine_of(progress.picture(), asks)


def _finite(figures: Mapping[str, Any] | None) -> dict[str, float | None] | None:
    """Figures as JSON has them: NaN becomes null."""
    if figures is None:
        return None
    return {name: value if value == value else None for name, value in figures.items()}  # noqa: PLR0124 - NaN
