"""Sources and sinks that packages of others bring: what a pipeline file says of them is read and checked as of any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin_packages import installed, made_up, of_page
from tests.spark.pipeline.workplace import Workplace
from vedette.errors import PipelineError
from vedette.plugins import SINKS, SOURCES
from vedette.spark.pipeline.config import load

CODE = """
from vedette.spark.pipeline.kinds import SinkConfig, SourceConfig

class Unread(SourceConfig):
    pass

class Unwritten(SinkConfig):
    pass

raised = 1 / DIVISOR
"""


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path / "place")
    made.subscribe({"id": "s1", "when": "status = 500"})
    return made


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[None]:
    """Those of the pages, and some that are no good."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for page in ("docs/how-to/write-a-source.md", "docs/how-to/write-a-sink.md"):
        of_page(page, folder)
    points = {
        SOURCES: {"unread": "made_up_kinds:Unread", "sink": "made_up_kinds:Unwritten"},
        SINKS: {"unwritten": "made_up_kinds:Unwritten", "number": "made_up_kinds:raised"},
    }
    made_up(folder, "made_up_kinds", points, CODE.replace("DIVISOR", "1"))
    made_up(folder, "made_up_broken", {SINKS: {"broken": "made_up_broken:Unwritten"}}, CODE.replace("DIVISOR", "0"))
    with installed(folder):
        yield


def mistakes(place: Workplace, **parts: object) -> str:
    with pytest.raises(PipelineError) as raised:
        load(place.describe(**parts))
    return str(raised.value)


def test_they_are_what_the_file_says(place: Workplace, packages: None) -> None:
    (place.folder / "today.log").touch()
    told = {"name": "told", "type": "spool", "path": "told", "subscribers": ["ann"]}
    pipeline = load(place.describe(source={"type": "access-log", "path": "today.log"}, sinks=[told]))
    assert (type(pipeline.source).__name__, pipeline.source.type) == ("AccessLogSource", "access-log")
    assert pipeline.sinks[0].sink().name == "told"
    assert pipeline.facts() == {"pipeline": "watch", "type": "access-log", "path": str(place.folder / "today.log")}


def test_their_mistakes_are_told_as_those_of_any(place: Workplace, packages: None) -> None:
    said = mistakes(place, source={"type": "access-log", "path": "today.log", "pth": 1}, sinks=[{"type": "spool"}])
    assert "`pth` of [source] is not a key that is known here\n  Hint: did you mean `path`?" in said
    assert "`path` of sink 1 is missing\n  Hint: the folder that is written" in said
    said = mistakes(place, mode="available-now", checkpoint="state", source={"type": "access-log", "path": "today.log"})
    assert "`path` of [source] is a single file\n  Hint: name its folder" in said


def test_their_places_are_kept_apart(place: Workplace, packages: None) -> None:
    said = mistakes(
        place, source={"type": "access-log", "path": "logs"}, sinks=[{"type": "spool", "path": "logs/told"}]
    )
    assert "`path` of sink 1 is inside `path` of [source]" in said


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        ("unwritten", "TypeError: it has no `sink`\n  Hint: it is made_up_kinds:Unwritten of made_up_kinds 1.0: mend"),
        ("number", "TypeError: it is no SinkConfig\n"),
        ("broken", "ZeroDivisionError: division by zero\n  Hint: it is made_up_broken:Unwritten of made_up_broken 1.0"),
    ],
)
def test_a_sink_that_cannot_be_loaded_is_named_with_its_package(
    place: Workplace, packages: None, type_: str, why: str
) -> None:
    said = mistakes(place, sinks=[{"type": type_}])
    assert f'`type` of sink 1 is "{type_}": the sink {type_!r} cannot be loaded: {why}' in said
    assert "it is one of" not in said
    assert "key that is known" not in said


def test_a_source_that_cannot_be_loaded_is_named_with_its_package(place: Workplace, packages: None) -> None:
    assert "the source 'unread' cannot be loaded: TypeError: it has no `read`" in mistakes(
        place, source={"type": "unread"}
    )
    assert "it is no SourceConfig" in mistakes(place, source={"type": "sink"})
    said = mistakes(place, source={"type": "acces-log"})
    assert '`type` of [source] is "acces-log", which is not known\n  Hint: did you mean "access-log"?' in said
