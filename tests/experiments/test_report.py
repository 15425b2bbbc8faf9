"""Files and the report of experiments: the same data again, times apart, one page that needs nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments import aguilera1999, liu2007, muthusamy2010, ouksel2006, tomasic2006
from experiments.__main__ import NAMES
from experiments.aguilera import bound, work
from experiments.muthusamy import matching
from experiments.ouksel import extreme, propagation
from experiments.report.findings import Figure, Missing, Paper, Part, Verdict, beyond, compared, partly
from experiments.report.page import build, worst
from experiments.report.plots import COLOURS, finish, panels
from experiments.report.running import run
from experiments.report.svg import inlined
from experiments.report.tables import TIMES, clocked, only, write_rows
from experiments.report.tracking import gather

pytest.importorskip("matplotlib")

PAPERS = (aguilera1999.PAPER, ouksel2006.PAPER, tomasic2006.PAPER, liu2007.PAPER, muthusamy2010.PAPER)


@dataclass(frozen=True)
class Row:
    """Some data."""

    size: int
    visits: float
    seconds: float = clocked()


def _figures(quick: bool) -> Iterator[Figure]:
    rows = [Row(10, 1.5, 0.25), Row(20, 2.5, 0.5)]
    figure, (panel,) = panels(1, 1)
    panel.plot([row.size for row in rows], [row.visits for row in rows], label="ours")
    finish(panel, "size", "visits")
    findings = [
        compared("§1", "it is < 3 & grows", f"{rows[-1].visits}", rows[-1].visits < 3, why="never said"),
        compared("§2", "it shrinks", "it grows", False, why="of <b>", timed=True),
        beyond("`more` than that"),
    ]
    yield Figure("figure1", "Figure 1", f"quick: {quick}", {"": rows, "sizes": only(rows, "size")}, figure, findings)


def _missing(quick: bool) -> Iterator[Figure]:
    raise Missing(f"no data, quick: {quick}")
    yield


MADE_UP = Paper("made1900", "Made 1900", "Title", "Authors", "About", (Part("A", _figures), Part("B", _missing)))


def test_times_are_kept_apart_from_data(tmp_path: Path) -> None:
    assert write_rows(tmp_path, "x", [Row(1, 2.0, 3.0)]) == ["x.csv", "x-times.csv"]
    assert (tmp_path / "x.csv").read_bytes() == b"size,visits\n1,2.0\n"
    assert (tmp_path / "x-times.csv").read_bytes() == b"size,visits,seconds\n1,2.0,3.0\n"
    assert write_rows(tmp_path, "y", only([Row(1, 2.0, 3.0)], "visits", "size")) == ["y.csv"]
    assert (tmp_path / "y.csv").read_bytes() == b"visits,size\n2.0,1\n"
    assert write_rows(tmp_path, "z", only([Row(1, 2.0, 3.0)], "size", "seconds")) == ["z.csv", "z-times.csv"]


def test_verdicts_come_from_what_was_measured() -> None:
    assert [partly(True, True), partly(True, False), partly(False)] == ["agrees", "agrees in part", "differs"]
    assert compared("§1", "claim", "found", True, why="why").why == ""
    told = compared("§1", "claim", "found", False, why="why")
    assert told.line == "found (paper, §1: claim): differs, since why"
    assert beyond("found").line == "found"


def test_an_experiment_leaves_data_plots_lines_and_a_record(tmp_path: Path) -> None:
    said: list[str] = []
    record = run(MADE_UP, tmp_path, True, said.append)
    names = {"figure1.csv", "figure1-times.csv", "figure1-sizes.csv", "figure1.png", "figure1.svg"}
    assert {file.name for file in tmp_path.iterdir()} == {*(f"made1900-{name}" for name in names), "made1900.json"}
    assert json.loads((tmp_path / "made1900.json").read_text(encoding="utf-8")) == record
    assert said[0].startswith("Made 1900, Figure 1: 2.5 (paper, §1: it is < 3 & grows): agrees; ")
    assert said[1] == "Made 1900, B is left out: no data, quick: True."
    assert all("\n" not in line for line in said)


class _Outside(HTMLParser):
    """What a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Scripts, and links that leave the page."""
        if tag in ("script", "link", "iframe", "img", "object"):
            self.found.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and not (value or "").startswith("#"):
                self.found.append(f"{name}={value}")
            if name == "id":
                self.ids.append(value or "")


def test_the_page_needs_nothing_from_elsewhere_and_says_all(tmp_path: Path) -> None:
    run(MADE_UP, tmp_path, True, lambda _: None)
    text = build(tmp_path, ["made1900"]).read_text(encoding="utf-8")
    page = _Outside()
    page.feed(text)
    assert page.found == []
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"url\((?!#)|@import|https?://", text)
    linked = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert linked <= set(page.ids)
    assert "it is &lt; 3 &amp; grows" in text
    assert "<b>Why:</b> of &lt;b&gt;" in text
    assert "never said" not in text
    assert "<code>more</code> than that" in text
    assert "B is left out: no data" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_plots_take_the_colours_of_the_page(tmp_path: Path) -> None:
    run(MADE_UP, tmp_path, True, lambda _: None)
    drawn = inlined((tmp_path / "made1900-figure1.svg").read_text(encoding="utf-8"), "here", 'a "plot"')
    assert drawn.startswith("<svg viewBox=")
    assert 'aria-label="a &quot;plot&quot;"' in drawn
    assert "var(--c0)" in drawn
    assert not any(colour in drawn for colour in COLOURS)
    assert all(name.startswith("here-") for name in re.findall(r'id="([^"]+)"', drawn))


def test_a_figure_is_shown_as_its_claims_on_the_whole() -> None:
    def shown(*verdicts: Verdict) -> Verdict:
        return worst({"findings": [{"verdict": verdict} for verdict in verdicts]})

    assert shown(Verdict.BEYOND) == Verdict.BEYOND
    assert shown(Verdict.AGREES, Verdict.BEYOND) == Verdict.AGREES
    assert shown(Verdict.AGREES, Verdict.DIFFERS) == Verdict.PARTLY
    assert shown(Verdict.DIFFERS) == Verdict.DIFFERS


def test_progress_is_told_on_standard_error_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert gather("Cases", iter((1, 2)), lambda case: [case, 10 * case]) == [1, 10, 2, 20]
    assert capsys.readouterr().out == ""


def _data(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.glob("*.csv") if not file.name.endswith(TIMES)}


def _untimed(paper: Paper, out: Path) -> list[tuple[str, str]]:
    record = json.loads((out / f"{paper.name}.json").read_text(encoding="utf-8"))
    findings = [one for figure in record["figures"] for one in figure["findings"]]
    return [(one["found"], one["verdict"]) for one in findings if not one["timed"]]


def _twice(papers: tuple[Paper, ...], folder: Path) -> None:
    for paper in papers:
        for again in ("one", "two"):
            run(paper, folder / again, True, lambda _: None)
        assert _untimed(paper, folder / "one") == _untimed(paper, folder / "two")
    one, two = (_data(folder / again) for again in ("one", "two"))
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


def test_a_second_run_gives_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "QUICK_SIZES", (400, 800))
    monkeypatch.setattr(bound, "QUICK_SIZES", (50, 100))
    monkeypatch.setattr(extreme, "QUICK", extreme.Sizes((0.02, 0.045), {extreme.THE_PAPERS: 5, "all attributes": 2}))
    monkeypatch.setattr(propagation, "QUICK", propagation.Sizes(3, 20, (0.1, 0.2), (5,)))
    monkeypatch.setattr(matching, "QUICK", matching.Sizes((10, 20), (10, 20), (0, 2), (3, 5), (10, 20), 10, 300))
    few = {"ouksel2006": ("Figures 11 and 12", "Equation 2"), "muthusamy2010": ("Figure 9",)}
    parts = {
        paper.name: tuple(part for part in paper.parts if part.title in few.get(paper.name, ())) for paper in PAPERS
    }
    chosen = (aguilera1999.PAPER, *(_with(paper, parts[paper.name]) for paper in PAPERS if parts[paper.name]))
    _twice(chosen, tmp_path)


def _with(paper: Paper, parts: tuple[Part, ...]) -> Paper:
    return Paper(paper.name, paper.short, paper.title, paper.authors, paper.about, parts)


@pytest.mark.thorough
@pytest.mark.long
def test_a_second_quick_run_of_everything_gives_the_same_data_and_a_page(tmp_path: Path) -> None:
    _twice(PAPERS, tmp_path)
    text = build(tmp_path / "one", NAMES).read_text(encoding="utf-8")
    wanted = {
        "aguilera1999": ("Figure 7", "Theorem 1"),
        "ouksel2006": tuple(f"Figure {number}" for number in range(6, 15)),
        "tomasic2006": ("Workload fixed", "Workload proportional", "Workload large-intermediate-results"),
        "liu2007": tuple(f"Figure {number}" for number in range(4, 9)),
        "muthusamy2010": ("Figure 9", "Figure 10"),
    }
    for name, titles in wanted.items():
        section = text[text.index(f'<section id="{name}">') :]
        section = section[: section.index("</section>")]
        for title in titles:
            assert f">{title}</h3>" in section


def test_the_page_shows_every_experiment_that_there_is() -> None:
    assert tuple(paper.name for paper in PAPERS) == NAMES
