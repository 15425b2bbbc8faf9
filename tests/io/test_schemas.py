from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import FileError, SchemaError
from vedette.io.schemas import attribute_name, read_schema
from vedette.language.ast import Attribute, IsNull
from vedette.language.parser import parse
from vedette.schema.schema import Schema


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


EXPECTED = Schema.of({"price": "float", "order.total": "float", "attrs.*": "string", "tags": "list of string"})


def test_json_and_yaml(tmp_path: Path) -> None:
    json = '{"price": "float", "order": {"total": "float"}, "attrs": "map of string", "tags": "list of string"}'
    yaml = "price: float\norder:\n  total: float\nattrs.*: string\ntags: list<string>\n"
    assert read_schema(written(tmp_path / "s.json", json)) == EXPECTED
    assert read_schema(written(tmp_path / "s.yaml", yaml)) == EXPECTED
    assert read_schema(written(tmp_path / "s.yml", str(EXPECTED))) == EXPECTED
    assert read_schema(written(tmp_path / "s.txt", str(EXPECTED)), format="yaml") == EXPECTED


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("s.json", '{"price": }', r"s.json is not JSON: line 1, column 11: .*\nHint"),
        ("s.json", b"\xff", "s.json is not UTF-8 text"),
        ("s.json", "[" * 100_000, "s.json is nested too deeply"),
        ("s.yaml", "a: [", r"s.yaml is not YAML: line \d+, column \d+: .*\nHint"),
        ("s.yaml", "[" * 100_000, "s.yaml is nested more than 64 deep"),
        ("s.toml", "a = 1", "the name does not say which format it has\nHint: it ends in .json, .yaml"),
        ("none.json", None, "no such file"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, text: str | bytes | None, says: str) -> None:
    if text is not None:
        written(tmp_path / name, text)
    with pytest.raises(FileError, match=says):
        read_schema(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('["price"]', "s.json: a schema is an object of attributes and their types, not a list"),
        ("5", "not 5"),
        ('{"price": "flaot"}', "s.json: attribute 'price': unknown type 'flaot'"),
        ('{"price": 5}', "s.json: the type of attribute 'price' is 5"),
        ('{"a":' * 200 + '"int"' + "}" * 200, "and a name has at most 32"),
    ],
)
def test_schemas_that_make_no_sense(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        read_schema(written(tmp_path / "s.json", text))


def test_names_that_yaml_takes_for_something_else(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'True' is no attribute name\nHint: .* put it in quotes"):
        read_schema(written(tmp_path / "s.yaml", "yes: int\n"))


def test_names_in_backticks_are_those_of_filters(tmp_path: Path) -> None:
    text = "`Order ID`: int\nplain: float # `no name`\nobj:\n  `a``b`.`c: d`.e  : string\n`on`: bool\n"
    text += "`my map`.*: int\n'`x`': ip\n"
    types = {
        "Order ID": "int",
        "plain": "float",
        "obj.a`b.c: d.e": "string",
        "on": "bool",
        "my map.*": "int",
        "`x`": "ip",
    }
    assert read_schema(written(tmp_path / "s.yaml", text)) == Schema.of(types)
    for bad in ("`Order ID: int\n", "`a` `b`: int\n", "x: `int`\n"):
        with pytest.raises(FileError, match=r"s.yaml is not YAML: line 1, column \d+: .*\nHint"):
            read_schema(written(tmp_path / "s.yaml", bad))


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.sampled_from(
        ["yes", "N", "null", "In", "1st", "a.b", "a..b", ".", "x.*", "my map.*", ".*", "~", "größe", "a: b", "`"]
    ),
)


@given(st.dictionaries(NAMES, st.sampled_from(["int", "list of ip", "mixed"]), min_size=1))
def test_a_name_reads_back_from_a_file_and_from_a_filter(attributes: dict[str, str]) -> None:
    schema = Schema.of(attributes)
    with TemporaryDirectory() as folder:
        lines = (f"{attribute_name(path)}: {schema.spelling(path)}\n" for path in schema)
        assert read_schema(written(Path(folder) / "s.yaml", "".join(lines))) == schema
    for path in schema:
        name = attribute_name(path)
        if name[0] != '"' and not path.endswith(".*"):
            test = parse(f"{name} is null")
            assert isinstance(test, IsNull)
            assert test.operand == Attribute(path)
