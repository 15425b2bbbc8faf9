"""The machine of a pattern as an answer: states, steps, how probable, how many partial matches stand where."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from vedette.composite.pictures import Picture


class State(BaseModel):
    """Where partial matches stand. `probability` is that of completing from there, where forecasts are asked for."""

    label: str
    kind: str  # start, state, match, more
    depth: int
    probability: float | None
    standing: int | None


class Move(BaseModel):
    """A step from one state to another, by their places; at the very `next` event, or at any later one."""

    source: int
    target: int
    label: str
    next: bool


class Forecasts(BaseModel):
    """What is asked of forecasts, and how good they have been."""

    within: int
    threshold: float
    score: dict[str, float | None] | None


class Machine(BaseModel):
    """A pattern as states and steps; `mermaid` is the same as a text that other tools draw."""

    title: str
    states: list[State]
    moves: list[Move]
    mermaid: str
    forecasts: Forecasts | None = None  # none are asked for: it tells when it completes, not before


def machine_of(picture: Picture, forecasts: Forecasts | None = None) -> Machine:
    """A picture as an answer."""
    return Machine(
        title=picture.title,
        states=[
            State(
                label=node.label,
                kind=node.kind,
                depth=node.depth,
                probability=node.probability,
                standing=node.standing,
            )
            for node in picture.nodes
        ],
        moves=[Move(source=e.source, target=e.target, label=e.label, next=e.next) for e in picture.edges],
        mermaid=picture.to_mermaid(),
        forecasts=forecasts,
    )


def finite(figures: dict[str, Any] | None) -> dict[str, float | None] | None:
    """Figures as JSON has them: what cannot be said is null."""
    if figures is None:
        return None
    return {name: value if value == value else None for name, value in figures.items()}  # noqa: PLR0124 - NaN
