"""What an experiment hands over: figures with data and a plot, and what the paper says beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How what was found compares with what the paper says."""

    AGREES = "agrees"
    PARTLY = "agrees in part"
    DIFFERS = "differs"
    BEYOND = "not in the paper"


@dataclass(frozen=True)
class Finding:
    """One thing that the paper says of a figure, in our words, beside ours; `timed`: it differs from run to run."""

    where: str  # the section
    claim: str
    found: str
    verdict: Verdict
    why: str = ""
    timed: bool = False

    @property
    def line(self) -> str:
        """In one sentence."""
        said = f"{self.found} (paper, {self.where}: {self.claim}): {self.verdict}" if self.claim else self.found
        return f"{said}, since {self.why}" if self.why else said


def compared(
    where: str, claim: str, found: str, holds: bool | Verdict, *, why: str = "", timed: bool = False
) -> Finding:
    """A claim, judged by what was measured; `why` is said where it does not hold."""
    if isinstance(holds, Verdict):
        verdict = holds
    else:
        verdict = Verdict.AGREES if holds else Verdict.DIFFERS
    return Finding(where, claim, found, verdict, "" if verdict is Verdict.AGREES else why, timed)


def partly(*holds: bool) -> Verdict:
    """Of a claim of several parts."""
    if all(holds):
        return Verdict.AGREES
    return Verdict.PARTLY if any(holds) else Verdict.DIFFERS


def beyond(found: str, *, timed: bool = False) -> Finding:
    """What was measured although the paper does not speak of it."""
    return Finding("", "", found, Verdict.BEYOND, "", timed)


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, measured anew."""

    name: str  # of its files
    title: str
    setting: str  # what was measured, and on what
    tables: Mapping[str, Sequence[Any]]  # rows (dataclasses) by what is added to the name; "": the figure's own data
    plot: Any  # a figure of matplotlib
    findings: Sequence[Finding]

    @property
    def line(self) -> str:
        """All findings in one line."""
        return f"{self.title}: {'; '.join(finding.line for finding in self.findings)}."


class Missing(Exception):
    """Data that are not on this machine: the part is left out, by name."""


@dataclass(frozen=True)
class Part:
    """Figures that come of one measurement; `figures` is told whether to be quick."""

    title: str
    figures: Callable[[bool], Iterable[Figure]]


@dataclass(frozen=True)
class Paper:
    """An experiment: one paper, and all that is measured of it."""

    name: str  # of the module
    short: str
    title: str
    authors: str
    about: str  # what it brings, and how it was measured here
    parts: Sequence[Part]
