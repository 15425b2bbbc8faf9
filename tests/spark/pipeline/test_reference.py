"""docs/reference/pipeline.md lists every key as the models have it."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.pages import blocks, text_of
from tests.spark.pipeline.reference import tables
from vedette.plugins import SINKS, SOURCES, names
from vedette.spark.pipeline import config
from vedette.spark.pipeline.checks import RESERVED

PAGE = "docs/reference/pipeline.md"


@pytest.mark.parametrize("name", tables())
def test_every_table_is_that_of_its_model(name: str) -> None:
    table = tables()[name]
    assert table in text_of(PAGE), f"the table of {name} should be\n\n{table}"


def test_no_other_key_is_named() -> None:
    key = re.compile(r"^\| `\w+` \|.*\|$", re.MULTILINE)
    known = {line for table in tables().values() for line in key.findall(table)}
    assert [line for line in key.findall(text_of(PAGE)) if line not in known] == []


def test_every_type_is_named() -> None:
    text = text_of(PAGE)
    for type_ in (*names(SOURCES), *names(SINKS)):
        assert f'`"{type_}"`' in text


def test_limits_and_reserved_names() -> None:
    text = text_of(PAGE)
    assert config.MOST_BYTES == 1 << 20
    assert "at most 1 MiB and 100 sinks" in text
    assert all(f"`{name}`" in text for name in RESERVED)


def test_examples_are_toml() -> None:
    shown = [block for block in blocks(PAGE) if block.kind == "toml"]
    assert shown
    for block in shown:
        tomllib.loads(block.body)
