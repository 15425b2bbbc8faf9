"""What the pages list is what there is: links, modules, names, options, limits, errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

import vedette as vd
from benchmarks.house.modules import COMMAND, PAGE, SILENT, modules_page
from tests.docs.pages import PAGES, ROOT, text_of
from vedette import errors
from vedette.cli.main import app
from vedette.language import limits

_LINK = re.compile(r"\[[^\]]*\]\((?!https?://)([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in _LINK.findall(_CODE.sub("", text_of(page))):
        name, _, anchor = target.partition("#")
        found = (ROOT / page).parent / name if name else ROOT / page
        assert found.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(found.resolve().relative_to(ROOT).as_posix()), f"{page}: {target}"


def test_every_page_is_in_the_index() -> None:
    index = text_of("docs/README.md")
    for page in PAGES:
        if page.startswith("docs/") and page != "docs/README.md":
            assert f"({page.removeprefix('docs/')})" in index


def _sections(page: str) -> dict[str, str]:
    parts = re.split(r"^#+ (.*)$", text_of(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_list_of_modules_is_that_of_the_source() -> None:
    page = modules_page()
    command = f"run `{COMMAND}`, which writes the page from the docstrings of the modules"
    assert text_of(PAGE.as_posix()).splitlines() == page.splitlines(), f"{PAGE} is not up to date: {command}"
    assert SILENT not in page, "every module and folder (`__init__.py`) has a docstring that says what it is"


def test_the_architecture_stays_short() -> None:
    words = len(text_of("ARCHITECTURE.md").split())
    assert words <= 3_000, f"ARCHITECTURE.md has {words} words: say it in the docstring of the module that it is about"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_modules_that_contributors_are_sent_to_are_there(page: str) -> None:
    named = re.findall(r"`((?:\w+/)+\w+(?:\.\w+)?|\w+\.py)`", _CODE_BLOCK.sub("", text_of(page)))
    roots = (ROOT / "src" / "vedette", ROOT)
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def _public(kind: type) -> list[str]:
    inherited = set(dir(dict)) | set(dir(Exception))
    return [name for name in dir(kind) if not name.startswith("_") and name not in inherited]


@pytest.mark.parametrize("name", ["Subscriptions", "Engine", "LiveEngine", "Stream", "StreamMatcher", "Schema"])
def test_the_reference_names_what_is_public(name: str) -> None:
    sections = _sections("docs/reference/python.md")
    sections["Stream"] = sections["StreamMatcher"] = sections["Stream and StreamMatcher"]
    text = sections[name] + (sections["Engine"] + sections["Subscriptions"] if name == "LiveEngine" else "")
    for member in _public(getattr(vd, name)):
        assert re.search(rf"\b{member}\b", text), f"{name}.{member}"


def test_the_reference_names_all_of_the_package() -> None:
    text = text_of("docs/reference/python.md") + text_of("docs/reference/errors.md")
    for name in set(vd.__all__) - {"__version__"}:
        assert re.search(rf"\b{name}\b", text), name


def test_the_limits_are_those_of_the_language() -> None:
    section = _sections("docs/reference/limits.md")["Texts"]
    numbers = {int(number.replace(",", "")) for number in re.findall(r"\b[0-9][0-9,]*\b", section)}
    assert numbers >= {value for name, value in vars(limits).items() if name.isupper() and name != "REGEX_MEMORY"}


def test_the_tree_of_errors_is_that_of_the_code() -> None:
    tree = (errors.__doc__ or "").partition("\n\n")[2].strip()
    assert tree in text_of("docs/reference/errors.md")


def test_the_reference_names_every_command_and_option() -> None:
    text = text_of("docs/reference/command-line.md")
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f"vedette {name}" in text
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--"):
                    assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), f"{name} {option}"


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{vd.__version__}]" in text_of("CHANGELOG.md")


def test_the_test_command_of_the_readme_is_that_of_the_checks() -> None:
    assert "make test" in text_of("README.md")
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_licence_is_the_one_that_is_named() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert "Apache-2.0" in Path(ROOT / "pyproject.toml").read_text()
