from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.errors import SchemaError
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, INT, STRING, Kind, Type


def test_nested_objects_and_maps_are_dotted_paths() -> None:
    schema = Schema.of(
        {"price": "float", "order": {"total": "float", "lines": {"sku": "list of string"}}, "attrs": "map of int"}
    )
    assert dict(schema) == {
        "price": FLOAT,
        "order.total": FLOAT,
        "order.lines.sku": Type(Kind.STRING, True),
        "attrs.*": INT,
    }
    assert schema.type_of("attrs.anything") == INT
    assert schema.type_of("attrs.any.thing") == INT
    assert schema.type_of("order") is None


def test_an_own_name_comes_before_the_map() -> None:
    schema = Schema.of({"attrs.*": "string", "attrs.port": "int"})
    assert schema.type_of("attrs.port") == INT
    assert schema.type_of("attrs.host") == STRING


def test_mixed_is_a_string_that_takes_all() -> None:
    schema = Schema.of({"code": "mixed", "codes": "list of mixed", "attrs": "map of mixed", "name": "string"})
    assert schema["code"] == STRING
    assert schema["codes"] == Type(Kind.STRING, True)
    assert schema.takes_all("code")
    assert schema.takes_all("attrs.x")
    assert not schema.takes_all("name")
    assert not schema.takes_all("unknown")


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"a": "flaot"}, "attribute 'a': unknown type 'flaot'"),
        ({"a": {"b": 5}}, "the type of attribute 'a.b' is 5"),
        ({"a": ["string"]}, "the type of attribute 'a' is"),
        ({True: "int"}, "'True' is no attribute name"),
        ({"": "int"}, "is no attribute name"),
        ({"a.b": "int", "a": {"b": "string"}}, "'a.b' is given twice: as int and as string"),
    ],
)
def test_what_makes_no_sense_is_named(attributes: dict[str, object], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.of(attributes)


def test_the_print_is_readable() -> None:
    schema = Schema.of({"price": "float", "a b": "int", "yes": "bool", "attrs.*": "string", "m": "mixed"})
    assert str(schema) == 'price: float\n"a b": int\n"yes": bool\nattrs.*: string\nm: mixed'


names = st.one_of(
    st.text(min_size=1, max_size=60), st.sampled_from(["yes", "null", "1", "a.b", "x.*", "~", "- a", "#", "a: b", "N"])
)
spellings = st.sampled_from(["int", "float", "string", "list of ip", "mixed", "list of mixed", "region", "point"])


@settings(deadline=None)
@given(st.dictionaries(names.filter(lambda name: all(c < "\ud800" or c > "\udfff" for c in name)), spellings))
def test_the_print_reads_back_as_yaml(attributes: dict[str, str]) -> None:
    schema = Schema.of(attributes)
    assert Schema.of(yaml.safe_load(str(schema)) or {}) == schema
